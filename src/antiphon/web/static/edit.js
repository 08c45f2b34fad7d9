// Edit a message and send it in a new conversation.
import { act, address, chatLink } from "./chat_state.js";
import { Composer } from "./composer.js";
import { html } from "./html.js";
import { texts } from "./texts.js";

const said = texts.chat;

const wordsOf = (turn) => turn.pieces.filter((each) => each.type === "text").map((each) => each.text).join("\n\n");

export function Edit({ id, turn, close }) {
  const send = async (given) => {
    const now = await act(`${address(id, "fork")}?turn=${turn.turn}`, given);
    close();
    location.hash = chatLink(now.id);
  };
  return html`<${Composer} key="edit" text=${wordsOf(turn)} send=${send} cancel=${close} word=${said.fork} />`;
}
