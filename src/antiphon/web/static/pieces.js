// Rare parts of messages: an opened call, an image.
import { useEffect, useState } from "preact/hooks";
import { html } from "./html.js";
import { clean, Link } from "./plain.js";
import { opened, useRows } from "./renderers.js";
import { ask, sessionAddress } from "./state.js";
import { texts } from "./texts.js";

const said = texts.chat;

export function Picture({ id, turn, piece, number }) {
  if (!piece.isShown) return html`<p class="quiet">${said.notShown} ${piece.url && html`<${Link} to=${piece.url}>${clean(piece.url)}<//>`}</p>`;
  return html`<img class="sent" src=${`${sessionAddress(id, "transcript/image")}?turn=${turn}&part=${piece.part}`} alt=${said.picture(number)} />`;
}

export function Opened({ id, turn, call }) {
  const [found, setFound] = useState(null), [failure, setFailure] = useState(""), [rows, more] = useRows(200);
  useEffect(() => {
    let isSeen = true;
    ask(`${sessionAddress(id, "transcript/call")}?turn=${turn}&call=${encodeURIComponent(call.id)}&rows=${rows}`)
      .then((data) => isSeen && setFound(data), (error) => isSeen && setFailure(error.message));
    return () => { isSeen = false; };
  }, [id, turn, call.id, call.state, rows]);
  if (failure) return html`<p class="failure">${clean(failure)}</p>`;
  if (!found) return html`<p class="quiet">${texts.loading}</p>`;
  return html`<div class="opened">${opened(found.call, found.views, more)}</div>`;
}
