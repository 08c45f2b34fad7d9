"""More short programs about types, as in `probes`: what is made of values of several types, constants by way of other
values, types that a test finds, fields of several kinds, variables that begin with null.
"""

# ruff: noqa: E501 (one program is one line)
from __future__ import annotations

REFUSED: dict[str, list[tuple[str, str]]] = {
    "values of several types put together": [
        ('let ns = [[1]]\nlet ts = [["a"]]\nlet ks = ns + ts\nks[0].push("x")\nprint(ns[0].sum())', "V0331"),
        ('let ns = [{ v: 1 }]\nlet ts = [{ v: "a" }]\nlet ks = ns + ts\nks[0].v = "x"\nprint(ns[0].v * 2)', "V0331"),
        (
            "let ns = [{ v: 1 }]\nlet ts = [{ v: 1, w: 2 }]\nlet ks = ns + ts\nks[1].w = null\nprint(ts[0].w * 2)",
            "V0331",
        ),
        ('let a = { v: 1 }\nlet b = { v: "a" }\nlet c = args.length == 0 ? a : b\nc.v = "x"\nprint(a.v * 2)', "V0331"),
        (
            "let a = { v: 1, w: 2 }\nlet b = { v: 1 }\nlet c = args.length == 0 ? a : b\nc.w = null\nprint(a.w * 2)",
            "V0331",
        ),
        (
            'let a = { v: 1, w: 2 }\nlet b = { v: 1 }\nlet c = args.length == 0 ? a : b\nc.remove("w")\nprint(a.w * 2)',
            "V0331",
        ),
        ("let a = { v: 1, w: 2 }\nlet b = { v: 1 }\nlet cs = [a, b]\ncs[0].w = null\nprint(a.w * 2)", "V0331"),
        ('let a = { v: 1 }\nlet b = { v: "x" }\nlet cs = [a, b]\ncs[0].v = "y"\nprint(a.v * 2)', "V0331"),
        ('let a = [1]\nlet b = ["x"]\nlet cs = [a, b]\ncs[0].push("y")\nprint(a.sum())', "V0331"),
        ("let a = { v: 1 }\nlet b = { v: null }\nlet cs = [a, b]\ncs[0].v = null\nprint(a.v * 2)", "V0331"),
        (
            'let a = { v: 1 }\nlet b = { v: "x" }\nlet c = match args.length { 0 => a, else => b }\nc.v = "q"\nprint(a.v * 2)',
            "V0331",
        ),
        (
            'let a = { v: 1 }\nlet b = { v: "x" }\nconst f = (n: number) => { if n == 0 { return a }; return b }\nlet c = f(0)\nc.v = "q"\nprint(a.v * 2)',
            "V0331",
        ),
        (
            "let a = { v: 1, w: 1 }\nlet b = { v: 2 }\nconst f = (n: number) => { if n == 0 { return a }; return b }\nlet c = f(0)\nc.w = null\nprint(a.w * 2)",
            "V0331",
        ),
        (
            "let a = { v: 1, w: 1 }\nlet b = { v: 2 }\nlet cs = [0, 1].map(n => n == 0 ? a : b)\ncs[0].w = null\nprint(a.w * 2)",
            "V0331",
        ),
        (
            "let a = { v: { n: 1 } }\nlet b: { v: { n: number | null } } = { ...a }\nb.v.n = null\nprint(a.v.n + 1)",
            "V0331",
        ),
        ("let a = [{ n: 1 }]\nlet b: { n: number | null }[] = [...a]\nb[0].n = null\nprint(a[0].n + 1)", "V0331"),
        (
            "let a = [{ n: 1 }]\nlet b: { first: { n: number | null }, second: number }[] = a.zip([1])\nb[0].first.n = null\nprint(a[0].n + 1)",
            "V0331",
        ),
        (
            'let a = [{ n: 1, k: "x" }]\nlet b: { [text]: { n: number | null, k: text }[] } = a.groupBy(x => x.k)\nb["x"][0].n = null\nprint(a[0].n + 1)',
            "V0331",
        ),
        (
            "let a = [{ n: 1 }]\nlet b: { n: number | null } = a.reduce((x, y) => y, a[0])\nb.n = null\nprint(a[0].n + 1)",
            "V0331",
        ),
        (
            "let a = { v: 1, w: 2 }\nlet b = { v: 1 }\nlet rows = async for n in [0, 1] { if n == 0 { yield a } else { yield b } }\nrows[0].w = null\nprint(a.w * 2)",
            "V0331",
        ),
        ("let a = { v: 1, w: 2 }\nlet b = { v: 1 }\nlet [p, q] = [a, b]\np.w = null\nprint(a.w * 2)", "V0331"),
    ],
    "literals that are declared, by another name": [
        ('let a: { k: "x" } = { k: "x" }\nlet b = a\nb.k = "zzz"\nconst k: "x" = a.k\nprint(k)', "V0301"),
        ('let a: ("x")[] = ["x"]\nlet b = a\nb.push("zzz")\nconst k: "x" = a[1]\nprint(k)', "V0301"),
        ("let a: { v: null } = { v: null }\nlet b = a\nb.v = 5\nprint(a.v == null)", "V0301"),
        (
            'function f(a: { k: "x" }) { let b = a; b.k = "zzz" }\nlet a: { k: "x" } = { k: "x" }\nf(a)\nconst k: "x" = a.k\nprint(k)',
            "V0301",
        ),
        (
            'let m: { [text]: { k: "x" } } = { a: { k: "x" } }\nlet b = m["a"]\nb.k = "zz"\nconst k: "x" = m["a"].k\nprint(k)',
            "V0301",
        ),
        ("let m: { k: 1 }[] = [{ k: 1 }]\nlet b = m[0]\nb.k = 5\nconst k: 1 = m[0].k\nprint(k)", "V0301"),
        ("let m: { k: 1 }[] = [{ k: 1 }]\nlet b = [...m]\nb[0].k = 5\nconst k: 1 = m[0].k\nprint(k)", "V0301"),
        ('let a: { k: "x" } = { k: "x" }\nlet bs = [a]\nbs[0].k = "zzz"\nconst k: "x" = a.k\nprint(k)', "V0301"),
        ('let a: { k: "x" } = { k: "x" }\nlet bs = { a }\nbs.a.k = "zzz"\nconst k: "x" = a.k\nprint(k)', "V0301"),
        (
            'let a: { k: "x" } = { k: "x" }\nconst f = () => a\nlet b = f()\nb.k = "zzz"\nconst k: "x" = a.k\nprint(k)',
            "V0301",
        ),
        (
            'let a: { k: "x" }[] = [{ k: "x" }]\nlet b = a.map(x => x)\nb[0].k = "zzz"\nconst k: "x" = a[0].k\nprint(k)',
            "V0301",
        ),
        (
            'let a: { k: "x" } = { k: "x" }\nlet b = async for i in [1] { yield a }\nb[0].k = "zzz"\nconst k: "x" = a.k\nprint(k)',
            "V0301",
        ),
        (
            'let a: { k: "x" } = { k: "x" }\nlet b = args.length == 0 ? a : { k: "q" }\nb.k = "zzz"\nconst k: "x" = a.k\nprint(k)',
            "V0331",
        ),
    ],
    "constants by way of other values": [
        ("const o: { a?: number[] } = { a: [1] }\n(o.a ?? []).push(1)\nprint(o)", "V0402"),
        ("const ps = [{ n: 1 }]\nps.max(p => p.n).n = 5\nprint(ps)", "V0402"),
        ("const d = [[1]]\nd[0:1][0].push(3)\nprint(d)", "V0402"),
        ("const d = [[1]]\n(d + [[2]])[0].push(3)\nprint(d)", "V0402"),
        ('args.push("x")\nprint(args)', "V0402"),
        ('const ps = [{ k: "a", n: 1 }]\nlet g = ps.groupBy(p => p.k)\ng["a"][0].n = 5\nprint(ps)', "V0402"),
        ("const o = { a: [1], b: [2] }\n(args.length == 0 ? o.a : o.b).push(1)\nprint(o)", "V0402"),
    ],
}

