// All sessions, newest first, or the results of a search.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { html } from "./html.js";
import { clean } from "./plain.js";
import { mayAct, sessionLink, sessions, stepLink } from "./state.js";
import { texts } from "./texts.js";

const words = texts.past;
export const formatMoney = (cost) => cost ? `$${cost < 0.01 ? cost.toFixed(4) : cost.toFixed(2)}` : "";
// Show costs exactly, and say if a price is unknown.
const exactly = (cost) => `$${cost.toFixed(8).replace(/0{1,6}$/, "")}`;
export function formatCost(known, unknown) {
  if (known == null) return unknown ? texts.live.unpriced : "";
  return unknown ? texts.live.partly(exactly(known), unknown) : exactly(known);
}
export const State = ({ of }) => html`<span class=${`state ${of}`}><span class="dot" aria-hidden="true"></span>${texts.sessionStates[of] ?? of}</span>`;
// The time in seconds, which goes on in steps: ages are drawn again.
const now = signal(Date.now() / 1000);
setInterval(() => { now.value = Date.now() / 1000; }, 20_000);
export const Ago = ({ at }) => at != null && html`<time datetime=${new Date(at * 1000).toISOString()} title=${new Date(at * 1000).toLocaleString()}>${texts.ago(Math.max(now.value, Date.now() / 1000) - at)}</time>`;
// The duration; it grows while the session runs.
export function Elapsed({ of }) {
  const [, setNow] = useState(0);
  useEffect(() => {
    if (!of.isRun) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [of.isRun]);
  const seconds = Math.max(0, (of.isRun ? Date.now() / 1000 : of.updated) - of.created);
  return html`<span class="elapsed" title=${texts.live.elapsed}>${texts.live.lasted(seconds)}</span>`;
}
// Highlight the found words.
export const Found = ({ pieces }) => html`<span class="found">${pieces.map(([text, found]) => found ? html`<mark>${clean(text)}</mark>` : clean(text))}</span>`;

export function SessionLine({ session, chosen, choose }) {
  const name = clean(session.title) || session.id;
  return html`<li class=${`run ${choose ? "choosable" : ""}`} data-session=${session.id}>
    ${choose && html`<input type="checkbox" aria-label=${words.choose(name)} checked=${chosen} onChange=${() => choose(session.id)} />`}
    <a href=${sessionLink(session.id)}>
    <${State} of=${session.state} />
    <span class="title">${name}${session.waiting ? html` <span class="badge strong">${texts.waitsFor(session.waiting)}</span>` : null}${session.forkOf && html` <span class="badge">${words.forkOf} ${clean(session.forkOf)}</span>`}
      ${(session.given || session.gave) && html`<span class="values-line">${session.given && html`<span>${clean(session.given)}</span>`}${session.gave && html`<span class="gave">${clean(session.gave)}</span>`}</span>`}
      ${session.failure && html`<span class="why">${clean(session.failure)}</span>`}</span>
    <span class="quiet facts"><span>${texts.sessionKinds[session.kind] ?? session.kind}</span><span>${texts.steps_(session.steps)}</span><span>${session.unpriced && session.cost == null ? texts.live.unpriced : formatMoney(session.cost)}</span><${Ago} at=${session.created} /></span></a>
    ${session.found && html`<a class="place" href=${stepLink(session.found.run, session.found.path)}><${Found} pieces=${session.found.pieces} /></a>`}</li>`;
}

// The listed and the selected sessions, once the search is loaded.
export const listed = signal(null);

export function Sessions() {
  const [more, setMore] = useState(null);
  useEffect(() => { import("./list.js").then(setMore); return () => { listed.value = null; }; }, []);
  if (sessions.value === null) return html`<p class="quiet">${texts.loading}</p>`;
  const { items, chosen = [], choose } = listed.value ?? { items: sessions.value };
  return html`<header class="head"><h1>${texts.sessions}</h1>${more && html`<${more.Find} />`}</header>${more && html`<${more.Told} />`}
    ${items?.length ? html`<ol class="runs" data-nav>${items.map((each) => html`<${SessionLine} key=${each.id} session=${each} chosen=${chosen.includes(each.id)} choose=${choose} />`)}</ol>` : null}
    ${sessions.value.length === 0 && html`<p class="empty">${texts.noSessions}${mayAct.value && html`<br /><a class="button" href="#/new">${texts.chat.fresh}</a>`}</p>`}${more && html`<${more.More} />`}`;
}
