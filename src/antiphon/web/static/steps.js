// The steps of a session as they happen, nested and with their results.
import { computed } from "@preact/signals";
import { Component, createRef } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Axis, Bar, matched, opensAll, resetAxis, zoomTo } from "./axis.js";
import { html, loadLater } from "./html.js";
import { Line, stateOf } from "./line.js";
import { Saying } from "./markdown.js";
import { clean } from "./plain.js";
import { Argument, Drawn, opened, opensItself, Result, ResultRenderers, useRows, useSeen } from "./renderers.js";
import { ask, at, innerOf, main, mayAct, order, sayingAt, sessionAddress, stepLink, steps } from "./state.js";
import { texts } from "./texts.js";
import { loadStyles } from "./styled.js";

await loadStyles("live.css");

const words = texts.past;

// The session as it was before the step after the selected one began.
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
const looking = (name) => loadLater(() => import("./step_details.js").then((module) => module[name]));
const Changes = looking("Changes"), Parts = looking("Parts"), Shown = looking("Shown");

const stepAddress = (id, path) => `${sessionAddress(id, "step")}?path=${encodeURIComponent(path)}`;

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
    <p class="ends">${id === main.id && html`<button type="button" class="plain" onClick=${() => zoomTo(step)}>${texts.axis.toStep}</button> `}<a href=${stepLink(id, step.path)}>${texts.link}</a></p>
    ${!found.damage && step.kind === "request" && html`<${Shown} id=${id} path=${step.path} />`}
    ${!found.damage && !step.isThen && html`<${Raw} id=${id} path=${step.path} />`}
    ${mayAct.value && html`<${ForkHere} id=${id} path=${step.path} />`}
  </div>`;
}

const opens = (step) => opensItself(step.came) || (stateOf(step) === "failed" && step.came?.collapsed !== true);

// The live output of an unfinished step.
function Spoken({ store, step }) {
  const saying = sayingAt(store, step.path);
  return store.session.value?.isRun && saying.value ? html`<${Saying} of=${saying} />` : null;
}

function Step({ store, path, target, isFlat }) {
  const step = rewindStep(store, store.steps.get(path)?.value), id = store.id;
  const inner = isFlat ? [] : listInnerSteps(store, path);
  const [chosen, setChosen] = useState(null), [unfolded, setUnfolded] = useState(true);
  const box = useRef(null), all = store === main ? opensAll.value : null;
  useEffect(() => setChosen(null), [all]);
  const open = chosen ?? all?.open ?? (path === target || (step !== undefined && opens(step)));
  const [watched, seen] = useSeen(open);
  useEffect(() => { if (path === target) { box.current?.scrollIntoView({ block: "center" }); box.current?.querySelector("summary")?.focus(); } }, [target]);
  if (!step) return null;
  const toggled = (event) => event.target === event.currentTarget && event.target.open !== open && setChosen(event.target.open);
  const folded = (event) => event.target === event.currentTarget && setUnfolded(event.target.open);
  return html`<li class=${`step ${step.kind} ${path === target ? "target" : ""}`} data-run=${id} data-seq=${step.seq} data-path=${path} data-state=${step.state} ref=${box}>
    ${step.kind === "print" ? html`<div class="printed">${clean(step.head)}</div>` : html`<details open=${open} onToggle=${toggled} ref=${watched}>
      <summary><${Line} step=${step} />${store === main && html`<${Bar} step=${step} />`}</summary>${open && seen && html`<${Opened} id=${id} step=${step} />`}</details>`}
    ${step.kind === "request" && step.state === "begun" && html`<${Spoken} store=${store} step=${step} />`}
    ${inner.length > 0 && html`<details class="inner" open=${unfolded} onToggle=${folded}><summary>${texts.inside(inner.length)}</summary>
      ${unfolded && html`<${Listed} store=${store} paths=${inner} target=${target} />`}</details>`}</li>`;
}

// A long list is drawn in slices, and only those near the visible part.
const SLICE = 50, LINE = 34, isLong = () => main.order.value.length > 4 * SLICE;
const isInside = (path, target) => target === path || target?.startsWith(`${path}/`) || target?.startsWith(`${path}.`);

// Only new steps are rendered again.
class Slice extends Component {
  state = { isNear: !isLong(), height: this.props.paths.length * LINE };
  box = createRef();
  shouldComponentUpdate({ paths, target, isFlat }, { isNear }) {
    return isNear !== this.state.isNear || target !== this.props.target || isFlat !== this.props.isFlat || paths.length !== this.props.paths.length || paths.some((each, i) => each !== this.props.paths[i]);
  }
  componentDidMount() {
    this.watcher = new IntersectionObserver((found) => {
      const isNear = found.at(-1).isIntersecting || !isLong();
      // A slice that goes leaves its height.
      if (isNear !== this.state.isNear) this.setState({ isNear, height: isNear ? this.state.height : this.box.current.offsetHeight });
    }, { rootMargin: "400px" });
    this.watcher.observe(this.box.current);
  }
  componentWillUnmount() { this.watcher.disconnect(); }
  render({ store, paths, target, isFlat }, { isNear, height }) {
    const isDrawn = isNear || paths.some((each) => isInside(each, target));
    return html`<div ref=${this.box} style=${isDrawn ? null : { height: `${height}px` }}>${isDrawn && html`<ol class="steps">
      ${paths.map((each) => html`<${Step} key=${each} store=${store} path=${each} target=${target} isFlat=${isFlat} />`)}</ol>`}</div>`;
  }
}

function Listed({ store, paths, target, isFlat }) {
  const slices = [];
  for (let i = 0; i < paths.length; i += SLICE) slices.push(html`<${Slice} key=${i} store=${store} paths=${paths.slice(i, i + SLICE)} target=${target} isFlat=${isFlat} />`);
  return slices;
}

export const Steps = ({ store, target }) => html`<div data-nav role="group" aria-label=${texts.steps}><${Listed} store=${store} paths=${listInnerSteps(store, "")} target=${target} /></div>`;

// The steps that were searched for, without their place in each other.
function Matched({ target }) {
  const paths = matched.value;
  return html`<div data-nav role="group" aria-label=${texts.steps}>${paths.length ? html`<${Listed} key="matched" store=${main} paths=${paths} target=${target} isFlat=${true} />` : html`<p class="empty">${texts.axis.none}</p>`}</div>`;
}

// What the session was given and its value; they are fetched again when its state changes.
function useValues(id, known) {
  const [values, setValues] = useState(null), [rows, more] = useRows(200);
  useEffect(() => {
    let isHere = true;
    Promise.all([ask(`${sessionAddress(id, "values")}?rows=${rows}`), Drawn.load()]).then(([data]) => isHere && setValues(data), () => {});
    return () => { isHere = false; };
  }, [id, known.state, rows]);
  return [values, more];
}

export function View({ id, path, known }) {
  const [values, more] = useValues(id, known);
  useEffect(resetAxis, [id]);
  return html`${values?.damage && html`<p class="failure">${values.damage}</p>`}
    ${values?.isPrivate && html`<p class="quiet">${texts.private}</p>`}
    ${values?.input.length > 0 && html`<section class="values" aria-label=${words.asked}><h2>${words.asked}</h2><dl class="arguments">${values.input.map((each) => html`<${Argument} key=${each.name} ...${each} more=${more} />`)}</dl></section>`}
    ${main.changes.value > 0 && html`<${Changes} store=${main} />`}
    ${known.parts > 0 && html`<${Parts} run=${known} />`}
    ${order.value.length > 1 && html`<${Slider} id=${id} then=${then.value} />`}
    ${order.value.length === 0 && !known.parts && html`<p class="empty">${known.steps ? texts.loading : texts.noSteps}</p>`}
    <${Axis} isRunning=${known.isRun}>${matched.value ? html`<${Matched} target=${path} />` : html`<${Steps} store=${main} target=${path} />`}<//>
    ${values?.output && html`<section class="values output" id="output" aria-label=${words.came}><h2>${words.came}</h2><${Result} view=${values.output} more=${more} /></section>`}`;
}
