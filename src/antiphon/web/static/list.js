// Search and filters of the list, and the choice of two sessions to compare.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { listed } from "./sessions.js";
import { ask, moved, sessions, where } from "./state.js";
import { loadStyles } from "./styled.js";
import { texts } from "./texts.js";

const words = texts.past;

await loadStyles("past.css");

// The query is part of the address. Typing replaces it and adds nothing to the history.
export function look(view, wishes) {
  const said = new URLSearchParams(Object.entries(wishes).filter(([, value]) => value)).toString();
  history.replaceState(null, "", `#/${view}${said ? `?${said}` : ""}`);
  moved();
}

// Pages of a list; `next` loads the following one.
export function usePages(address, key, atOnce = true) {
  const [pages, setPages] = useState({ of: null });
  const fetched = useRef("");
  const fetch = (after, before) => {
    fetched.current = address;
    const mark = after ? `${address.includes("?") ? "&" : "?"}after=${encodeURIComponent(after)}` : "";
    ask(`${address}${mark}`).then(
      (data) => fetched.current === address && setPages({ of: address, items: [...before, ...data[key]], next: data.next, cut: (data.cut ?? 0) }),
      (error) => fetched.current === address && setPages({ of: address, items: before, next: null, failure: error.message }));
  };
  useEffect(() => { if (!address || !atOnce) return undefined; const later = setTimeout(() => fetch(null, []), 150); return () => clearTimeout(later); }, [address]);
  const isNew = pages.of !== address;
  return { ...(isNew ? { items: null } : pages), more: (after, before = pages.items ?? []) => fetch(after ?? pages.next, isNew ? [] : before) };
}

export function Search({ view, label, q, others = {}, children }) {
  // Arrow down moves from the search field into the results.
  const typed = (event) => { if (event.key === "ArrowDown") { event.preventDefault(); document.querySelector(".runs a")?.focus(); } };
  return html`<form role="search" class="find" onSubmit=${(event) => event.preventDefault()}>
    <input type="search" placeholder=${label} aria-label=${label} value=${q} onKeyDown=${typed} onInput=${(event) => look(view, { ...others, q: event.target.value })} />${children}</form>`;
}

const Choice = ({ name, any, of, wishes }) => html`<select aria-label=${words[name]} value=${wishes[name]} onChange=${(event) => look("sessions", { ...wishes, [name]: event.target.value })}>
  <option value="">${any}</option>${of.map((each) => html`<option value=${each} selected=${wishes[name] === each}>${texts.sessionStates[each] ?? each}</option>`)}</select>`;

const newest = (a, b) => (b.created ?? Infinity) - (a.created ?? Infinity) || (b.id > a.id ? 1 : -1);
const LISTED = 200;

// The known sessions, and those that match the search.
export function Find() {
  const { asked } = where();
  const wishes = Object.fromEntries(["q", "state", "kind"].map((each) => [each, asked.get(each) ?? ""]));
  const narrowed = Boolean(wishes.q.trim() || wishes.state || wishes.kind);
  const pages = usePages(narrowed ? `api/sessions?${new URLSearchParams(wishes)}` : "", "sessions");
  const older = usePages("api/sessions", "sessions", false);
  const [chosen, setChosen] = useState([]);
  const live = new Map(sessions.value.map((each) => [each.id, each]));
  const all = [...sessions.value, ...(older.items ?? []).filter((each) => !live.has(each.id))].sort(newest);
  const items = narrowed ? pages.items?.map((each) => ({ ...each, ...live.get(each.id) })) ?? null : all;
  const next = narrowed ? pages.next : older.items ? older.next : sessions.value.length >= LISTED ? all.at(-1).id : null;
  const choose = (id) => setChosen(chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen.slice(-1), id]);
  const more = () => narrowed ? pages.more() : older.more(next);
  useEffect(() => { listed.value = { items, chosen, choose, next, more, narrowed, wishes, failure: pages.failure, cut: pages.cut }; },
    [pages.items, pages.failure, older.items, sessions.value, chosen, wishes.q, wishes.state, wishes.kind]);
  return (all.length > 1 || narrowed) && html`<${Search} view="sessions" label=${words.searchSessions} q=${wishes.q} others=${wishes}>
    <${Choice} name="state" any=${words.anyState} of=${Object.keys(texts.sessionStates)} wishes=${wishes} /><${Choice} name="kind" any=${words.anyKind} of=${Object.keys(texts.sessionKinds)} wishes=${wishes} /><//>`;
}

export function Told() {
  const { items, chosen = [], next, narrowed, failure, cut } = listed.value ?? {};
  const [one, two] = chosen.map(encodeURIComponent);
  return html`<div role="status">${narrowed && html`<p class="quiet">${items === null ? texts.loading : items.length ? words.found(items.length, next) : failure ? "" : words.none} ${cut ? words.cut(cut) : ""}</p>`}
    ${failure && html`<p class="failure">${failure}</p>`}
    ${chosen.length > 0 && html`<p class="note">${two ? html`<a href=${`#/compare/${one}/${two}`}>${words.compare}</a>` : words.chooseOne}</p>`}</div>`;
}

export function More() {
  const { next, more, wishes } = listed.value ?? {};
  return next ? html`<p><button type="button" class="more" onClick=${more}>${wishes.q ? words.further : words.more}</button></p>` : null;
}
