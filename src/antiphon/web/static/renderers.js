// Results: by a component of their kind that somebody has registered, else by the body that the server has chosen for
// them (their kind, their preferred view, their MIME type, their shape, and at last a tree).
//
//   import { ResultRenderers, html } from "antiphon";
//   ResultRenderers.register("acme.report", ({ view, data, Standard }) => html`<b>${data.name}</b>`);
import { Component } from "preact";
import { useState } from "preact/hooks";
import { html } from "./html.js";
import { Piece, visible, words } from "./plain.js";
import { texts } from "./texts.js";
import { BODIES } from "./views.js";

export { html };
const KIND = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$/;
const components = new Map();

export const ResultRenderers = {
  register(kind, component) {
    if (!KIND.test(kind) || typeof component !== "function") throw new TypeError(`no kind and component: ${kind}`);
    components.set(kind, component);
  },
  has: (kind) => components.has(kind),
};

// A component of somebody else may fail: then the result is drawn as it would be without it.
class Own extends Component {
  state = { error: null };
  static getDerivedStateFromError(error) { return { error: String(error) }; }
  render({ view, more, exact }, { error }) {
    const Standard = () => html`<${Body} view=${view} more=${more} exact=${exact} />`;
    if (error) return html`<p class="quiet">${texts.drawing} ${error}</p><${Standard} />`;
    const Drawn = components.get(view.kind);
    return html`<${Drawn} view=${view} data=${view.data} Standard=${Standard} />`;
  }
}

function Body({ view, more, exact }) {
  const Drawn = BODIES[view.body?.type];
  const inside = [...view.inside ?? []].sort((a, b) => (b.view.priority ?? 0) - (a.view.priority ?? 0));
  return html`${view.unfit && html`<p class="quiet">${texts.drawing} ${view.unfit}</p>`}
    ${Drawn && html`<${Drawn} body=${view.body} more=${more} exact=${exact} height=${view.maxHeight} />`}
    ${inside.map((each) => html`<${Result} view=${each.view} label=${each.label} exact=${exact} />`)}
    ${view.moreInside ? html`<p class="quiet">${texts.left(view.moreInside, texts.items)}</p>` : null}`;
}

export const headline = (view) => html`${words(view.title) && html`<strong><${Piece} of=${view.title} /></strong> `}
  <${Piece} of=${words(view.summary) ? view.summary : view.gist ?? ""} />`;

const LIMITED = ["table", "image", "status", "question"];

export function Result({ view, label, more, exact }) {
  const [open, setOpen] = useState(view.collapsed !== true);
  if (view.isHidden) return null;
  const lines = view.maxHeight && !LIMITED.includes(view.body?.type) ? { "--lines": view.maxHeight } : null;
  const Way = components.has(view.kind) ? Own : Body;
  const about = words(view.title) || words(view.summary) || !view.body ? headline(view) : null;
  const toggled = (event) => event.target === event.currentTarget && setOpen(event.target.open);
  return html`<details class=${`result ${view.state === "failed" ? "failed" : ""}`} data-kind=${view.kind} data-view=${view.body?.type ?? "none"}
      data-own=${components.has(view.kind) ? "" : null} open=${open} onToggle=${toggled}>
    <summary><span class="label">${words(label) ? html`<${Piece} of=${label} />` : null}</span><span class="badge">${view.kind}</span> <span class="about">${about}</span></summary>
    ${open && html`<div class=${`body ${lines ? "limited" : ""}`} style=${lines} tabindex=${lines ? 0 : null} role=${lines ? "group" : null} aria-label=${lines ? view.kind : null}><${Way} view=${view} more=${more} exact=${exact} /></div>`}</details>`;
}

// What a call is given, by its name.
export function Argument({ name, view, exact }) {
  const short = view.body?.type === "code" && view.body.lines.length < 2 && !view.body.more;
  return html`<div class=${`argument ${short ? "short" : ""}`}><dt>${visible(name)}</dt><dd>${short
    ? html`<code><${Piece} of=${view.body.lines[0] ?? ""} exact=${true} /></code>` : html`<${Result} view=${view} exact=${exact} />`}</dd></div>`;
}
