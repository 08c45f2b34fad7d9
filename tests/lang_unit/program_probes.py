"""Short programs about types, as in `probes`: what programs of a hundred lines were refused for, or fell over."""

# ruff: noqa: E501 (one program is one line)
from __future__ import annotations

TREE = "type Tree = { tag: 'leaf', value: number } | { tag: 'node', left: Tree, right: Tree }\n"
SHAPE = "type Circle { kind: 'circle', radius: number }\ntype Group { kind: 'group', all: (Circle | Group)[], name?: text | null }\ntype Shape = Circle | Group\n"
ROWS = "let sales = [{ n: 1, name: 'a', tags: ['x'], inner: { n: 1 } }]\nlet kept: json[] = []\n"
FOUND = "import { find, findAll } from 'system/text'\n"

REFUSED: dict[str, list[tuple[str, str]]] = {"functions that only read the json they are handed": [("let sales = [{ n: 1, name: 'a', tags: ['x'], inner: { n: 1 } }]\nlet kept: json[] = []\nfunction f(rows: json[]): number { let t = 0\nfor r in rows { t += r.n }\nreturn t }\nprint(f(sales))", "V0331"),("let sales = [{ n: 1, name: 'a', tags: ['x'], inner: { n: 1 } }]\nlet kept: json[] = []\nfunction f(rows: json[]): text { return rows[0].name }\nprint(f(sales))", "V0331"),("let sales = [{ n: 1, name: 'a', tags: ['x'], inner: { n: 1 } }]\nlet kept: json[] = []\nfunction g(n: number): number { return n + 1 }\nfunction f(rows: json[]): number { return rows.sum(r => g(r.n)) }\nprint(f(sales))", "V0331"),("let sales = [{ n: 1, name: 'a', tags: ['x'], inner: { n: 1 } }]\nlet kept: json[] = []\nfunction f(rows: json[]): { name: text }[] { let out: { name: text }[] = []\nfor r in rows { out.push({ name: r.name }) }\nreturn out }\nprint(f(sales))", "V0331"),("let sales = [{ n: 1, name: 'a', tags: ['x'], inner: { n: 1 } }]\nlet kept: json[] = []\nfunction f(rows: json[]): { [text]: number } { let m: { [text]: number } = {}\nfor r in rows { m[r.name] = r.n }\nreturn m }\nprint(f(sales))", "V0331"),("let sales = [{ n: 1, name: 'a', tags: ['x'], inner: { n: 1 } }]\nlet kept: json[] = []\nfunction f(rows: json[]): number { return rows.sum(r => r.n) + rows.max(r => r.n).n }\nprint(f(sales))", "V0331"),("let sales = [{ n: 1, name: 'a', tags: ['x'], inner: { n: 1 } }]\nlet kept: json[] = []\nfunction f(rows: json[]): number { const names = rows.sortBy(r => r.name).map(r => r.name)\nreturn names.length }\nprint(f(sales))", "V0331"),("let sales = [{ n: 1, name: 'a', tags: ['x'], inner: { n: 1 } }]\nlet kept: json[] = []\nfunction cell(v: json): text { return v.toString() }\nfunction f(rows: json[]): text[] { return rows.map(r => cell(r['name'])) }\nprint(f(sales.map(s => ({ ...s, more: 1 }))))", "V0331"),],
    "objects of a union, written out": [
        (SHAPE + "const s: Shape = { kind: 'circle', radius: 'two' }", "V0301"),
        (SHAPE + "const s: Shape = { kind: 'circle' }", "V0312"),
        (SHAPE + "const s: Shape = { kind: 'circle', radius: 1, name: 'x' }", "V0313"),
        (SHAPE + "const s: Shape = { kind: 'square', radius: 1 }", "V0301"),
        (SHAPE + "let cs: Circle[] = []\nlet s: Shape = { kind: 'group', all: cs }", "V0331"),
        (TREE + "function f(t: Tree): Tree { return { tag: 'node', left: t } }", "V0312"),
    ],
    "functions that share the json they are handed": [
        (ROWS + "function f(rows: json[]): json { return rows.map(r => r) }\nf(sales)", "V0331"),
        (ROWS + "function f(rows: json[]): json[] { return rows.map(r => r.tags) }\nf(sales)", "V0331"),
        (ROWS + "function f(rows: json[]): json[] { return rows.sortBy(r => r.n) }\nf(sales)", "V0331"),
        (ROWS + "function f(rows: json[]) { for r in rows { kept.push(r) } }\nf(sales)", "V0331"),
        (ROWS + "function f(rows: json[]) { for r in rows { r.n = 'x' } }\nf(sales)", "V0331"),
        (ROWS + "function f(rows: json[]) { let q = rows.map(r => r)\nq[0].n = 'x' }\nf(sales)", "V0331"),
        (ROWS + "function f(rows: json[]) { kept = rows.map(r => r) }\nf(sales)\nkept[0] = 1", "V0331"),
        (ROWS + "function f(rows: json[]) { for q in rows.map(r => r) { q.n = 's' } }\nf(sales)", "V0331"),
        (ROWS + "function f(rows: json[]) { rows.map(r => r)[0].n = 't' }\nf(sales)", "V0331"),
        (ROWS + "function f(rows: json[]) { rows.map(r => r.tags).map(t => t.push(3)) }\nf(sales)", "V0331"),
        (ROWS + "function f(rows: json[]): { x: json } { return { x: rows[0] } }\nf(sales)", "V0331"),
        (ROWS + "function g(r: json): number { r.n = 'z'\nreturn 1 }\nfunction f(rows: json[]): number { return rows.sum(r => g(r)) }\nf(sales)", "V0331"),
        (ROWS + "function g(r: json): number { r.n = 'z'\nreturn 1 }\nfunction f(rows: json[]): number { return rows.sum(r => g(r.inner)) }\nf(sales)", "V0331"),
    ],
}  # fmt: skip

