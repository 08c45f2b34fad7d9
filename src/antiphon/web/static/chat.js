// The transcript of a chat: its messages, the live answer and the composer; or the composer of a new chat.
import { useEffect, useRef, useState } from "preact/hooks";
import { accounts, act, fetchModels, forgetChat, head, known, live, send, stop, turns } from "./chat_state.js";
import { Composer } from "./composer.js";
import { html, loadLater } from "./html.js";
import { Waiting } from "./questions.js";
import { Markdown, Saying } from "./markdown.js";
import { clean, copyText } from "./plain.js";
import { renderHeadline, opensItself, useSeen } from "./renderers.js";
import { formatMoney } from "./sessions.js";
import { mayAct, questions, sessionLink, stepLink } from "./state.js";
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

const textOf = (turn) => turn.pieces.filter((each) => each.type === "text").map((each) => each.text).join("\n\n");

function Copy({ text }) {
  const [word, setWord] = useState(said.copy);
  const copy = async () => setWord(await copyText(text) ? said.copied : said.notCopied);
  return html`<button type="button" class="small copy" aria-label=${word === said.copy ? said.copyAnswer : null} onClick=${copy}>${word}</button>`;
}

function Fork({ id, at }) {
  const [failure, setFailure] = useState("");
  const fork = () => act(id, "fork", { at }).then((made) => { location.hash = sessionLink(made.id); }, (error) => setFailure(error.message));
  return html`<button type="button" class="small" title=${said.forkHint} aria-label=${said.forkHint} onClick=${fork}>${said.forkHere}</button>${failure && html`<span class="bad" role="status">${clean(failure)}</span>`}`;
}

function Mine({ id, turn, now, isLast }) {
  const [edited, setEdited] = useState(false), isBusy = now.state === "answering";
  let number = 0;
  return html`${turn.isInterrupted && html`<p class="note interrupted">${said.cutOff}</p>`}${turn.pieces.length > 0 && html`<article aria-label=${said.you} class="message user" data-turn=${turn.turn}>
    <p class="who"><strong>${said.you}</strong>${now.isSaved && mayAct.value && !edited && html`<button type="button" class="small" title=${said.editHint} aria-label=${said.editHint} disabled=${isBusy} onClick=${() => setEdited(true)}>${said.edit}</button>`}</p>
    <div class="words">${turn.pieces.map((each) => each.type === "image" ? html`<${Picture} id=${id} turn=${turn.turn} piece=${each} number=${number += 1} />`
      : each.type === "file" ? html`<p class="note file">${clean(each.text)}</p>`
      : html`<div class="text">${each.author && html`<strong>${clean(each.author)}: </strong>`}${clean(each.text)}</div>`)}</div>
    ${now.isUnanswered && isLast && mayAct.value && !edited && html`<${Retry} id=${id} />`}
    ${edited && html`<${Edit} id=${id} turn=${turn} text=${textOf(turn)} close=${() => setEdited(false)} />`}</article>`}`;
}

const PIECES = {
  text: ({ piece }) => html`<${Markdown} text=${piece.text} blocks=${piece.blocks} />`,
  thinking: ({ piece }) => html`<${Thinking} text=${piece.text} />`,
  call: ({ piece, id, turn }) => html`<${Call} id=${id} turn=${turn.turn} call=${piece} />`,
};

function Account({ of }) {
  const facts = [of.inputTokens != null || of.outputTokens != null ? texts.tokens(of.inputTokens, of.outputTokens) : "", formatMoney(of.cost), of.seconds ? said.seconds(of.seconds) : ""];
  return html`<p class="quiet facts account"><span>${clean(of.model)}</span>${facts.map((each) => html`<span>${each}</span>`)}<a href=${of.step ? stepLink(of.run, of.step) : `${sessionLink(of.run)}?tab=steps`}>${said.run}</a></p>`;
}

function Theirs({ id, turn, account, now, isLast }) {
  const text = textOf(turn), isIdle = mayAct.value && now.state !== "answering";
  return html`<article aria-label=${said.model} class="message model" data-turn=${turn.turn}>
    ${turn.pieces.map((each) => html`<${PIECES[each.type]} piece=${each} id=${id} turn=${turn} />`)}
    ${text && html`<p class="does"><${Copy} text=${text} />${isIdle && now.isSaved && html`<${Fork} id=${id} at=${turn.turn + 1} />`}${isIdle && isLast && !now.error.kind && now.state === "idle" && !now.isInterrupted && html`<${Again} id=${id} />`}</p>`}
    ${account && html`<${Account} of=${account} />`}</article>`;
}

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
const Again = loadLater(() => import("./trouble.js").then((module) => module.Again));

