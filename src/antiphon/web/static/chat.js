// A chat with a model: its messages, the live answer and the composer.
import { useEffect, useRef, useState } from "preact/hooks";
import { accounts, act, address, chatLink, head, known, live, look, problem, refresh, turns } from "./chat_state.js";
import { Composer } from "./composer.js";
import { html, loadLater } from "./html.js";
import { Waiting } from "./inbox.js";
import { Markdown, Saying } from "./markdown.js";
import { clean } from "./plain.js";
import { renderHeadline, opensItself, useSeen } from "./renderers.js";
import { Ago, formatMoney } from "./runs.js";
import { inbox, mayAct, runLink } from "./state.js";
import { loadStyles } from "./styled.js";
import { texts } from "./texts.js";

const said = texts.chat;

await loadStyles("chat.css");

const Loading = () => html`<p class="quiet">${texts.loading}</p>`;
const Opened = loadLater(() => import("./pieces.js").then((module) => module.Opened), Loading);

function Call({ id, turn, call }) {
  const [chosen, setChosen] = useState(null);
  const open = chosen ?? opensItself(call.came), [watched, seen] = useSeen(open);
  const toggled = (event) => event.target === event.currentTarget && event.target.open !== open && setChosen(event.target.open);
  return html`<details class="call" data-call=${call.id} data-state=${call.state} open=${open} onToggle=${toggled} ref=${watched}>
    <summary><span class=${`dot ${call.state}`} role="img" aria-label=${texts.states[call.state]}></span><span class="what"><strong>${clean(call.name)}</strong>
      ${call.given !== "{}" && html` <code class="given">${clean(call.given)}</code>`} ${call.came && html`<span class="came">${renderHeadline(call.came)}</span>`}</span></summary>
    ${open && seen && html`<${Opened} id=${id} turn=${turn} call=${call} />`}</details>`;
}

const Thinking = ({ text, open }) => html`<details class="thinking" open=${open}><summary>${said.thinking}</summary><div class="thought">${clean(text)}</div></details>`;

const Picture = loadLater(() => import("./pieces.js").then((module) => module.Picture));
const Edit = loadLater(() => import("./edit.js").then((module) => module.Edit));

function Mine({ id, turn, canFork, isBusy, isUnanswered }) {
  const [edited, setEdited] = useState(false);
  let number = 0;
  return html`${turn.isInterrupted && html`<p class="note interrupted">${said.cutOff}</p>`}${turn.pieces.length > 0 && html`<article aria-label=${said.you} class="message user" data-turn=${turn.turn}>
    <p class="who"><strong>${said.you}</strong>${canFork && mayAct.value && !edited && html`<button type="button" class="small" title=${said.editHint} aria-label=${said.editHint} disabled=${isBusy} onClick=${() => setEdited(true)}>${said.edit}</button>`}</p>
    <div class="words">${turn.pieces.map((each) => each.type === "image" ? html`<${Picture} id=${id} turn=${turn.turn} piece=${each} number=${number += 1} />`
      : html`<div class="text">${each.author && html`<strong>${clean(each.author)}: </strong>`}${clean(each.text)}</div>`)}</div>
    ${isUnanswered && mayAct.value && !edited && html`<${Retry} id=${id} />`}
    ${edited && html`<${Edit} id=${id} turn=${turn} close=${() => setEdited(false)} />`}</article>`}`;
}

const PIECES = {
  text: ({ piece }) => html`<${Markdown} text=${piece.text} blocks=${piece.blocks} />`,
  thinking: ({ piece }) => html`<${Thinking} text=${piece.text} />`,
  call: ({ piece, id, turn }) => html`<${Call} id=${id} turn=${turn.turn} call=${piece} />`,
};

function Account({ of }) {
  const facts = [of.inputTokens != null || of.outputTokens != null ? texts.tokens(of.inputTokens, of.outputTokens) : "", formatMoney(of.cost), of.seconds ? said.seconds(of.seconds) : ""];
  return html`<p class="quiet facts account"><span>${clean(of.model)}</span>${facts.map((each) => html`<span>${each}</span>`)}<a href=${runLink(of.run)}>${said.run}</a></p>`;
}

