// A step in one line: request, result, and facts.
import { html } from "./html.js";
import { clean } from "./plain.js";
import { renderHeadline } from "./renderers.js";
import { formatMoney } from "./sessions.js";
import { texts } from "./texts.js";

const lasted = (step) => step.ended == null ? "" : step.ended - step.began < 1 ? `${Math.round((step.ended - step.began) * 1000)} ms`
  : `${(step.ended - step.began).toFixed(1)} s`;

// A tool call with an error result is shown as failed.
export const stateOf = (step) => step.state === "done" && step.came?.state === "failed" ? "failed" : step.state;

export function Line({ step }) {
  const facts = [lasted(step), step.outputTokens != null || step.inputTokens != null ? texts.tokens(step.inputTokens, step.outputTokens) : "",
    step.kind === "request" && step.state === "done" && step.cost == null && !step.isPrivate ? texts.live.unpriced : formatMoney(step.cost), step.attempt > 1 ? texts.attempt(step.attempt) : ""].filter(Boolean);
  return html`<span class=${`dot ${stateOf(step)}`} role="img" aria-label=${texts.states[stateOf(step)] ?? step.state}></span>
    <span class="kind">${texts.kinds[step.kind] ?? step.kind}</span>
    <span class="what">${step.isPrivate ? html`<span class="quiet">${texts.private}</span>` : step.kind === "request" ? html`<span class="quiet">${clean(step.head)}</span>` : html`<strong>${clean(step.head)}</strong>`}
      ${step.given && step.given !== "{}" && html` <code class="given">${clean(step.given)}</code>`}
      ${step.calls?.length ? html` <span class="quiet">${texts.calls(step.calls.map(clean))}</span>` : null}
      ${step.came && html` <span class=${step.kind === "request" ? "" : "came"}>${renderHeadline(step.came)}</span>`}${step.damage && html` <span class="bad">${step.damage}</span>`}</span>
    <span class="quiet facts">${facts.join(" · ")}</span>`;
}
