// A session as it was at one of its steps, and the form that forks it there.
import { useEffect, useState } from "preact/hooks";
import { html } from "./html.js";
import { clean, visible } from "./plain.js";
import { formatMoney } from "./sessions.js";
import { ask, at, mayAct, order, post, sessionAddress, sessionLink, stepLink, steps } from "./state.js";
import { loadStyles } from "./styled.js";
import { texts } from "./texts.js";

const words = texts.past;

await loadStyles("past.css");
const lasting = (seconds) => seconds < 60 ? `${seconds.toFixed(1)} s` : seconds < 3600 ? `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s` : `${Math.floor(seconds / 3600)} h ${Math.round(seconds % 3600 / 60)} min`;

let later = 0;
// Dragging is shown at once; the address follows when the slider rests.
function move(id, seq) {
  at.value = seq;
  clearTimeout(later);
  later = setTimeout(() => history.replaceState(null, "", seq === null ? `${sessionLink(id)}?tab=steps` : `${sessionLink(id)}?at=${seq}`), 200);
}

// Cost, duration and prints of a session up to a step.
function summarizeUntil(paths, moment) {
  const known = paths.map((path) => steps.get(path).value), over = known.filter((each) => each.ended != null && (moment === null || each.ended <= moment));
  const end = moment ?? Math.max(...over.map((each) => each.ended), known[0].began);
  return { time: lasting(Math.max(0, end - known[0].began)), cost: formatMoney(over.filter((each) => each.kind === "request").reduce((sum, each) => sum + (each.cost ?? 0), 0)),
    printed: known.filter((each) => each.kind === "print" && !each.isPrivate).map((each) => each.head) };
}

export function Slider({ id, then }) {
  const [forks, setForks] = useState(false);
  const paths = order.value;
  const last = paths.length - 1, index = then === null ? last : Math.max(0, paths.findLastIndex((path) => steps.get(path).value.seq <= then.seq));
  const path = paths[index], step = steps.get(path).value;
  const { time, cost, printed } = summarizeUntil(paths.slice(0, index + 1), then?.moment ?? null);
  const go = (to) => { setForks(false); move(id, to >= last ? null : steps.get(paths[Math.max(0, to)]).value.seq); };
  const said = words.stepText(index + 1, last + 1, texts.kinds[step.kind] ?? step.kind, step.isPrivate ? "" : clean(step.head).slice(0, 80));
  return html`<section class="past" aria-label=${words.through}>
    <div class="through"><button type="button" aria-label=${words.earlier} disabled=${index === 0} onClick=${() => go(index - 1)}>‹</button>
      <input type="range" min="0" max=${last} step="1" value=${index} aria-label=${words.through} aria-valuetext=${said} onInput=${(event) => go(Number(event.target.value))} />
      <button type="button" aria-label=${words.later} disabled=${index === last} onClick=${() => go(index + 1)}>›</button></div>
    <p class="quiet facts"><strong>${words.step(index + 1, last + 1)}</strong><code>${path}</code><span>${words.soFar(time, cost)}</span>
      ${then && html`<button type="button" class="plain" onClick=${() => go(last)}>${words.toEnd}</button>`}
      ${mayAct.value && html`<button type="button" class="plain" aria-expanded=${forks} onClick=${() => setForks(!forks)}>${words.forkAt}</button>`}</p>
    ${then && printed.length > 0 && html`<details class="soFar"><summary>${words.printed(printed.length)}</summary><pre tabindex="0">${clean(printed.join("\n"))}</pre></details>`}
    ${forks && html`<${Fork} key=${path} id=${id} path=${path} />`}</section>`;
}

const Field = ({ way, choices, value, set }) => {
  const label = words.ways[way === "given" ? choices.given : way];
  const given = { "aria-label": label, value, onInput: (event) => set(event.target.value) };
  if (way === "model") return html`<input type="text" ...${given} placeholder=${choices.model || "anthropic/claude-sonnet-5"} required />`;
  if (way === "given" && choices.given === "approval") return html`<select ...${given} onChange=${given.onInput}><option value="yes">${words.yes}</option><option value="no">${words.no}</option></select>`;
  return html`<textarea ...${given} class=${way === "source" ? "source" : ""} spellcheck=${way !== "source"} rows=${way === "source" ? Math.min(20, value.split("\n").length + 2) : 3}></textarea>`;
};

const Wrong = ({ of }) => html`<div class="failure"><strong>${words.wrong}</strong><ul class="diagnostics">${of.map((each) => html`<li><span class="quiet">${each.line != null && words.line(each.line, each.column)}</span> ${visible(each.message)}${each.hint && html` <span class="quiet">${visible(each.hint)}</span>`}</li>`)}</ul></div>`;

// The value of a fork is in the field of the chosen way.
export function Fork({ id, path }) {
  const address = sessionAddress(id, "fork");
  const [choices, setChoices] = useState(null), [way, setWay] = useState(""), [values, setValues] = useState({});
  const [came, setCame] = useState({});
  useEffect(() => {
    ask(`${address}?path=${encodeURIComponent(path)}`).then((found) => {
      setChoices(found);
      setValues({ given: found.given === "approval" ? "yes" : "", model: "", source: found.source?.text, prompt: found.prompt });
      setWay(found.given ? "given" : "model");
    }, (error) => setCame({ failure: error.message }));
  }, [id, path]);
  if (came.failure && !choices) return html`<p class="failure">${clean(came.failure)}</p>`;
  if (!choices) return html`<p class="quiet">${texts.loading}</p>`;
  if (choices.why) return html`<p class="note">${words.cannot} ${visible(choices.why)}</p>`;
  const ways = [choices.given && "given", "model", choices.source && "source", choices.prompt != null && "prompt"].filter(Boolean);
  const name = (each) => each === "given" ? choices.given : each;
  const send = (event) => {
    event.preventDefault();
    setCame({ isSent: true });
    post(address, { path, hash: choices.hash, [way]: values[way] }).then((data) => data.id ? location.assign(`${sessionLink(data.id)}?tab=steps`) : setCame(data), (error) => setCame({ failure: error.message }));
  };
  return html`<form class="fork" onSubmit=${send}><fieldset><legend>${words.different}</legend>
      <div class="choices">${ways.map((each) => html`<label><input type="radio" name=${`way ${path}`} checked=${way === each} onChange=${() => { setWay(each); setCame({}); }} /> ${words.ways[name(each)]}</label>`)}</div>
      ${choices.whyGiven && html`<p class="quiet">${visible(choices.whyGiven)}</p>`}
      <p class="quiet">${words.about[name(way)]}</p>
      ${way === "source" && html`<p><code class="path">${clean(choices.source.name)}</code></p>`}
      <${Field} way=${way} choices=${choices} value=${values[way]} set=${(value) => setValues({ ...values, [way]: value })} /></fieldset>
    <div role="status">${came.failure && html`<p class="failure">${clean(came.failure)}</p>`}${came.diagnostics && html`<${Wrong} of=${came.diagnostics} />`}</div>
    <button type="submit" class="primary" disabled=${came.isSent}>${words.begin}</button></form>`;
}
