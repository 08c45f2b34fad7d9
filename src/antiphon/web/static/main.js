// The page: header, navigation and the current view.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { html } from "./html.js";
import { broken, loaded } from "./modules.js";
import { Runs } from "./runs.js";
import { clean } from "./plain.js";
import { choose, connection, identify, inbox, me, theme, watch, where } from "./state.js";
import { texts } from "./texts.js";

// Views that are loaded when they are opened: what their module exports as `View`, by the first word of the address.
// A run is separate, because rendering results is most of the page.
const LATER = {
  run: () => import("./run.js").then(({ Run }) => ({ View: Run })),
  inbox: () => import("./inbox.js").then(({ Inbox }) => ({ View: Inbox })),
  chat: () => import("./chat.js"),
  start: () => import("./start.js"),
  teams: () => import("./teams.js"),
  conversations: () => import("./conversations.js"),
  compare: () => import("./compare.js"),
};

const FETCHED = {};

function Later({ name, ...given }) {
  const [View, setView] = useState(() => FETCHED[name] ?? null);
  useEffect(() => { LATER[name]().then((module) => setView(() => FETCHED[name] = module.View)); }, [name]);
  return View ? html`<${View} ...${given} />` : html`<p class="quiet">${texts.loading}</p>`;
}

function View() {
  const { name, id, path } = where();
  const isWatched = name === "runs" || name === "teams", hasOwn = name === "chat" && id;
  useEffect(() => watch(hasOwn ? false : isWatched ? id : null, name === "teams" ? name : "runs"), [name, id]);
  const shown = name === "runs" && id ? "run" : name;
  if (!LATER[shown]) return html`<${Runs} />`;
  return html`<${Later} key=${shown === "run" ? `run/${id}` : shown} name=${shown} id=${id} path=${path} />`;
}

function Top() {
  const { name } = where(), count = inbox.value?.length ?? 0;
  const tab = (to, label, more) => html`<a href=${`#/${to}`} aria-current=${name === to ? "page" : null}>${label}${more}</a>`;
  return html`<header class="top"><a class="brand" href="#/runs">${texts.name}</a>
    <nav aria-label=${texts.main}>${tab("runs", texts.runs)}${tab("chat", texts.chat.name)}${tab("conversations", texts.past.conversations)}${tab("start", texts.start.tab)}${tab("teams", texts.teams.name)}${tab("inbox", texts.inbox, count > 0 && html`<span class="count" aria-label=${texts.waiting(count)}>${count}</span>`)}</nav>
    ${me.value.name && html`<span class="quiet me">${texts.people.me(me.value.name, me.value.mayAct)}</span>`}
    <label class="theme"><span class="hidden">${texts.theme}</span><select value=${theme.value} onChange=${(event) => choose(event.target.value)}>
      ${Object.entries(texts.themes).map(([key, label]) => html`<option value=${key} selected=${theme.value === key}>${label}</option>`)}</select></label></header>`;
}

function skip(event) {
  event.preventDefault();
  document.getElementById("content").focus();
}

const Page = () => html`<a class="skip" href="#content" onClick=${skip}>${texts.skip}</a><${Top} />
  <div role="status">${connection.value === "lost" ? html`<p class="banner">${texts.lost}</p>` : connection.value === "out" ? html`<p class="banner">${texts.loggedOut}</p>` : null}
    ${broken.value.map((each) => html`<p class="banner">${clean(each)}</p>`)}</div>
  <main id="content" tabindex="-1"><${View} /></main>`;

// Arrow keys move through lists, and open and close folded items.
const ITEMS = "summary, .runs a, .board a";
function handleArrows(event) {
  const here = event.target.closest?.(ITEMS), list = here?.closest("[data-nav]");
  if (!list || event.altKey || event.ctrlKey || event.metaKey) return;
  const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (move) {
    const items = [...list.querySelectorAll(ITEMS)].filter((each) => each.checkVisibility());
    items[items.indexOf(here) + move]?.focus();
  } else if (here.tagName === "SUMMARY" && ["ArrowRight", "ArrowLeft"].includes(event.key)) {
    here.parentElement.open = event.key === "ArrowRight";
  } else return;
  event.preventDefault();
}

const modules = document.querySelector('meta[name="renderers"]').content.split(" ").filter(Boolean);
identify();
await loaded(modules);
document.addEventListener("keydown", handleArrows);
render(html`<${Page} />`, document.getElementById("page"));
