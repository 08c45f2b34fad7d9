// The components of view bodies: data in, elements out.
import { useEffect, useMemo, useState } from "preact/hooks";
import { html, loadLater } from "./html.js";
import { Markdown as Written } from "./markdown.js";
import { formatBytes, clean, Link, Piece, Value, words } from "./plain.js";
import { texts } from "./texts.js";
import { loadStyles } from "./styled.js";

await loadStyles("kinds.css");

function More({ body, more, what }) {
  if (!body.more) return null;
  if (!more) return html`<p class="quiet">${texts.left(body.more, what, body.atLeast)}</p>`;
  return html`<button type="button" class="more" onClick=${() => more()}>${texts.more(body.more, what)}</button>`;
}

function Text({ body, more, exact }) {
  if (!body.lines.length && !body.more) return html`<p class="quiet">${texts.drawn.empty}</p>`;
  return html`<div class="text">${body.lines.map((line) => html`<div class="line"><${Piece} of=${line} exact=${exact} /></div>`)}</div>
    <${More} body=${body} more=${more} what=${texts.lines} />`;
}

function Markdown({ body, more, exact }) {
  return html`<${Written} text=${body.lines.map(words).join("\n")} blocks=${body.blocks} exact=${exact} /><${More} body=${body} more=${more} what=${texts.lines} />`;
}

const Tokens = ({ of, text, exact }) => of && !exact ? of.map(([kind, piece]) => html`<span class=${`t-${kind}`}>${clean(piece)}</span>`)
  : html`<${Piece} of=${text} exact=${exact} />`;

function Code({ body, more, exact, title }) {
  const numbered = body.first != null;
  return html`${body.path && (exact || words(body.path) !== title) ? html`<p class="file"><code class="path"><${Piece} of=${body.path} /></code></p>` : null}
    <div class="code scroll" tabindex="0" role="group" aria-label=${body.language || "code"}><pre>${body.lines.map((line, i) => html`
      <div class="line">${numbered && html`<span class="number" aria-hidden="true">${body.first + i}</span>`}<code><${Tokens} of=${body.tokens?.[i]} text=${line} exact=${exact} />${"\n"}</code></div>`)}</pre></div>
    <${More} body=${body} more=${more} what=${texts.lines} />`;
}

// Pair removed with added lines.
function pairLines(lines) {
  const rows = [];
  let old = [], young = [];
  const flush = () => {
    for (let i = 0; i < Math.max(old.length, young.length); i++) rows.push([old[i], young[i]]);
    old = []; young = [];
  };
  for (const line of lines) {
    if (line.mark === "-") old.push(line);
    else if (line.mark === "+") young.push(line);
    else { flush(); rows.push(line.mark ? [line, line] : [line]); }
  }
  flush();
  return rows;
}

const MARKS = { "+": "added", "-": "removed" };
const Side = ({ line, side }) => html`<td class="number">${line?.[side] ?? ""}</td>
  <td class=${`${line ? MARKS[line.mark] ?? "" : "none"} content`}>${line && html`<${Tokens} of=${line.tokens} text=${line.text} />`}</td>`;

function Hunk({ hunk, paired }) {
  const heading = words(hunk.heading) && html`<tr class="hunk"><td colspan="4"><${Piece} of=${hunk.heading} /></td></tr>`;
  if (paired) {
    return html`${heading}${pairLines(hunk.lines).map((row) => row.length < 2 ? html`<tr class="about"><td colspan="4"><${Piece} of=${row[0].text} /></td></tr>`
      : html`<tr><${Side} line=${row[0]} side="old" /><${Side} line=${row[1]} side="new" /></tr>`)}`;
  }
  return html`${heading}${hunk.lines.map((line) => html`<tr class=${MARKS[line.mark] ?? (line.mark ? "" : "about")}>
    <td class="number">${line.old ?? ""}</td><td class="number">${line.new ?? ""}</td><td class="mark">${line.mark}</td>
    <td class="content"><${Tokens} of=${line.tokens} text=${line.text} /></td></tr>`)}`;
}

