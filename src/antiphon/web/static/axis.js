// The time axis of a session: the span that its bars show, and which steps are listed and open.
import { computed, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { html } from "./html.js";
import { stateOf } from "./line.js";
import { words as plainText } from "./plain.js";
import { at, main, order, steps } from "./state.js";
import { texts } from "./texts.js";

const words = texts.axis;
// The shown part of the time, in seconds since the first step; none for all of it.
export const zoom = signal(null);
const asked = signal({ text: "", kind: "" });
// Whether all steps are open, or closed, by the last press; none before.
export const opensAll = signal(null);

export function resetAxis() { zoom.value = null; asked.value = { text: "", kind: "" }; opensAll.value = null; }

const isAsked = computed(() => Boolean(asked.value.text.trim() || asked.value.kind));
const tellOf = (step) => step.isPrivate ? "" : [step.head, step.given, ...step.calls ?? [], plainText(step.came?.title), plainText(step.came?.summary), plainText(step.came?.gist)].filter(Boolean).join("\n").toLowerCase();
function matches(step, { text, kind }) {
  if (kind === "failed" ? stateOf(step) !== "failed" : kind && step.kind !== kind) return false;
  const told = text && tellOf(step);
  return text.split(/\s+/).every((word) => !word || told.includes(word));
}
// The paths of the steps that were asked for, in their order; none if all are shown.
export const matched = computed(() => {
  if (!isAsked.value) return null;
  const given = { text: asked.value.text.trim().toLowerCase(), kind: asked.value.kind };
  return order.value.filter((path) => matches(steps.get(path).value, given));
});

const formatTime = (seconds) => seconds < 10 ? `${Number(seconds.toFixed(seconds < 1 ? 3 : 1))} s` : texts.live.lasted(seconds);

// The bar of a step. Its place follows from the properties of the list, so that the time goes on without drawing it again.
export function Bar({ step }) {
  const [begin] = main.span.value ?? [step.began];
  return html`<span class="bar" aria-hidden="true"><i class=${`${step.kind} ${stateOf(step)}`}
    style=${{ "--b": (step.began - begin).toFixed(4), "--e": step.ended == null ? "var(--now)" : (step.ended - begin).toFixed(4) }}></i></span>`;
}

export const zoomTo = (step) => {
  const length = Math.max(0.001, (step.ended ?? main.span.value[1]) - step.began);
  zoom.value = { from: Math.max(0, step.began - main.span.value[0] - length / 10), length: length * 1.2 };
};

// Zoom around the selected step, or else around the end.
function zoomBy(factor, all) {
  const { from, length } = zoom.value ?? { from: 0, length: all };
  const path = at.value === null ? undefined : order.value.find((each) => steps.get(each).peek().seq === at.value);
  const centre = path === undefined ? from + length / 2 : steps.get(path).peek().began - main.span.value[0];
  const now = Math.max(0.001, length * factor);
  zoom.value = now >= all ? null : { from: Math.min(Math.max(0, centre - now / 2), all - now), length: now };
}

// The axis around the list of steps: zoom, filter and search, and its two ends.
export function Axis({ isRunning, children }) {
  const [now, setNow] = useState(Date.now() / 1000);
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => setNow(Date.now() / 1000), 1000);
    return () => clearInterval(timer);
  }, [isRunning]);
  const span = main.span.value;
  if (!span) return children;
  const end = Math.max(span[1], isRunning ? now : 0), all = Math.max(0.001, end - span[0]);
  const { from, length } = zoom.value ?? { from: 0, length: all };
  const found = matched.value, kinds = [...new Set(order.value.map((path) => steps.get(path).peek().kind))];
  const set = (name) => (event) => { asked.value = { ...asked.value, [name]: event.target.value }; };
  const button = (label, hint, act, isOff) => html`<button type="button" class="small" aria-label=${hint} title=${hint} disabled=${isOff} onClick=${act}>${label}</button>`;
  return html`<section class="axis" aria-label=${words.name} style=${{ "--z": from.toFixed(4), "--w": length.toFixed(4), "--now": (end - span[0]).toFixed(4) }}>
    <div class="axis-tools">
      <input type="search" aria-label=${words.search} placeholder=${words.search} value=${asked.value.text} onInput=${set("text")} />
      <select aria-label=${words.kind} value=${asked.value.kind} onChange=${set("kind")}><option value="">${words.all}</option>
        ${kinds.map((each) => html`<option value=${each} selected=${asked.value.kind === each}>${texts.kinds[each] ?? each}</option>`)}<option value="failed">${texts.states.failed}</option></select>
      <span role="status" class="quiet">${found && words.found(found.length, order.value.length)}</span>
      <button type="button" class="small" onClick=${() => { opensAll.value = { open: opensAll.value?.open !== true }; }}>${opensAll.value?.open ? words.closeAll : words.openAll}</button>
      <span class="ruler"><span>${formatTime(from)}</span>${button("−", words.out, () => zoomBy(2, all), !zoom.value)}${button("+", words.in, () => zoomBy(0.5, all), length <= 0.001)}${zoom.value && button(words.whole, words.wholeHint, () => { zoom.value = null; })}<span>${formatTime(from + length)}</span></span></div>
    ${children}</section>`;
}

