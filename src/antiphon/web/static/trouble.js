// What a chat needs attention for: why there is no answer, and how to go on.
import { useState } from "preact/hooks";
import { act, address } from "./chat_state.js";
import { html } from "./html.js";
import { clean } from "./plain.js";
import { mayAct } from "./state.js";
import { texts } from "./texts.js";

const said = texts.chat;

export function Trouble({ id, now }) {
  const [failure, setFailure] = useState("");
  const button = (what, label) => mayAct.value && html`<button type="button" onClick=${() => act(address(id, what)).then(() => setFailure(""), (error) => setFailure(error.message))}>${label}</button>`;
  const { kind, text } = now.error, ways = html`${now.isInterrupted && button("go", said.goOn)} ${!now.isUnanswered && button("again", said.retry)}`;
  return html`<div class="trouble" role="status">
    ${now.notes.map((each) => html`<p class="note">${clean(each)}</p>`)}
    ${!now.isSaved && html`<p class="quiet">${said.unsaved}</p>`}
    ${kind === "stopped" ? html`<p class="note">${said.errors.stopped} ${ways}</p>`
      : kind ? html`<p class=${kind === "waiting" ? "note" : "failure"}><strong>${said.errors[kind] ?? said.failed}:</strong> ${clean(text)} ${ways}</p>` : now.isInterrupted && button("go", said.goOn)}
    ${now.state === "interrupted" && html`<p class="note">${said.interrupted} ${button("go", said.goOn)} ${button("again", said.retry)}</p>`}
    ${now.state === "elsewhere" && html`<p class="note">${said.elsewhere}</p>`}
    ${failure && html`<p class="failure">${clean(failure)}</p>`}</div>`;
}

// Send an unanswered message again, in its place.
export function Retry({ id }) {
  const [isSent, setSent] = useState(false), [failure, setFailure] = useState("");
  const send = (event) => {
    setSent(true);
    event.target.closest(".talked").focus();
    act(address(id, "again")).then(() => setFailure(""), (error) => setFailure(error.message)).finally(() => setSent(false));
  };
  return html`<p class="unanswered"><span>${failure ? clean(failure) : said.unanswered}</span><button type="button" aria-label=${said.retryHint} title=${said.retryHint} disabled=${isSent} onClick=${send}>${said.retryMessage}</button></p>`;
}
