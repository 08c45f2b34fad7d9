// A team: tasks by state, activity, messages, changes and limits.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { Waiting } from "./questions.js";
import { Markdown } from "./markdown.js";
import { clean, visible } from "./plain.js";
import { Result, useRows } from "./renderers.js";
import { Ago, formatMoney } from "./sessions.js";
import { ask, mayAct, messages, post, questions, sessionAddress, sessionLink, team, where } from "./state.js";
import { loadStyles } from "./styled.js";
import { texts } from "./texts.js";

await loadStyles("teams.css");

const words = texts.teams;
const taskLink = (id, task) => `${sessionLink(id)}?task=${encodeURIComponent(task)}`;

// An action on a team, and its outcome.
function useAct(id) {
  const [told, setTold] = useState(null);
  const act = async (what, given, word) => {
    try {
      const came = await post(sessionAddress(id, what), given);
      setTold({ good: typeof word === "function" ? word(came) : word });
      return true;
    } catch (error) { setTold({ bad: error.message }); return false; }
  };
  const said = told && (told.bad ? html`<span class="bad">${clean(told.bad)}</span>` : html`<span class="quiet">${told.good}</span>`);
  return [act, html`<span role="status">${said}</span>`];
}

function Head({ id, known }) {
  const [act, came] = useAct(id);
  const over = known.phase === "done";
  const state = over ? "done" : known.running ? "running" : known.questions.length ? "waiting" : "ready";
  const goes = ({ goesOn }) => goesOn ? texts.goesOn : "";
  return html`<header class="head" data-team=${id} data-state=${state}><div>
    <p class="quiet facts"><span class=${`state ${state}`}><span class="dot" aria-hidden="true"></span>${words.list[state]}</span><span>${words.phases[known.phase]}</span><code class="path">${visible(known.repository)}</code></p></div>
    ${!over && mayAct.value && html`<p class="acts">${came} ${known.running ? html`<button type="button" onClick=${() => act("stop", {}, words.stopping)}>${words.stop}</button>`
      : html`<button type="button" class=${known.questions.length ? "" : "primary"} onClick=${() => act("resume", {}, goes)}>${texts.go}</button>`}</p>`}</header>
    ${!over && !known.running && known.stuck && html`<p class="failure"><strong>${texts.stuck}:</strong> ${visible(known.stuck)}</p>`}`;
}

function Turn({ id, turn }) {
  const step = turn.doing;
  return html`<li data-agent=${turn.agent}><strong>${clean(turn.agent)}</strong> <span>${turn.what}</span>
    ${turn.task && html` <a href=${taskLink(id, turn.task)}>${words.task(turn.task)}</a>`}
    ${turn.paused ? html` <span class="wait">${visible(turn.paused)}${turn.until ? ` (${words.until(new Date(turn.until * 1000).toLocaleTimeString())})` : ""}</span>`
      : step && html` <span class="doing"><span class=${`dot ${step.state}`} aria-hidden="true"></span>${texts.kinds[step.kind] ?? step.kind} <code>${clean(`${step.head} ${step.given ?? ""}`)}</code></span>`}
    <a class="turn" href=${sessionLink(turn.run)}>${words.turn} <code>${turn.run}</code></a></li>`;
}

const Card = ({ id, task, path }) => html`<li data-task=${task.id} data-state=${task.state}><a class="card" href=${taskLink(id, task.id)} aria-current=${path === task.id ? "true" : null}>
  <span class="title">${task.id}. ${clean(task.title)}</span>
  <span class="quiet facts">${task.coder && html`<span>${clean(task.coder)}</span>`}${task.check && html`<span class=${task.check.passed ? "good" : "bad"}>${words.why[task.check.why] ?? task.check.why}</span>`}
    <span>${words.back(task)}</span>${task.state === "planned" && task.after.length > 0 && html`<span>${words.after(task.after)}</span>`}</span></a></li>`;

