// The message field, with images that are pasted, dropped or chosen.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { clean } from "./plain.js";
import { mayAct } from "./state.js";
import { texts } from "./texts.js";

const said = texts.chat;
const TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const LARGEST = 5_000_000, MOST = 10;
// Unsent drafts, by chat.
const drafts = new Map();

const read = (file) => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.onerror = () => failed(reader.error);
  reader.readAsDataURL(file);
});

const wrong = (file) => !TYPES.includes(file.type) ? said.noImage(clean(file.name)) : file.size > LARGEST ? said.large(clean(file.name)) : "";

function useImages(first) {
  const [images, setImages] = useState(first), [refused, setRefused] = useState("");
  const add = (files) => {
    const given = [...files], good = given.filter((each) => !wrong(each));
    const fits = good.slice(0, Math.max(0, MOST - images.length));
    setRefused([...given.map(wrong).filter(Boolean), fits.length < good.length ? said.many : ""].filter(Boolean).join(" "));
    setImages([...images, ...fits.map((file) => ({ file, url: URL.createObjectURL(file) }))]);
  };
  const remove = (image) => { URL.revokeObjectURL(image.url); setImages(images.filter((each) => each !== image)); };
  const clear = () => { images.forEach((each) => URL.revokeObjectURL(each.url)); setImages([]); setRefused(""); };
  return { images, refused, add, remove, clear };
}

const Thumbnails = ({ images, remove }) => images.length > 0 && html`<ul class="thumbnails">${images.map((each) => html`<li><img src=${each.url} alt=${clean(each.file.name)} />
  <button type="button" class="small" aria-label=${said.remove(clean(each.file.name))} title=${said.remove(clean(each.file.name))} onClick=${() => remove(each)}>×</button></li>`)}</ul>`;

// Users who may only read have no message field.
export const Composer = (given) => mayAct.value && html`<${Writing} ...${given} />`;

function Writing({ text: first, draft, send, stop, cancel, word }) {
  const kept = draft === undefined ? null : drafts.get(draft);
  const [text, setText] = useState(first ?? kept?.text ?? ""), [failure, setFailure] = useState(""), [over, setOver] = useState(false);
  const pictures = useImages(kept?.images ?? []);
  const box = useRef(null), chooser = useRef(null), sending = useRef(false);
  useEffect(() => { box.current.focus(); }, []);
  useEffect(() => { if (draft !== undefined) drafts.set(draft, { text, images: pictures.images }); });
  const submit = async (event) => {
    event?.preventDefault();
    if (stop || sending.current || (!text.trim() && !pictures.images.length)) return;
    sending.current = true;
    try {
      const images = await Promise.all(pictures.images.map(async ({ file }) => ({ type: file.type, data: await read(file) })));
      await send({ text, images });
      drafts.delete(draft);
      setText(""); setFailure(""); pictures.clear();
    } catch (error) { setFailure(error.message); }
    sending.current = false;
  };
  const pressed = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
    else if (event.key === "Escape" && cancel) { event.preventDefault(); cancel(); }
  };
  const pasted = (event) => { if (event.clipboardData.files.length) { event.preventDefault(); pictures.add(event.clipboardData.files); } };
  const dropped = (event) => { event.preventDefault(); setOver(false); if (event.dataTransfer.files.length) pictures.add(event.dataTransfer.files); };
  const dragged = (event) => { event.preventDefault(); setOver(true); };
  const rows = Math.min(12, Math.max(2, text.split("\n").length));
  return html`<form class=${`composer ${over ? "over" : ""}`} onSubmit=${submit} onDragOver=${dragged} onDragLeave=${() => setOver(false)} onDrop=${dropped}>
    <${Thumbnails} images=${pictures.images} remove=${(each) => { pictures.remove(each); box.current.focus(); }} />
    <textarea ref=${box} rows=${rows} aria-label=${said.write} aria-describedby=${draft === undefined ? null : "write-hint"} placeholder=${said.write} value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${pressed} onPaste=${pasted}></textarea>
    <div class="row"><input type="file" multiple accept=${TYPES.join(",")} class="hidden" tabindex="-1" aria-label=${said.add} ref=${chooser} onChange=${(event) => { pictures.add(event.target.files); event.target.value = ""; }} />
      <button type="button" class="small" onClick=${() => chooser.current.click()}>${said.add}</button>
      <span class="quiet hint" id=${draft === undefined ? null : "write-hint"}>${draft !== undefined && said.hint}</span>
      ${cancel && html`<button type="button" onClick=${cancel}>${said.cancel}</button>`}
      ${stop ? html`<button type="button" class="danger" title=${said.stopHint} onClick=${stop}>${said.stop}</button>` : html`<button type="submit" class="primary">${word}</button>`}</div>
    <div role="status">${(failure || pictures.refused) && html`<p class="failure">${clean(failure || pictures.refused)}</p>`}</div></form>`;
}
