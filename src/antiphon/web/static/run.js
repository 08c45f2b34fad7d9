// A run: its steps as they happen, nested and with their results.
import { computed } from "@preact/signals";
import { Component } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { html, loadLater } from "./html.js";
import { Waiting } from "./inbox.js";
import { Line, stateOf } from "./line.js";
import { Saying } from "./markdown.js";
import { clean, visible } from "./plain.js";
import { Drawn, opened, opensItself, Result, ResultRenderers, useRows, useSeen } from "./renderers.js";
import { Ago, formatCost, State } from "./runs.js";
import { ask, at, inbox, innerOf, main, mayAct, order, post, problem, run, runLink, sayingAt, stepLink, steps, teamLink, where } from "./state.js";
import { texts } from "./texts.js";
import { loadStyles } from "./styled.js";

await loadStyles("live.css");

const words = texts.past;

// The run as it was before the step after the selected one began.
const then = computed(() => {
  if (at.value === null) return null;
  const next = order.value.find((path) => steps.get(path).peek().seq > at.value);
  return next === undefined ? null : { seq: at.value, moment: steps.get(next).peek().began };
});

// Return a step as it was then: an unfinished one had no outcome.
function rewindStep(store, step) {
  const moment = store === main ? then.value?.moment : undefined;
  if (step === undefined || moment === undefined || (step.ended != null && step.ended <= moment)) return step;
  const { seq, path, kind, head, given, about, isPrivate, attempt, began } = step;
  return { seq, path, kind, head, given, about, isPrivate, attempt, began, state: kind === "person" ? "waiting" : "begun", isThen: true };
}

// Return the steps inside another that had begun by then.
function listInnerSteps(store, path) {
  const all = innerOf(store, path).value;
  return store === main && then.value ? all.filter((each) => store.steps.get(each).peek().seq <= then.value.seq) : all;
}

const past = (name) => loadLater(() => import("./past.js").then((module) => module[name]));
const Fork = past("Fork"), Slider = past("Slider");

function ForkHere({ id, path }) {
  const [open, setOpen] = useState(false);
  return html`<details class="forking" onToggle=${(event) => event.target === event.currentTarget && setOpen(event.target.open)}><summary>${words.fork}</summary>
    ${open && html`<${Fork} id=${id} path=${path} />`}</details>`;
}

// Rare parts are loaded on demand.
const looking = (name) => loadLater(() => import("./looking.js").then((module) => module[name]));
const Changes = looking("Changes"), Parts = looking("Parts"), Shown = looking("Shown");

