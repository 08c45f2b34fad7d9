// Two sessions side by side: equal steps are folded, differing ones open as diffs.
import { useEffect, useState } from "preact/hooks";
import { html, loadLater } from "./html.js";
import { clean } from "./plain.js";
import { Result } from "./renderers.js";
import { Line } from "./line.js";
import { formatMoney, State } from "./sessions.js";
import { ask, sessionLink, sessions, stepLink } from "./state.js";
import { loadStyles } from "./styled.js";
import { texts } from "./texts.js";

const words = texts.past;

await loadStyles("past.css");
const said = (given) => new URLSearchParams(given);

function useFetched(address) {
  const [found, setFound] = useState(null), [failure, setFailure] = useState("");
  useEffect(() => {
    let live = true;
    if (address) ask(address).then((data) => { if (live) { setFound(data); setFailure(""); } }, (error) => live && setFailure(error.message));
    return () => { live = false; };
  }, [address]);
  return [found, failure];
}

function Both({ first, second, path }) {
  const [found, failure] = useFetched(`api/compare/step?${said({ first, second, path })}`);
  if (failure || found?.damage) return html`<p class="failure">${clean(failure || found.damage)}</p>`;
  if (!found) return html`<p class="quiet">${texts.loading}</p>`;
  if (found.isPrivate) return html`<p class="quiet">${texts.private}</p>`;
  return found.views.map(({ name, view }) => html`<p class="group">${words[name]}</p><${Result} view=${view} />`);
}

// A step of only one session is shown as there.
const Alone = loadLater(() => import("./steps.js").then(({ Opened }) => Opened));

const Side = ({ run, step }) => html`<div class=${`side ${step ? "" : "none"}`} data-run=${run}>${step ? html`<${Line} step=${step} /><a class="to" href=${stepLink(run, step.path)} aria-label=${texts.link}>↗</a>`
  : html`<span class="quiet">${words.notThere}</span>`}</div>`;

function Differing({ row, first, second }) {
  const [open, setOpen] = useState(false);
  const one = row.first ? first : second;
  return html`<li class="pair" data-what=${row.what} data-path=${row.path}>
    <p class="quiet facts"><code>${row.path}</code><span class="badge strong">${words.what[row.what]}</span></p>
    <div class="sides"><${Side} run=${first} step=${row.first} /><${Side} run=${second} step=${row.second} /></div>
    <details open=${open} onToggle=${(event) => event.target === event.currentTarget && setOpen(event.target.open)}><summary>${row.first && row.second ? words.open_ : words.openOne}</summary>
      ${open && (row.first && row.second ? html`<${Both} first=${first} second=${second} path=${row.path} />` : html`<${Alone} id=${one} step=${row.first ?? row.second} />`)}</details></li>`;
}

function Same({ row, first }) {
  const [open, setOpen] = useState(false);
  const [found, failure] = useFetched(open ? `api/compare/same?${said({ session: first, from: row.from, to: row.path })}` : "");
  return html`<li class="pair same" data-what="same"><details open=${open} onToggle=${(event) => event.target === event.currentTarget && setOpen(event.target.open)}><summary>${words.same(row.count)}</summary>
    ${failure && html`<p class="failure">${failure}</p>`}
    ${found && html`<ol class="steps">${found.steps.map((step) => html`<li class=${`step ${step.kind}`}><a class="line" href=${stepLink(first, step.path)}><${Line} step=${step} /></a></li>`)}</ol>`}</details></li>`;
}

const Head = ({ run }) => html`<div class="side" data-run=${run.id}><h2><a href=${sessionLink(run.id)}>${clean(run.title) || run.id}</a></h2>
  <p class="quiet facts"><${State} of=${run.state} /><code>${run.id}</code><span>${texts.steps_(run.steps)}</span><span>${formatMoney(run.cost)}</span>${run.forkOf && html`<span>${words.forkOf} ${clean(run.forkOf)} ${words.at} ${clean(run.forkAt)}</span>`}</p>
  ${run.failure && html`<p class="failure">${clean(run.failure)}</p>`}</div>`;

export function View({ id: first, path: second }) {
  const [pages, setPages] = useState([]);
  // Unfinished sessions are compared again when something has changed.
  const now = (sessions.value ?? []).filter((each) => each.id === first || each.id === second).map((each) => `${each.state}${each.steps}`).join(" ");
  const address = first && second ? `api/compare?${said({ first, second })}` : "";
  const [found, failure] = useFetched(address && `${address}&now=${encodeURIComponent(now)}`);
  useEffect(() => setPages([]), [found]);
  if (failure || !address) return html`<h1>${words.compared}</h1><p class="failure">${clean(failure || words.chooseOne)}</p>`;
  if (!found) return html`<p class="quiet">${texts.loading}</p>`;
  const last = pages.at(-1) ?? found, rows = [found, ...pages].flatMap((each) => each.rows);
  const more = () => ask(`${address}&after=${encodeURIComponent(last.next)}`).then((data) => setPages([...pages, data]), () => {});
  return html`<header class="head"><div><h1>${words.compared}</h1><p class="quiet" role="status">${words.counts(found.differing, found.same)}</p></div>
      <a class="button" href=${`#/compare/${encodeURIComponent(second)}/${encodeURIComponent(first)}`}>${words.swap}</a></header>
    <div class="sides heads"><${Head} run=${found.first} /><${Head} run=${found.second} /></div>
    <ol class="pairs" data-nav aria-label=${texts.steps}>${rows.map((row) => row.what === "same" ? html`<${Same} key=${`= ${row.path}`} row=${row} first=${first} />` : html`<${Differing} key=${row.path} row=${row} first=${first} second=${second} />`)}</ol>
    ${last.next && html`<p><button type="button" class="more" onClick=${more}>${words.moreSteps}</button></p>`}`;
}
