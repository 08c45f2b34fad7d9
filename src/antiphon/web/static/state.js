// The state of the page: one stream brings it, and it is applied once per frame.
import { batch, computed, signal } from "@preact/signals";
import { parseExactJson } from "./plain.js";

export const place = signal(location.hash);
export const sessions = signal(null);
export const questions = signal(null);
// The watched team, and its messages and log.
export const team = signal(null);
export const messages = signal([]);
export const problem = signal("");
export const connection = signal("new");
// Answers of this page, by session and path, with their outcome.
export const said = signal({});
// The user, who may not act until the server has said so.
export const me = signal({ name: "", mayAct: false });
export const mayAct = computed(() => me.value.mayAct);

// A watched session: its data, the order of its steps, each step as its own signal, the paths of nested steps, their time span,
// tokens (in, out, cached) and models, and live output. An update costs as much as it brings.
const looked = (id) => ({ id, mark: "", session: signal(null), order: signal([]), steps: new Map(), inner: new Map(), sought: new Set(),
  changes: signal(0), tokens: signal(null), span: signal(null), models: signal([]), saying: new Map() });
// The session of the page, and its children that are open.
export const main = looked(null);
export const { session, order, steps } = main;
export const parts = new Map();

const kept = (map, key, first) => map.get(key) ?? (map.set(key, signal(first)), map.get(key));
export const innerOf = (store, path) => kept(store.inner, path, []);
export const sayingAt = (store, path) => kept(store.saying, path, null);

function forget(store) {
  store.steps.clear(); store.sought.clear();
  for (const each of store.inner.values()) each.value = [];
  for (const each of store.saying.values()) each.value = null;
  store.order.value = []; store.changes.value = 0; store.tokens.value = null; store.span.value = null; store.models.value = [];
}

let source = null, view = "", waiting = [], frame = 0, again = 0;

export async function ask(path, options) {
  const response = await fetch(path, options);
  if (response.status === 401) connection.value = "out";
  const data = response.headers.get("content-type")?.startsWith("application/json") ? parseExactJson(await response.text()) : {};
  if (!response.ok) throw Object.assign(new Error(data.error ?? `${response.status}`), { data, status: response.status });
  return data;
}

// Rights may change while a page is open: they are requested again with each stream.
export const identify = () => ask("api/me").then((data) => { me.value = data; }, () => {});

export const sessionAddress = (id, what = "") => `api/sessions/${encodeURIComponent(id)}${what && `/${what}`}`;
export const post = (path, data = {}) => ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(data) });

const around = (path) => path.replace(/[/.][^/.]*$/, "");

// Return the nearest known step around another.
function findParent(store, path) {
  for (let at = path, next; (next = around(at)) !== at; at = next) {
    if (store.steps.has(next)) return next;
    store.sought.add(next);
  }
  return "";
}

function arrange(store, paths) {
  const number = (path) => store.steps.get(path).value.seq, lists = new Map();
  for (const path of paths) {
    const key = findParent(store, path);
    if (lists.has(key)) lists.get(key).push(path);
    else lists.set(key, [path]);
  }
  const joined = (known, fresh) => known.length && number(known.at(-1)) > number(fresh[0])
    ? [...known, ...fresh].sort((a, b) => number(a) - number(b)) : [...known, ...fresh];
  for (const [key, fresh] of lists) innerOf(store, key).value = joined(innerOf(store, key).value, fresh);
}

const isDiff = (step) => step?.came?.kind === "diff";
const COUNTS = ["inputTokens", "outputTokens", "cachedTokens"];

function takeSteps(data, store) {
  const fresh = [], tokens = [0, 0, 0];
  let changes = 0, [begin, end] = store.span.value ?? [Infinity, -Infinity];
  for (const step of data) {
    const known = store.steps.get(step.path), before = known?.value;
    changes += isDiff(step) - isDiff(before);
    COUNTS.forEach((name, i) => { tokens[i] += (step[name] ?? 0) - (before?.[name] ?? 0); });
    begin = Math.min(begin, step.began);
    end = Math.max(end, step.ended ?? step.began);
    if (step.kind === "request" && step.head && !store.models.peek().includes(step.head)) store.models.value = [...store.models.peek(), step.head];
    // Stored steps replace the live output so far.
    if (store.saying.has(step.path) && (step.state !== "begun" || (before && before.attempt !== step.attempt))) store.saying.get(step.path).value = null;
    if (known) known.value = step;
    else { store.steps.set(step.path, signal(step)); fresh.push(step.path); }
  }
  store.changes.value += changes;
  if (begin !== store.span.value?.[0] || end !== store.span.value[1]) store.span.value = [begin, end];
  if (tokens.some(Boolean)) store.tokens.value = tokens.map((count, i) => count + (store.tokens.value?.[i] ?? 0));
  if (!fresh.length) return;
  fresh.sort((a, b) => store.steps.get(a).value.seq - store.steps.get(b).value.seq);
  store.order.value = [...store.order.value, ...fresh];
  if (fresh.some((path) => store.sought.has(path))) {
    // A step may be the parent of steps that arrived before it.
    for (const each of store.inner.values()) each.value = [];
    store.sought.clear();
    arrange(store, store.order.value);
  } else arrange(store, fresh);
}

