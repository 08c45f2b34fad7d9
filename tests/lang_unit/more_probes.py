"""More short programs about types, as in `probes`: what objects show of themselves, what functions are handed, what is
known after choices and calls, types that contain themselves, null and json beside other values.
"""

# ruff: noqa: E501 (one program is one line)
from __future__ import annotations

REFUSED: dict[str, list[tuple[str, str]]] = {
    "dynamic fields": [
        (
            'type P { x: number, y?: number }\nconst q = { z: "h", x: 1, y: 2 }\nconst p: P = q\nprint(p.keys(), p.values(), p.length, len(p), p.has("z"), "z" in p, "y" in p, { ...p }, p.entries(), p.get("y"), p)',
            "V0331",
        ),
    ],
    "functions, filters, types in themselves": [],
    "fields that a type does not name, effects": [
        ('const xs = [1, 2].sortBy(x => x > 1 ? "a" : 3)\nprint(xs)', "V0302"),
        ("print(f())\nlet x = 5\nfunction f(): number { return x + 1 }", "V0202"),
        ("const g = () => f()\nprint(g())\nlet x = 5\nfunction f(): number { return x + 1 }", "V0202"),
        (
            "function outer(): number {\n  const r = inner()\n  let y = 3\n  function inner(): number { return y + 1 }\n  return r\n}\nprint(outer())",
            "V0202",
        ),
        ("print(f())\nconst x = 5\nfunction f(): number { return x + 1 }", "V0202"),
        ("function f(): number { return x + 1 }\nprint([1].map(_ => f()))\nlet x = 5", "V0202"),
        ("function f(): number { return y }\nif 1 == 1 { print(f()) }\nlet y = 1", "V0202"),
        ("let y: number = g()\nfunction g(): number { return y }\nprint(y)", "V0202"),
        (
            "let x: number | null = 1\nfunction f() { let x = 5\n{ x = 3 } }\nfunction g() { if true { let x = 3 }\nx = null }\nif x != null { g()\nprint(x + 1) }",
            "V0330",
        ),
        (
            "let x: number | null = 1\nfunction g() { { let x = 1\nprint(x) }\nx = null }\nif x != null { g()\nprint(x + 1) }",
            "V0330",
        ),
        (
            "let x: number | null = 1\nfunction g() { for x in 3 { print(x) }\nx = null }\nif x != null { g()\nprint(x + 1) }",
            "V0330",
        ),
        (
            "let x: number | null = 1\nfunction g() { [1].map(x => x)\nx = null }\nif x != null { g()\nprint(x + 1) }",
            "V0330",
        ),
    ],
    "aliases": [
        (
            "type A { x: number }\ntype B { x: number, y: number }\nlet bs: B[] = [{ x: 1, y: 2 }]\nlet as: A[] = bs\nas.push({ x: 3 })\nprint(bs[1].y + 1)",
            "V0331",
        ),
        (
            "type A { x: number }\ntype B { x: number, y: number }\nlet bs: B[] = [{ x: 1, y: 2 }]\nlet all: A[][] = []\nall.push(bs)\nall[0].push({ x: 3 })\nprint(bs[1].y + 1)",
            "V0331",
        ),
        ('let a = { v: [1] }\nlet o: { v: (number | text)[] } = { ...a }\no.v.push("a")\nprint(a.v.sum())', "V0331"),
        ('let a = [1]\nlet vs: (number | text)[] = a.length > 0 ? a : ["x"]\nvs.push("x")\nprint(a.sum())', "V0331"),
        (
            'let a = [1]\nlet vs: (number | text)[] = match a.length { 1 => a, else => ["x"] }\nvs.push("x")\nprint(a.sum())',
            "V0331",
        ),
    ],
    "narrowing and numbers": [
        (
            'let x: number | null = 1\nfunction z(): number { x = null\nreturn 1 }\nif x != z() { print("s") }\nif x == z() { print(x + 1) }',
            "V0330",
        ),
        (
            "let x: number | null = 1\nfunction z(): number { x = null\nreturn 1 }\nif x == 1 and z() == 1 { print(x + 1) }",
            "V0330",
        ),
        (
            "let g: number | null = 1\nfunction go(f: (number) => number) { [1].map(f) }\nfunction clr(x: number): number { g = null\nreturn x }\nif g != null { go(clr)\nprint(g + 1) }",
            "V0330",
        ),
        (
            "let g: number | null = 1\nfunction clr() { g = null }\nfunction go(f: () => null) { f() }\nif g != null { go(clr)\nprint(g + 1) }",
            "V0330",
        ),
    ],
    "functions that take json, filters": [
        ('const ns = [1]\nconst vs: (number | text)[] = ns.length > 0 ? ns : ["x"]\nprint(vs)', "V0331"),
        (
            'let ns = [1]\nfunction show(a: (number | text)[]): number { return a.length }\nprint(show(ns.length > 0 ? ns : ["a"]))',
            "V0331",
        ),
        (
            'let ns = [1]\nfunction add(a: (number | text)[]) { a.push("x") }\nadd(ns.length > 0 ? ns : ["a"])\nprint(ns.sum())',
            "V0331",
        ),
        (
            'let ns = [1]\nfunction add(a: (number | text)[]) { a.push("x") }\nadd(match 1 { 1 => ns, else => ["a"] })\nprint(ns.sum())',
            "V0331",
        ),
        ("let xs: (number | null)[] = [1, null]\nprint(xs.filter(x => x != null or 1 == 1).sum())", "V0302"),
        ("let xs: (number | null)[] = [1, null]\nprint(xs.filter(x => x == null).sum())", "V0302"),
    ],
    "types in themselves": [
        ("type Tree = { [text]: Tree }\nconst t: Tree = { a: 1 }", "V0301"),
        ("type Nest = Nest[]\nlet n: Nest = []\nn.push(1)", "V0301"),
        ("type Tree = { [text]: Tree }\nconst t: Tree = 5", "V0301"),
    ],
    "what is known after choices, order of declarations": [
        ('let g: text | null = null\nconst j = parseJson("[null]")\ng = j[0]\nprint(g.upper())', "V0330"),
        ('const j = parseJson("[null]")\nlet g: text | null = j[0]\nprint(g.upper())', "V0330"),
        (
            'const j = parseJson("[null]")\nlet o: { g: text | null } = { g: "a" }\no.g = j[0]\nprint(o.g.upper())',
            "V0330",
        ),
        ('const j = parseJson("[null]")\nconst g: text | null = j[0]\nprint(g.upper())', "V0330"),
        ("const g: text | null = py() { return None }\nprint(g.upper())", "V0330"),
        (
            "let g: number | null = null\nif args.length > 1 { g = 1 } else if args.length > 2 { g = 2 }\nprint(g + 1)",
            "V0330",
        ),
        ("let g: number | null = null\nif args.length > 1 { g = 1 } else { g = 2 }\ng = null\nprint(g + 1)", "V0330"),
        ("let g: number | null = 3\nif args.length > 1 { g = null } else { g = 2 }\nprint(g + 1)", "V0330"),
        (
            "let x: number | null = null\nwhile x == null { if args.length == 0 { break }\nx = 3 }\nprint(x + 1)",
            "V0330",
        ),
        (
            "let x: number | null = null\nfunction z(): number { x = null\nreturn 1 }\nx = args.length == 0 ? 1 : null\nif x == 1 and z() == 1 { print(x + 1) }",
            "V0330",
        ),
        (
            "let x: number | null = args.length == 0 ? 1 : null\nfunction z(): number { x = null\nreturn 1 }\nif x == z() { print(x + 1) }",
            "V0330",
        ),
        (
            "let x: number | null = args.length == 0 ? 1 : null\nfunction z(): boolean { x = null\nreturn true }\nprint((x != null and z()) ? x + 1 : 0)",
            "V0330",
        ),
        (
            "let x: number | null = args.length == 0 ? 1 : null\nfunction z(): boolean { x = null\nreturn false }\nif x == null or z() { return }\nprint(x + 1)",
            "V0330",
        ),
        (
            "let o: { x: number | null } = { x: 1 }\nfunction z(): boolean { o.x = null\nreturn true }\nif o.x != null and z() { print(o.x + 1) }",
            "V0330",
        ),
        ("print(a())\nfunction a(): number { return b() }\nfunction b(): number { return x }\nlet x = 1", "V0202"),
        ("print(a())\nfunction a(): number { return p }\nconst { p: number } = { p: 1 }", "V0202"),
        ("function f(n: number): number { return n + k }\nprint([1].map(f))\nconst k = 1", "V0202"),
        (
            "function go() {\n  if true { print(h()) }\n  const z = 1\n  function h(): number { return z }\n}\ngo()",
            "V0202",
        ),
        (
            "function f(n: number): number { return n + z }\nconst r: number[] = async for i in 3 { yield f(i) }\nconst z = 2\nprint(r)",
            "V0202",
        ),
    ],
    "json and arguments": [
        ("function f(a: number = b, b: number = 1): number { return a + b }\nprint(f())", "V0201"),
        ("print(f())\nfunction f(a: number = k): number { return a }\nconst k = 2", "V0202"),
        ('function f(a: number = "x") { print(a) }', "V0301"),
        ("function f(a: number) { print(a) }\nf()", "V0310"),
        ('print("a".split(1))', "V0301"),
        ('print("a".replace("b"))', "V0310"),
        ('print("a".padStart("3"))', "V0301"),
        ('print((1).toFixed("2"))', "V0301"),
        ("print([1].join(1))", "V0301"),
        ('let a = [1]\na.push("x")', "V0301"),
        ('print([1].includes("x"))', "V0301"),
        ('print([1].indexOf("x"))', "V0301"),
        ("let m: { [text]: number } = {}\nm[1] = 2", "V0309"),
        ("let m: { [text]: number } = {}\nprint(m.has(1))", "V0301"),
        ("let m: { [text]: number } = {}\nm.remove(1)", "V0301"),
        ('let m: { [text]: number } = {}\nprint(m.get("a", "x") + 1)', "V0301"),
        ("let xs: number[] | null = null\nprint([...xs, 1])", "V0362"),
        ("let o: { a: number } | null = null\nprint({ ...o })", "V0362"),
        ("let xs: number[] | null = null\nprint(1 in xs)", "V0302"),
        ("let o: { a: number } | null = null\nconst { a: number } = o", "V0301"),
        ("for x in [1, null] { print(x + 1) }", "V0330"),
        ("let o: { a: { b: number } } | null = null\nprint(o?.a.b + 1)", "V0330"),
        ('let t: text | null = null\nprint(t?.upper() + "x")', "V0330"),
        ("let f: ((number) => number) | null = null\nprint(f(1))", "V0311"),
        ("type O { f?: (number) => number }\nconst o: O = {}\nprint(o.f(1))", "V0311"),
        ('let rows = [{ n: 2, b: true }, { n: 1, b: false }]\nlet k = "b"\nprint(rows.sort(k))', "V0302"),
        ("try { throw 5 } catch e { print(e.stack) }", "V0306"),
        ("assert(5)", "V0301"),
        ("let t: text | null = null\nassert(1 == 1, t)", "V0301"),
    ],
    "null and empties": [
        ('const k = "zz"\nlet rows = [{ n: 2 }]\nprint(rows.sort(k))', "V0306"),
        ('let xs = ["a", null]\nprint(xs[0].upper())', "V0330"),
        ("const ps = [{ a: 1 }, { a: null }]\nfor p in ps { print(p.a + 1) }", "V0330"),
        ('let rows = [{ tags: [] }, { tags: ["x"] }]\nrows[0].tags.push(1)', "V0301"),
    ],
    "unlike values, empty objects": [
        ("let n = 1\nn += {}", "V0302"),
        ("let y: number | null = {}", "V0301"),
        ("function f(n: number): number { return n }\nprint(f({}))", "V0301"),
        ("print(1 * {})", "V0302"),
        ("print(-{})", "V0302"),
        ("let xs: (number | text)[] = [1, {}]", "V0301"),
        ('print("a"[{}])', "V0309"),
        ("print({} in { a: 1 })", "V0302"),
        ("let m: { [text]: number } = {}\nm[{}] = 1", "V0309"),
        ('let n: number | null = null\nprint((n ?? "none") * 2)', "V0302"),
        ("function f(r: text | null): text { return r ?? [1] }\nprint(f(null))", "V0301"),
        ('const v = args.length > 5 ? 1 : "a"\nprint(v * 2)', "V0302"),
        ('const f = (x: number) => { if x > 1 { return "a" }\nreturn 3 }\nprint(f(1) * 2)', "V0302"),
        ('const v = match args.length { 0 => "a", else => 1 }\nprint(v * 2)', "V0302"),
        ('print([1, 2].sortBy(x => x > 1 ? "a" : 3))', "V0302"),
        ("for p in [1].zip(print(true)) { print(p) }", "V0301"),
        ("let a = 2\nif 0 < a is number { print(a) }", "V0113"),
        ('const xs = [1, 2].map(x => x > 1 ? "a" : 3)\nfor x in xs { print(x - 1) }', "V0302"),
    ],
    "constants through map, and what may be number or text": [],
    "variables that functions keep": [
        ('let g: text | null = "a"\nif g != null {\n  const f = () => g.upper()\n  g = null\n  print(f())\n}', "V0330"),
        (
            'let g: text | null = "a"\nfunction mk(): () => text {\n  if g == null { return () => "x" }\n  return () => g.upper()\n}\nconst f = mk()\ng = null\nprint(f())',
            "V0330",
        ),
        ("let g: number | null = 3\nconst clear = () => { g = null }\nif g != null { clear()\nprint(g + 1) }", "V0330"),
        ("let g: number | null = 3\nif g != null { [1].map(x => { g = null\nreturn x })\nprint(g + 1) }", "V0330"),
        (
            "let g: number | null = 3\nfunction each(f: () => null) { f() }\nif g != null { each(() => { g = null\nreturn null })\nprint(g + 1) }",
            "V0330",
        ),
        (
            'function f(g: text | null): () => text {\n  if g == null { return () => "none" }\n  const r = () => g.upper()\n  g = null\n  return r\n}\nprint(f("a")())',
            "V0330",
        ),
        (
            'let g: text | null = args.length == 0 ? "a" : null\nfunction other() { g = null }\nif g != null { const f = () => g.upper()\nother()\nprint(f()) }',
            "V0330",
        ),
    ],
    "defaults of fields that there are not": [
        ("const ps = [{ a: 1 }]\nfor {a, b = []} in ps { print(a + b) }", "V0302"),
        ("const ps = [{ a: 1 }]\nfor {a, b = 'x'} in ps { print(a * b) }", "V0302"),
    ],
}

