// Open questions. The first answer wins, and all pages show it.
import { useState } from "preact/hooks";
import { html } from "./html.js";
import { Markdown } from "./markdown.js";
import { clean, visible } from "./plain.js";
import { Argument, Result } from "./renderers.js";
import { Ago } from "./sessions.js";
import { mayAct, post, questions, said, sessionAddress, sessionLink, stepLink } from "./state.js";
import { texts } from "./texts.js";

const key = (item) => `${item.run}\n${item.path}\n${item.hash}`;

async function settle(item, given, word) {
  const note = (about) => { said.value = { ...said.value, [key(item)]: { item, ...about } }; };
  const which = item.team ? { question: item.seq } : { path: item.path, hash: item.hash };
  try {
    note({ word, ...await post(sessionAddress(item.team ?? item.run, "answer"), { ...which, ...given }) });
  } catch (error) { note({ failure: error.message }); }
}

function Approval({ item }) {
  const [reason, setReason] = useState("");
  const given = item.call?.arguments ?? [];
  return html`<h2>${texts.mayRun(visible(item.call?.name ?? ""))}</h2>
    ${!(item.call && item.text.startsWith(`May \`${item.call.name}\` run`)) && html`<p class="asked">${visible(item.text)}</p>`}
    ${item.call?.change && html`<${Result} view=${item.call.change} exact=${true} />`}
    <dl class="arguments whole">${given.length ? given.map((each) => html`<${Argument} ...${each} exact=${true} />`) : html`<div class="quiet">${texts.noArguments}</div>`}</dl>
    ${mayAct.value && html`<form class="decide" onSubmit=${(event) => event.preventDefault()}>
      <button type="button" class="primary" onClick=${() => settle(item, { allowed: true }, texts.allowed)}>${texts.allow}</button>
      ${!item.team && html`<button type="button" onClick=${() => settle(item, { allowed: true, always: true }, texts.allowed)}>${texts.always}</button>`}
      <span class="deny"><input type="text" aria-label=${texts.reason} placeholder=${texts.reason} value=${reason} onInput=${(event) => setReason(event.target.value)} />
      <button type="button" class="danger" onClick=${() => settle(item, { allowed: false, text: reason }, texts.denied)}>${texts.deny}</button></span>
    </form>`}`;
}

function Question({ item }) {
  const [answer, setAnswer] = useState("");
  const send = (event) => { event.preventDefault(); settle(item, { text: answer }, texts.answered); };
  const typed = (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send(event); };
  const label = texts.teams.says[item.about] ?? texts.yourAnswer;
  return html`${item.blocks ? html`<${Markdown} text=${item.text} blocks=${item.blocks} exact />` : html`<p class="asked">${visible(item.text)}</p>`}
    ${mayAct.value && html`<form class="decide" onSubmit=${send}>${item.ways?.map((way) => html`<button type="button" class=${way === "drop" ? "danger" : "primary"} onClick=${() => settle(item, { text: way }, texts.answered)}>${texts.teams.ways[way] ?? way}</button>`)}
    <textarea rows="2" aria-label=${label} placeholder=${label} value=${answer} onInput=${(event) => setAnswer(event.target.value)} onKeyDown=${typed}></textarea>
    <button type="submit" class=${item.ways?.length ? "" : "primary"}>${texts.answer}</button></form>`}`;
}

function Settled({ item, settled }) {
  return html`<div role="status">${item.text && html`<p class="asked quiet">${visible(item.text)}</p>`}
    ${settled.failure ? html`<p class="failure"><strong>${texts.notTaken}:</strong> ${clean(settled.failure)}</p>`
      : html`<p class="good"><strong>${settled.word}</strong></p><p class="note">${settled.goesOn ? texts.goesOn : html`${texts.goOn} <code>${settled.resume}</code>`}</p>`}</div>`;
}

export function Waiting({ item }) {
  const settled = said.value[key(item)];
  const Way = item.about === "approval" ? Approval : Question;
  return html`<section class=${`waiting ${settled ? "settled" : ""}`} data-run=${item.run} data-seq=${item.seq} data-path=${item.path} data-about=${item.about} aria-label=${`${clean(item.title)}, ${item.path}`}>
    <p class="quiet facts">${item.team ? html`<a href=${sessionLink(item.team)}>${clean(item.title) || item.team}</a><span>${texts.teams.asks(clean(item.author), item.seq, item.task)}</span>`
      : html`<a href=${sessionLink(item.run)}>${clean(item.title) || item.run}</a><a href=${stepLink(item.run, item.path)}><code>${item.path}</code></a>`}<${Ago} at=${item.began} /></p>
    ${settled ? html`<${Settled} item=${item} settled=${settled} />` : item.isLater ? html`<p class="quiet">${texts.later}</p>` : item.isPrivate ? html`<p>${item.text || texts.privateQuestion(item.run)}</p>` : html`<${Way} item=${item} />`}</section>`;
}

export function View() {
  if (questions.value === null) return html`<p class="quiet">${texts.loading}</p>`;
  const open = new Set(questions.value.map(key));
  // Answered questions stay, with their answers, until the user leaves the view.
  const done = Object.values(said.value).filter(({ item }) => !open.has(key(item)));
  return html`<header class="head"><h1>${texts.questions}</h1></header>
    ${questions.value.length === 0 && html`<p class="empty">${texts.nothingWaits}<br /><span class="quiet">${texts.nothingWaitsMore}</span></p>`}
    ${questions.value.map((item) => html`<${Waiting} key=${key(item)} item=${item} />`)}
    ${done.map(({ item }) => html`<${Waiting} key=${key(item)} item=${item} />`)}`;
}