function Board({ id, known, path }) {
  return html`<section><h2>${words.tasks}</h2>${known.tasks.length === 0 ? html`<p class="quiet">${words.noTasks}</p>` : html`<div class="board" data-nav>
    ${Object.entries(words.states).map(([state, name]) => {
      const found = known.tasks.filter((each) => each.state === state);
      return html`<section class=${`column ${state} ${found.length ? "" : "none"}`} aria-label=${`${name}: ${words.count(found.length)}`}><h3>${name} <span class="quiet">${found.length || ""}</span></h3>
        <ol>${found.map((each) => html`<${Card} key=${each.id} id=${id} task=${each} path=${path} />`)}</ol></section>`;
    })}</div>`}</section>`;
}

// Load data of a team, again when `marks` change.
function useFetched(path, ...marks) {
  const [found, setFound] = useState({});
  useEffect(() => {
    let live = true;
    if (path) ask(path).then((data) => live && setFound({ data }), (error) => live && setFound({ failure: error.message }));
    return () => { live = false; };
  }, [path, ...marks]);
  return found;
}

function Changes({ id, task, mark }) {
  const [rows, more] = useRows(400);
  const { data, failure } = useFetched(`${sessionAddress(id, "diff")}?rows=${rows}${task ? `&task=${encodeURIComponent(task)}` : ""}`, mark);
  return html`<h3>${words.changes}</h3>${failure ? html`<p class="failure">${clean(failure)}</p>` : !data ? html`<p class="quiet">${texts.loading}</p>`
    : data.files.length === 0 ? html`<p class="quiet">${words.unchanged}</p>` : data.files.map((each) => each.unseen
      ? html`<p class="unseen"><code class="path">${visible(each.path)}</code> <span class="quiet">${words.unseen[each.unseen]}</span></p>`
      : html`<${Result} key=${each.path} view=${each.view} label=${words.roles[each.role] ?? ""} more=${more} />`)}
    ${data?.more ? html`<p class="quiet">${texts.left(data.more, texts.items)}</p>` : null}`;
}

const Told = ({ name, of }) => of[name].trim() ? html`<h3>${words[name]}</h3><${Markdown} text=${of[name]} blocks=${of.blocks[name]} />` : null;

function Opened({ id, known, path }) {
  const box = useRef(null), task = known.tasks.find((each) => each.id === path), mark = JSON.stringify(task ?? known.tasks.map((each) => each.commit));
  const { data, failure } = useFetched(task && `${sessionAddress(id, "task")}?task=${encodeURIComponent(path)}`, mark);
  useEffect(() => box.current?.focus(), [path]);
  if (!task && path !== "branch") return null;
  return html`<section class="sheet opened-task" data-task=${path} aria-labelledby="opened"><header class="head"><h2 id="opened" tabindex="-1" ref=${box}>${task ? `${words.task(path)}: ${clean(task.title)}` : words.allChanges}</h2>
      <a href=${sessionLink(id)}>${words.close}</a></header>
    ${failure && html`<p class="failure">${clean(failure)}</p>`}${task?.trouble && html`<p class="note">${visible(task.trouble)}</p>`}
    ${task && data && html`<${Told} name="spec" of=${data} />${data.checks.length > 0 && html`<h3>${words.checks}</h3><ul>${data.checks.map((each) => html`<li>${clean(each)}</li>`)}</ul>`}
      <${Told} name="plan" of=${data} /><${Told} name="summary" of=${data} /><${Told} name="notes" of=${data} />
      ${data.check && html`<h3>${words.check} <span class=${data.check.passed ? "good" : "bad"}>${words.why[data.check.why] ?? data.check.why}</span></h3>
        ${data.check.tests.length > 0 && html`<p class="wait">${words.marked(data.check.tests.map(visible))}</p>`}${data.check.marks.map((each) => html`<p class="wait">${visible(each)}</p>`)}${data.check.leftOut.length > 0 && html`<p class="quiet">${words.leftOut(data.check.leftOut.map(visible))}</p>`}
        ${data.check.output && html`<${Result} view=${data.check.output} />`}`}`}
    <${Changes} id=${id} task=${task && path} mark=${mark} /></section>`;
}

