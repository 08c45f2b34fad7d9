// All runs, newest first, or the results of a search.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { html } from "./html.js";
import { clean } from "./plain.js";
import { runLink, runs, stepLink, teamLink } from "./state.js";
import { texts } from "./texts.js";

const words = texts.past;
export const formatMoney = (cost) => cost ? `$${cost < 0.01 ? cost.toFixed(4) : cost.toFixed(2)}` : "";
// Show costs exactly, and say if a price is unknown.
const exactly = (cost) => `$${cost.toFixed(8).replace(/0{1,6}$/, "")}`;
export function formatCost(known, unknown) {
  if (known == null) return unknown ? texts.live.unpriced : "";
  return unknown ? texts.live.partly(exactly(known), unknown) : exactly(known);
}
export const State = ({ of }) => html`<span class=${`state ${of}`}><span class="dot" aria-hidden="true"></span>${of}</span>`;
export const Ago = ({ at }) => html`<time datetime=${new Date(at * 1000).toISOString()} title=${new Date(at * 1000).toLocaleString()}>${texts.ago(Date.now() / 1000 - at)}</time>`;
// Highlight the found words.
export const Found = ({ pieces }) => html`<span class="found">${pieces.map(([text, found]) => found ? html`<mark>${clean(text)}</mark>` : clean(text))}</span>`;

export function RunLine({ run, chosen, choose }) {
  const name = clean(run.title) || run.id;
  return html`<li class=${`run ${choose ? "choosable" : ""}`} data-run=${run.id}>
    ${choose && html`<input type="checkbox" aria-label=${words.choose(name)} checked=${chosen} onChange=${() => choose(run.id)} />`}
    <a href=${(run.kind === "team" ? teamLink : runLink)(run.id)}>
    <${State} of=${run.state} />
    <span class="title">${name}${run.waiting ? html` <span class="badge strong">${texts.waitsFor(run.waiting)}</span>` : null}${run.forkOf && html` <span class="badge">${words.forkOf} ${clean(run.forkOf)}</span>`}
      ${run.failure && html`<span class="why">${clean(run.failure)}</span>`}</span>
    <span class="quiet facts"><span>${run.kind}</span><span>${texts.steps_(run.steps)}</span><span>${run.unpriced && run.cost == null ? texts.live.unpriced : formatMoney(run.cost)}</span><${Ago} at=${run.created} /></span></a>
    ${run.found && html`<a class="place" href=${stepLink(run.found.run, run.found.path)}><${Found} pieces=${run.found.pieces} /></a>`}</li>`;
}

// The listed and the selected runs, once the search is loaded.
export const listed = signal(null);

export function Runs() {
  const [more, setMore] = useState(null);
  useEffect(() => { import("./list.js").then(setMore); return () => { listed.value = null; }; }, []);
  if (runs.value === null) return html`<p class="quiet">${texts.loading}</p>`;
  const { items, chosen = [], choose } = listed.value ?? { items: runs.value };
  return html`<header class="head"><h1>${texts.runs}</h1>${more && html`<${more.Find} />`}</header>${more && html`<${more.Told} />`}
    ${items?.length ? html`<ol class="runs" data-nav>${items.map((each) => html`<${RunLine} key=${each.id} run=${each} chosen=${chosen.includes(each.id)} choose=${choose} />`)}</ol>` : null}
    ${runs.value.length === 0 && html`<p class="empty">${texts.noRuns}</p>`}${more && html`<${more.More} />`}`;
}
