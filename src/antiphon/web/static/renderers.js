// Render a result with the component that is registered for its kind, or else with the body that the server chose
// (by kind, preferred view, MIME type, shape, and at last a tree).
//
//   import { ResultRenderers, html } from "antiphon";
//   ResultRenderers.register("acme.report", ({ view, data, Standard }) => html`<b>${data.name}</b>`);
import { signal } from "@preact/signals";
import { Component } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { html, loadLater } from "./html.js";
import { clean, Piece, visible, words } from "./plain.js";
import { texts } from "./texts.js";

export { html };
export const Drawn = loadLater(() => import("./views.js").then((module) => module.Drawn));
const Framed = loadLater(() => import("./frame.js").then((module) => module.Framed));
const KIND = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$/;
const components = new Map();
// The number of components; results are rendered again when a module loads late.
const count = signal(0);

export const ResultRenderers = {
  register(kind, component) {
    if (!KIND.test(kind) || typeof component !== "function") throw new TypeError(`no kind and component: ${kind}`);
    components.set(kind, component);
    count.value++;
  },
  has: (kind) => components.has(kind),
  kinds: () => [...components.keys()],
};

// If a third-party component fails, the result is rendered without it.
class Own extends Component {
  state = { error: null };
  static getDerivedStateFromError(error) { return { error: String(error) }; }
  // The same component as long as the result is visible, so that its sorting and open parts stay.
  Standard = () => html`<${Body} ...${this.props} />`;
  render({ view, Drawn }, { error }) {
    if (error) return html`<p class="quiet">${texts.drawing} ${clean(error)}</p><${this.Standard} />`;
    return html`<${Drawn} view=${view} data=${view.data} Standard=${this.Standard} />`;
  }
}

function Body({ view, more, exact }) {
  const inside = [...view.inside ?? []].sort((a, b) => (b.view.priority ?? 0) - (a.view.priority ?? 0));
  const body = view.body && html`<${Drawn} body=${view.body} more=${more} exact=${exact} height=${view.maxHeight} title=${words(view.title)} />`;
  return html`${view.unfit && html`<p class="quiet">${texts.drawing} ${clean(view.unfit)}</p>`}
    ${view.frame ? html`<${Framed} view=${view}>${body}<//>` : body}
    ${inside.map((each) => html`<${Result} view=${each.view} label=${each.label} more=${more} exact=${exact} />`)}
    ${view.moreInside ? html`<p class="quiet">${texts.left(view.moreInside, texts.items)}</p>` : null}`;
}

// Do not repeat the beginning of a summary.
export function renderHeadline(view) {
  const title = words(view.title), said = words(view.summary) ? view.summary : view.gist ?? "";
  return html`${title && !words(said).startsWith(title) && html`<strong><${Piece} of=${view.title} /></strong> `}<${Piece} of=${said} />`;
}

// The number of visible rows, and a function that shows more: that many, or twice as many and at least 10,000 more.
export function useRows(first) {
  const [rows, setRows] = useState(first);
  return [rows, (wanted) => setRows((now) => Math.max(now, wanted ?? now + Math.max(now, 10_000)))];
}

// Load open content when it becomes visible.
export function useSeen(wanted) {
  const box = useRef(null), [seen, setSeen] = useState(false);
  useEffect(() => {
    if (!wanted || seen || !box.current) return undefined;
    const watcher = new IntersectionObserver((found) => found.some((each) => each.isIntersecting) && setSeen(true));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, [wanted, seen]);
  return [box, seen];
}

// Results with that hint are open, and so are changes.
export const opensItself = (came) => came?.collapsed === false || (came?.kind === "diff" && came.collapsed !== true);
// The change of a call comes first; before the call, as a preview.
export const opened = (call, views, more) => {
  const made = views.some((each) => each.kind === "diff"), came = views.map((view) => html`<${Result} view=${view} more=${more} />`);
  return html`${!made && call?.change && html`<${Result} view=${call.change} more=${more} />`}${made && came}
    ${call?.arguments.length ? html`<dl class="arguments">${call.arguments.map((each) => html`<${Argument} ...${each} more=${more} />`)}</dl>` : null}${!made && came}`;
};

const LIMITED = ["table", "image", "status", "question"];

export function Result({ view, label, more, exact }) {
  const [open, setOpen] = useState(view.collapsed !== true);
  if (view.isHidden) return null;
  const lines = view.maxHeight && !LIMITED.includes(view.body?.type) ? { "--lines": view.maxHeight } : null;
  const Drawn = count.value > 0 ? components.get(view.kind) : undefined;
  const Way = Drawn ? Own : Body;
  const isEmpty = !view.body && !view.inside?.length && !view.moreInside && !view.unfit && !Drawn;
  const about = words(view.title) || words(view.summary) || !view.body ? renderHeadline(view) : null;
  const toggled = (event) => event.target === event.currentTarget && setOpen(event.target.open);
  return html`<details class=${`result ${view.state === "failed" ? "failed" : ""}`} data-kind=${view.kind} data-view=${view.body?.type ?? "none"}
      data-own=${Drawn ? "" : null} data-empty=${isEmpty ? "" : null} open=${open} onToggle=${toggled}>
    <summary><span class="label">${words(label) ? html`<${Piece} of=${label} />` : null}</span><span class="badge">${view.kind}</span> <span class="about">${about}</span></summary>
    ${open && !isEmpty && html`<div class=${`body ${lines ? "limited" : ""}`} style=${lines} tabindex=${lines ? 0 : null} role=${lines ? "group" : null} aria-label=${lines ? view.kind : null}><${Way} view=${view} Drawn=${Drawn} more=${more} exact=${exact} /></div>`}</details>`;
}

// An argument of a call.
export function Argument({ name, view, more, exact }) {
  const short = view.body?.type === "code" && view.body.lines.length < 2 && !view.body.more;
  return html`<div class=${`argument ${short ? "short" : ""}`}><dt>${visible(name)}</dt><dd>${short
    ? html`<code><${Piece} of=${view.body.lines[0] ?? ""} exact=${true} /></code>` : html`<${Result} view=${view} more=${more} exact=${exact} />`}</dd></div>`;
}
