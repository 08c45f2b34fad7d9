// Details beside the steps of a session, loaded on demand: prompts, changed files and children.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { clean } from "./plain.js";
import { Argument, Result, useRows } from "./renderers.js";
import { Elapsed, formatCost, State } from "./sessions.js";
import { ask, fold, sessionAddress, sessionLink, stepLink, unfold } from "./state.js";
import { Steps } from "./steps.js";
import { texts } from "./texts.js";

const words = texts.live;

// Load folded content when it is opened, and again, at most once a second, while `when` changes.
function useOpened(address, when) {
  const [open, setOpen] = useState(false), [found, setFound] = useState(null), [failure, setFailure] = useState("");
  const last = useRef(0);
  useEffect(() => {
    if (!open) return undefined;
    let live = true;
    const timer = setTimeout(() => {
      last.current = Date.now();
      ask(address).then((data) => live && (setFound(data), setFailure("")), (error) => live && setFailure(error.message));
    }, Math.max(0, last.current + 1000 - Date.now()));
    return () => { live = false; clearTimeout(timer); };
  }, [open, address, when]);
  return { found, setFound, failure, toggled: (event) => event.target === event.currentTarget && setOpen(event.target.open) };
}

// A part of a prompt; more of it is loaded on demand.
function useMore(first, address) {
  const [rows, more] = useRows(200), [found, setFound] = useState(first);
  useEffect(() => {
    if (rows === 200) return undefined;
    let live = true;
    ask(`${address}&rows=${rows}`).then((data) => live && setFound(data), () => {});
    return () => { live = false; };
  }, [rows]);
  return [found, more];
}

function About({ of, address }) {
  const [{ view }, more] = useMore(of, `${address}&about=${of.name}`);
  return html`<${Result} view=${view} label=${words.about[of.name]} more=${more} />`;
}

function Said({ of, address }) {
  const [part, more] = useMore(of, address);
  return html`<div class="said-part" data-type=${part.type}>
    ${part.type === "call" ? html`<p><span class="badge">${words.call}</span> <strong>${clean(part.call.name)}</strong></p>
      <dl class="arguments">${part.call.arguments.map((each) => html`<${Argument} ...${each} more=${more} />`)}</dl>`
    : html`${part.type !== "text" && html`<p><span class="badge">${words.parts[part.type]}</span> <strong>${clean(part.name ?? "")}</strong></p>`}
      ${part.views.map((view) => html`<${Result} view=${view} more=${more} />`)}`}</div>`;
}

// Add to each turn how to request it again: the mark that its page began with, and its number there.
const placed = (turns, before) => turns.map((turn, i) => ({ ...turn, at: `&before=${encodeURIComponent(before)}&turn=${i}` }));

export function Shown({ id, path }) {
  const address = `${sessionAddress(id, "prompt")}?path=${encodeURIComponent(path)}`;
  const { found, setFound, failure, toggled } = useOpened(address);
  const turns = found && (found.isPlaced ? found.turns : placed(found.turns, ""));
  const earlier = () => ask(`${address}&before=${encodeURIComponent(found.before)}`)
    .then((more) => setFound({ ...found, isPlaced: true, before: more.before, turns: [...placed(more.turns, found.before), ...turns] }), () => {});
  return html`<details class="raw shown" onToggle=${toggled}><summary>${words.shown}</summary>
    ${failure && html`<p class="failure">${failure}</p>`}
    ${found && html`${found.about?.map((each) => html`<${About} key=${each.name} of=${each} address=${address} />`)}
      ${found.before && html`<button type="button" class="more" onClick=${earlier}>${words.earlier}</button>`}
      ${turns.length ? html`<ol class="turns">${turns.map((turn) => html`<li key=${turn.at} class=${`turn ${turn.role}`}><p class="group">${words.roles[turn.role]}</p>
        ${turn.parts.map((part, i) => html`<${Said} key=${i} of=${part} address=${`${address}${turn.at}&part=${i}`} />`)}</li>`)}</ol>` : html`<p class="quiet">${words.notKept}</p>`}`}</details>`;
}

export function Changes({ store }) {
  const count = store.changes.value;
  const { found, failure, toggled } = useOpened(sessionAddress(store.id, "files"), count);
  return html`<details class="parts changes" onToggle=${toggled}><summary>${words.changes(count)}</summary>
    ${failure && html`<p class="failure">${failure}</p>`}
    ${found?.files.map((file) => html`<section key=${file.path} data-file=${file.path}>${file.changes.map((each, i) => html`
      ${i > 0 && html`<p class="quiet">${words.between}</p>`}<${Result} key=${`${each.step}:${JSON.stringify(each.view.summary)}`} view=${each.view} label=${file.path} />
      <p class="ends"><a href=${stepLink(store.id, each.step)}>${words.last}</a></p>`)}</section>`)}</details>`;
}

// A child: its steps in place, live.
function Part({ known }) {
  const [store, setStore] = useState(null);
  useEffect(() => () => store && fold(known.id), [store]);
  const toggled = (event) => event.target === event.currentTarget && setStore(event.target.open ? unfold(known.id) : null);
  const now = store?.session.value?.id ? store.session.value : known;
  return html`<li><details class="part" data-run=${known.id} onToggle=${toggled}>
    <summary><${State} of=${now.state} /><span class="title">${clean(now.title) || now.id}${now.failure && html`<span class="why">${clean(now.failure)}</span>`}</span>
      <span class="quiet facts"><span>${texts.sessionKinds[now.kind] ?? now.kind}</span><span>${texts.steps_(now.steps)}</span><span>${formatCost(now.cost, now.unpriced)}</span><${Elapsed} of=${now} /></span></summary>
    ${store && html`<div class="inside"><p class="ends"><a href=${`${sessionLink(known.id)}?tab=steps`}>${texts.live.open}</a></p>
      ${store.changes.value > 0 && html`<${Changes} store=${store} />`}${now.parts > 0 && html`<${Parts} run=${now} />`}<${Steps} store=${store} /></div>`}</details></li>`;
}

// Children are loaded again while they change, at most once a second.
export function Parts({ run }) {
  const [open, setOpen] = useState(false), [found, setFound] = useState([]), [more, setMore] = useState(0);
  const last = useRef(0), states = JSON.stringify(run.partStates);
  useEffect(() => {
    if (!open) return undefined;
    let live = true;
    const fetched = (from) => ask(`${sessionAddress(run.id, "children")}${from ? `?after=${from}` : ""}`).then((data) => data.sessions);
    const timer = setTimeout(async () => {
      last.current = Date.now();
      const all = [];
      for (let from = 0; from <= more; from += 200) all.push(...await fetched(from));
      if (live) setFound(all);
    }, Math.max(0, last.current + 1000 - Date.now()));
    return () => { live = false; clearTimeout(timer); };
  }, [open, run.id, states, run.partsCost, more]);
  const toggled = (event) => event.target === event.currentTarget && setOpen(event.target.open), left = run.parts - found.length;
  return html`<details class="parts" onToggle=${toggled}><summary>${texts.parts(run.parts, run.kind)}${run.partStates && `: ${texts.live.states(run.partStates)}`}</summary>
    ${open && html`<ol class="partly" data-nav>${found.map((each) => html`<${Part} key=${each.id} known=${each} />`)}</ol>
      ${found.length > 0 && left > 0 && html`<button type="button" class="more" onClick=${() => setMore(more + 200)}>${texts.live.moreParts(Math.min(left, 200))}</button>`}`}</details>`;
}
