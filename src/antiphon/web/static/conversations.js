// Saved conversations: list, search, and one of them with its calls and results.
import { useEffect, useState } from "preact/hooks";
import { html } from "./html.js";
import { Markdown } from "./markdown.js";
import { clean } from "./plain.js";
import { Argument, Result } from "./renderers.js";
import { Search, usePages } from "./list.js";
import { Ago, Found, formatMoney } from "./runs.js";
import { ask, where } from "./state.js";
import { loadStyles } from "./styled.js";
import { texts } from "./texts.js";

const words = texts.past;

await loadStyles("past.css");
const link = (id) => `#/conversations/${encodeURIComponent(id)}`;
const Facts = ({ of }) => html`<span class="quiet facts"><span>${of.models.map(clean).join(", ")}</span><span>${words.turns(of.turns)}</span><span>${of.tokens ? words.tokens(of.tokens) : ""}</span><span>${formatMoney(of.cost)}</span><${Ago} at=${of.updated} /></span>`;

function Talks() {
  const q = where().asked.get("q") ?? "";
  const pages = usePages(`api/conversations?${new URLSearchParams(q.trim() ? { q } : {})}`, "conversations");
  return html`<header class="head"><h1>${words.conversations}</h1><${Search} view="conversations" label=${words.searchConversations} q=${q} /></header>
    ${pages.failure && html`<p class="failure">${pages.failure}</p>`}
    <div role="status">${pages.items?.length === 0 && html`<p class="empty">${q ? words.none : words.noConversations}</p>`}</div>
    ${pages.items === null ? html`<p class="quiet">${texts.loading}</p>` : pages.items.length > 0 && html`<ol class="runs talks" data-nav>${pages.items.map((each) => html`<li class="run" key=${each.id} data-conversation=${each.id}><a href=${link(each.id)}>
      <span class="title">${clean(each.title) || each.id}</span><${Facts} of=${each} />
      ${each.found && html`<${Found} pieces=${each.found.pieces} />`}</a></li>`)}</ol>`}
    ${pages.next && html`<p><button type="button" class="more" onClick=${() => pages.more()}>${words.more}</button></p>`}`;
}

function Call({ part }) {
  const { call, state, views } = part;
  return html`<details class="call" data-state=${state}><summary><span class=${`dot ${state}`} role="img" aria-label=${texts.states[state]}></span><strong>${clean(call.name)}</strong>
      ${state === "waiting" && html` <span class="quiet">${words.open}</span>`}</summary>
    ${call.change && html`<${Result} view=${call.change} />`}
    ${call.arguments.length ? html`<dl class="arguments">${call.arguments.map((each) => html`<${Argument} ...${each} />`)}</dl>` : null}</details>
    ${views.map((view) => html`<${Result} view=${view} />`)}`;
}

const More = ({ part }) => part.more ? html`<p class="quiet">${texts.characters(part.more)}</p>` : null;
const PARTS = {
  text: ({ part, who }) => html`${part.author && html`<p class="quiet">${clean(part.author)}</p>`}${who === "assistant" ? html`<${Markdown} text=${part.text} blocks=${part.blocks} />` : html`<p class="asked">${clean(part.text)}</p>`}<${More} part=${part} />`,
  thought: ({ part }) => html`<details class="thought"><summary>${words.thought}</summary><p class="asked">${clean(part.text)}</p></details>`,
  image: ({ part }) => html`<${Result} view=${part.view} />`,
  call: Call,
  foreign: ({ part }) => html`<p class="quiet">${clean(`${part.provider} ${part.text}`)}</p>`,
};

const Turn = ({ turn }) => html`<li class=${`turn ${turn.who}`} data-number=${turn.number}><h2>${words.who[turn.who]}</h2>
  ${turn.parts.map((part) => html`<${PARTS[part.type]} part=${part} who=${turn.who} />`)}</li>`;

function Talk({ id }) {
  const [found, setFound] = useState(null), [failure, setFailure] = useState("");
  const fetch = (from, before) => ask(`api/conversations/${encodeURIComponent(id)}?from=${from}`)
    .then((data) => setFound({ ...data, said: [...before, ...data.said] }), (error) => setFailure(error.message));
  useEffect(() => { fetch(0, []); }, [id]);
  if (failure) return html`<h1>${clean(id)}</h1><p class="failure">${clean(failure)}</p>`;
  if (!found) return html`<p class="quiet">${texts.loading}</p>`;
  return html`<header class="head"><div><h1>${clean(found.title) || found.id}</h1><p class="quiet facts"><code>${found.id}</code><${Facts} of=${found} />
      ${found.parent && html`<span>${words.forkOf} <a href=${link(found.parent)}>${found.parent}</a></span>`}</p></div>
      <a class="button" href=${`#/chat/${encodeURIComponent(found.id)}`}>${words.goOn}</a></header>
    ${found.system && html`<details class="thought"><summary>${words.system}</summary><p class="asked">${clean(found.system)}</p></details>`}
    <ol class="spoken">${found.said.map((turn) => html`<${Turn} key=${turn.number} turn=${turn} />`)}</ol>
    ${found.next != null && html`<p><button type="button" class="more" onClick=${() => fetch(found.next, found.said)}>${words.moreTurns}</button></p>`}`;
}

export const View = ({ id }) => id ? html`<${Talk} key=${id} id=${id} />` : html`<${Talks} />`;
