"""Still more short programs about types, as in `probes`: items of several kinds, and what features make of each other."""

# ruff: noqa: E501 (one program is one line)
from __future__ import annotations

PICK = "function pick(): number | text { return 'a' }\nlet v = pick()\n"

REFUSED: dict[str, list[tuple[str, str]]] = {
    "items of several kinds": [
        ('print([1, "a"].sum())', "V0302"),
        ('print([1, "a"].max())', "V0302"),
        ('const xs = [1, "a"]\nprint(xs.min())', "V0302"),
        ('let xs = [1, "a"]\nprint(xs.sort())', "V0302"),
        ('print([true, "a"].min())', "V0302"),
        ('const xs = [1, "a"]\nfor x in xs { print(x * 2) }', "V0302"),
        ('print([1, "a"].map(x => x * 2))', "V0302"),
        ('print([1, "a"].reduce((all, x) => all + x, 0))', "V0302"),
        ('print([1, "a"].sortBy(x => x))', "V0302"),
        ('print([1, "a"].sum(x => x))', "V0301"),
        ('const xs = [1, null, "a"]\nprint(xs.map(x => x.toString()))', "V0330"),
        ("print([[1], 2].flat())", "V0302"),
        ('function f(x: number): number { return x }\nprint([1, "a"].map(f))', "V0301"),
        ("for x in [1, [2]] { print(x.length) }", "V0306"),
        (PICK + "print(v.upper())", "V0307"),
        (PICK + "print(v.length)", "V0306"),
    ],
    "steps": [
        ('const k = 0\nprint("abc"[::k])', "V0309"),
        ("print([1][::1 - 1])", "V0309"),
    ],
    "fields that may be missing, taken out": [
        (
            "type P { name: text, age?: number }\nconst ps: P[] = [{ name: 'a' }, { name: 'b', age: 3 }]\nconst {age: number} = ps[0]\nprint(age)",
            "V0301",
        ),
        (
            "type P { name: text, age?: number }\nconst ps: P[] = [{ name: 'a' }, { name: 'b', age: 3 }]\nconst {age: number | null} = ps[0]\nprint(age + 1)",
            "V0330",
        ),
        (
            "type P { name: text, age?: number }\nconst ps: P[] = [{ name: 'a' }, { name: 'b', age: 3 }]\nfor {name, age} in ps { print(name, age + 1) }",
            "V0330",
        ),
    ],
    "rounds and arrays of functions": [
        ("const xs = async for n in 1..4 {\n  const f = () => { continue }\n  yield f\n}", "V0503"),
        ("const xs = async for n in 1..4 { try { yield n } finally { continue } }\nprint(xs)", "V0530"),
        ("const f = [(n: number) => n + 1]\nprint(f + 'a')", "V0342"),
        ("const f = [(n: number) => n + 1]\nprint((f + [1])[0](2))", "V0311"),
    ],
    "maps of wider types": [
        ("let m: { [text]: number } = { a: 1 }\nlet w: { [text]: number | null } = m", "V0331"),
        ("let m: { [text]: number } = { a: 1 }\nlet w: { [text]: json } = m", "V0331"),
        (
            'function spoil(m: { [text]: number | null }) { m["a"] = null }\nlet m: { [text]: number } = { a: 1 }\nspoil(m)\nprint(m["a"] + 1)',
            "V0331",
        ),
        (
            'function keep(m: { [text]: number | null }): { [text]: number | null } { return m }\nlet m: { [text]: number } = { a: 1 }\nlet w = keep(m)\nw["a"] = null\nprint(m["a"] + 1)',
            "V0331",
        ),
        (
            'type B { m: { [text]: number | null } }\nlet m: { [text]: number } = { a: 1 }\nlet b: B = { m: m }\nb.m["a"] = null\nprint(m["a"] + 1)',
            "V0331",
        ),
        (
            'let m: { [text]: number } = { a: 1 }\nlet all: { [text]: number | null }[] = []\nall.push(m)\nall[0]["a"] = null\nprint(m["a"] + 1)',
            "V0331",
        ),
        (
            'type B { m: { [text]: number } }\ntype W { m: { [text]: number | null } }\nlet b: B = { m: { a: 1 } }\nlet w: W = b\nw.m["a"] = null\nprint(b.m["a"] + 1)',
            "V0331",
        ),
        ("let mm: { [text]: number[] } = { a: [1] }\nlet w: { [text]: (number | text)[] } = mm", "V0331"),
        (
            'let m: { [text]: number } = { a: 1 }\nconst f: ({ [text]: number | null }) => null = x => { x["a"] = null }\nf(m)\nprint(m["a"] + 1)',
            "V0331",
        ),
        (
            'let m: { [text]: number } = { a: 1 }\nfunction call(f: ({ [text]: number }) => null) { f(m) }\ncall((x: { [text]: number | null }) => { x["a"] = null })\nprint(m["a"] + 1)',
            "V0331",
        ),
        (
            'let m: { [text]: number } = { a: 1 }\nlet w: { [text]: number | null } = args.length == 0 ? m : {}\nw["a"] = null\nprint(m["a"] + 1)',
            "V0331",
        ),
        (
            'let ms: { [text]: { [text]: number } } = { a: { x: 1 } }\nlet w: { [text]: { [text]: number | null } } = { ...ms }\nw["a"]["x"] = null\nprint(ms["a"]["x"] + 1)',
            "V0331",
        ),
        ('let m: { [text]: "a" | "b" } = { x: "a" }\nlet w: { [text]: text } = m', "V0331"),
        (
            'let o = { v: [1] }\nlet m: { [text]: (number | text)[] } = { ...o }\nm["v"].push("a")\nprint(o.v.sum())',
            "V0331",
        ),
    ],
    "optional fields that are null": [
        ('type U { a?: number | null }\nlet u: U = { a: null }\nprint(u.get("a", 1) + 1)', "V0330"),
        (
            'type U { a: number | null, b: number }\nlet u: U = { a: null, b: 2 }\nlet k = "a"\nprint(u.get(k, 1) + 1)',
            "V0330",
        ),
        ("type U { a?: number | null }\nlet u: U = { a: null }\nlet o = { a: 1, ...u }\nprint(o.a + 1)", "V0330"),
    ],
    "unions, maps, functions as values": [
        (
            'type Shape = { kind: "c", r: number } | { kind: "s", w: number }\nconst shapes: Shape[] = [{ kind: "c", r: 1 }, { kind: "s", w: 2 }]\nprint(shapes.map(s => s.r))',
            "V0306",
        ),
        (
            'type Shape = { kind: "c", r: number } | { kind: "s", w: number }\nlet s: Shape = { kind: "c", r: 1 }\nif s.kind == "c" { s = { kind: "s", w: 2 }\nprint(s.r) }',
            "V0306",
        ),
        (
            'type Shape = { kind: "c", r: number } | { kind: "s", w: number }\nfunction mk(): Shape { return { kind: "s", w: 2 } }\nlet s = mk()\ns.kind = "c"\nif s.kind == "c" { print(s.r + 1) }',
            "V0306",
        ),
        (
            "let x: number | null = 3\nconst f = () => x != null ? () => x + 1 : () => 0\nconst g = f()\nx = null\nprint(g())",
            "V0330",
        ),
        ("let x: number | null = 3\nif x != null { const f = () => x + 1\nx = null\nprint(f()) }", "V0330"),
        ("let xs: (number | null)[] = [1, null]\nif xs[0] != null { xs[0] = null\nprint(xs[0] + 1) }", "V0330"),
        ("let xs: (number | null)[] = [1, null]\nlet i = 0\nif xs[i] != null { i = 1\nprint(xs[i] + 1) }", "V0330"),
        (
            "let xs: (number | null)[] = [1, null]\nconst i = 0\nif xs[i] != null { xs.reverse()\nprint(xs[i] + 1) }",
            "V0330",
        ),
        (
            "let xs: (number | null)[] = [1, null]\nif xs[0] != null { let ys = xs\nys[0] = null\nprint(xs[0] + 1) }",
            "V0330",
        ),
        ("let o: { a: number | null } = { a: 1 }\nlet p = o\nif o.a != null { p.a = null\nprint(o.a + 1) }", "V0330"),
        (
            "let o: { a: number | null } = { a: 1 }\nlet ps = [o]\nif o.a != null { for p in ps { p.a = null }\nprint(o.a + 1) }",
            "V0330",
        ),
        (
            "let o: { a: number | null } = { a: 1 }\nif o.a != null { [o].map(p => { p.a = null })\nprint(o.a + 1) }",
            "V0330",
        ),
        (
            'let m: { [text]: number | null } = { a: 1 }\nif m["a"] != null { m["a"] = null\nprint(m["a"] + 1) }',
            "V0330",
        ),
        ('let m: { [text]: number } = { a: 1 }\nprint(m.get("b") + 1)', "V0330"),
        ('let m: { [text]: number[] } = {}\nif not m.has("a") { m["a"] = [] }\nm["a"].push("x")', "V0301"),
        ('let m: { [text]: number[] } = { a: [1] }\nlet all = m.values()\nall.push(["x"])', "V0301"),
        ('let m: { [text]: number[] } = { a: [1] }\nfor k, v in m { v.push("x") }', "V0301"),
        (
            'let m: { [text]: (number) => number } = { inc: n => n + 1 }\nprint(m["inc"](1))\nprint(m["inc"]("a"))',
            "V0301",
        ),
        ('let m: { [text]: (number) => number } = { inc: n => n + 1 }\nm["t"] = (s: text) => 1', "V0301"),
        ('let m: { [text]: (number) => number } = { inc: n => n + 1 }\nm["t"] = n => "x"', "V0301"),
        ("const ops: { [text]: (number, number) => number } = { add: (a, b) => a + b, neg: a => -a }", "V0341"),
        (
            "const ops = { add: (a: number, b: number) => a + b, neg: (a: number) => -a }\nprint(ops.add(1, 2), ops.neg(1))\nprint(ops.neg(1, 2))",
            "V0310",
        ),
        (
            'function compose(f: (number) => text, g: (text) => number): (number) => number { return x => g(f(x)) }\nprint(compose(n => "${n}", t => t.length)(12))\nprint(compose(n => n, t => t.length)(12))',
            "V0301",
        ),
        (
            'function twice(f: (number) => number): (number) => number { return x => f(f(x)) }\nprint(twice(x => x + "a")(1))',
            "V0301",
        ),
        ("const xs = [3, 1].sortBy(x => null)", "V0302"),
        ("const xs = [3, 1].sortBy(x => x > 1)", "V0302"),
        ('const g = ["a", "b"].groupBy(x => x.length)', "V0301"),
        ('const r = [1, 2].reduce((a, x) => "${a}${x}", 0)\nprint(r + 1)', "V0301"),
        ("const r: number = [1, 2].reduce((a, x) => a + x, null)", "V0301"),
        ("const r = [[1, 2], [3]].map(x => x.sum()).filter(n => n > 1).map(n => n.upper())", "V0307"),
        ("const r = [[1, 2], [3]].flat().flat()", "V0302"),
        ('const r = ["a"].zip([1])\nprint(r[0].first + 1, r[0].second.upper())', "V0307"),
        ('const r = ["a"].zip(["b"]).map(p => p.third)', "V0306"),
        ("const r = [1, 2].find(x => x > 5)\nprint(r + 1)", "V0330"),
        ("const r = [{ n: 1 }].find(x => x.n > 5)\nprint(r.n)", "V0330"),
        ("const r = [{ n: 1 }].find(x => x.n > 5)?.n\nprint(r + 1)", "V0330"),
        ("const r = [1].max(x => [x])", "V0302"),
        ('const r = ["a"].max()\nprint(r + 1, r * 2)', "V0302"),
    ],
    "asking, tools, inputs, errors, matches": [
        (
            'tool t(a: number, b: text = "q"): text @description "x" { return "{a}{b}" }\nprint(t(1), t(1, b: "z"), t("a"))',
            "V0301",
        ),
        ('tool t(a: number): { x: number } @description "x" { return { x: "a" } }', "V0301"),
        ('const x: { a: number, b: text[] } = do "q"\nprint(x.a.upper())', "V0307"),
        ('const x: { a: number, b: text[] } = do "q"\nprint(x.c)', "V0306"),
        ('const x: number = do "q"\nprint(x.toolCalls.len, x.upper())', "V0308"),
        ('const x: number | null = do "q"\nprint(x + 1)', "V0330"),
        ('const x: "a" | "b" = do "q"\nif x == "c" { print(x) }', "V0303"),
        ('const {a: number, b: text} = do "q"\nprint(a.upper(), b + 1, b * 2)', "V0307"),
        ('const x: (number) => number = do "q"', "V0342"),
        ('function f(): number { return do "q" }\nprint(f().upper())', "V0307"),
        ('function f(m: model): text { return do "q" m }\nprint(f("gpt"))', "V0301"),
        ('model m = { name: "a/b", tools: [f] }\nfunction f(x: number): number { return x }', "V0301"),
        ('model m = { name: "a/b", tools: ["x"] }', "V0301"),
        ('model m = { name: "a/b", temperature: "hot" }', "V0301"),
        ("model m = { name: 5 }", "V0301"),
        ('let x = do "q" + 5\nconst t: text = do 5', "V0314"),
        ('do ["a"]', "V0314"),
        ("do { a: 1 }", "V0314"),
        ('for x in do "q" { print(x) }', "V0305"),
        ('const xs: text[] = do "q"\nfor x in xs { print(x * 2) }', "V0302"),
        ('const xs = vibe "q"\nprint(xs.run.usage.inputTokens + 1)', "V0330"),
        ('const xs = vibe "q"\nprint(xs.toolCalls[0].args.x.y, xs.toolCalls[0].duration.upper())', "V0307"),
        ('async let x: number = do "q"\nx = "a"', "V0301"),
        ("async let x = f()\nfunction f(): number { return 1 }\nprint(x.upper())", "V0307"),
        ("async const x = f()\nfunction f(): number | null { return 1 }\nprint(x + 1)", "V0330"),
        ('const rs = async for x in ["a"] { yield x.length }\nprint(rs[0].upper())', "V0307"),
        ('const rs: text[] = async for x in ["a"] { yield x.length }', "V0301"),
        ('const rs = async for x in ["a", "b"] { yield x == "a" ? 1 : null }\nprint(rs[0] + 2)', "V0330"),
        ('let n = 0\nconst rs = async for x in ["a", "b"] { const f = () => { n += 1 }\nf()\nyield n }', "V0505"),
        ('let ns = [1]\nconst rs = async for x in ["a", "b"] { ns.push("x")\nyield 1 }', "V0505"),
        ('input n: number = "a"', "V0301"),
        ("input n: number | null\nprint(n + 1)", "V0330"),
        ("input xs: text[] = []\nprint(xs.sum())", "V0302"),
        ('input m: { [text]: number } = {}\nprint(m["a"].upper())', "V0307"),
        ('input mode: "a" | "b" = "c"', "V0301"),
        ('returns number\nreturn "a"', "V0301"),
        ('returns { a: number }\nconst x = 1\n({ a: "x" })', "V0301"),
        ("returns number\nprint(1)", "V0301"),
        ("returns text[]\n[1, 2].map(x => x)", "V0301"),
        ("try { throw { code: 5 } } catch e { print(e.value.code + 1, e.code + 1, e.code * 2) }", "V0302"),
        ('try { throw "a" } catch e { e = "b" }', "V0401"),
        ('try { throw "a" } catch e { print(e.message.upper(), e.upper()) }', "V0307"),
        ('try { throw "a" } catch e { print(e + 1, e == "a", "{e}") }', "V0302"),
        ('function f(): text { try { return "a" } catch e { print(e) } }', "V0501"),
        ('function f(): text { try { throw "x" } catch e { return e } }\nprint(f())', "V0301"),
        (
            'function f(x: text | number): number { match x { is text => { return x.length } is number => { return x } } }\nprint(f("a"), f(2))',
            "V0101",
        ),
        ("function f(x: text | number): number { return match x { is text => x, is number => x } }", "V0301"),
        ('function f(x: "a" | "b" | null): number { return match x { "a" => 1, null => 0 } }', "V0361"),
        ('function f(x: number): text { return match x { 1 => "a", 2 => "b" } }', "V0361"),
        ("const x = match 5 { is text => 1, else => 2 }", "V0303"),
    ],
    "what either side says": [
        (
            'type L = "INFO" | "WARN"\nfunction f(t: text): L | null { if t == "INFO" or t == "X" { return t }\nreturn null }',
            "V0301",
        ),
        (
            'function f(x: number | text | null): text { if x is text or x is number { return x.upper() }\nreturn "none" }',
            "V0307",
        ),
        ("function f(x: number | null, y: number): number { if x == 1 or y == 2 { return x + 1 }\nreturn 0 }", "V0330"),
        (
            "let x: number | null = 1\nfunction z(): boolean { x = null\nreturn true }\nif x == 1 or z() { print(x + 1) }",
            "V0330",
        ),
        (
            "let x: number | null = 1\nfunction z(): boolean { x = null\nreturn false }\nif z() or x == 1 { print(x + 1) }",
            "V0330",
        ),
        (
            "let x: number | null = 1\nfunction z(): boolean { x = null\nreturn true }\nif (x == 1 and z()) or x == 2 { print(x + 1) }",
            "V0330",
        ),
        (
            'type S = { kind: "a", n: number } | { kind: "b", m: number } | { kind: "c" }\nfunction f(s: S): number { if s.kind == "a" or s.kind == "b" { return s.n }\nreturn 0 }',
            "V0306",
        ),
        (
            "function f(a: number | null, b: number | null): number { if not (a == null or b == null) { return a + b }\nif not (a == null and b == null) { return a + b }\nreturn 0 }",
            "V0330",
        ),
        (
            "let o: { a: number | null } = { a: 1 }\nfunction z(): boolean { o.a = null\nreturn true }\nif o.a == 1 or (z() and o.a == 2) { print(o.a + 1) }",
            "V0330",
        ),
        ("let xs = [1, 2]\nlet x: number | text = 1\nif x is number or xs.length > 5 { print(x + 1) }", "V0302"),
    ],
}