ACCEPTED: dict[str, list[tuple[str, str]]] = {
    "objects of a union, written out": [
        (TREE + "function grow(t: Tree): Tree { return { tag: 'node', left: t, right: { tag: 'leaf', value: 1 } } }\nprint(grow({ tag: 'leaf', value: 2 }).tag)", "node"),
        (TREE + "function f(t: Tree): Tree {\n  if t.tag == 'node' { return { tag: 'node', left: t.right, right: t.left } }\n  return t\n}\nprint(f({ tag: 'leaf', value: 2 }))", '{"tag":"leaf","value":2}'),
        (SHAPE + "function wrap(s: Shape, name: text | null): Shape { return { kind: 'group', all: [s], name } }\nprint(wrap({ kind: 'circle', radius: 1 }, null).kind)", "group"),
        ("type A { kind: 'a', f: (number) => number }\ntype B { kind: 'b', g: (text) => text }\nlet v: A | B = { kind: 'b', g: t => t.upper() }\nif v.kind == 'b' { print(v.g('a')) }", "A"),
        ("type A { ok: true, value: json }\ntype B { ok: false, why: text }\nfunction f(n: number): A | B { return n > 0 ? { ok: true, value: n } : { ok: false, why: 'small' } }\nprint(f(1), f(0))", '{"ok":true,"value":1} {"ok":false,"why":"small"}'),
    ],
    "groups that take part": [
        (FOUND + "const m = find('2026-01', '(\\\\d+)-(\\\\d+)')\nif m != null { print(m.groups[0].toNumber() + 1) }", "2027"),
        (FOUND + "print(findAll('a=1 b=2', '(?P<k>a|b)=(?P<v>[(0-9]+)').map(m => m.names['k'].upper() + m.groups[1]))", '["A1","B2"]'),
        (FOUND + "const LINE = '(?im)^(x|y) (?:to|at) ((?:a|b)+)$'\nfor m in findAll('x to ab', LINE) { const [a, b] = m.groups\nprint(a.upper(), b.length) }", "X 2"),
    ],
}  # fmt: skip
