// Teams, newest first; one of them is loaded when it is opened.
import { useEffect, useState } from "preact/hooks";
import { html } from "./html.js";
import { clean } from "./plain.js";
import { Ago } from "./runs.js";
import { problem, teamLink, teams } from "./state.js";
import { loadStyles } from "./styled.js";
import { texts } from "./texts.js";

await loadStyles("teams.css");

const Line = ({ team }) => html`<li class="run" data-team=${team.id} data-state=${team.state}><a href=${teamLink(team.id)}>
  <span class=${`state ${team.state}`}><span class="dot" aria-hidden="true"></span>${texts.teams.list[team.state]}</span>
  <span class="title">${clean(team.title) || team.id}${team.waiting ? html` <span class="badge strong">${texts.waitsFor(team.waiting)}</span>` : null}</span>
  <span class="quiet facts"><code>${team.id}</code><${Ago} at=${team.created} /></span></a></li>`;

function List() {
  if (problem.value) return html`<p class="failure">${problem.value}</p>`;
  if (!teams.value) return html`<p class="quiet">${texts.loading}</p>`;
  return html`<header class="head"><h1>${texts.teams.name}</h1></header>
    ${teams.value.teams.length ? html`<ol class="runs teams" data-nav>${teams.value.teams.map((each) => html`<${Line} key=${each.id} team=${each} />`)}</ol>`
      : html`<p class="empty">${teams.value.note ?? texts.teams.none}</p>`}`;
}

export function View({ id, path }) {
  const [Team, setTeam] = useState(null);
  useEffect(() => { if (id) import("./team.js").then((module) => setTeam(() => module.Team)); }, [!id]);
  if (!id) return html`<${List} />`;
  return Team ? html`<${Team} key=${id} id=${id} path=${path} />` : html`<p class="quiet">${texts.loading}</p>`;
}
