// What a chat needs attention for: why there is no answer, and how to go on.
import { useState } from "preact/hooks";
import { act } from "./chat_state.js";
import { html } from "./html.js";
import { clean } from "./plain.js";
import { mayAct } from "./state.js";
import { texts } from "./texts.js";

const said = texts.chat;

export function Trouble({ id, now }) {
  const [failure, setFailure] = useState("");
  const button = (what, label) => mayAct.value && html`<button type="button" onClick=${() => act(id, what).then(() => setFailure(""), (error) => setFailure(error.message))}>${label}</button>`;
  const { kind, text } = now.error, ways = html`${now.isInterrupted && button("continue", said.goOn)} ${!now.isUnanswered && button("retry", said.retry)}`;
  return html`<div class="trouble" role="status">
    ${now.notes.map((each) => html`<p class="note">${clean(each)}</p>`)}
    ${!now.isSaved && html`<p class="quiet">${said.unsaved}</p>`}
    ${kind === "stopped" ? html`<p class="note">${said.errors.stopped} ${ways}</p>`
      : kind ? html`<p class=${kind === "waiting" ? "note" : "failure"}><strong>${said.errors[kind] ?? said.failed}:</strong> ${clean(text)} ${ways}</p>` : now.isInterrupted && button("continue", said.goOn)}
    ${now.state === "interrupted" && html`<p class="note">${said.interrupted} ${button("continue", said.goOn)} ${button("retry", said.retry)}</p>`}
    ${now.state === "elsewhere" && html`<p class="note">${said.elsewhere}</p>`}
    ${failure && html`<p class="failure">${clean(failure)}</p>`}</div>`;
}

// Send an unanswered message again, in its place.
export function Retry({ id }) {
  const [isSent, setSent] = useState(false), [failure, setFailure] = useState("");
  const send = (event) => {
    setSent(true);
    event.target.closest(".talked").focus();
    act(id, "retry").then(() => setFailure(""), (error) => setFailure(error.message)).finally(() => setSent(false));
  };
  return html`<p class="unanswered"><span>${failure ? clean(failure) : said.unanswered}</span><button type="button" aria-label=${said.retryHint} title=${said.retryHint} disabled=${isSent} onClick=${send}>${said.retryMessage}</button></p>`;
}

// Ask for another answer to the last message.
export function Again({ id }) {
  const [isSent, setSent] = useState(false), [failure, setFailure] = useState("");
  const send = () => { setSent(true); act(id, "retry").then(() => setFailure(""), (error) => setFailure(error.message)).finally(() => setSent(false)); };
  return html`<button type="button" class="small" title=${said.againHint} aria-label=${said.againHint} disabled=${isSent} onClick=${send}>${said.again}</button>${failure && html`<span class="bad" role="status">${clean(failure)}</span>`}`;
}