function Diff({ body, more, exact, title }) {
  const [paired, setPaired] = useState(false);
  const said = texts.changes[body.change];
  // Side by side is possible only with something on both sides.
  const pairable = body.isPaired || body.hunks.some((hunk) => hunk.lines.some((line) => line.mark === "-"));
  const way = (value, label) => html`<button type="button" aria-pressed=${paired === value} onClick=${() => setPaired(value)}>${label}</button>`;
  return html`<p class="file">${(exact || words(body.path) !== title) && html`<code class="path"><${Piece} of=${body.path} exact=${exact} /></code>`}
      ${body.added ? html`<span class="added">+${body.added}</span>` : null}${body.removed ? html`<span class="removed">−${body.removed}</span>` : null}
      ${said && html`<span class="quiet">${said}</span>`}${body.isComplete === false && html`<span class="quiet">${texts.incomplete}</span>`}
      ${pairable && body.hunks.length > 0 && html`<span class="ways" role="group" aria-label=${texts.diffView}>${way(false, texts.unified)}${way(true, texts.sideBySide)}</span>`}</p>
    ${body.hunks.length > 0 && html`<div class="diff scroll" tabindex="0" role="group" aria-label=${`diff ${clean(words(body.path))}`}><table class=${paired ? "paired" : "unified"}>
      ${paired && html`<colgroup><col /><col /><col /><col /></colgroup>`}
      <tbody>${body.hunks.map((hunk) => html`<${Hunk} hunk=${hunk} paired=${paired} />`)}</tbody></table></div>`}
    <${More} body=${body} more=${more} what=${texts.lines} />`;
}

const ICONS = { directory: "▸", symlink: "↪", file: "", "": "" };

function Files({ body, more }) {
  return html`<p class="file"><code class="path"><${Piece} of=${body.path} /></code>${body.isComplete === false && html`<span class="quiet">${texts.incomplete}</span>`}</p>
    <div class="scroll" tabindex="0" role="group" aria-label=${clean(words(body.path))}><table class="files"><thead><tr><th scope="col">${texts.name_}</th><th scope="col" class="right">${texts.size}</th><th scope="col">${texts.modified}</th></tr></thead>
    <tbody>${body.entries.map((entry) => html`<tr data-type=${entry.type || "file"}><td><span class="icon" aria-hidden="true">${ICONS[entry.type ?? ""]}</span> <${Piece} of=${entry.name} />${entry.type === "directory" ? "/" : ""}</td>
      <td class="right">${formatBytes(entry.size)}</td><td>${entry.modified == null ? "" : html`<${Value} value=${entry.modified} type="date" />`}</td></tr>`)}</tbody></table></div>
    <${More} body=${body} more=${more} what=${texts.items} />`;
}

const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/svg+xml"];

// Images have addresses of their own and are never markup: nothing in them runs.
function usePicture(data, type) {
  const [state, setState] = useState({});
  useEffect(() => {
    if (!data) return undefined;
    let url = null;
    try {
      const content = Uint8Array.from(atob(data), (each) => each.charCodeAt(0));
      url = URL.createObjectURL(new Blob([content], { type: PICTURES.includes(type) ? type : "image/png" }));
      setState({ url });
    } catch { setState({ broken: true }); }
    return () => url && URL.revokeObjectURL(url);
  }, [data, type]);
  return [state, () => setState({ broken: true })];
}

function Picture({ body }) {
  const [{ url, broken }, fail] = usePicture(body.data, words(body.mediaType));
  const alt = clean(words(body.alt)) || texts.image;
  if (body.url && !body.data) return html`<p class="picture">${texts.remote} <${Link} to=${words(body.url)}><${Piece} of=${body.url} /><//> ${body.alt && html`<span class="quiet">${alt}</span>`}</p>`;
  if (!body.data) return html`<p class="quiet">${texts.tooLarge} ${alt} (${formatBytes(body.size)})</p>`;
  if (broken) return html`<p class="quiet">${texts.broken} ${alt}</p>`;
  return html`<figure class="picture">${url && html`<img src=${url} alt=${alt} onError=${fail} />`}
    <figcaption class="quiet">${[body.alt && alt, body.width && `${body.width} × ${body.height}`, formatBytes(body.size)].filter(Boolean).join(" · ")}</figcaption></figure>`;
}

const Key = ({ of, exact }) => of === null ? null : html`<span class="key"><${Piece} of=${of} exact=${exact} /></span><span class="colon">: </span>`;

// Larger values stay closed, and so does everything in them.
const WIDE = 30;
// A short list of plain values is shown in one line.
const isShort = (node) => node.shape === "list" && node.nodes?.length <= 8 && !node.more
  && node.nodes.every((each) => each.type === "leaf" && words(each.value).length <= 40);
const Short = ({ node, exact }) => html`<div class="leaf"><${Key} of=${node.key} exact=${exact} /><span class="quiet">[</span>${node.nodes.map((each, i) => html`
  ${i > 0 && html`<span class="quiet">, </span>`}<${Value} value=${each.value} type=${node.format} exact=${exact} />`)}<span class="quiet">]</span></div>`;