const Theirs = ({ id, turn, account }) => html`<article aria-label=${said.model} class="message model" data-turn=${turn.turn}>
  ${turn.pieces.map((each) => html`<${PIECES[each.type]} piece=${each} id=${id} turn=${turn} />`)}${account && html`<${Account} of=${account} />`}</article>`;

// Screen readers announce an answer when it is complete.
function Live() {
  const now = live.value;
  return html`<div class="message model live" aria-live="off">
    ${now?.thinking && html`<${Thinking} text=${now.thinking} open=${now.pieces.length === 0} />`}
    ${now && now.pieces.length > 0 && html`<${Saying} of=${live} />`}
    ${now?.retries.map((each) => html`<p class="note retry">${clean(each)}</p>`)}<p class="quiet"><span class="dot begun" aria-hidden="true"></span>${now?.calls.length ? said.calling(now.calls.map(clean)) : said.answering}</p></div>`;
}

// Return the account of each answer by its last turn. An answer to a question of the model belongs to the answer: it follows a call.
function findAccounts(all, took) {
  const found = {};
  let account = null, last = null;
  const close = () => { if (account && last) found[last.turn] = account; };
  for (const turn of all) {
    if (turn.role === "assistant") { last = turn; continue; }
    if (!took[turn.turn] && last?.pieces.some((each) => each.type === "call")) continue;
    close();
    account = took[turn.turn]; last = null;
  }
  close();
  return found;
}

const Trouble = loadLater(() => import("./trouble.js").then((module) => module.Trouble));
const Retry = loadLater(() => import("./trouble.js").then((module) => module.Retry));

// The model and the tools. Any model name can be typed.
function Settings({ id, now, chosen, choose }) {
  const [failure, setFailure] = useState("");
  const model = now?.model ?? chosen.model ?? known.value?.model ?? "";
  const change = (given) => {
    setFailure("");
    if (!id) choose({ ...chosen, ...given });
    else act(address(id, "model"), given).catch((error) => setFailure(error.message));
  };
  const isBusy = now?.state === "answering";
  return html`<div class="settings"><label>${said.model} <input name="model" list="models" value=${model} disabled=${isBusy} spellcheck="false" autocomplete="off"
      onChange=${(event) => event.target.value.trim() ? event.target.value.trim() !== model && change({ model: event.target.value.trim() }) : (event.target.value = model)} /></label>
    <datalist id="models">${(known.value?.models ?? []).map((each) => html`<option value=${each.name}>${each.where}</option>`)}</datalist>
    <label>${said.tools} <select name="tools" disabled=${isBusy} onChange=${(event) => change({ tools: event.target.value })}>
      ${Object.entries(said.toolNames).map(([name, label]) => html`<option value=${name} selected=${(now?.tools ?? chosen.tools ?? "none") === name}>${label}</option>`)}</select></label>
    ${failure && html`<p class="failure" role="status">${clean(failure)}</p>`}</div>`;
}

function List({ id }) {
  const [open, setOpen] = useState(innerWidth > 800);
  const chats = known.value?.chats ?? [];
  useEffect(() => {
    const narrow = matchMedia("(max-width: 50rem)"), changed = () => setOpen(!narrow.matches);
    narrow.addEventListener("change", changed);
    return () => narrow.removeEventListener("change", changed);
  }, []);
  return html`<details class="chats" open=${open} onToggle=${(event) => setOpen(event.target.open)}><summary>${said.list}</summary>
    <a class="button" href="#/chat">${said.fresh}</a>
    <ol class="runs" data-nav>${chats.map((each) => html`<li key=${each.id} data-chat=${each.id}><a href=${chatLink(each.id)} aria-current=${each.id === id ? "page" : null}>
      <span class="title">${each.isAnswering && html`<span class="dot begun" role="img" aria-label=${texts.states.begun}></span>`}${clean(each.title) || said.untitled}</span>
      <span class="quiet facts"><span>${clean(each.model)}</span>${each.updated && html`<${Ago} at=${each.updated} />`}</span></a></li>`)}</ol>
    ${known.value && chats.length === 0 && html`<p class="quiet">${said.none}</p>`}</details>`;
}

