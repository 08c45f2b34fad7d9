// A run: its steps as they happen, each under what it is part of; opened, with all that came of it.
import { Component } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { html, later } from "./html.js";
import { Waiting } from "./inbox.js";
import { Saying } from "./markdown.js";
import { clean, visible } from "./plain.js";
import { Argument, Drawn, headline, Result, ResultRenderers } from "./renderers.js";
import { Ago, cost, money, State } from "./runs.js";
import { ask, inbox, innerOf, main, mayAct, post, problem, run, runLink, sayingAt, stepLink, teamLink, where } from "./state.js";
import { texts } from "./texts.js";

// What is seldom looked at is fetched then.
const looking = (name) => later(() => import("./looking.js").then((module) => module[name]));
const Changes = looking("Changes"), Parts = looking("Parts"), Shown = looking("Shown");

// How long it takes; while it runs, it goes on.
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

const lasted = (step) => step.ended == null ? "" : step.ended - step.began < 1 ? `${Math.round((step.ended - step.began) * 1000)} ms`
  : `${(step.ended - step.began).toFixed(1)} s`;

const stepAddress = (id, path) => `api/runs/${encodeURIComponent(id)}/step?path=${encodeURIComponent(path)}`;

function Raw({ id, path }) {
  const [found, setFound] = useState(null);
  const toggled = (event) => event.target === event.currentTarget && event.target.open
    && ask(`${stepAddress(id, path)}&raw=1&rows=2000`).then((data) => setFound(data.raw), () => {});
  return html`<details class="raw" onToggle=${toggled}><summary>${texts.raw}</summary>
    ${found?.map((each) => html`<p class="group">${texts.rawNames[each.name]}</p><${Result} view=${each.view} />`)}</details>`;
}

function Opened({ id, step }) {
  const [found, setFound] = useState(null), [failure, setFailure] = useState(""), [rows, setRows] = useState(200);
  useEffect(() => {
    let live = true;
    Promise.all([ask(`${stepAddress(id, step.path)}&rows=${rows}&own=${ResultRenderers.kinds()}`), Drawn.load()])
      .then(([data]) => live && setFound(data), (error) => live && setFailure(error.message));
    return () => { live = false; };
  }, [id, step.path, step.state, rows]);
  if (failure) return html`<p class="failure">${failure}</p>`;
  if (!found) return html`<p class="quiet">${texts.loading}</p>`;
  if (found.isPrivate) return html`<p class="quiet">${texts.private}</p>`;
  const more = (wanted) => wanted > rows && setRows(wanted);
  const views = [...found.views].sort((a, b) => (b.priority ?? 0) - (a.priority ?? 0));
  return html`<div class="opened">
    ${found.damage && html`<p class="failure">${found.damage}</p>`}
    ${found.call?.change && html`<${Result} view=${found.call.change} />`}
    ${found.call?.arguments.length ? html`<dl class="arguments">${found.call.arguments.map((each) => html`<${Argument} ...${each} />`)}</dl>` : null}
    ${views.map((view) => html`<${Result} view=${view} more=${more} />`)}
    <p class="ends"><a href=${stepLink(id, step.path)}>${texts.link}</a></p>
    ${!found.damage && step.kind === "request" && html`<${Shown} id=${id} path=${step.path} />`}
    ${!found.damage && html`<${Raw} id=${id} path=${step.path} />`}
  </div>`;
}