// The duration; it grows while the run is active.
export function Elapsed({ run }) {
  const [, setNow] = useState(0);
  useEffect(() => {
    if (!run.isRun) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [run.isRun]);
  const seconds = Math.max(0, (run.isRun ? Date.now() / 1000 : run.updated) - run.created);
  return html`<span class="elapsed" title=${texts.live.elapsed}>${texts.live.lasted(seconds)}</span>`;
}

const stepAddress = (id, path) => `api/runs/${encodeURIComponent(id)}/step?path=${encodeURIComponent(path)}`;

function Raw({ id, path }) {
  const [found, setFound] = useState(null);
  const toggled = (event) => event.target === event.currentTarget && event.target.open
    && ask(`${stepAddress(id, path)}&raw=1&rows=2000`).then((data) => setFound(data.raw), () => {});
  return html`<details class="raw" onToggle=${toggled}><summary>${texts.raw}</summary>
    ${found?.map((each) => html`<p class="group">${texts.rawNames[each.name]}</p><${Result} view=${each.view} />`)}</details>`;
}

export function Opened({ id, step }) {
  const [found, setFound] = useState(null), [failure, setFailure] = useState(""), [rows, more] = useRows(200);
  useEffect(() => {
    let live = true;
    Promise.all([ask(`${stepAddress(id, step.path)}&rows=${rows}&own=${ResultRenderers.kinds()}`), Drawn.load()])
      .then(([data]) => live && setFound(data), (error) => live && setFailure(error.message));
    return () => { live = false; };
  }, [id, step.path, step.state, rows]);
  if (failure) return html`<p class="failure">${failure}</p>`;
  if (!found) return html`<p class="quiet">${texts.loading}</p>`;
  if (found.isPrivate) return html`<p class="quiet">${texts.private}</p>`;
  const views = step.isThen ? [] : [...found.views].sort((a, b) => (b.priority ?? 0) - (a.priority ?? 0));
  return html`<div class="opened">
    ${found.damage && html`<p class="failure">${found.damage}</p>`}
    ${opened(found.call, views, more)}
    <p class="ends"><a href=${stepLink(id, step.path)}>${texts.link}</a></p>
    ${!found.damage && step.kind === "request" && html`<${Shown} id=${id} path=${step.path} />`}
    ${!found.damage && !step.isThen && html`<${Raw} id=${id} path=${step.path} />`}
    ${mayAct.value && html`<${ForkHere} id=${id} path=${step.path} />`}
  </div>`;
}

const opens = (step) => opensItself(step.came) || (stateOf(step) === "failed" && step.came?.collapsed !== true);

// The live output of an unfinished step.
function Spoken({ store, step }) {
  const saying = sayingAt(store, step.path);
  return store.run.value?.isRun && saying.value ? html`<${Saying} of=${saying} />` : null;
}

function Step({ store, path, target }) {
  const step = rewindStep(store, store.steps.get(path)?.value), id = store.id;
  const inner = listInnerSteps(store, path);
  const [chosen, setChosen] = useState(null), [unfolded, setUnfolded] = useState(true);
  const box = useRef(null);
  const open = chosen ?? (path === target || (step !== undefined && opens(step)));
  const [watched, seen] = useSeen(open);
  useEffect(() => { if (path === target) { box.current?.scrollIntoView({ block: "center" }); box.current?.querySelector("summary")?.focus(); } }, [target]);
  if (!step) return null;
  const toggled = (event) => event.target === event.currentTarget && event.target.open !== open && setChosen(event.target.open);
  const folded = (event) => event.target === event.currentTarget && setUnfolded(event.target.open);
  return html`<li class=${`step ${step.kind} ${path === target ? "target" : ""}`} data-run=${id} data-seq=${step.seq} data-path=${path} data-state=${step.state} ref=${box}>
    ${step.kind === "print" ? html`<div class="printed">${clean(step.head)}</div>` : html`<details open=${open} onToggle=${toggled} ref=${watched}>
      <summary><${Line} step=${step} /></summary>${open && seen && html`<${Opened} id=${id} step=${step} />`}</details>`}
    ${step.kind === "request" && step.state === "begun" && html`<${Spoken} store=${store} step=${step} />`}
    ${inner.length > 0 && html`<details class="inner" open=${unfolded} onToggle=${folded}><summary>${texts.inside(inner.length)}</summary>
      ${unfolded && html`<ol class="steps"><${Listed} store=${store} paths=${inner} target=${target} /></ol>`}</details>`}</li>`;
}

// Only new steps are rendered again.
class Slice extends Component {
  shouldComponentUpdate({ paths, target }) {
    return target !== this.props.target || paths.length !== this.props.paths.length || paths.some((each, i) => each !== this.props.paths[i]);
  }
  render({ store, paths, target }) {
    return paths.map((each) => html`<${Step} key=${each} store=${store} path=${each} target=${target} />`);
  }
}

function Listed({ store, paths, target }) {
  const slices = [];
  for (let i = 0; i < paths.length; i += 100) slices.push(html`<${Slice} key=${i} store=${store} paths=${paths.slice(i, i + 100)} target=${target} />`);
  return slices;
}

export const Steps = ({ store, target }) => html`<ol class="steps" data-nav aria-label=${texts.steps}><${Listed} store=${store} paths=${listInnerSteps(store, "")} target=${target} /></ol>`;

function GoOn({ id }) {
  const [done, setDone] = useState("");
  const go = () => post(`api/runs/${encodeURIComponent(id)}/go`, {}).then(({ goesOn }) => setDone(goesOn ? texts.goesOn : ""), (error) => setDone(error.message));
  return html`<p class="note"><button type="button" onClick=${go}>${texts.go}</button> <span role="status">${done || html`<code>antiphon resume ${id}</code>`}</span></p>`;
}

export function Run({ id }) {
  const known = run.value, { path } = where();
  if (problem.value) return html`<p class="failure">${problem.value}</p>`;
  if (!known) return html`<p class="quiet">${texts.loading}</p>`;
  if (known.isGone) return html`<h1>${id}</h1><p class="empty">${texts.gone}</p>`;
  const waits = (inbox.value ?? []).filter((each) => each.run === id);
  const resumable = !known.isRun && ["ready", "preparing", "interrupted"].includes(known.state);
  return html`<header class="head" data-run=${id}><div><h1>${clean(known.title) || id}</h1>
      <p class="quiet facts"><${State} of=${known.state} /><code>${id}</code><span>${known.kind}</span><span>${texts.steps_(known.steps)}</span><${Elapsed} run=${known} /><span class="cost">${formatCost(known.cost, known.unpriced)}</span>${known.partsCost != null || known.partsUnpriced
        ? html`<span class="cost-of-all">${texts.live.withParts(formatCost((known.cost ?? 0) + (known.partsCost ?? 0), known.unpriced + known.partsUnpriced))}</span>` : null}<${Ago} at=${known.created} />
      ${known.parent && html`<span>${texts.partOf} <a href=${(known.kind === "turn" ? teamLink : runLink)(known.parent)}>${known.parent}</a></span>`}
      ${known.forkOf && html`<span class="forkOf">${words.forkOf} <a href=${runLink(known.forkOf)}>${known.forkOf}</a> ${words.at} <a href=${stepLink(known.forkOf, known.forkAt)}><code>${clean(known.forkAt)}</code></a></span><a href=${`#/compare/${encodeURIComponent(known.forkOf)}/${encodeURIComponent(id)}`}>${words.withOriginal}</a>`}</p></div></header>
    ${known.failure && !then.value && html`<p class="failure"><strong>${texts.failed}:</strong> ${clean(known.failure)}</p>`}
    ${known.stuck && html`<p class="failure"><strong>${texts.stuck}:</strong> ${visible(known.stuck)}</p>`}
    ${resumable && mayAct.value && html`<${GoOn} id=${id} />`}
    ${waits.map((each) => html`<${Waiting} key=${`${each.run}\n${each.path}`} item=${each} />`)}
    ${main.changes.value > 0 && html`<${Changes} store=${main} />`}
    ${known.parts > 0 && html`<${Parts} run=${known} />`}
    ${order.value.length > 1 && html`<${Slider} id=${id} then=${then.value} />`}
    <${Steps} store=${main} target=${path} />`;
}
