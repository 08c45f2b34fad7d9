// All runs, the newest first.
import { useState } from "preact/hooks";
import { html } from "./html.js";
import { clean } from "./plain.js";
import { runLink, runs, teamLink } from "./state.js";
import { texts } from "./texts.js";

export const money = (cost) => cost ? `$${cost < 0.01 ? cost.toFixed(4) : cost.toFixed(2)}` : "";
// To the last digit; of what nobody knows the price it says that.
const exactly = (cost) => `$${cost.toFixed(8).replace(/0{1,6}$/, "")}`;
export function cost(known, unknown) {
  if (known == null) return unknown ? texts.live.unpriced : "";
  return unknown ? texts.live.partly(exactly(known), unknown) : exactly(known);
}
export const State = ({ of }) => html`<span class=${`state ${of}`}><span class="dot" aria-hidden="true"></span>${of}</span>`;
export const Ago = ({ at }) => html`<time datetime=${new Date(at * 1000).toISOString()} title=${new Date(at * 1000).toLocaleString()}>${texts.ago(Date.now() / 1000 - at)}</time>`;

export function RunLine({ run }) {
  return html`<li class="run" data-run=${run.id}><a href=${(run.kind === "team" ? teamLink : runLink)(run.id)}>
    <${State} of=${run.state} />
    <span class="title">${clean(run.title) || run.id}${run.waiting ? html` <span class="badge strong">${texts.waitsFor(run.waiting)}</span>` : null}
      ${run.failure && html`<span class="why">${clean(run.failure)}</span>`}</span>
    <span class="quiet facts"><span>${run.kind}</span><span>${texts.steps_(run.steps)}</span><span>${run.unpriced && run.cost == null ? texts.live.unpriced : money(run.cost)}</span><${Ago} at=${run.created} /></span>
  </a></li>`;
}

export function Runs() {
  const [filter, setFilter] = useState("");
  if (runs.value === null) return html`<p class="quiet">${texts.loading}</p>`;
  const wanted = filter.toLowerCase();
  const found = runs.value.filter((each) => `${each.title} ${each.id} ${each.state} ${each.kind}`.toLowerCase().includes(wanted));
  return html`<header class="head"><h1>${texts.runs}</h1>
      ${runs.value.length > 5 && html`<input type="search" placeholder=${texts.filterRuns} aria-label=${texts.filterRuns} value=${filter} onInput=${(event) => setFilter(event.target.value)} />`}</header>
    ${runs.value.length ? html`<ol class="runs" data-nav>${found.map((each) => html`<${RunLine} key=${each.id} run=${each} />`)}</ol>` : html`<p class="empty">${texts.noRuns}</p>`}`;
}
