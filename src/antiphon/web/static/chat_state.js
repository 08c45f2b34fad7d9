// The watched chat: one stream brings its events and the inbox, and replaces the stream of the page.
import { signal } from "@preact/signals";
import { parseExactJson } from "./plain.js";
import { ask, connection, inbox, post } from "./state.js";

export const head = signal(null);
export const turns = signal([]);
export const accounts = signal({});
export const problem = signal("");
// The live answer; `pieces` only grows.
export const live = signal(null);
// The list of conversations, and the models and tools for a new one.
export const known = signal(null);

let source = null, id = null, again = 0, waiting = [], frame = 0, told = 0;

const TAKE = {
  chat: (data) => {
    // The chat got another name and keeps its messages.
    if (data.id !== id) { location.replace(chatLink(data.id)); return; }
    if (data.state !== head.value?.state || data.title !== head.value?.title) refresh();
    if (data.state !== "answering") live.value = null;
    head.value = data;
  },
  turns: ({ from, turns: fresh }) => { turns.value = [...turns.value.slice(0, from), ...fresh]; live.value = null; },
  accounts: (data) => { accounts.value = data; },
  inbox: (data) => { inbox.value = data; },
  problem: (data) => { problem.value = data; },
  live: ({ number, said, thinking, calls, retries }) => {
    const now = live.value?.number === number ? live.value : { pieces: [], thinking: "", calls: [], retries: [] };
    if (said) now.pieces.push(said);
    live.value = { number, pieces: now.pieces, thinking: now.thinking + thinking, calls: [...now.calls, ...calls], retries: [...now.retries, ...retries] };
  },
};

function flush() {
  frame = 0;
  const taken = waiting;
  waiting = [];
  for (const [name, data] of taken) TAKE[name](data);
}

function close() {
  source?.close();
  source = null;
  clearTimeout(again);
}

function open() {
  close();
  if (document.hidden || id === null) return;
  source = new EventSource(address(id, "events"));
  source.onopen = () => { connection.value = "open"; };
  source.onerror = () => {
    connection.value = connection.value === "out" ? "out" : "lost";
    if (source?.readyState !== EventSource.CLOSED) return;
    again = setTimeout(() => ask(address(id)).then(() => { problem.value = ""; open(); }, (error) => {
      if (connection.value === "out") return;
      // A missing chat will not appear, but a server may return.
      if (error instanceof TypeError) open();
      else problem.value = error.message;
    }), head.value ? 2000 : 0);
  };
  for (const name of Object.keys(TAKE)) {
    source.addEventListener(name, (event) => {
      if (name === "chat") told++;
      waiting.push([name, parseExactJson(event.data)]);
      frame ||= requestAnimationFrame(flush);
    });
  }
}

export const address = (of, what) => `api/chats/${encodeURIComponent(of)}${what ? `/${what}` : ""}`;
export const chatLink = (of) => `#/chat/${encodeURIComponent(of)}`;

// Watch a chat, or none.
export function look(at) {
  if (at === id && source) return;
  id = at; waiting = [];
  head.value = null; turns.value = []; accounts.value = {}; live.value = null; problem.value = "";
  open();
}

export const refresh = () => ask("api/chats").then((data) => { known.value = data; }, () => {});

// Apply the returned state, unless the stream has sent a newer one.
export async function act(path, data = {}) {
  const before = told, now = await post(path, data);
  if (now.id === id && told === before) head.value = now;
  return now;
}

document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
