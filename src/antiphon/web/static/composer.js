// The message field, with files that are pasted, dropped or chosen: images, PDFs and texts.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { clean } from "./plain.js";
import { mayAct } from "./state.js";
import { texts } from "./texts.js";

const said = texts.chat;
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const LARGEST = 20_000_000, MOST = 10;
// Unsent drafts, by chat.
const drafts = new Map();

const read = (file) => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.onerror = () => failed(reader.error);
  reader.readAsDataURL(file);
});

function useFiles(first) {
  const [files, setFiles] = useState(first), [refused, setRefused] = useState("");
  const add = (chosen) => {
    const given = [...chosen], good = given.filter((each) => each.size <= LARGEST), large = given.filter((each) => each.size > LARGEST);
    const fits = good.slice(0, Math.max(0, MOST - files.length));
    setRefused([...large.map((each) => said.large(clean(each.name))), fits.length < good.length ? said.many : ""].filter(Boolean).join(" "));
    setFiles([...files, ...fits.map((file) => ({ file, url: IMAGES.includes(file.type) ? URL.createObjectURL(file) : "" }))]);
  };
  const remove = (one) => { URL.revokeObjectURL(one.url); setFiles(files.filter((each) => each !== one)); };
  const clear = () => { files.forEach((each) => URL.revokeObjectURL(each.url)); setFiles([]); setRefused(""); };
  return { files, refused, add, remove, clear };
}

const Attached = ({ files, remove }) => files.length > 0 && html`<ul class="thumbnails">${files.map((each) => html`<li>${each.url ? html`<img src=${each.url} alt=${clean(each.file.name)} />` : html`<span class="badge">${clean(each.file.name)}</span>`}
  <button type="button" class="small" aria-label=${said.remove(clean(each.file.name))} title=${said.remove(clean(each.file.name))} onClick=${() => remove(each)}>×</button></li>`)}</ul>`;

// Users who may only read have no message field.
export const Composer = (given) => mayAct.value && html`<${Writing} ...${given} />`;

function Writing({ text: first, draft, send, stop, cancel, word }) {
  const kept = draft === undefined ? null : drafts.get(draft);
  const [text, setText] = useState(first ?? kept?.text ?? ""), [failure, setFailure] = useState(""), [over, setOver] = useState(false);
  const attached = useFiles(kept?.files ?? []);
  const box = useRef(null), chooser = useRef(null), sending = useRef(false);
  useEffect(() => { box.current.focus(); }, []);
  useEffect(() => { if (draft !== undefined) drafts.set(draft, { text, files: attached.files }); });
  const submit = async (event) => {
    event?.preventDefault();
    if (stop || sending.current || (!text.trim() && !attached.files.length)) return;
    sending.current = true;
    try {
      const files = await Promise.all(attached.files.map(async ({ file }) => ({ name: file.name, data: await read(file) })));
      await send({ text, files });
      drafts.delete(draft);
      setText(""); setFailure(""); attached.clear();
    } catch (error) { setFailure(error.message); }
    sending.current = false;
  };
  const pressed = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
    else if (event.key === "Escape" && cancel) { event.preventDefault(); cancel(); }
  };
  const pasted = (event) => { if (event.clipboardData.files.length) { event.preventDefault(); attached.add(event.clipboardData.files); } };
  const dropped = (event) => { event.preventDefault(); setOver(false); if (event.dataTransfer.files.length) attached.add(event.dataTransfer.files); };
  const dragged = (event) => { event.preventDefault(); setOver(true); };
  const rows = Math.min(12, Math.max(2, text.split("\n").length));
  return html`<form class=${`composer ${over ? "over" : ""}`} onSubmit=${submit} onDragOver=${dragged} onDragLeave=${() => setOver(false)} onDrop=${dropped}>
    <${Attached} files=${attached.files} remove=${(each) => { attached.remove(each); box.current.focus(); }} />
    <textarea ref=${box} rows=${rows} aria-label=${said.write} aria-describedby=${draft === undefined ? null : "write-hint"} placeholder=${said.write} value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${pressed} onPaste=${pasted}></textarea>
    <div class="row"><input type="file" multiple class="hidden" tabindex="-1" aria-label=${said.add} ref=${chooser} onChange=${(event) => { attached.add(event.target.files); event.target.value = ""; }} />
      <button type="button" class="small" onClick=${() => chooser.current.click()}>${said.add}</button>
      <span class="quiet hint" id=${draft === undefined ? null : "write-hint"}>${draft !== undefined && said.hint}</span>
      ${cancel && html`<button type="button" onClick=${cancel}>${said.cancel}</button>`}
      ${stop ? html`<button type="button" class="danger" title=${said.stopHint} onClick=${stop}>${said.stop}</button>` : html`<button type="submit" class="primary">${word}</button>`}</div>
    <div role="status">${(failure || attached.refused) && html`<p class="failure">${clean(failure || attached.refused)}</p>`}</div></form>`;
}
