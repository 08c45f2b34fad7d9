// The watched transcript: its turns, the live answer, and how an answer is stopped.
import { signal } from "@preact/signals";
import { ask, main, post, sessionAddress, sessionLink, takeAlso } from "./state.js";

export const head = signal(null);
export const turns = signal([]);
export const accounts = signal({});
// The live answer; `pieces` only grows.
export const live = signal(null);
// The models and tools for a new chat.
export const known = signal(null);

let told = 0, sending = 0, stopsWhenSent = false;

takeAlso({
  chat: (data) => {
    told++;
    // The chat got another name and keeps its messages.
    if (data.id !== main.id) { location.replace(sessionLink(data.id)); return; }
    if (data.state !== "answering") live.value = null;
    head.value = data;
  },
  turns: ({ from, turns: fresh }) => { turns.value = [...turns.value.slice(0, from), ...fresh]; live.value = null; },
  accounts: (data) => { accounts.value = data; },
  answer: ({ number, said, thinking, calls, retries }) => {
    const now = live.value?.number === number ? live.value : { pieces: [], thinking: "", calls: [], retries: [] };
    if (said) now.pieces.push(said);
    live.value = { number, pieces: now.pieces, thinking: now.thinking + thinking, calls: [...now.calls, ...calls], retries: [...now.retries, ...retries] };
  },
});

export function forgetChat() {
  head.value = null; turns.value = []; accounts.value = {}; live.value = null;
}

export const fetchModels = () => ask("api/models").then((data) => { known.value = data; }, () => {});

// Act on a chat, and apply the returned state, unless the stream has sent a newer one.
export async function act(id, what, data = {}) {
  const before = told, now = await post(sessionAddress(id, what), data);
  if (now.id === main.id && told === before) head.value = now;
  return now;
}

// Send a message, in a new chat if there is no `id`; a stop that is asked for meanwhile follows it.
export async function send(id, what, data) {
  sending++;
  try {
    const now = id ? await act(id, what, data) : await post("api/sessions", data);
    if (stopsWhenSent) await act(now.id, "stop").catch(() => {});
    return now;
  } finally { sending--; stopsWhenSent = false; }
}

export const stop = (id) => act(id, "stop").catch(() => {});

// Escape stops the answer at any time: the listener does not come with the drawing of the answer, which is too late.
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  if (sending) stopsWhenSent = true;
  else if (head.value && (head.value.state === "answering" || live.value)) stop(head.value.id);
});
