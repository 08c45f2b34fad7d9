// HTML of results: its source, or the page in a sandboxed frame.
import { useState } from "preact/hooks";
import { html } from "./html.js";
import { clean, words } from "./plain.js";
import { texts } from "./texts.js";

const WAYS = ["source", "page", "scripts"];

export function Framed({ view, children }) {
  const [way, setWay] = useState("source");
  const title = texts.drawn.frame(clean(words(view.title) || words(view.summary)));
  const lively = way === "scripts";
  return html`<div class="framed"><p class="file"><span class="ways" role="group" aria-label=${texts.drawn.html}>
      ${WAYS.map((each) => html`<button type="button" aria-pressed=${way === each} onClick=${() => setWay(each)}>${texts.drawn.ways[each]}</button>`)}</span></p>
    ${way === "source" ? children : html`<iframe key=${way} sandbox=${lively ? "allow-scripts" : ""} referrerpolicy="no-referrer"
      src=${lively ? `${view.frame}&scripts` : view.frame} title=${title}></iframe>`}</div>`;
}