function Branch({ node, level, exact }) {
  const [open, setOpen] = useState(level === 0 || (level < 2 && node.nodes?.length <= WIDE));
  const nodes = node.nodes ?? [], count = nodes.length + (node.more ?? 0);
  const about = node.shape === "list" ? `[${texts.list(count)}]` : `{${texts.object(count)}}`;
  if (count === 0) return html`<div class="leaf"><${Key} of=${node.key} exact=${exact} /><span class="quiet">${node.shape === "list" ? "[]" : "{}"}</span></div>`;
  if (isShort(node)) return html`<${Short} node=${node} exact=${exact} />`;
  return html`<details open=${open} onToggle=${(event) => event.target === event.currentTarget && setOpen(event.target.open)}>
    <summary><${Key} of=${node.key} exact=${exact} /><span class="quiet">${about}</span></summary>
    ${open && html`<div class="nodes">${nodes.map((each) => html`<${Node} node=${each} level=${level + (nodes.length > WIDE ? 2 : 1)} exact=${exact} />`)}
      ${node.more ? html`<p class="quiet">${texts.left(node.more, texts.items)}</p>` : null}</div>`}</details>`;
}

const Node = ({ node, level, exact }) => node.type === "branch" ? html`<${Branch} node=${node} level=${level} exact=${exact} />`
  : html`<div class="leaf"><${Key} of=${node.key} exact=${exact} /><${Value} value=${node.value} type=${node.format || undefined} exact=${exact} /></div>`;

function Tree({ body, more, exact }) {
  return html`<div class="tree"><${Node} node=${body.root} level=${0} exact=${exact} /></div><${More} body=${body} more=${more} what=${texts.items} />`;
}

function Output({ body, more }) {
  const lines = (given) => given.map((line) => html`<div class="line"><${Piece} of=${line} />${"\n"}</div>`);
  const failed = body.exitCode != null && body.exitCode !== 0;
  return html`<div class="terminal">
    ${body.command && html`<pre class="command"><span aria-hidden="true">$ </span><${Piece} of=${body.command} /></pre>`}
    <pre class="scroll" tabindex="0" role="group" aria-label=${clean(words(body.command)) || "output"}>${lines(body.lines)}${body.more ? html`<${More} body=${body} more=${more} what=${texts.lines} />` : null}${lines(body.tail ?? [])}</pre>
    <p class="quiet">${body.dropped ? `${texts.dropped(body.dropped)} ` : ""}${body.exitCode != null && html`<span class=${failed ? "bad" : "good"}>${texts.exit(words(body.exitCode))}</span>`}</p></div>`;
}

function Failure({ body, more }) {
  return html`<div class="failure"><${Text} body=${body.message} />
    ${body.details && html`<div class="details">${body.details.type === "tree" ? html`<${Tree} body=${body.details} more=${more} />` : html`<${Text} body=${body.details} more=${more} />`}</div>`}</div>`;
}

function Question({ body, more }) {
  return html`<div class="question"><${Text} body=${body.question} more=${more} />
    ${body.options?.length ? html`<ul aria-label=${texts.options}>${body.options.map((each) => html`<li class=${body.answer != null && words(body.answer) === words(each) ? "chosen" : ""}><${Piece} of=${each} /></li>`)}</ul>` : null}
    ${body.moreOptions ? html`<p class="quiet">${texts.left(body.moreOptions, texts.items)}</p>` : null}
    ${body.answer != null && html`<p><span class="quiet">${texts.chosen}:</span> <strong><${Piece} of=${body.answer} /></strong></p>`}</div>`;
}

function Status({ body, more }) {
  const files = body.files ?? [];
  const groups = useMemo(() => Object.keys(texts.fileStates).map((state) => [state, files.filter((each) => each.state === state)]), [body]);
  return html`<div class="status"><p><span class="quiet">${texts.branch}</span> <strong><${Piece} of=${body.branch} /></strong>
      ${body.ahead ? html` <span class="badge">↑ ${texts.ahead(body.ahead)}</span>` : null}${body.behind ? html` <span class="badge">↓ ${texts.behind(body.behind)}</span>` : null}</p>
    ${files.length === 0 && html`<p class="quiet">${texts.clean}</p>`}
    ${groups.filter(([, found]) => found.length).map(([state, found]) => html`<p class=${`group ${state}`}>${texts.fileStates[state]} <span class="quiet">${found.length}</span></p>
      <ul class="paths">${found.map((each) => html`<li><code class="path"><${Piece} of=${each.path} /></code></li>`)}</ul>`)}</div>
    <${More} body=${body} more=${more} what=${texts.items} />`;
}

const Table = loadLater(() => import("./table.js").then((module) => module.Table));

const BODIES = { text: Text, markdown: Markdown, code: Code, diff: Diff, table: Table, tree: Tree, image: Picture,
  files: Files, status: Status, output: Output, failure: Failure, question: Question };

export function Drawn({ body, ...given }) {
  const Way = BODIES[body.type];
  return Way && html`<${Way} body=${body} ...${given} />`;
}