const TAKE = {
  sessions: (data) => { sessions.value = data; },
  questions: (data) => { questions.value = data; },
  session: (data, store) => { store.session.value = data; },
  problem: (data) => { problem.value = data; },
  gone: (data, store) => { store.session.value = { id: store.id, isGone: true }; },
  team: (data) => { team.value = data; },
  messages: (data) => { messages.value = [...messages.value, ...data]; },
  anew: (data, store) => forget(store),
  steps: takeSteps,
  live: ({ run: id, path, number, said }) => {
    const store = id === main.id ? main : parts.get(id);
    if (!store) return;
    const saying = sayingAt(store, path), pieces = saying.value?.pieces;
    if (number === 0) saying.value = { pieces: [said] };
    // Ignore a piece that is known, or that follows a missing one.
    else if (pieces?.length === number) { pieces.push(said); saying.value = { pieces }; }
  },
};

// Events of one view are taken by its module.
export const takeAlso = (handlers) => Object.assign(TAKE, handlers);

function flush() {
  frame = 0;
  const taken = waiting;
  waiting = [];
  // All steps of a frame are one update.
  const all = new Map();
  batch(() => {
    for (const [name, data, store] of taken) {
      if (name === "steps") all.set(store, [...all.get(store) ?? [], ...data]);
      else { if (name === "anew") all.delete(store); TAKE[name](data, store); }
    }
    for (const [store, data] of all) takeSteps(data, store);
  });
}

function take(name, data, id) {
  if (name !== "part") waiting.push([name, data, main]);
  else if (parts.has(data.run)) {
    const store = parts.get(data.run);
    store.mark = data.mark || store.mark;
    waiting.push([data.name, data.data, store]);
  }
  if (id) main.mark = id;
  frame ||= requestAnimationFrame(flush);
}

function close() {
  source?.close();
  source = null;
  clearTimeout(again);
}

function open() {
  close();
  if (document.hidden) return;
  const asked = new URLSearchParams(main.id === null ? {} : { view });
  if (main.mark) asked.set("after", main.mark);
  for (const each of parts.values()) { asked.append("with", each.id); asked.append("since", each.mark); }
  const address = main.id === null ? "api/events" : sessionAddress(main.id, "events");
  source = new EventSource(`${address}?${asked}`);
  source.onopen = () => {
    connection.value = "open";
    identify();
  };
  source.onerror = () => {
    connection.value = connection.value === "out" ? "out" : "lost";
    // Reconnect where the browser gave up; report a lost login.
    if (source?.readyState === EventSource.CLOSED) {
      again = setTimeout(() => ask(main.id === null ? "api/me" : sessionAddress(main.id, "about")).then(() => { problem.value = ""; open(); }, (error) => {
        if (connection.value === "out") return;
        // A missing session will not appear, but a server may return or recover.
        if (error instanceof TypeError || error.status >= 500) again = setTimeout(open, 1000);
        else problem.value = error.message;
      }), session.value ? 2000 : 200);
    }
  };
  for (const name of [...Object.keys(TAKE), "part"]) {
    source.addEventListener(name, (event) => take(name, parseExactJson(event.data), event.lastEventId));
  }
}

// Watch a view of a session (its steps, its transcript, its work as a team), or with no id the list.
export function watch(id, name = "") {
  if (main.id === id && view === name && source) return;
  const isSame = main.id === id && id !== null;
  main.id = id; view = name; main.mark = ""; waiting = [];
  if (!isSame) session.value = null;
  team.value = null; messages.value = []; problem.value = "";
  parts.clear();
  forget(main);
  open();
}

// Watch a child.
export function unfold(id) {
  if (!parts.has(id)) { parts.set(id, looked(id)); open(); }
  return parts.get(id);
}
export function fold(id) {
  if (parts.delete(id)) open();
}

document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
// The number of the step up to which a session is shown; none for all of it.
export const at = signal(null);
export const moved = () => {
  place.value = location.hash;
  const asked = where().asked.get("at");
  at.value = /^\d{1,9}$/.test(asked ?? "") ? Number(asked) : null;
};
addEventListener("hashchange", moved);

const decode = (text) => { try { return decodeURIComponent(text); } catch { return text; } };

// Return the view of the address, and its session and step (`3azf0001.17`, `3azf0001:4/r1`); `asked` is its query.
export function where() {
  const [address, query] = place.value.replace(/^#\/?/, "").split("?"), asked = new URLSearchParams(query);
  const [name, ...rest] = address.split("/");
  if (name !== "sessions" && name) return { name, id: decode(rest[0] ?? "") || null, path: rest[1] ? decode(rest[1]) : null, asked };
  const [id, ...path] = rest.join("/").split(":");
  return { name: "sessions", id: decode(id) || null, path: path.length ? decode(path.join(":")) : null, asked };
}
moved();
export const sessionLink = (id) => `#/sessions/${encodeURIComponent(id)}`;
export const stepLink = (id, path) => path ? `${sessionLink(id)}:${encodeURIComponent(path).replaceAll("%2F", "/").replaceAll("%3A", ":")}` : sessionLink(id);

// The theme chosen in this browser, or that of the system.
export const theme = signal("auto");
export function choose(name) {
  theme.value = name;
  try { localStorage.setItem("antiphon-theme", name); } catch { /* Nothing is kept, then. */ }
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}
try { choose(localStorage.getItem("antiphon-theme") ?? "auto"); } catch { choose("auto"); }
