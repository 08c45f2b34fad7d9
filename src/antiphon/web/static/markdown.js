// Markdown, which is fetched when some is first seen.
import { later } from "./html.js";

const written = (name) => later(() => import("./written.js").then((module) => module[name]));

export const Markdown = written("Markdown"), Saying = written("Saying");
