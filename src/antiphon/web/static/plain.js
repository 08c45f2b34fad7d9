// Make texts of others safe to read: nothing in them hides or reorders what is beside it.
import { html } from "./html.js";
import { texts } from "./texts.js";

const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])|\x9b[0-?]*[ -/]*[@-~]/g;
// As in `_base/escape.py`: control and format characters, fillers, variation selectors, lone surrogates.
const HIDDEN = "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\p{Cf}\\p{Cs}\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2028\\u2029\\u2060-\\u206f\\u3164\\ufdd0-\\ufdef\\ufe00-\\ufe0f\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff\\u{e0000}-\\u{e0fff}]";
// Characters that only choose the look of an emoji or a letter.
const JOINED = "[\\u0620-\\u06d3\\u0900-\\u0dff\\u2190-\\u2bff\\u{1f000}-\\u{1faff}]";
const LOOK = `(?<=\\p{Emoji})[\\ufe0e\\ufe0f](?![\\ufe00-\\ufe0f])|(?<=${JOINED}\\ufe0f?)[\\u200c\\u200d](?=${JOINED})`;
const all = new RegExp(HIDDEN, "gu"), allButLook = new RegExp(`(${LOOK})|${HIDDEN}`, "gu");

function written(found) {
  const code = found.codePointAt(0).toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
}

const lines = (text) => text.replace(/\r\n/g, "\n");
// For reading: remove terminal colours and escape other hidden characters.
export const clean = (text) => lines(String(text).replace(ESCAPES, "")).replace(allButLook, (found, look) => look ?? written(found));
// For decisions: escape all hidden characters.
export const visible = (text) => lines(String(text)).replace(all, written);

// Copy a text; false if the browser refuses.
export const copyText = async (text) => { try { await navigator.clipboard.writeText(text); return true; } catch { return false; } };

export const words = (piece) => piece == null ? "" : typeof piece === "object" ? piece.text : String(piece);

export function Piece({ of, exact }) {
  const text = (exact ? visible : clean)(words(of));
  if (of === null || typeof of !== "object" || of.type !== "cut") return text;
  return html`${text}<span class="cut" title=${texts.characters(of.more)}>…</span>`;
}

// Return an address that a link may lead to.
export function address(given) {
  const text = String(given ?? "").trim();
  if (text.startsWith("#") && !text.startsWith("#/")) return text;
  try {
    const url = new URL(text);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch { return null; }
}

export function Link({ to, children }) {
  const href = address(to);
  return href ? html`<a href=${href} target="_blank" rel="noopener noreferrer nofollow">${children}</a>` : children;
}

// Format a value by the declared type of its field.
export function Value({ value, type, exact }) {
  if (value === null || value === undefined) return html`<span class="null">null</span>`;
  if (typeof value === "boolean") return html`<span class="bool">${String(value)}</span>`;
  if (type === "date" && date(value)) {
    return html`<time datetime=${date(value).toISOString()}>${when(value)}</time>`;
  }
  if (isNumber(value)) {
    return html`<span class="num">${type === "number" ? value.toLocaleString("en", { maximumFractionDigits: 20 }) : String(value)}</span>`;
  }
  if (type === "url") return html`<${Link} to=${words(value)}><${Piece} of=${value} exact=${exact} /><//>`;
  if (type === "path") return html`<code class="path"><${Piece} of=${value} exact=${exact} /></code>`;
  return html`<${Piece} of=${value} exact=${exact} />`;
}

// Parse JSON with integers of any length: JavaScript would round them.
export function parseExactJson(text) {
  if (!/[[:,]-?\d{16}/.test(text)) return JSON.parse(text);
  const whole = (value, source) => typeof value === "number" && /^-?\d{16,}$/.test(source ?? "") ? BigInt(source) : value;
  return JSON.parse(text, (key, value, at) => whole(value, at?.source));
}

export const isNumber = (value) => typeof value === "number" || typeof value === "bigint";

export function date(given) {
  const value = typeof given === "bigint" ? Number(given) : given;
  const moment = typeof value === "number" ? (Math.abs(value) > 1e11 ? value : value * 1000) : words(value);
  if (typeof moment === "string" && (moment.length < 8 || moment.length > 40)) return null;
  const found = new Date(moment);
  return Number.isNaN(found.getTime()) ? null : found;
}

function when(value) {
  const given = words(value);
  if (given.length === 10 && typeof value === "string") return given;
  return date(value).toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC");
}

export function formatBytes(size) {
  if (size == null || !(size >= 0)) return "";
  if (size < 1000) return `${Math.floor(size)} B`;
  const power = Math.min(Math.floor(Math.log10(size) / 3), 6);
  return `${(size / 1000 ** power).toFixed(1)} ${["", "kB", "MB", "GB", "TB", "PB", "EB"][power]}`;
}