ACCEPTED: dict[str, list[tuple[str, str]]] = {
    "values of several types put together": [
        (
            'let ada = { name: "Ada", age: 36 }\nlet bob = { name: "Bob" }\nconst all = [ada, bob]\nprint(all.map(p => p.age ?? 0))',
            "[36,0]",
        ),
        (
            'let ada = { name: "Ada", age: 36 }\nlet bob = { name: "Bob" }\nlet all = [ada, bob]\nprint(all.length, all[0].name)\nfor p in all { print(p.name, p.age ?? 0) }',
            "2 Ada\nAda 36\nBob 0",
        ),
        (
            'let ada = { name: "Ada", age: 36 }\nlet bob = { name: "Bob" }\nfor p in [ada, bob] { print(p.name.upper()) }',
            "ADA\nBOB",
        ),
        (
            'let ns = [1]\nlet ts = ["a"]\nprint(args.length > 0 ? ns : ts)\nconst x = args.length > 0 ? ns : ts\nprint(x)\nlet y = args.length > 0 ? ns : ts\nfor z in y { print(z) }',
            '["a"]\n["a"]\na',
        ),
        (
            'let ns = [1]\nlet ts = ["a"]\nconst rows = [ns, ts]\nprint(rows.map(r => r.length))\nfor r in [ns, ts] { print(r.length, r.join("-")) }',
            "[1,1]\n1 1\n1 a",
        ),
        (
            "let a = { v: 1, w: 2 }\nlet b = { v: 1 }\nconst o = { best: args.length > 3 ? a : b }\nprint(o.best.w ?? 0)",
            "0",
        ),
        (
            "let a = { v: 1, w: 2 }\nlet b = { v: 1 }\nfunction show(x: json) { print(x) }\nshow([a, b])\nshow(args.length > 3 ? a : b)",
            '[{"v":1,"w":2},{"v":1}]\n{"v":1}',
        ),
        (
            "let a = { v: 1 }\nlet b = { v: 2 }\nlet all = [a, b]\nall[0].v = 5\nfor p in all { p.v += 1 }\nprint(a, b)",
            '{"v":6} {"v":3}',
        ),
        ('let m: { [text]: number[] } = {}\nlet xs = m["a"] ?? []\nxs.push(1)\nm["a"] = xs\nprint(m)', '{"a":[1]}'),
        (
            "let a = [{ v: 1 }]\nlet b = [{ v: 2, w: 3 }]\nfor x in a + b { print(x.v, x.w ?? 0) }\nconst c = a + b\nprint(c.length)\nlet d = a + b\nprint(d.length)",
            "1 0\n2 3\n2\n2",
        ),
        ("let a = [{ v: 1 }]\nlet c = a + [{ v: 2 }]\nc.push({ v: 3 })\nc[0].v = 9\nprint(a, c.length)", '[{"v":9}] 3'),
        (
            "let a = [{ v: 1 }]\nlet c = [...a, { v: 2 }]\nc.push({ v: 3 })\nc[0].v = 9\nprint(a, c.length)",
            '[{"v":9}] 3',
        ),
        (
            "const f = (n: number) => { if n > 0 { return { v: 1, w: 2 } }; return { v: 0 } }\nlet r = f(1)\nr.w = null\nprint(r)",
            '{"v":1,"w":null}',
        ),
        (
            "let a = { v: 1 }\nlet b = { v: 2 }\nconst f = (n: number) => { if n > 0 { return a }; return b }\nf(1).v = 7\nprint(a)",
            '{"v":7}',
        ),
    ],
    "constants by way of other values": [
        ("const ps = [{ n: 1 }]\nlet zs = [1].zip(ps)\nzs[0].second.n = 5\nprint(ps)", '[{"n":1}]'),
        (
            "const start = { n: 0 }\nconst r = [1, 2].reduce((a, x) => { a.n += x; return a }, start)\nprint(start, r)",
            '{"n":0} {"n":3}',
        ),
        ('const d = [1]\nlet m: { [text]: number[] } = {}\nlet v = m.get("a", d)\nv.push(3)\nprint(d)', "[1]"),
        (
            'const xs = [{ n: 2 }, { n: 1 }]\nlet ys = xs.filter(x => x.n > 0)\nys.push({ n: 5 })\nprint(xs.filter(x => true).sort("n"), xs.map(x => x.n).sort(), (xs + []).reverse().length, xs.slice(0).reverse().length)\nprint(xs.length, ys.length)',
            '[{"n":1},{"n":2}] [1,2] 2 2\n2 3',
        ),
        (
            "const m: { [text]: number } = { b: 1, a: 2 }\nfor k in m.keys().sort() { print(k, m[k]) }\nprint(m.values().sort(), m.entries().reverse().map(e => e.key), [...m.keys()].sort())",
            'a 2\nb 1\n[1,2] ["a","b"] ["a","b"]',
        ),
        ('const t = "b a"\nconst ws = t.split().sort()\nprint(ws, t.split("").reverse().join(""))', '["a","b"] a b'),
        (
            "const base = [{ n: 1 }, { n: 2 }]\nlet mine = base.filter(b => b.n > 1)\nmine.push({ n: 3 })\nprint(mine.length)",
            "2",
        ),
        ("const base = [{ n: 1 }]\nlet mine = base + [{ n: 2 }]\nmine.push({ n: 3 })\nprint(mine.length)", "3"),
        ('const base = [{ n: 2 }, { n: 1 }]\nlet mine = base[:]\nmine.sort("n")\nprint(mine[0].n, base[0].n)', "1 2"),
        ("const base = [{ n: 2 }, { n: 1 }]\nlet mine = base.sortBy(b => b.n)\nmine.reverse()\nprint(mine[0].n)", "2"),
        ("const base = [[1], [2]]\nlet mine = base.map(b => b)\nmine.push([3])\nprint(mine.length)", "3"),
    ],
}
