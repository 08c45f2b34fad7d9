// Startable programs, each with a form for its declared inputs.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { clean, visible } from "./plain.js";
import { ask, mayAct, post, sessionLink } from "./state.js";
import { loadStyles } from "./styled.js";
import { texts } from "./texts.js";

await loadStyles("start.css");

const words = texts.start;
const link = (file) => `#/programs/${encodeURIComponent(file)}`;
const address = (file) => `api/programs/${file.split("/").map(encodeURIComponent).join("/")}`;

// A request to the server and its failure; it is sent again when the address changes.
function useAsked(path) {
  const [known, setKnown] = useState({});
  useEffect(() => {
    let isHere = true;
    setKnown({});
    ask(path).then((data) => isHere && setKnown({ data }), (error) => isHere && setKnown({ failure: error.message }));
    return () => { isHere = false; };
  }, [path]);
  return known;
}

// The initial text of a field: the default, as a user would type it.
const first = ({ kind, initial }) => kind === "boolean" ? initial === "true" : initial;

// Return the form as texts for the server. Empty fields are left out, except a text that the user emptied.
function readForm(inputs, values) {
  const given = {};
  for (const each of inputs) {
    const value = values[each.name];
    if (each.kind === "boolean") given[each.name] = String(value);
    else if (value !== "" || (each.kind === "text" && first(each) !== "")) given[each.name] = value;
  }
  return given;
}

function Control({ of, id, value, set, about, isWrong }) {
  const shared = { id, name: of.name, "aria-describedby": about, "aria-invalid": isWrong ? "true" : null, autocomplete: "off" };
  const typed = (event) => set(event.target.value, event.target.validity.badInput);
  if (of.kind === "boolean") return html`<input type="checkbox" ...${shared} checked=${value} onChange=${(event) => set(event.target.checked)} />`;
  if (of.kind === "choice") {
    return html`<select ...${shared} value=${value} aria-required=${of.isRequired} onChange=${typed}>
      ${(of.isRequired || of.default === null) && html`<option value="" selected=${value === ""}>${of.isRequired ? words.choose : words.nothing}</option>`}
      ${of.options.map((each) => html`<option value=${each} selected=${value === each}>${visible(each)}</option>`)}</select>`;
  }
  if (of.isPrivate && of.kind === "text") return html`<input type="password" ...${shared} aria-required=${of.isRequired} value=${value} onInput=${typed} />`;
  if (of.kind === "number") return html`<input type="number" step="any" ...${shared} aria-required=${of.isRequired} value=${value} onInput=${typed} />`;
  const isJson = of.kind === "json";
  const rows = Math.min(12, Math.max(isJson ? 3 : 1, String(value).split("\n").length));
  return html`<textarea ...${shared} class=${isJson ? "json" : ""} aria-required=${of.isRequired} rows=${rows} spellcheck=${!isJson} value=${value} onInput=${typed}></textarea>`;
}

function Field({ of, value, set, error }) {
  const id = `input-${of.name}`, told = `${id}-about`, wrong = `${id}-error`;
  const about = [told, error && wrong].filter(Boolean).join(" ");
  return html`<div class=${of.kind === "boolean" ? "field beside" : "field"} data-input=${of.name} data-kind=${of.kind}>
    <label for=${id}><span class="name">${clean(of.name)}</span> ${of.isRequired && html`<span class="badge strong">${words.required}</span>`}</label>
    <${Control} of=${of} id=${id} value=${value} set=${set} about=${about} isWrong=${Boolean(error)} />
    <p class="quiet about" id=${told}>${of.description && html`<span>${clean(of.description)}</span> · `}<code>${visible(of.type)}</code>${of.kind === "json" && html` ${words.asJson}`}${of.isPrivate && html` · ${words.isPrivate}`}</p>
    ${error && html`<p class="failure" id=${wrong}>${visible(error.replace(`\`${of.name}\`: `, ""))}</p>`}</div>`;
}

