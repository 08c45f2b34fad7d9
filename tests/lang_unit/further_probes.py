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
}
