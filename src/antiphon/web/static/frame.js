// HTML of others: its source, or a page of its own in a frame that can do nothing outside of it.
import { useState } from "preact/hooks";
import { html } from "./html.js";
import { clean, words } from "./plain.js";
import { texts } from "./texts.js";

export function Framed({ view, children }) {
  const [shown, setShown] = useState(false);
  const way = (value, label) => html`<button type="button" aria-pressed=${shown === value} onClick=${() => setShown(value)}>${label}</button>`;
  const title = texts.drawn.frame(clean(words(view.title) || words(view.summary)));
  return html`<div class="framed"><p class="file"><span class="ways" role="group" aria-label=${texts.drawn.html}>${way(false, texts.drawn.source)}${way(true, texts.drawn.page)}</span></p>
    ${shown ? html`<iframe sandbox="allow-scripts" referrerpolicy="no-referrer" src=${view.frame} title=${title}></iframe>` : children}</div>`;
}