function Form({ program }) {
  const [values, setValues] = useState(() => Object.fromEntries(program.inputs.map((each) => [each.name, first(each)])));
  const [errors, setErrors] = useState({}), [failure, setFailure] = useState(""), [isBusy, setBusy] = useState(false);
  const bad = useRef({}), form = useRef(null);
  useEffect(() => { form.current?.querySelector("[aria-invalid=true]")?.focus(); }, [errors]);
  const set = (name) => (value, isBad = false) => {
    bad.current[name] = isBad;
    setValues((before) => ({ ...before, [name]: value }));
  };
  const send = async (event) => {
    event.preventDefault();
    if (isBusy) return;
    const unread = Object.fromEntries(program.inputs.filter((each) => bad.current[each.name]).map((each) => [each.name, words.noNumber]));
    setFailure(""); setErrors(unread);
    if (Object.keys(unread).length) return;
    setBusy(true);
    try {
      location.hash = sessionLink((await post("api/programs/start", { file: program.file, inputs: readForm(program.inputs, values) })).session);
    } catch (error) {
      setErrors(error.data?.errors ?? {});
      setFailure(error.data?.errors ? words.wrong : error.message);
      setBusy(false);
    }
  };
  const typed = (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send(event); };
  return html`<form class="start" ref=${form} noValidate onSubmit=${send} onKeyDown=${typed}>
    ${program.inputs.length === 0 && html`<p class="quiet">${words.noInputs}</p>`}
    ${program.inputs.map((each) => html`<${Field} key=${each.name} of=${each} value=${values[each.name]} set=${set(each.name)} error=${errors[each.name]} />`)}
    <div role="alert">${failure && html`<p class="failure">${visible(failure)}</p>`}</div>
    <div class="decide">${mayAct.value && html`<button type="submit" class="primary" aria-disabled=${isBusy}>${words.start}</button>`}${program.returns && html`<span class="quiet">${words.returns} <code>${visible(program.returns)}</code></span>`}</div></form>`;
}

const Wrong = ({ of }) => html`<section class="note"><p class="failure">${words.broken}</p><ul class="paths">
  ${of.map((each) => html`<li><code>${visible(each.file ?? "")}${each.line ? `:${each.line}:${each.column}` : ""}</code> ${visible(each.message)}${each.hint && html` <span class="quiet">${visible(each.hint)}</span>`}</li>`)}</ul></section>`;

function Program({ file }) {
  const { data, failure } = useAsked(address(file));
  const body = failure ? html`<p class="failure" role="alert">${visible(failure)}</p>`
    : !data ? html`<p class="quiet">${texts.loading}</p>`
    : data.diagnostics.length ? html`<${Wrong} of=${data.diagnostics} />`
    : data.refused ? html`<p class="note failure">${visible(data.refused)}</p>` : html`<${Form} key=${file} program=${data} />`;
  return html`<header class="head"><h1>${visible(file)}</h1><a href="#/programs">${words.all}</a></header>
    ${data?.description && html`<p class="told">${clean(data.description)}</p>`}${body}`;
}

function Programs() {
  const [filter, setFilter] = useState("");
  const { data, failure } = useAsked("api/programs");
  if (failure) return html`<p class="failure" role="alert">${visible(failure)}</p>`;
  if (!data) return html`<p class="quiet">${texts.loading}</p>`;
  const wanted = filter.toLowerCase();
  const found = data.programs.filter((each) => `${each.file} ${each.description}`.toLowerCase().includes(wanted));
  return html`<header class="head"><h1>${words.title}</h1>
      ${data.programs.length > 5 && html`<input type="search" placeholder=${words.filter} aria-label=${words.filter} value=${filter} onInput=${(event) => setFilter(event.target.value)} />`}</header>
    <p class="quiet">${words.below} <code>${visible(data.directory)}</code></p>
    ${data.programs.length === 0 ? html`<p class="empty">${words.none}</p>`
      : html`<ol class="runs programs" data-nav>${found.map((each) => html`<li class="run" key=${each.file} data-program=${each.file}><a href=${link(each.file)}><span class="title">${visible(each.file)}</span><span class="quiet">${clean(each.description.split("\n\n")[0])}</span></a></li>`)}</ol>`}
    ${data.hasMore && html`<p class="quiet">${words.more(data.programs.length)}</p>`}`;
}

export const View = ({ id }) => id ? html`<${Program} key=${id} file=${id} />` : html`<${Programs} />`;
