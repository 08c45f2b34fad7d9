// Markdown, which is fetched when some is first seen; its text is there at once, so that nobody decides about a blank.
import { html, later } from "./html.js";
import { clean } from "./plain.js";

const Plain = ({ text }) => html`<div class="asked">${clean(text)}</div>`;
const written = (name, Meanwhile) => later(() => import("./written.js").then((module) => module[name]), Meanwhile);

export const Markdown = written("Markdown", Plain), Saying = written("Saying");
