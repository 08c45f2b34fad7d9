// Elements from templates; nothing in them is ever read as markup.
import { h } from "preact";
import htm from "htm";

export const html = htm.bind(h);
