// Markdown, which is fetched when some is first seen; its text is there at once, so that nobody decides about a blank.
import { html, later } from "./html.js";
import { clean, visible } from "./plain.js";

const Plain = ({ text, exact }) => html`<div class="asked">${(exact ? visible : clean)(text)}</div>`;
const written = (name, Meanwhile) => later(() => import("./written.js").then((module) => module[name]), Meanwhile);

export const Markdown = written("Markdown", Plain), Saying = written("Saying");
