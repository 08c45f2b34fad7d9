// Markdown, loaded when it is first needed. The plain text is shown at once, so that nobody decides about a blank.
import { html, loadLater } from "./html.js";
import { clean, visible } from "./plain.js";

const Plain = ({ text, exact }) => html`<div class="asked">${(exact ? visible : clean)(text)}</div>`;
const written = (name, Meanwhile) => loadLater(() => import("./written.js").then((module) => module[name]), Meanwhile);

export const Markdown = written("Markdown", Plain), Saying = written("Saying");