ACCEPTED: dict[str, list[tuple[str, str]]] = {
    "items of several kinds": [
        (
            'const xs = [1, "a", 2]\nfor x in xs { print(match x { is number => x + 1, is text => x.upper() }) }',
            "2\nA\n3",
        ),
        (
            'const xs = [1, "a", { a: 1 }, [2], null]\nprint(xs.filter(x => x is number).sum(), xs)',
            '1 [1,"a",{"a":1},[2],null]',
        ),
        (
            'const rows = [["a", 1], ["b", 2]]\nlet t = 0\nfor [n, v] in rows { t += v }\nprint(t, rows.map(r => r[1]).sum())',
            "3 3",
        ),
        ('const [a, b] = ["x", 1]\nprint(a.upper(), b + 1)', "X 2"),
        ('let xs = [1, "b"]\nxs = [1, 2]\nprint(xs.sum())', "3"),
        ('print([1, "a"].join("-"), [1, "a"].unique().length)', "1-a 2"),
        (PICK + "print(v.toString(), v + '!')", "a a!"),
        (
            "let xs: number[] | text[] = args.length > 4 ? [1] : ['a']\nfor x in xs { print(x) }\nprint(xs.length, xs.join('-'))",
            "a\n1 a",
        ),
        ("let m: number | text | null = args.length > 4 ? null : 2\nprint(m?.toString())", "2"),
    ],
    "numbers": [
        (
            "let i = 1.5e308 * 10\nprint(i.toFixed(2), (i - i).toFixed(1), (10 ** 400).toFixed(1).length)",
            "Infinity NaN 403",
        ),
        ("let xs = [1]\nxs.insert(10 ** 30, 2)\nxs.insert(-(10 ** 30), 0)\nprint(xs)", "[0,1,2]"),
        (
            "let i = 0.5\ntry { print([1][i]) } catch e { print(e.code, e) }",
            "V0904 an index is a whole number, not 0.5",
        ),
    ],
    "fields that may be missing, taken out": [
        (
            "type P { name: text, age?: number }\nconst ps: P[] = [{ name: 'a' }, { name: 'b', age: 3 }]\nconst {name: text, age: number | null} = ps[0]\nprint(name, age)",
            "a null",
        ),
        (
            "type P { name: text, age?: number }\nconst ps: P[] = [{ name: 'a' }, { name: 'b', age: 3 }]\nfor {name, age} in ps { print(name, age ?? 0) }",
            "a 0\nb 3",
        ),
        (
            "type P { name: text, age?: number }\nconst ps: P[] = [{ name: 'a' }, { name: 'b', age: 3 }]\nfor {name, age = 5} in ps { print(name, age + 1) }",
            "a 6\nb 4",
        ),
        (
            "type A { city?: text }\nfunction f(): { home: A } { return { home: {} } }\nconst {home: {city: text | null}} = f()\nprint(city ?? 'none')",
            "none",
        ),
    ],
    "rounds and arrays of functions": [
        (
            "const xs = async for n in 1..4 {\n  for i in 3 { if i == 1 { continue }\n  yield i * n }\n  try { if n == 2 { continue } } finally { print('f') }\n  match n { 3 => continue, else => yield n * 100 }\n}\nprint(xs)",
            "f\nf\nf\nf\n[0,2,100,0,4,0,6,0,8,400]",
        ),
        (
            "const maybe: (number | null)[] = [1, null]\nconst xs: number[] = async for n in maybe {\n  if n == null { continue }\n  yield n + 1\n}\nprint(xs)",
            "[2]",
        ),
        (
            "const f = [(n: number) => n + 1]\nconst g = [(n: number) => n + 2]\nlet h = f + g\nh += f\nprint(h.map(x => x(1)))",
            "[2,3,2]",
        ),
    ],
    "maps of wider types": [
        (
            'const m: { [text]: number } = { a: 1 }\nconst w: { [text]: number | null } = m\nprint(w, w["a"])',
            '{"a":1} 1',
        ),
        (
            "function total(m: { [text]: number | null }): number { return m.values().map(v => v ?? 0).sum() }\nlet m: { [text]: number } = { a: 1 }\nprint(total(m))",
            "1",
        ),
        (
            "let m: { [text]: number } = { a: 1 }\nlet w: { [text]: number | null } = { ...m, b: null }\nprint(w, m)",
            '{"a":1,"b":null} {"a":1}',
        ),
        ('let m: { [text]: json } = { a: 1 }\nlet w: { [text]: number } = m\nm["a"] = "x"\nprint(w["a"] + 1)', "2"),
        (
            'let m: { [text]: json } = { a: 1 }\nlet ns: { [text]: number }[] = [{}]\nns[0] = m\nns.push(m)\nm["a"] = "x"\nprint(ns[0]["a"] + 1, ns[1]["a"] + 1)',
            "2 2",
        ),
    ],
    "optional fields that are null": [
        ("type U { a?: number }\nlet u: U = { a: 1 }\nu.a = null\nlet o = { a: 1, ...u }\nprint(o.a + 1)", "2"),
        (
            "type U { a?: number }\nlet u: U = { a: 1 }\nu.a = null\nconst o: { a: number } = { a: 1, ...u }\nprint(o.a + 1)",
            "2",
        ),
        (
            'type U { a?: number }\nconst u: U = parseJson("{\\"a\\": null}")\nconst o: { a: number } = { a: 1, ...u }\nprint(o.a + 1)',
            "2",
        ),
        ('type U { a?: number }\nlet u: U = { a: 1 }\nu.a = null\nprint(u.get("a", 5) + 1)', "6"),
        (
            'type U { a?: number }\nlet u: U = { a: 1 }\nu.a = null\nlet m: { [text]: number } = { ...u }\nfor k, v in m { print(v + 1) }\nprint(m, { b: 2, ...u }, u.get("a"))',
            '{} {"b":2} null',
        ),
        (
            'type O { retries?: number, name?: text, tags?: text[] }\nfunction go(options: O = {}): text {\n  const all = { retries: 3, name: "x", tags: ["a"], ...options }\n  return "${all.retries + 1} ${all.name.upper()} ${all.tags.join("+")}"\n}\nprint(go(), go({ retries: 5 }), go({ name: null, tags: ["q"] }))',
            "4 X a 6 X a 4 X q",
        ),
        (
            'type U { a?: number, b: text }\nlet u: U = { a: null, b: "x" }\nlet k = "a"\nprint(u.get(k, 1), u.get(k), u.get("zz", 3))',
            "1 null 3",
        ),
    ],
    "unions, maps, functions as values": [
        (
            'type Shape = { kind: "c", r: number } | { kind: "s", w: number }\nconst shapes: Shape[] = [{ kind: "c", r: 1 }, { kind: "s", w: 2 }]\nprint(shapes.filter(s => s.kind == "c").map(s => s.r).sum())',
            "1",
        ),
        (
            'type Shape = { kind: "c", r: number } | { kind: "s", w: number }\nfunction mk(): Shape { return { kind: "s", w: 2 } }\nconst s = mk()\nprint(match s.kind { "c" => s.r, "s" => s.w })',
            "2",
        ),
        (
            'type Shape = { kind: "c", r: number } | { kind: "s", w: number }\nfunction mk(): Shape { return { kind: "s", w: 2 } }\nconst s = mk()\nprint(match s { is { kind: "c" } => s.r, else => s.w })',
            "2",
        ),
        (
            'type Shape = { kind: "c", r: number } | { kind: "s", w: number }\nfunction mk(): Shape { return { kind: "s", w: 2 } }\nlet s = mk()\nconst f = () => s.kind == "c" ? s.r : s.w\ns = { kind: "c", r: 5 }\nprint(f())',
            "5",
        ),
        ('let m: { [text]: number[] } = {}\nm["a"] = (m["a"] ?? []) + [1]\nprint(m)', '{"a":[1]}'),
        ("function twice(f: (json) => json): (json) => json { return x => f(f(x)) }\nprint(twice(x => x + 1)(1))", "3"),
        ('const r = [1, 2].reduce((a, x) => a + x, "")\nprint(r.length)', "2"),
        ('const r = ["a"].reduce((a, x) => { a[x] = 1\nreturn a }, {})\nprint(r)', '{"a":1}'),
        (
            'let start: { [text]: number } = {}\nconst r = ["a", "b", "a"].reduce((a, x) => { a[x] = a.get(x, 0) + 1\nreturn a }, start)\nprint(r)',
            '{"a":2,"b":1}',
        ),
    ],
    "asking, tools, inputs, errors, matches": [
        ('const rs = async for x in ["a", "b"] { if x == "a" { yield 1 } else { yield "x" } }\nprint(rs[0] * 2)', "2"),
        (
            'function f(): text { try { throw "x" } catch e { return e.message } finally { print("f") } }\nprint(f())',
            "f\nx",
        ),
        ('function f(x: text): text { return match x { "a" => "x", "a" => "y", else => "z" } }', ""),
        ('function f(x: boolean): text { return match x { true => "x", false => "y" } }\nprint(f(true))', "x"),
        (
            'type T = { a: number } | { b: text }\nfunction f(t: T): number { if t is { a: number } { return t.a }\nreturn t.b.length }\nprint(f({ a: 1 }), f({ b: "xy" }))',
            "1 2",
        ),
        (
            'type A { a: number }\ntype B { b: text }\nfunction f(t: A | B): number { if t is A { return t.a }\nreturn t.b.length }\nprint(f({ a: 1 }), f({ b: "xy" }))\nconst both = { a: "x", b: "y" }\nprint(f(both))',
            "1 2\n1",
        ),
        (
            'type A { a: number }\ntype B { a: number, b: text }\nfunction f(t: A | B): text { if t is B { return t.b }\nreturn "${t.a}" }\nconst x = { a: 1, b: 5 }\nprint(f(x))',
            "1",
        ),
    ],
    "what either side says": [
        (
            'type L = "INFO" | "WARN"\nfunction f(t: text): L | null { if t == "INFO" or t == "WARN" { return t }\nreturn null }\nprint(f("INFO"), f("x"))',
            "INFO null",
        ),
        (
            'function f(x: number | text | null): text { if x is text or x is number { return "${x}" + x }\nreturn "none" }\nprint(f("a"), f(1), f(null))',
            "aa 11 none",
        ),
        (
            "function f(x: number | null): number { if x == 1 or x == 2 { return x + 1 }\nreturn 0 }\nprint(f(1), f(null))",
            "2 0",
        ),
        (
            'type S = { kind: "a", n: number } | { kind: "b", n: number } | { kind: "c" }\nfunction f(s: S): number { if s.kind == "a" or s.kind == "b" { return s.n }\nreturn 0 }\nprint(f({ kind: "a", n: 2 }), f({ kind: "c" }))',
            "2 0",
        ),
        (
            'function f(x: "a" | "b" | "c"): number { if x == "a" or x == "b" { return 1 } else { const c: "c" = x\nreturn c.length } }\nprint(f("c"))',
            "1",
        ),
        (
            'function f(x: "a" | "b" | "c"): number { if x == "a" { return 1 }\nif x == "b" or x == "c" { return 2 } }\nprint(f("c"))',
            "2",
        ),
        (
            'function f(x: text): "a" | "b" | "c" | "d" | "e" | "f" | "g" { if x == "a" or x == "b" or x == "c" or x == "d" or x == "e" or x == "f" or x == "g" { return x }\nreturn "a" }\nprint(f("g"))',
            "g",
        ),
        ('const j = parseJson("5")\nif j is number or j is text { const v: number | text = j\nprint(v) }', "5"),
    ],
}
