// Render Markdown that the server has parsed. Links are filtered, and headings fit into the page.
import { useEffect, useRef } from "preact/hooks";
import { html } from "./html.js";
import { address, clean, copyText, visible } from "./plain.js";
import { texts } from "./texts.js";

const LANGUAGES = { python: "py", py: "py", javascript: "js", js: "js", typescript: "js", ts: "js", bash: "bash",
  sh: "bash", shell: "bash", json: "json", yaml: "yaml", yml: "yaml", toml: "toml", html: "xml", xml: "xml",
  css: "css", diff: "diff", vibe: "vibe" };
const CLASSES = { cmnt: "c", kwd: "k", str: "s", num: "n", bool: "n", func: "f", class: "f", var: "b", type: "b",
  section: "k", insert: "s", deleted: "c", err: "e" };

const PLAIN = ["p", "blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "em", "strong", "del", "code", "a", "br", "hr"];
const TAGS = { ...Object.fromEntries(PLAIN.map((tag) => [tag, tag])), h1: "h2", h2: "h3", h3: "h4", h4: "h5", h5: "h6", h6: "h6", plain: "div" };

const DRESS = {
  a: (node, { href, title }) => {
    const to = address(href);
    if (title) node.title = clean(title);
    if (to) Object.assign(node, { href: to, target: "_blank", rel: "noopener noreferrer nofollow" });
  },
  ol: (node, { start }) => { if (start !== undefined) node.start = start; },
  li: (node, { checked }) => {
    if (checked !== undefined) node.append(Object.assign(document.createElement("input"), { type: "checkbox", disabled: true, checked, ariaLabel: "task" }), " ");
  },
  p: (node, { definition }) => { if (definition) node.className = "quiet"; },
  plain: (node) => { node.className = "asked"; },
};
const align = (node, { align: side }) => { if (side) node.style.textAlign = side; };
DRESS.th = DRESS.td = align;

function renderFence(attributes, code, shown) {
  const block = document.createElement("pre"), inner = document.createElement("code");
  if (attributes.language) inner.dataset.language = attributes.language;
  inner.append(shown(code ?? ""));
  block.append(inner);
  block.tabIndex = 0;
  const both = Object.assign(document.createElement("div"), { className: "fence" });
  const copy = Object.assign(document.createElement("button"), { type: "button", className: "small copy", textContent: texts.chat.copy, ariaLabel: texts.chat.copyCode });
  copy.addEventListener("click", async () => { copy.textContent = copy.ariaLabel = await copyText((code ?? "").replace(/\n$/, "")) ? texts.chat.copied : texts.chat.notCopied; });
  if (attributes.info) {
    const about = Object.assign(document.createElement("p"), { className: "quiet" });
    about.append(shown(`${attributes.language} ${attributes.info}`));
    both.append(about);
  }
  both.append(copy, block);
  return both;
}

// Render a node: a text, or its tag, attributes and children.
function renderNode(node, shown) {
  if (typeof node === "string") return shown(node);
  const [tag, attributes, ...inside] = node;
  if (tag === "pre") return renderFence(attributes, inside[0], shown);
  const element = document.createElement(TAGS[tag] ?? "span");
  DRESS[tag]?.(element, attributes);
  element.append(...inside.map((each) => renderNode(each, shown)));
  // A link with a forbidden target shows the target.
  if (tag === "a" && !element.href && attributes.href !== inside[0]) element.append(shown(` (${attributes.href}${attributes.title ? ` "${attributes.title}"` : ""})`));
  return element;
}

async function colour(code) {
  const language = LANGUAGES[code.dataset.language?.toLowerCase()];
  if (!language || code.textContent.length > 50_000) return;
  const pieces = [], words = language === "vibe" ? (await import("./vibe.js")).default : language;
  const { tokenize } = await import("speed-highlight");
  await tokenize(code.textContent, words, (text, type) => {
    const piece = document.createElement("span");
    piece.className = `t-${CLASSES[type] ?? ""}`;
    piece.append(text);
    if (text) pieces.push(piece);
  });
  code.replaceChildren(...pieces);
}

// Find where unparsed text follows the parsed blocks.
function findInnermost(node) {
  let found = node;
  while (found.lastElementChild && !["BR", "HR", "INPUT"].includes(found.lastElementChild.tagName)) found = found.lastElementChild;
  return found;
}

// Streamed Markdown: closed blocks are never rendered again.
export function Saying({ of }) {
  const root = useRef(null), read = useRef(null), said = of.value;
  useEffect(() => {
    if (read.current?.pieces !== said.pieces) {
      root.current.replaceChildren();
      read.current = { pieces: said.pieces, count: 0, open: [] };
    }
    const now = read.current;
    for (; now.count < now.pieces.length; now.count++) {
      const { closed, open, rest, isAnew } = now.pieces[now.count];
      if (isAnew) { root.current.replaceChildren(); now.open = []; }
      if (open !== null) {
        const fresh = [...closed, ...open].map((each) => ({ key: JSON.stringify(each), block: each }));
        // An unchanged block stays as it is.
        let same = 0;
        while (same < fresh.length && fresh[same].key === now.open[same]?.key) fresh[same].node = now.open[same++].node;
        for (const each of now.open.slice(same)) each.node.remove();
        for (const each of fresh.slice(same)) root.current.append(each.node = renderNode(each.block, clean));
        now.open = fresh.slice(closed.length);
      }
      if (rest) { findInnermost(root.current).append(clean(rest)); if (now.open.length) now.open.at(-1).key = ""; }
    }
  }, [said]);
  return html`<div class="markdown saying" aria-busy="true" ref=${root}></div>`;
}

export function Markdown({ blocks, exact }) {
  const root = useRef(null);
  useEffect(() => {
    root.current.replaceChildren(...blocks.map((each) => renderNode(each, exact ? visible : clean)));
    for (const each of root.current.querySelectorAll("pre > code")) colour(each);
  }, [blocks, exact]);
  return html`<div class="markdown" ref=${root}></div>`;
}
