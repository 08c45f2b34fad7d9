// The page: header, navigation and the current view.
import { effect } from "@preact/signals";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { html } from "./html.js";
import { broken, loaded } from "./modules.js";
import { Sessions } from "./sessions.js";
import { clean } from "./plain.js";
import { choose, connection, identify, me, questions, theme, watch, where } from "./state.js";
import { texts } from "./texts.js";

// Views that are loaded when they are opened. A session is separate, because it is most of the page.
const LATER = {
  session: () => import("./session.js"),
  questions: () => import("./questions.js"),
  new: () => import("./chat.js").then(({ Fresh }) => ({ View: Fresh })),
  programs: () => import("./start.js"),
  compare: () => import("./compare.js"),
};

const FETCHED = {};

function Later({ name, ...given }) {
  const [View, setView] = useState(() => FETCHED[name] ?? null);
  useEffect(() => { LATER[name]().then((module) => setView(() => FETCHED[name] = module.View)); }, [name]);
  return View ? html`<${View} ...${given} />` : html`<p class="quiet">${texts.loading}</p>`;
}

function View() {
  const { name, id, path } = where(), shown = name === "sessions" && id ? "session" : name;
  useEffect(() => { if (shown !== "session") watch(null); }, [shown]);
  if (!LATER[shown]) return html`<${Sessions} />`;
  return html`<${Later} key=${shown === "session" ? `session/${id}` : shown} name=${shown} id=${id} path=${path} />`;
}

function Top() {
  const { name } = where(), count = questions.value?.length ?? 0;
  const tab = (to, label, more) => html`<a href=${`#/${to}`} aria-current=${name === to ? "page" : null}>${label}${more}</a>`;
  return html`<header class="top"><a class="brand" href="#/sessions">${texts.name}</a>
    <nav aria-label=${texts.main}>${tab("sessions", texts.sessions)}${tab("questions", texts.questions, count > 0 && html`<span class="count" aria-label=${texts.waiting(count)}>${count}</span>`)}${tab("programs", texts.start.tab)}${tab("new", texts.chat.fresh)}</nav>
    ${me.value.name && html`<span class="quiet me">${texts.people.me(me.value.name, me.value.mayAct)}</span>`}
    <label class="theme"><span class="hidden">${texts.theme}</span><span aria-hidden="true">◐</span><select value=${theme.value} onChange=${(event) => choose(event.target.value)}>
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

// The title counts what waits, for people who look at another page.
effect(() => { const count = questions.value?.length ?? 0; document.title = count ? `(${count}) ${texts.name}` : texts.name; });

const modules = document.querySelector('meta[name="renderers"]').content.split(" ").filter(Boolean);
identify();
await loaded(modules);
document.addEventListener("keydown", handleArrows);
render(html`<${Page} />`, document.getElementById("page"));