ACCEPTED: dict[str, list[tuple[str, str]]] = {
    "functions, filters, types in themselves": [
        (
            'function total(f: (number[]) => number): number { return f([1,2]) }\nlet ns = [1, 2]\nfunction app(f: (number[]) => null) { f(ns) }\napp((x: json) => { x.push("a")\nreturn null })\nprint(ns.sum())',
            "3",
        ),
        ("let ns = [1, 2]\nconst f: (number[]) => number = (x: json) => { return x.length }\nprint(f(ns))", "2"),
        (
            'type P { x: number, y: number }\ntype Q { x: number, y: number, name: text }\nconst q: Q = { x: 1, y: 2, name: "a" }\nconst p: P = q\nprint(p.values())\nprint(p.values().length)',
            "[1,2]\n2",
        ),
        (
            'type P { x: number, y: number }\nconst q = { x: 1, y: 2, name: "a" }\nconst p: P = q\nfor k in p.keys() { print(k, p[k]) }',
            "x 1\ny 2",
        ),
        (
            'type P { x: number }\nconst q = { x: 1, name: "a" }\nfunction f(p: P) { for k, v in p { print(k, v) } }\nf(q)\nfunction g(p: P) { for e in p.entries() { print(e.key, e.value) } }\ng(q)',
            "x 1\nx 1",
        ),
        (
            'type P { x: number }\nconst q = { x: 1, name: "a" }\nfunction f(p: P): json { return p.get("name") }\nprint(f(q))\nlet k = "name"\nfunction g(p: P): json { return p.get(k) }\nprint(g(q))',
            "null\nnull",
        ),
        (
            "let xs: (number | null)[] = [1, null, 3]\nconst ys: number[] = xs.filter(x => x != null)\nprint(ys.sum())",
            "4",
        ),
        ('let xs: (text | null)[] = ["a", null]\nprint(xs.filter(x => x != null).map(x => x.upper()))', '["A"]'),
        ('let xs: (number | text)[] = [1, "a"]\nprint(xs.filter(x => x is number).sum())', "1"),
        (
            'type C { kind: "c", r: number }\ntype S { kind: "s", a: number }\nconst xs: (C | S)[] = [{ kind: "c", r: 1 }, { kind: "s", a: 3 }]\nprint(xs.filter(x => x.kind == "c").map(x => x.r))',
            "[1]",
        ),
        ("let xs: (number | null)[] = [1, null, 3]\nprint(xs.filter(x => x != null and x > 1).map(x => x + 1))", "[4]"),
        (
            'let xs: (number | text)[] = [1, "a"]\nconst t = xs.find(x => x is text)\nif t != null { print(t.upper()) }',
            "A",
        ),
        (
            "type Tree = { [text]: Tree }\nconst t: Tree = { a: { b: {} } }\nfunction depth(t: Tree): number {\n  let d = 0\n  for k, v in t { const n = depth(v)\n    if n > d { d = n } }\n  return d + 1\n}\nprint(depth(t))",
            "3",
        ),
        ("type Nest = Nest[]\nconst n: Nest = [[], [[]]]\nprint(n.length)", "2"),
        (
            'type Json2 = number | text | Json2[]\nfunction total(j: Json2): number {\n  if j is number { return j }\n  if j is text { return 0 }\n  return j.map(total).sum()\n}\nprint(total([1, [2, "x"]]))',
            "3",
        ),
        (
            'function f(g: text | null): () => text {\n  if g == null { return () => "none" }\n  return () => g.upper()\n}\nprint(f("a")())',
            "A",
        ),
        (
            'function f(): () => text {\n  let g: text | null = "a".upper() == "A" ? "x" : null\n  if g == null { return () => "none" }\n  return () => g.upper()\n}\nprint(f()())',
            "X",
        ),
    ],
    "fields that a type does not name, effects": [
        (
            'const q = { x: 1, note: "a" }\nconst p: { x: number } = q\nconst b: { x: number, note?: number } = p\nprint((b.note ?? 0) + 1)',
            "1",
        ),
        (
            'type A { x: number }\ntype B { x: number, note?: number }\nconst q = { x: 1, note: "a" }\nfunction g(b: B): number { return (b.note ?? 0) + 1 }\nfunction f(a: A): number { return g(a) }\nprint(f(q))',
            "1",
        ),
        (
            'const q = { a: 1, b: "x" }\nconst p: { a: number } = q\nconst xs = [p, { a: 1, b: 2 }]\nprint(xs.map(x => (x.b ?? 0) + 1))',
            "[1,3]",
        ),
        (
            'const q = { a: 1, b: "x" }\nconst p: { a: number } = q\nconst x = q.a == 1 ? p : { a: 1, b: 2 }\nprint((x.b ?? 0) + 1)',
            "1",
        ),
        (
            'type P { x: number }\nconst q = { x: 1, name: "a" }\nfunction f(p: P): number { const r = { name: 1, ...p }\nreturn r.name + 1 }\nprint(f(q))',
            "2",
        ),
        (
            'const q = { a: 1, b: "x" }\nconst p: { a: number } = q\nconst m: { [text]: number } = { ...p }\nprint(m.values().sum())',
            "1",
        ),
        (
            'const q = { a: 1, b: "x" }\nconst p: { a: number } = q\nconst { a: number, b: number = 3 } = p\nprint(a + b)',
            "4",
        ),
        ('const q = { a: 1, b: "x" }\nconst ps: { a: number }[] = [q]\nfor {a, b = 3} in ps { print(a + b) }', "4"),
        (
            'type N { next: N | null, a: text }\ntype M { next: M | null, b: text }\nfunction f(x: N | M): text { if x is M { return x.b }\nreturn x.a }\nprint(f({ next: null, a: "q" }))',
            "q",
        ),
        (
            'type N { next: N | null, a: text }\ntype M { next: M | null, b: text }\nconst n: N = { next: null, a: "q" }\nprint(n is M)',
            "false",
        ),
        (
            'type P { x: number, y: number }\nconst q = { x: 1, y: 2, name: "a" }\nfunction total(p: P): number { let s = 0\nfor k in p.keys() { s += p[k] }\nreturn s }\nprint(total(q))',
            "3",
        ),
        (
            'type P { x: number, y: number }\nconst q = { x: 1, y: 2, name: "a" }\nfunction total(p: P): number { let s = 0\nfor k, v in p { s += v }\nreturn s }\nprint(total(q))',
            "3",
        ),
    ],
    "narrowing and numbers": [
        ("let x: number | null = null\nwhile x == null { x = 3 }\nprint(x + 1)", "4"),
        ("let g: number | null = null\nif args.length > 1 { g = 1 } else { g = 2 }\nprint(g + 1)", "3"),
        ("let g: number | null = null\nmatch args.length { 0 => g = 1, else => g = 2 }\nprint(g + 1)", "2"),
    ],
    "dynamic fields": [],
    "functions that take json, filters": [
        (
            'let ns = [1]\nfunction call(f: (number[]) => null) { f(ns) }\ncall(1 == 1 ? (x: json) => { x.push("a")\nreturn null } : (x: json) => null)\nprint(ns.sum())',
            "1",
        ),
        (
            'let ns = [1]\nfunction call(n: number, f: (number[]) => null) { f(ns) }\ncall(1, f: (x: json) => { x.push("a")\nreturn null })\nprint(ns.sum())',
            "1",
        ),
        (
            'let ns = [1]\ntype O { f: (number[]) => null }\nfunction add(x) { x.push("a") }\nconst o: O = { f: add }\no.f(ns)\nprint(ns.sum())',
            "1",
        ),
        (
            'let ns = [1]\nconst add = (x: json) => { x.push("a") }\nconst g: (number[]) => null = add\ng(ns)\nprint(ns.sum())',
            "1",
        ),
        (
            'let ns = [1]\nfunction mk(): (number[]) => null { return (x: json) => { x.push("a") } }\nmk()(ns)\nprint(ns.sum())',
            "1",
        ),
        (
            'let ns = [1]\nconst fs: ((number[]) => null)[] = [(x: json) => { x.push("a") }]\nfs[0](ns)\nprint(ns.sum())',
            "1",
        ),
        (
            'let ns = [1]\nfunction call(f: (number[]) => null = (x: json) => { x.push("a") }) { f(ns) }\ncall()\nprint(ns.sum())',
            "1",
        ),
        (
            'let nss = [[1]]\nfunction keep(a) { return a }\nlet out = nss.map(keep)\nout[0].push("x")\nprint(nss[0].sum())',
            "1",
        ),
        ('let nss = [[1]]\nlet out = nss.map((a: json) => a)\nout[0].push("x")\nprint(nss[0].sum())', "1"),
        (
            'let nss = [[1]]\nlet kept: json = []\nnss.map((a: json) => { kept.push(a)\nreturn 1 })\nkept[0].push("x")\nprint(nss[0].sum())',
            "1",
        ),
        (
            'let ns = [1]\nlet kept: json = []\nconst f: (number[]) => null = (a: json) => { kept.push(a)\nreturn null }\nf(ns)\nkept[0].push("x")\nprint(ns.sum())',
            "1",
        ),
        ('const j = parseJson("[1, \\"a\\", null]")\nconst ts: text[] = j.filter(x => x is text)\nprint(ts)', '["a"]'),
        (
            'let xs: ("a" | "b")[] = ["a", "b"]\nprint(xs.filter(x => x == "a").length, xs.filter(x => x != "a"))',
            '1 ["b"]',
        ),
        ("let xs: (number | null)[] = [1, null]\nprint(xs.filter(x => { return x != null }).sum())", "1"),
        ("let xs: (number | null)[] = [1, null]\nprint(xs.filter((x, i) => x != null and i < 5).sum())", "1"),
        (
            "let xs: (number | null)[] = [1, null]\nlet y: number | null = 3\nprint(xs.filter(x => y != null).length)",
            "2",
        ),
        (
            "let xs: (number | null)[] = [1, null]\nlet ys = xs.filter(x => x != null)\nys.push(3)\nxs.push(null)\nprint(ys.sum())",
            "4",
        ),
        (
            "let m: { [text]: number | null } = { a: 1, b: null }\nprint(m.entries().filter(e => e.value != null).map(e => e.key))\nprint(m.values().filter(v => v != null).sum())",
            '["a"]\n1',
        ),
        (
            'type P { name: text, boss?: text }\nconst ps: P[] = [{ name: "a" }, { name: "b", boss: "a" }]\nprint(ps.map(p => p.boss).filter(b => b != null).map(b => b.upper()))',
            '["A"]',
        ),
    ],
    "types in themselves": [
        (
            "type Arr = Value[]\ntype Value = number | Arr\nconst v: Value = [1, [2, [3]]]\nfunction total(v: Value): number { if v is number { return v }\nreturn v.map(total).sum() }\nprint(total(v))",
            "6",
        ),
        (
            "type Dir = { [text]: Entry }\ntype Entry = Dir | number\nconst d: Dir = { a: 1, b: { c: 2 } }\nfunction size(e: Entry): number { if e is number { return e }\nlet s = 0\nfor k, x in e { s += size(x) }\nreturn s }\nprint(size(d))",
            "3",
        ),
        (
            'type Value = number | text | boolean | null | Value[] | { [text]: Value }\nfunction show(v: Value): text {\n  return match v { is number => "n", is text => v, is boolean => "b", null => "null", is Value[] => "[" + v.map(show).join(",") + "]", is { [text]: Value } => "{" + v.keys().join(",") + "}" }\n}\nprint(show([1, "a", null, { k: [] }]))\nconst parsed: Value = parseJson("[1, {\\"a\\": [true]}]")\nprint(show(parsed), parsed)',
            '[n,a,null,{k}]\n[n,{a}] [1,{"a":[true]}]',
        ),
        ("type T = number | (T | null)[]\nlet t: T = [1, null, [2]]\nprint(t)", "[1,null,[2]]"),
        (
            "type Nest = Nest[]\nlet n: Nest = []\nn.push([])\nn[0].push([[]])\nlet m = n\nm.push(n[0])\nprint(n)",
            "[[[[]]],[[[]]]]",
        ),
        (
            'type Tree = { [text]: Tree }\nlet t: Tree = {}\nt["a"] = {}\nt["a"]["b"] = {}\nlet u = t.copy()\nu["z"] = t\nprint(t, u)',
            '{"a":{"b":{}}} {"a":{"b":{}},"z":{"a":{"b":{}}}}',
        ),
        ("type A = { [text]: A }\ntype B = { [text]: B }\nlet a: A = { x: {} }\nlet b: B = a\nprint(b)", '{"x":{}}'),
        ("type Nest = Nest[]\nconst all: Nest[] = [[[]]]\nprint(all)", "[[[]]]"),
        (
            "type Tree = { [text]: Tree }\nconst depth: (Tree) => number = t => t.length == 0 ? 1 : 1 + t.values().map(depth).max()\nprint(depth({ a: { b: {} } }))",
            "3",
        ),
        (
            'type Tree = { [text]: Tree }\nfunction mk(): Tree { return {} }\nlet t = mk()\nt["a"] = mk()\nconst ks = t.values().map(v => v.keys())\nprint(t, ks)',
            '{"a":{}} [[]]',
        ),
        (
            "type Tree = { [text]: Tree }\nconst a: Tree = {}\nconst b: Tree = { x: {} }\nprint(a == b, a in [b])",
            "false false",
        ),
        (
            "type A = { [text]: A }\ntype B = B[]\nconst a: A = {}\nconst b: B = []\nconst c = a.length == 0 ? a : b\nprint(c)",
            "{}",
        ),
        (
            'type Value = number | Value[]\nfunction f(x: Value | text): text { if x is text { return x }\nif x is number { return "n" }\nreturn "a${x.length}" }\nprint(f([1]), f("a"))',
            "a1 a",
        ),
    ],
    "what is known after choices, order of declarations": [
        ('let mode: "fast" | "slow" = "fast"\nif mode == "slow" { print("s") } else { print("f") }', "f"),
        ("let g: number | null = null\nif g == null { g = 2 }\nprint(g + 1)", "3"),
        (
            "type P { n: number }\nconst ps: P[] = [{ n: 1 }, { n: 3 }]\nlet best: P | null = null\nfor p in ps { if best == null or p.n > best.n { best = p } }\nif best == null { best = { n: 0 } }\nprint(best.n)",
            "3",
        ),
        (
            'let g: text | null = null\nif args.length > 1 { g = "a" } else if args.length > 2 { g = "b" } else { return }\nprint(g.upper())',
            "",
        ),
        (
            "let x: number | null = args.length == 0 ? 1 : null\nfunction z(): boolean { return true }\nif x != null and z() { print(x + 1) }",
            "2",
        ),
        (
            "function f(a: number | null, b: boolean): number {\n  let x: number | null = a\n  if x == null { if b { x = 1 } else { x = 2 } }\n  return x + 1\n}\nprint(f(null, true), f(5, false))",
            "2 6",
        ),
        ('function f(a: number | null): number {\n  if a == null { throw "x" }\n  return a + 1\n}\nprint(f(1))', "2"),
        (
            'let t: text = "q"\nif t == "a" { print(t) } else { t = "b" }\nlet u: text = t\nu = "zzz"\nprint(t, u)\nt = "other"\nprint(t)',
            "b zzz\nother",
        ),
        ("function f(n: number): number { return n == 0 ? k : f(n - 1) }\nconst k = 1\nprint(f(2))", "1"),
        ("function f(x: number): number { return x }\nprint(f(2))\nlet x = 1\nprint(x)", "2\n1"),
        (
            "const z = 2\nfunction f(n: number): number { return n + z }\nconst r: number[] = async for i in 3 { yield f(i) }\nprint(r)",
            "[2,3,4]",
        ),
    ],
    "json and arguments": [
        ("const o = { f: () => 1, xs: [1] }\no.xs.push(2)", ""),
        ("function f(a: number, b: number = a + 1): number { return a + b }\nprint(f(1))", "3"),
    ],
    "null and empties": [
        (
            "function f(a: number, b: number = a + 1, c: number = a + b): number { return a + b + c }\nprint(f(1), f(1, 5), f(1, c: 0))",
            "6 12 3",
        ),
        ("const xs = [1, 2].map(x => x > 1 ? x : null)\nprint(xs.filter(x => x != null).sum())", "2"),
        ("let m: { [text]: number | null } = { a: null, b: 2 }\nprint(m.values().filter(v => v != null).sum())", "2"),
    ],
    "unlike values, empty objects": [
        ("const a = [[1]]\nlet m: number[][] = []\nm += a\nm[0].push(2)\nprint(a, m)", "[[1,2]] [[1,2]]"),
        ('let nss = [[1]]\nlet j: json = []\nj += nss\nj[0].push("x")\nprint(nss[0].sum())', "1"),
        ('let nss = [[1]]\nlet j: json = []\nlet k = j + nss\nk[0].push("x")\nprint(nss[0].sum())', "1"),
        (
            "const k = [[]]\nprint(k[0].sum())\nfor x in k { for y in x { print(y + 1) } }\nfor z in [] { print(z + 1) }",
            "0",
        ),
    ],
    "constants through map, and what may be number or text": [
        ("const items = [{ n: 1 }]\nlet more = items.map(i => i)\nmore[0].n = 5\nprint(items)", '[{"n":5}]'),
        (
            "const items = [{ inner: { n: 1 } }]\nlet more = items.map(i => i.inner)\nmore[0].n = 5\nprint(items)",
            '[{"inner":{"n":5}}]',
        ),
        (
            "const items = [{ n: 1 }]\nfunction same(i: { n: number }): { n: number } { return i }\nlet more = items.map(same)\nmore[0].n = 5\nprint(items)",
            '[{"n":5}]',
        ),
        (
            'const base = { tags: ["a"] }\nlet more = [1].map(i => base)\nmore[0].tags.push("x")\nprint(base, more)',
            '{"tags":["a","x"]} [{"tags":["a","x"]}]',
        ),
        (
            'const items = [{ n: 1, tags: ["a"] }]\nlet more = items.map(i => ({ ...i, n: i.n + 1 }))\nmore[0].n = 5\nmore[0].tags.push("b")\nprint(items, more)',
            '[{"n":1,"tags":["a","b"]}] [{"n":5,"tags":["a","b"]}]',
        ),
        (
            'const items = [{ n: 1, tags: ["a"] }]\nlet more = items.map(i => { const t = i.tags\nreturn { tags: t, n: 2 } })\nmore[0].tags.push("b")\nprint(items, more)',
            '[{"n":1,"tags":["a","b"]}] [{"tags":["a","b"],"n":2}]',
        ),
        (
            'const base = { tags: ["a"] }\nlet more = [1].map(i => ({ b: base }))\nmore[0].b.tags.push("x")\nprint(base, more)',
            '{"tags":["a","x"]} [{"b":{"tags":["a","x"]}}]',
        ),
        (
            'type A { city: text }\ntype U { name: text, address?: A, tags?: text[] }\nconst us: U[] = parseJson("[{\\"name\\": \\"a\\", \\"address\\": null, \\"tags\\": null}]")\nprint(us[0].address?.city ?? "nowhere", us[0].tags ?? [])',
            "nowhere []",
        ),
        (
            'let v: number | text = 5\nprint(v == "x")\nif v is text { print(v.upper()) } else { print(v + 1) }\nprint(match v { is number => "n", is text => "t" })',
            "false\n6\nn",
        ),
        (
            "const k = [[]]\nprint(k[0].sum())\nfor x in k { for y in x { print(y + 1) } }\nfor z in [] { print(z + 1) }",
            "0",
        ),
    ],
}
