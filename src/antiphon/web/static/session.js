// One session: its head with what can be done, and its transcript, its steps, or its work as a team.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { html, loadLater } from "./html.js";
import { Waiting } from "./questions.js";
import { clean, visible } from "./plain.js";
import { Ago, Elapsed, formatCost, State } from "./sessions.js";
import { ask, at, main, mayAct, post, problem, questions, session, sessionAddress, sessionLink, stepLink, watch, where } from "./state.js";
import { loadStyles } from "./styled.js";
import { texts } from "./texts.js";

const words = texts.session;

await loadStyles("live.css");

const Loading = () => html`<p class="quiet">${texts.loading}</p>`;
const TABS = {
  transcript: loadLater(() => import("./chat.js").then((module) => module.View), Loading),
  team: loadLater(() => import("./team.js").then((module) => module.View), Loading),
  steps: loadLater(() => import("./steps.js").then((module) => module.View), Loading),
};
// Which tabs a session has; the first one is opened.
const listTabs = (known) => known.kind === "team" ? ["team", "steps"] : known.hasTranscript ? ["transcript", ...known.isUnsaved ? [] : ["steps"]] : ["steps"];

// What came of the last action on the session, in lines; `bad` if it failed.
const outcome = signal(null);

async function perform(id, what, given, say = () => []) {
  try {
    const came = await post(sessionAddress(id, what), given);
    outcome.value = { lines: say(came) };
    return came;
  } catch (error) {
    outcome.value = { lines: [error.message], bad: true };
    return null;
  }
}

function describeUndo({ undone: { messages, restored, removed, kept, lasting } }) {
  return [words.undone(messages.length, clean(messages.at(-1)).slice(0, 80)), restored.length && words.restored(restored.map(clean)), removed.length && words.removed(removed.map(clean)),
    ...kept.map(([name, why]) => words.kept(clean(name), clean(why))), lasting.length && words.lasting(lasting.map(clean))].filter(Boolean);
}

function Rename({ id, title, close }) {
  const [text, setText] = useState(title), box = useRef(null);
  // Before the next key: what is typed at once must not be selected.
  useLayoutEffect(() => box.current.select(), []);
  const send = async (event) => { event.preventDefault(); if (await perform(id, "rename", { title: text })) close(); };
  const pressed = (event) => { if (event.key === "Escape") { event.preventDefault(); close(); } };
  return html`<form class="decide rename" onSubmit=${send} onKeyDown=${pressed}><input ref=${box} aria-label=${words.title} value=${text} maxlength="100" onInput=${(event) => setText(event.target.value)} />
    <button type="submit" class="primary" disabled=${!text.trim()}>${words.save}</button><button type="button" onClick=${close}>${texts.chat.cancel}</button></form>`;
}

function Menu({ id, known, rename }) {
  const [isSure, setSure] = useState(false), box = useRef(null), summary = useRef(null);
  const isChat = known.hasTranscript && known.kind === "chat", isBusy = known.state === "running";
  const close = () => { box.current.open = false; setSure(false); summary.current.focus(); };
  const act = (what, given, say) => async () => { close(); return perform(id, what, given, say); };
  const pressed = (event) => { if (event.key === "Escape" && box.current.open) { event.preventDefault(); event.stopPropagation(); close(); } };
  const copied = async () => { const made = await act("fork", {})(); if (made) location.hash = sessionLink(made.id); };
  const erased = async () => { close(); if (await perform(id, "delete")) location.hash = "#/sessions"; };
  const button = (label, onClick, off = false, kind = "") => html`<button type="button" class=${kind} disabled=${off} onClick=${onClick}>${label}</button>`;
  return html`<details class="menu" ref=${box} onKeyDown=${pressed} onToggle=${(event) => { if (!event.target.open) setSure(false); }}><summary ref=${summary}>${words.actions}</summary><div role="group" aria-label=${words.actions}>
    ${isChat && !known.isUnsaved && button(words.rename, () => { close(); rename(); })}
    ${isChat && button(words.undo, act("undo", {}, describeUndo), isBusy)}
    ${isChat && button(words.compact, act("compact", {}, ({ compacted: { turns, full } }) => [words.compacted(turns, full)]), isBusy)}
    ${isChat && !known.isUnsaved && button(words.fork, copied)}
    ${isSure ? button(words.reallyDelete, erased, false, "danger") : button(words.delete, (event) => { event.stopPropagation(); setSure(true); }, isBusy || Boolean(known.parent), "danger")}</div></details>`;
}

function Resume({ id }) {
  const [done, setDone] = useState("");
  const go = () => post(sessionAddress(id, "resume")).then(({ goesOn }) => setDone(goesOn ? texts.goesOn : ""), (error) => setDone(error.message));
  return html`<p class="note"><button type="button" onClick=${go}>${texts.go}</button> <span role="status">${done || html`<code>antiphon resume ${id}</code>`}</span></p>`;
}