function Message({ id, of }) {
  const about = html`<span class="quiet nr">#${of.id}</span>`;
  if (of.kind === "fact") return html`<li class="fact" data-message=${of.id}>${about} <span>${clean(of.text)}</span></li>`;
  return html`<li class=${`message ${of.author === "@human" ? "mine" : ""}`} data-message=${of.id} data-kind=${of.kind}><p class="quiet facts"><strong>${clean(of.author)}</strong>${of.to && html`<span>→ ${clean(of.to)}</span>`}
      ${of.kind === "question" && html`<span class="badge strong">?</span>`}${of.replyTo && html`<span>${words.answers(of.replyTo)}</span>`}<span>${of.channel}</span>${of.task && html`<a href=${taskLink(id, of.task)}>${words.task(of.task)}</a>`}<${Ago} at=${of.at} />${about}</p>
    ${of.blocks ? html`<${Markdown} text=${of.text} blocks=${of.blocks} />` : html`<p class="asked">${clean(of.text)}</p>`}${of.more ? html`<p class="quiet">… ${texts.characters(of.more)}</p>` : null}</li>`;
}

const SHOWN = 200;

function Channels({ id, known }) {
  const [which, setWhich] = useState(""), [all, setAll] = useState(false), box = useRef(null), low = useRef(true);
  const found = messages.value.filter((each) => which ? each.channel === which : each.channel !== "log");
  const shown = all ? found : found.slice(-SHOWN);
  // Follow new messages, unless the user has scrolled up.
  useEffect(() => { if (low.current && box.current) box.current.scrollTop = box.current.scrollHeight; }, [shown.length, which]);
  const scrolled = ({ target }) => { low.current = target.scrollHeight - target.scrollTop - target.clientHeight < 40; };
  return html`<section class="sheet said"><header class="head"><h2>${words.said}</h2><span class="ways" role="group" aria-label=${words.whichChannel}>${Object.entries(words.channels).map(([name, label]) => html`
      <button type="button" aria-pressed=${which === name} onClick=${() => setWhich(name)}>${label}</button>`)}</span></header>
    <div class="messages" role="log" aria-label=${words.said} tabindex="0" ref=${box} onScroll=${scrolled}><ol>
      ${shown.length < found.length && html`<li><button type="button" onClick=${() => setAll(true)}>${words.earlier(found.length - shown.length)}</button></li>`}
      ${shown.length === 0 && html`<li class="quiet">${words.quiet}</li>`}${shown.map((each) => html`<${Message} key=${each.id} id=${id} of=${each} />`)}</ol></div>
    ${known.phase === "done" ? html`<p class="quiet">${words.over}</p>` : mayAct.value && html`<${Say} id=${id} known=${known} channel=${which === "development" ? which : "product"} />`}</section>`;
}

function Say({ id, known, channel }) {
  const [text, setText] = useState(""), [to, setTo] = useState(""), [act, came] = useAct(id);
  const usual = known.isSolo || known.members.length === 1 ? known.members[0] : channel === "product" ? "@pm" : "@architect";
  const send = async (event) => {
    event.preventDefault();
    if (text.trim() && await act("send", { text, to, channel }, ({ running }) => running ? "" : words.nobodyRuns)) setText("");
  };
  const typed = (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send(event); };
  return html`<form class="decide" onSubmit=${send}><label>${words.to} <select value=${to} onChange=${(event) => setTo(event.target.value)}><option value="">${usual}</option>
      ${known.members.filter((each) => each !== usual).map((each) => html`<option value=${each}>${each}</option>`)}</select></label>
    <textarea rows="2" aria-label=${words.what} placeholder=${words.what} value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${typed}></textarea>
    <button type="submit">${words.say}</button>${came}</form>`;
}

const dollars = (cost) => formatMoney(cost) || "$0";

function Limit({ name, used, most, told }) {
  return html`<p class="limit"><span>${words.limit[name]}</span> ${most && html`<meter min="0" max=${most} high=${most * 0.8} value=${Math.min(used, most)} aria-label=${words.limit[name]}></meter>`}
    <span class=${most && used >= most ? "bad" : "quiet"}>${most ? words.used(told(used), told(most)) : words.noLimit(told(used))}</span></p>`;
}

