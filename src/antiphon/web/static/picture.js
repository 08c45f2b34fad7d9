// An image of a message.
import { address } from "./chat_state.js";
import { html } from "./html.js";
import { clean, Link } from "./plain.js";
import { texts } from "./texts.js";

const said = texts.chat;

export function Picture({ id, turn, piece, number }) {
  if (!piece.isShown) return html`<p class="quiet">${said.notShown} ${piece.url && html`<${Link} to=${piece.url}>${clean(piece.url)}<//>`}</p>`;
  return html`<img class="sent" src=${`${address(id, "image")}?turn=${turn}&part=${piece.part}`} alt=${said.picture(number)} />`;
}
