// Markdown as elements, as it is written. Links are filtered, images elsewhere are links, headings fit into the page.
import { useEffect, useRef } from "preact/hooks";
import * as smd from "streaming-markdown";
import { html } from "./html.js";
import { address, clean } from "./plain.js";

const HEADINGS = [smd.HEADING_1, smd.HEADING_2, smd.HEADING_3, smd.HEADING_4, smd.HEADING_5, smd.HEADING_6];
const LANGUAGES = { python: "py", py: "py", javascript: "js", js: "js", typescript: "js", ts: "js", bash: "bash",
  sh: "bash", shell: "bash", json: "json", yaml: "yaml", yml: "yaml", toml: "toml", html: "xml", xml: "xml",
  css: "css", diff: "diff", vibe: "vibe" };
const CLASSES = { cmnt: "c", kwd: "k", str: "s", num: "n", bool: "n", func: "f", class: "f", var: "b", type: "b",
  section: "k", insert: "s", deleted: "c", err: "e" };

function renderer(root) {
  const made = smd.default_renderer(root);
  const { add_token } = made;
  made.add_token = (data, type) => {
    const level = HEADINGS.indexOf(type);
    if (level < 0 && type !== smd.IMAGE) return add_token(data, type);
    const slot = document.createElement(level < 0 ? "a" : `h${Math.min(level + 2, 6)}`);
    data.nodes[++data.index] = data.nodes[data.index - 1].appendChild(slot);
  };
  made.add_text = (data, text) => data.nodes[data.index].append(clean(text));
  made.set_attr = (data, type, value) => {
    const node = data.nodes[data.index];
    if (type === smd.LANG) node.dataset.language = value;
    else if (type === smd.START) node.setAttribute("start", value);
    else if (type === smd.CHECKED) node.setAttribute("checked", "");
    else {
      // What stands behind an address in quotes is a title.
      const given = value.replace(/\s+["'(].*$/s, ""), href = address(given);
      if (!href) { node.title = clean(given); return; }
      node.setAttribute("href", href);
      node.setAttribute("target", "_blank");
      node.setAttribute("rel", "noopener noreferrer nofollow");
    }
  };
  return made;
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

// As it comes: what is there is never read again.
export function Saying({ of }) {
  const root = useRef(null), read = useRef(null), said = of.value;
  useEffect(() => {
    if (read.current?.pieces !== said.pieces) {
      root.current.replaceChildren();
      read.current = { pieces: said.pieces, count: 0, parser: smd.parser(renderer(root.current)) };
    }
    const now = read.current;
    while (now.count < now.pieces.length) smd.parser_write(now.parser, now.pieces[now.count++]);
  }, [said]);
  return html`<div class="markdown saying" aria-busy="true" ref=${root}></div>`;
}

export function Markdown({ text }) {
  const root = useRef(null);
  useEffect(() => {
    root.current.replaceChildren();
    const parser = smd.parser(renderer(root.current));
    smd.parser_write(parser, text);
    smd.parser_end(parser);
    for (const each of root.current.querySelectorAll("pre")) each.tabIndex = 0;
    for (const each of root.current.querySelectorAll("pre > code")) colour(each);
    for (const each of root.current.querySelectorAll("input")) each.setAttribute("aria-label", "task");
  }, [text]);
  return html`<div class="markdown" ref=${root}></div>`;
}