function Facts({ id, known }) {
  const [input, output, cached] = main.id === id ? main.tokens.value ?? [] : [], models = known.models?.length ? known.models : main.id === id ? main.models.value : [];
  return html`<p class="quiet facts"><${State} of=${known.state} /><code>${id}</code><span>${known.isSuperseded ? texts.superseded : texts.sessionKinds[known.kind] ?? known.kind}</span>${known.steps > 0 && html`<span>${texts.steps_(known.steps)}</span>`}
    ${known.updated && html`<${Elapsed} of=${known} />`}<span class="cost">${formatCost(known.cost, known.unpriced)}</span>${known.partsCost != null || known.partsUnpriced
      ? html`<span class="cost-of-all">${texts.live.withParts(formatCost((known.cost ?? 0) + (known.partsCost ?? 0), known.unpriced + known.partsUnpriced))}</span>` : null}${input != null && html`<span class="tokens">${texts.tokens(input.toLocaleString("en"), output.toLocaleString("en"))}${cached ? `, ${texts.cached(cached)}` : ""}</span>`}
    ${models.length > 0 && html`<span class="models">${models.map(clean).join(", ")}</span>`}<${Ago} at=${known.created} />
    ${known.parent && html`<span>${texts.partOf} <a href=${sessionLink(known.parent)}>${known.parent}</a></span>`}
    ${known.forkOf && html`<span class="forkOf">${texts.past.forkOf} <a href=${sessionLink(known.forkOf)}>${known.forkOf}</a>${known.forkAt && html` ${texts.past.at} <a href=${stepLink(known.forkOf, known.forkAt)}><code>${clean(known.forkAt)}</code></a>`}</span>${known.forkAt && html`<a href=${`#/compare/${encodeURIComponent(known.forkOf)}/${encodeURIComponent(id)}`}>${texts.past.withOriginal}</a>`}`}</p>`;
}

function Head({ id, known, tabs, tab }) {
  const [isRenaming, setRenaming] = useState(false), title = clean(known.title).trim() || (known.kind === "chat" ? texts.chat.untitled : id);
  const canStop = known.state === "running" && tab !== "team" && tab !== "transcript" && known.kind !== "team";
  return html`<header class="head session" data-session=${id} data-state=${known.state}><div class="about">${isRenaming ? html`<${Rename} id=${id} title=${known.title} close=${() => setRenaming(false)} />` : html`<h1 title=${title}>${title}</h1>`}
      <${Facts} id=${id} known=${known} /></div>
    ${mayAct.value && html`<p class="acts">${canStop && html`<button type="button" onClick=${() => perform(id, "stop", {}, () => [words.stopping])}>${words.stop}</button>`}<${Menu} id=${id} known=${known} rename=${() => setRenaming(true)} /></p>`}
    ${tabs.length > 1 && html`<nav class="tabs" aria-label=${words.views}>${tabs.map((each, i) => html`<a href=${`${sessionLink(id)}${i ? `?tab=${each}` : ""}`} aria-current=${each === tab ? "page" : null}>${words.tabs[each]}</a>`)}</nav>`}</header>
    <div role="status" class="outcome">${outcome.value?.lines.map((each) => html`<p class=${outcome.value.bad ? "failure" : "note"}>${each}</p>`)}</div>
    ${known.failure && at.value === null && html`<p class="failure"><strong>${texts.failed}:</strong> ${clean(known.failure)}</p>`}
    ${known.stuck && tab !== "team" && html`<p class="failure"><strong>${texts.stuck}:</strong> ${visible(known.stuck)}</p>`}`;
}

// What the server says of a session before its stream does, which depends on it.
function useFirst(id) {
  const [first, setFirst] = useState({});
  useEffect(() => {
    let isHere = true;
    outcome.value = null;
    ask(sessionAddress(id, "about")).then((data) => {
      if (!isHere) return;
      // The beginning of an id, and `last`, lead to the session.
      if (data.id !== id) location.replace(sessionLink(data.id));
      else setFirst({ of: id, data });
    }, (error) => isHere && setFirst({ of: id, failure: error.message }));
    return () => { isHere = false; };
  }, [id]);
  return first.of === id ? first : {};
}

export function View({ id, path }) {
  // The signal is read in any case, so that its changes are drawn.
  const first = useFirst(id), now = session.value, live = main.id === id ? now : null, known = live ?? first.data;
  const tabs = known && !known.isGone ? listTabs(first.data ?? known) : [], asked = where().asked.get("tab");
  const tab = tabs.includes(asked) ? asked : (path !== null || at.value !== null) && tabs.includes("steps") ? "steps" : tabs[0];
  useEffect(() => {
    let isHere = true;
    // The module of a tab takes its events, so it comes first.
    if (tab) TABS[tab].load().then(() => isHere && watch(id, tab), () => {});
    return () => { isHere = false; };
  }, [id, tab]);
  if (known?.isGone || (first.failure && !known)) return html`<h1>${visible(id)}</h1><p class="empty">${texts.gone}</p>`;
  if (!known) return html`<${Loading} />`;
  const Tab = TABS[tab], waits = tab === "steps" ? (questions.value ?? []).filter((each) => each.run === id) : [];
  return html`<div class=${`session-view ${tab}`}><${Head} key=${id} id=${id} known=${known} tabs=${tabs} tab=${tab} />
    ${problem.value ? html`<p class="failure">${clean(problem.value)}</p>` : html`
      ${known.canResume && tab === "steps" && mayAct.value && html`<${Resume} id=${id} />`}
      ${waits.map((each) => html`<${Waiting} key=${`${each.run}\n${each.path}`} item=${each} />`)}
      <${Tab} key=${`${id} ${tab}`} id=${id} path=${path} known=${known} />`}</div>`;
}
