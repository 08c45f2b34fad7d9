// Edit a message and send it in a copy of the chat.
import { send } from "./chat_state.js";
import { Composer } from "./composer.js";
import { html } from "./html.js";
import { sessionLink } from "./state.js";
import { texts } from "./texts.js";

export function Edit({ id, turn, text, close }) {
  const edit = async (given) => {
    const now = await send(id, "edit", { ...given, turn: turn.turn });
    close();
    location.hash = sessionLink(now.id);
  };
  return html`<${Composer} key="edit" text=${text} send=${edit} cancel=${close} word=${texts.chat.fork} />`;
}