// Follow new content, unless the user has scrolled up.
function useEnd(isGoing, ...news) {
  const box = useRef(null), inner = useRef(null), isAtEnd = useRef(true), last = useRef(0), touched = useRef(0);
  const scrolled = () => {
    const at = box.current;
    // Browsers scroll by themselves too: only a scroll by hand counts.
    if (at.scrollHeight - at.scrollTop - at.clientHeight < 60) isAtEnd.current = true;
    else if (at.scrollTop < last.current - 10 && Date.now() - touched.current < 1000) isAtEnd.current = false;
    last.current = at.scrollTop;
  };
  const follow = () => { if (isAtEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight; };
  useEffect(follow, news);
  useEffect(() => {
    if (!isGoing || !inner.current) return undefined;
    const watcher = new ResizeObserver(follow);
    watcher.observe(inner.current);
    return () => watcher.disconnect();
  }, [isGoing]);
  const touch = () => { touched.current = Date.now(); };
  const hands = { onScroll: scrolled, onWheel: touch, onTouchMove: touch, onKeyDown: touch, onPointerMove: touch };
  return { box, inner, hands, isAtEnd };
}

function Talk({ id }) {
  const now = head.value?.id === id ? head.value : null, all = turns.value, answers = findAccounts(all, accounts.value);
  const isBusy = now?.state === "answering";
  const waits = (inbox.value ?? []).filter((each) => now?.run && each.run === now.run);
  const { box, inner, hands, isAtEnd } = useEnd(isBusy, all, now?.state, waits.length);
  useEffect(() => {
    const pressed = (event) => { if (event.key === "Escape" && isBusy && !event.defaultPrevented) act(address(id, "stop")).catch(() => {}); };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [id, isBusy]);
  const send = async (given) => { isAtEnd.current = true; await act(address(id, "say"), given); };
  const stop = () => act(address(id, "stop")).catch(() => {});
  if (problem.value) return html`<p class="failure">${clean(problem.value)}</p>`;
  if (!now) return html`<p class="quiet">${texts.loading}</p>`;
  return html`<h1 class="hidden">${clean(now.title) || said.untitled}</h1>
    <div class="scroll talked" tabindex="0" role="region" aria-label=${said.log} ref=${box} ...${hands} data-chat=${id} data-state=${now.state}><div ref=${inner}>
      <div class="said" role="log" aria-live="polite" aria-label=${said.log}>${all.map((turn) => turn.role === "user"
        ? html`<${Mine} key=${turn.turn} id=${id} turn=${turn} canFork=${now.isSaved} isBusy=${isBusy} isUnanswered=${now.isUnanswered && turn === all.at(-1)} />` : html`<${Theirs} key=${turn.turn} id=${id} turn=${turn} account=${answers[turn.turn]} />`)}</div>
      ${isBusy && waits.length === 0 && html`<${Live} />`}
      ${waits.map((each) => html`<${Waiting} key=${`${each.run}\n${each.path}`} item=${each} />`)}
      <${Trouble} id=${id} now=${now} /></div></div>
    <${Composer} key=${id} draft=${id} send=${send} stop=${isBusy ? stop : null} word=${said.send} />
    <${Settings} id=${id} now=${now} />`;
}

function Fresh() {
  const [chosen, choose] = useState({});
  const send = async (given) => { location.hash = chatLink((await act("api/chats/new", { ...given, ...chosen })).id); };
  return html`<div class="talked empty"><h1>${said.hello}</h1></div><${Composer} draft="" send=${send} word=${said.send} /><${Settings} chosen=${chosen} choose=${choose} />`;
}

export function View({ id }) {
  useEffect(() => { refresh(); }, []);
  useEffect(() => { look(id); return () => look(null); }, [id]);
  return html`<div class="chat"><${List} id=${id} /><section class="talk" aria-label=${said.name}>${id ? html`<${Talk} key=${id} id=${id} />` : html`<${Fresh} />`}</section></div>`;
}