function Costs({ id, known }) {
  const { costs, used, limits } = known, [act, came] = useAct(id), [cost, setCost] = useState(""), [requests, setRequests] = useState("");
  const unpriced = costs.filter((each) => each.cost === null).map((each) => clean(each.agent));
  const given = { ...cost && { cost: Number(cost) }, ...requests && { requests: Number(requests) } };
  const send = async (event) => { event.preventDefault(); if (await act("limits", given, words.raised)) { setCost(""); setRequests(""); } };
  const field = (name, value, set, step) => html`<label>${words.limit[name]} <input type="number" min=${step} step=${step} placeholder=${limits[name] ?? ""} value=${value} onInput=${(event) => set(event.target.value)} /></label>`;
  return html`<section class="sheet costs"><h2>${words.cost}</h2>
    ${costs.length > 0 && html`<table><thead><tr><th scope="col">${words.agent}</th><th scope="col">${words.turns}</th><th scope="col">${words.requests}</th><th scope="col">${words.cost}</th></tr></thead>
      <tbody>${costs.map((each) => html`<tr data-agent=${each.agent}><th scope="row">${clean(each.agent)}</th><td>${each.turns}</td><td>${each.requests}</td><td>${each.cost === null ? words.unknown : dollars(each.cost)}</td></tr>`)}</tbody></table>`}
    <${Limit} name="cost" used=${used.cost} most=${limits.cost} told=${dollars} /><${Limit} name="requests" used=${used.requests} most=${limits.requests} told=${(number) => number.toLocaleString("en")} />
    ${limits.taskCost && html`<p class="quiet">${words.perTask(dollars(limits.taskCost))}</p>`}${unpriced.length > 0 && html`<p class="wait">${words.unpriced(unpriced)}</p>`}
    ${known.phase !== "done" && mayAct.value && html`<details open=${known.turns.some((each) => each.over === "cap")}><summary>${words.raise}</summary><form class="decide" onSubmit=${send}>${field("cost", cost, setCost, "0.01")}${field("requests", requests, setRequests, "1")}
      <button type="submit" disabled=${!cost && !requests}>${words.raise}</button>${came}</form></details>`}</section>`;
}

function Command({ what, command }) {
  const [copied, setCopied] = useState(false);
  const copy = () => navigator.clipboard?.writeText(command).then(() => setCopied(true), () => {});
  return html`<p class="take"><span>${words.commands[what] ?? what}</span> <code>${visible(command)}</code> <button type="button" aria-label=${`${words.copy}: ${command}`} onClick=${copy}>${copied ? words.copied : words.copy}</button></p>`;
}

const Branch = ({ id, known }) => html`<section class="sheet branch"><h2>${words.branch}</h2><p><code>${visible(known.branch)}</code></p>
  ${known.commands.map(([what, command]) => html`<${Command} key=${what} what=${what} command=${command} />`)}
  ${known.hasChanges && html`<p><a href=${taskLink(id, "branch")}>${words.allChanges}</a></p>`}</section>`;

export function View({ id }) {
  const known = team.value, path = where().asked.get("task");
  if (!known) return html`<p class="quiet">${texts.loading}</p>`;
  const over = known.phase === "done";
  return html`<div class="team"><${Head} id=${id} known=${known} />
    ${(questions.value ?? []).filter((each) => each.team === id).map((each) => html`<${Waiting} key=${each.seq} item=${each} />`)}
    ${!over && html`<section><h2>${words.now}</h2>${known.turns.length ? html`<ol class="now">${known.turns.map((each) => html`<${Turn} key=${each.run} id=${id} turn=${each} />`)}</ol>` : html`<p class="quiet">${words.nobody}</p>`}</section>`}
    ${over && html`<${Branch} id=${id} known=${known} />`}<${Board} id=${id} known=${known} path=${path} />${path && html`<${Opened} key=${path} id=${id} known=${known} path=${path} />`}
    <div class="halves"><${Channels} id=${id} known=${known} /><div>${!over && html`<${Branch} id=${id} known=${known} />`}<${Costs} id=${id} known=${known} /></div></div></div>`;
}