// What is open by itself is fetched when it is seen.
function useSeen(wanted) {
  const box = useRef(null), [seen, setSeen] = useState(false);
  useEffect(() => {
    if (!wanted || seen || !box.current) return undefined;
    const watcher = new IntersectionObserver((found) => found.some((each) => each.isIntersecting) && setSeen(true));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, [wanted, seen]);
  return [box, seen];
}

// A call that came back with a failure has failed for whoever looks.
const stateOf = (step) => step.state === "done" && step.came?.state === "failed" ? "failed" : step.state;
const opens = (step) => step.came?.collapsed === false || (stateOf(step) === "failed" && step.came?.collapsed !== true);

function Line({ step }) {
  const facts = [lasted(step), step.outputTokens != null || step.inputTokens != null ? texts.tokens(step.inputTokens, step.outputTokens) : "",
    step.kind === "request" && step.state === "done" && step.cost == null && !step.isPrivate ? texts.live.unpriced : money(step.cost), step.attempt > 1 ? texts.attempt(step.attempt) : ""].filter(Boolean);
  return html`<span class=${`dot ${stateOf(step)}`} role="img" aria-label=${texts.states[stateOf(step)] ?? step.state}></span>
    <span class="kind">${texts.kinds[step.kind] ?? step.kind}</span>
    <span class="what">${step.isPrivate ? html`<span class="quiet">${texts.private}</span>` : html`<strong>${clean(step.head)}</strong>`}
      ${step.given && step.given !== "{}" && html` <code class="given">${clean(step.given)}</code>`}
      ${step.calls?.length ? html` <span class="quiet">${texts.calls(step.calls.map(clean))}</span>` : null}
      ${step.came && html` <span class="came">${headline(step.came)}</span>`}${step.damage && html` <span class="bad">${step.damage}</span>`}</span>
    <span class="quiet facts">${facts.join(" · ")}</span>`;
}

// What is being said at a step that is not over.
function Spoken({ store, step }) {
  const saying = sayingAt(store, step.path);
  return store.run.value?.isRun && saying.value ? html`<${Saying} of=${saying} />` : null;
}

function Step({ store, path, target }) {
  const step = store.steps.get(path)?.value, id = store.id;
  const inner = innerOf(store, path).value;
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

// What is not new is not gone through again.
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

export const Steps = ({ store, target }) => html`<ol class="steps" data-nav aria-label=${texts.steps}><${Listed} store=${store} paths=${innerOf(store, "").value} target=${target} /></ol>`;

function GoOn({ id }) {
  const [done, setDone] = useState("");
  const go = () => post(`api/runs/${encodeURIComponent(id)}/go`, {}).then(({ goesOn }) => setDone(goesOn ? texts.goesOn : ""), (error) => setDone(error.message));
  return html`<p class="note"><button type="button" onClick=${go}>${texts.go}</button> <span role="status">${done || html`<code>antiphon runs resume ${id}</code>`}</span></p>`;
}

export function Run({ id }) {
  const known = run.value, { path } = where();
  if (problem.value) return html`<p class="failure">${problem.value}</p>`;
  if (!known) return html`<p class="quiet">${texts.loading}</p>`;
  if (known.isGone) return html`<h1>${id}</h1><p class="empty">${texts.gone}</p>`;
  const waits = (inbox.value ?? []).filter((each) => each.run === id);
  const resumable = !known.isRun && ["ready", "interrupted"].includes(known.state);
  return html`<header class="head" data-run=${id}><div><h1>${clean(known.title) || id}</h1>
      <p class="quiet facts"><${State} of=${known.state} /><code>${id}</code><span>${known.kind}</span><span>${texts.steps_(known.steps)}</span><${Elapsed} run=${known} /><span class="cost">${cost(known.cost, known.unpriced)}</span>${known.partsCost != null || known.partsUnpriced
        ? html`<span class="cost-of-all">${texts.live.withParts(cost((known.cost ?? 0) + (known.partsCost ?? 0), known.unpriced + known.partsUnpriced))}</span>` : null}<${Ago} at=${known.created} />
      ${known.parent && html`<span>${texts.partOf} <a href=${(known.kind === "turn" ? teamLink : runLink)(known.parent)}>${known.parent}</a></span>`}</p></div></header>
    ${known.failure && html`<p class="failure"><strong>${texts.failed}:</strong> ${clean(known.failure)}</p>`}
    ${known.stuck && html`<p class="failure"><strong>${texts.stuck}:</strong> ${visible(known.stuck)}</p>`}
    ${resumable && mayAct.value && html`<${GoOn} id=${id} />`}
    ${waits.map((each) => html`<${Waiting} key=${`${each.run}\n${each.path}`} item=${each} />`)}
    ${main.changes.value > 0 && html`<${Changes} store=${main} />`}
    ${known.parts > 0 && html`<${Parts} run=${known} />`}
    <${Steps} store=${main} target=${path} />`;
}