function System({ text: saved, isBusy, change }) {
  const [text, setText] = useState(saved), [isSaved, setSaved] = useState(false);
  useEffect(() => setText(saved), [saved]);
  const send = async (event) => { event.preventDefault(); setSaved(await change({ system: text })); };
  return html`<details class="system"><summary>${said.system}</summary><form onSubmit=${send}><textarea rows="4" aria-label=${said.system} value=${text} disabled=${isBusy} onInput=${(event) => { setText(event.target.value); setSaved(false); }}></textarea>
    <button type="submit" disabled=${isBusy || text === saved}>${texts.session.save}</button> <span class="quiet" role="status">${isSaved && text === saved ? said.saved : ""}</span></form></details>`;
}

// The model, the tools and the system text. Any model name can be typed.
function Settings({ id, now, chosen, choose }) {
  const [failure, setFailure] = useState("");
  const model = now?.model ?? chosen.model ?? known.value?.model ?? "", isBusy = now?.state === "answering";
  const change = async (given) => {
    setFailure("");
    if (!id) { choose({ ...chosen, ...given }); return true; }
    try { await act(id, "settings", given); return true; } catch (error) { setFailure(error.message); return false; }
  };
  return html`<div class="settings"><label>${said.model} <input name="model" list="models" value=${model} disabled=${isBusy} spellcheck="false" autocomplete="off"
      onChange=${(event) => event.target.value.trim() ? event.target.value.trim() !== model && change({ model: event.target.value.trim() }) : (event.target.value = model)} /></label>
    <datalist id="models">${(known.value?.models ?? []).map((each) => html`<option value=${each.name}>${each.where}</option>`)}</datalist>
    <label>${said.tools} <select name="tools" disabled=${isBusy} onChange=${(event) => change({ tools: event.target.value })}>
      ${Object.entries(said.toolNames).map(([name, label]) => html`<option value=${name} selected=${(now?.tools ?? chosen.tools ?? "none") === name}>${label}</option>`)}</select></label>
    <${System} text=${now?.system ?? chosen.system ?? ""} isBusy=${isBusy} change=${change} />
    ${failure && html`<p class="failure" role="status">${clean(failure)}</p>`}</div>`;
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

export function View({ id }) {
  const now = head.value?.id === id ? head.value : null, all = turns.value, answers = findAccounts(all, accounts.value);
  const isBusy = now?.state === "answering";
  const waits = (questions.value ?? []).filter((each) => now?.run && each.run === now.run);
  const { box, inner, hands, isAtEnd } = useEnd(isBusy, all, now?.state, waits.length);
  useEffect(() => { fetchModels(); return forgetChat; }, [id]);
  if (!now) return html`<p class="quiet">${texts.loading}</p>`;
  return html`<section class="talk" aria-label=${said.name}>
    <div class="scroll talked" tabindex="0" role="region" aria-label=${said.log} ref=${box} ...${hands} data-chat=${id} data-state=${now.state} data-number=${now.number}><div ref=${inner}>
      <div class="said" role="log" aria-live="polite" aria-label=${said.log}>${all.map((turn) => {
        const Way = turn.role === "user" ? Mine : Theirs;
        return html`<${Way} key=${turn.turn} id=${id} turn=${turn} now=${now} isLast=${turn === all.at(-1)} account=${answers[turn.turn]} />`;
      })}</div>
      ${isBusy && waits.length === 0 && html`<${Live} />`}
      ${waits.map((each) => html`<${Waiting} key=${`${each.run}\n${each.path}`} item=${each} />`)}
      <${Trouble} id=${id} now=${now} /></div></div>
    <${Composer} key=${id} draft=${id} send=${(given) => { isAtEnd.current = true; return send(id, "send", given); }} stop=${isBusy ? () => stop(id) : null} word=${said.send} />
    ${mayAct.value && html`<${Settings} id=${id} now=${now} />`}</section>`;
}

export function Fresh() {
  const [chosen, choose] = useState({});
  useEffect(() => { fetchModels(); }, []);
  const begin = async (given) => { location.hash = sessionLink((await send("", "", { ...given, ...chosen })).id); };
  return html`<section class="talk fresh" aria-label=${said.name}><div class="talked empty"><h1>${said.hello}</h1></div>
    ${mayAct.value ? html`<${Composer} draft="" send=${begin} word=${said.send} /><${Settings} chosen=${chosen} choose=${choose} />` : html`<p class="quiet">${said.readOnly}</p>`}</section>`;
}
