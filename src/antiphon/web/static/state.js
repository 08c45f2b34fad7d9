// What the page knows: one stream brings it, and it is set once for each frame that is drawn.
import { signal } from "@preact/signals";
import { parsed } from "./plain.js";

export const place = signal(location.hash);
export const runs = signal(null);
export const inbox = signal(null);
export const run = signal(null);
// The teams; the one that is looked at, and what was said and has happened in it.
export const teams = signal(null);
export const team = signal(null);
export const messages = signal([]);
export const problem = signal("");
export const connection = signal("new");
// The steps of the run that is looked at: the order of their paths, and each as a signal of its own.
export const order = signal([]);
export const steps = new Map();
// What was said here, by run and path, and what came of it.
export const said = signal({});

let source = null, of = "runs", about = null, mark = "", waiting = [], frame = 0, again = 0;

export async function ask(path, options) {
  const response = await fetch(path, options);
  if (response.status === 401) connection.value = "out";
  const data = response.headers.get("content-type")?.startsWith("application/json") ? parsed(await response.text()) : {};
  if (!response.ok) throw new Error(data.error ?? `${response.status}`);
  return data;
}

export const post = (path, data) => ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(data) });

const TAKE = {
  runs: (data) => { runs.value = data; },
  inbox: (data) => { inbox.value = data; },
  run: (data) => { run.value = data; },
  problem: (data) => { problem.value = data; },
  gone: () => { run.value = team.value = { isGone: true }; },
  teams: (data) => { teams.value = data; },
  team: (data) => { team.value = data; },
  messages: (data) => { messages.value = [...messages.value, ...data]; },
  anew: () => { steps.clear(); order.value = []; },
  steps: (data) => {
    const fresh = [];
    for (const step of data) {
      const known = steps.get(step.path);
      if (known) known.value = step;
      else { steps.set(step.path, signal(step)); fresh.push(step.path); }
    }
    if (fresh.length) order.value = [...order.value, ...fresh].sort((a, b) => steps.get(a).value.seq - steps.get(b).value.seq);
  },
};

function flush() {
  frame = 0;
  const taken = waiting;
  waiting = [];
  // All steps of a frame are one change.
  const all = [];
  for (const [name, data] of taken) {
    if (name === "steps") all.push(...data);
    else { if (name === "anew") all.length = 0; TAKE[name](data); }
  }
  if (all.length) TAKE.steps(all);
}

function close() {
  source?.close();
  source = null;
  clearTimeout(again);
}

function open() {
  close();
  if (document.hidden) return;
  const where = about !== null ? `api/${of}/${encodeURIComponent(about)}/events` : of === "teams" ? "api/teams/events" : "api/events";
  source = new EventSource(mark ? `${where}?after=${encodeURIComponent(mark)}` : where);
  source.onopen = () => { connection.value = "open"; };
  source.onerror = () => {
    connection.value = connection.value === "out" ? "out" : "lost";
    // One that the browser has given up is begun again where it was; one who is not let in any more is told.
    if (source?.readyState === EventSource.CLOSED) {
      again = setTimeout(() => ask("api/inbox").catch(() => {}).then(() => connection.value !== "out" && open()), 2000);
    }
  };
  for (const name of Object.keys(TAKE)) {
    source.addEventListener(name, (event) => {
      if (event.lastEventId) mark = event.lastEventId;
      waiting.push([name, JSON.parse(event.data)]);
      frame ||= requestAnimationFrame(flush);
    });
  }
}

// Look at a run or a team, or at all of them.
export function watch(id, kind = "runs") {
  if (source && about === id && of === kind) return;
  about = id; of = kind; mark = ""; waiting = [];
  run.value = team.value = null; messages.value = []; problem.value = "";
  steps.clear(); order.value = [];
  open();
}

document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
addEventListener("hashchange", () => { place.value = location.hash; });

export function where() {
  const [name = "", ...rest] = place.value.replace(/^#\/?/, "").split("/").map((each) => { try { return decodeURIComponent(each); } catch { return each; } });
  return { name: name || "runs", id: rest[0] ?? null, path: rest[1] ?? null };
}
export const runLink = (id) => `#/runs/${encodeURIComponent(id)}`;
export const teamLink = (id) => `#/teams/${encodeURIComponent(id)}`;
export const stepLink = (id, path) => `${runLink(id)}/${encodeURIComponent(path)}`;

// The theme that was chosen in this browser; without one it is the system's.
export const theme = signal("auto");
export function choose(name) {
  theme.value = name;
  try { localStorage.setItem("antiphon-theme", name); } catch { /* Nothing is kept, then. */ }
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}
try { choose(localStorage.getItem("antiphon-theme") ?? "auto"); } catch { choose("auto"); }
