// Tables of any length: all rows are in memory, and only the visible ones in the page.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { clean, date, isNumber, Piece, Value, words } from "./plain.js";
import { texts } from "./texts.js";

const HEIGHT = 30, AROUND = 8, VISIBLE = 14;

function compareValues(a, b, type) {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (type === "date") return (date(a)?.getTime() ?? 0) - (date(b)?.getTime() ?? 0);
  if (isNumber(a) && isNumber(b)) return a < b ? -1 : a > b ? 1 : 0;
  return words(a).localeCompare(words(b), undefined, { numeric: true });
}

function chosen(body, found, sort, filter) {
  const wanted = filter.toLowerCase();
  let order = [];
  for (let i = 0; i < body.rows.length; i++) if (!wanted || found(i).includes(wanted)) order.push(i);
  if (sort) {
    const { column, down } = sort, type = body.columns[column].type;
    // Empty values come last in either order.
    order.sort((a, b) => {
      const [x, y] = [body.rows[a][column], body.rows[b][column]];
      const way = x === null || y === null || !down ? 1 : -1;
      return way * compareValues(x, y, type) || a - b;
    });
  }
  return order;
}

// Return the length of a cell in characters.
function written(value, type) {
  if (type === "date" && value !== null && date(value)) return words(value).length === 10 ? 10 : 25;
  return (isNumber(value) && type === "number" ? value.toLocaleString("en", { maximumFractionDigits: 20 }) : words(value)).length;
}

const widths = (body) => body.columns.map((column, i) => {
  const longest = body.rows.slice(0, 200).reduce((most, row) => Math.max(most, written(row[i], column.type)), 0);
  return Math.min(Math.max(longest, words(column.label).length + 3, 5), 44) + 2;
});

export function Table({ body, more, height }) {
  const [sort, setSort] = useState(null);
  const [filter, setFilter] = useState("");
  const [top, setTop] = useState(0);
  const box = useRef(null), waits = useRef(0);
  // Sorting and filtering need all rows, so all are loaded then.
  useEffect(() => { if (body.more && more) more(body.rows.length + body.more); }, []);
  const found = useMemo(() => {
    const known = [];
    return (i) => known[i] ??= body.rows[i].map(words).join("\n").toLowerCase();
  }, [body]);
  const order = useMemo(() => chosen(body, found, sort, filter), [body, sort, filter]);
  const columns = useMemo(() => widths(body), [body]);
  const all = body.rows.length + (body.more ?? 0);
  const lines = Math.min(height ?? VISIBLE, Math.max(order.length, 1));
  const first = Math.max(Math.min(Math.floor(top / HEIGHT), order.length - lines) - AROUND, 0);
  const seen = order.slice(first, first + lines + 2 * AROUND);
  const after = order.length - first - seen.length;
  const scrolled = () => {
    waits.current ||= requestAnimationFrame(() => { waits.current = 0; setTop(box.current?.scrollTop ?? 0); });
  };
  const turn = (column) => setSort(sort?.column !== column ? { column, down: false }
    : sort.down ? null : { column, down: true });
  const filtered = (event) => { setFilter(event.target.value); box.current.scrollTop = 0; setTop(0); };
  return html`<div class="table">
    <div class="tools">
      ${all > 5 && html`<input type="search" placeholder=${texts.filter} aria-label=${texts.filter} value=${filter} onInput=${filtered} />`}
      <span class="quiet" role="status">${texts.rows(order.length, all)}</span>
      ${body.moreColumns ? html`<span class="quiet">${texts.moreColumns(body.moreColumns)}</span>` : null}
    </div>
    <div class="scroll" ref=${box} tabindex="0" role="group" aria-label=${texts.rows(order.length, all)}
         style=${{ maxHeight: `${(lines + 1.3) * HEIGHT + 4}px` }} onScroll=${scrolled}>
      <table aria-rowcount=${all + 1} style=${{ width: `${columns.reduce((a, b) => a + b, 0)}ch` }}>
        <colgroup>${columns.map((width) => html`<col style=${{ width: `${width}ch` }} />`)}</colgroup>
        <thead><tr aria-rowindex="1">${body.columns.map((column, i) => html`
          <th scope="col" class=${align(column)} aria-sort=${sort?.column !== i ? "none" : sort.down ? "descending" : "ascending"}>
            <button type="button" onClick=${() => turn(i)} title=${texts.sortBy(clean(words(column.label)))}>
              <${Piece} of=${column.label} /><span class="arrow" aria-hidden="true">${sort?.column !== i ? "" : sort.down ? " ↓" : " ↑"}</span>
            </button></th>`)}</tr></thead>
        <tbody>
          ${first > 0 && html`<tr class="gap" aria-hidden="true"><td colspan=${columns.length} style=${{ height: `${first * HEIGHT}px` }}></td></tr>`}
          ${seen.map((i, at) => html`<tr key=${i} aria-rowindex=${first + at + 2}>${body.rows[i].map((cell, c) => html`
            <td class=${align(body.columns[c])} title=${words(cell).length > 30 ? clean(words(cell)) : null}><${Value} value=${cell} type=${body.columns[c].type} /></td>`)}</tr>`)}
          ${after > 0 && html`<tr class="gap" aria-hidden="true"><td colspan=${columns.length} style=${{ height: `${after * HEIGHT}px` }}></td></tr>`}
        </tbody>
      </table>
    </div></div>`;
}

const align = (column) => column.align ?? (column.isNumeric ? "right" : "left");
