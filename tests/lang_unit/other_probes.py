"""More short programs about types, as in `probes`: what is made of values of several types, constants by way of other
values, types that a test finds, fields of several kinds, variables that begin with null.
"""

# ruff: noqa: E501 (one program is one line)
from __future__ import annotations

REFUSED: dict[str, list[tuple[str, str]]] = {
    "idioms": [
        (
            'type Named { name: text }\ntype Person { name: text, age: number }\nfunction show(ns: Named[]): text { return ns.map(n => n.name).join() }\nlet ps: Person[] = [{ name: "a", age: 1 }]\nprint(show(ps))',
            "V0331",
        ),
        (
            'const facts = [{ k: "a", v: 1 }, { k: "b", v: "x" }]\nprint(toJson(facts), facts[0].v)\nfunction show(f: { k: text, v: json }): text { return "${f.v}" }\nprint(facts.map(show))',
            "V0331",
        ),
    ],
    "values of several types put together": [
        (
            'let ada = { name: "Ada", age: 36 }\nlet bob = { name: "Bob" }\nconst all = [ada, bob]\nprint(all.map(p => p.age ?? 0))',
            "V0331",
        ),
        (
            'let ada = { name: "Ada", age: 36 }\nlet bob = { name: "Bob" }\nlet all = [ada, bob]\nprint(all.length, all[0].name)\nfor p in all { print(p.name, p.age ?? 0) }',
            "V0331",
        ),
        (
            'let ada = { name: "Ada", age: 36 }\nlet bob = { name: "Bob" }\nfor p in [ada, bob] { print(p.name.upper()) }',
            "V0331",
        ),
        (
            'let ns = [1]\nlet ts = ["a"]\nconst rows = [ns, ts]\nprint(rows.map(r => r.length))\nfor r in [ns, ts] { print(r.length, r.join("-")) }',
            "V0331",
        ),
        (
            "let a = { v: 1, w: 2 }\nlet b = { v: 1 }\nconst o = { best: args.length > 3 ? a : b }\nprint(o.best.w ?? 0)",
            "V0331",
        ),
        (
            "let a = [{ v: 1 }]\nlet b = [{ v: 2, w: 3 }]\nfor x in a + b { print(x.v, x.w ?? 0) }\nconst c = a + b\nprint(c.length)\nlet d = a + b\nprint(d.length)",
            "V0331",
        ),
        ("let a = { v: 1, w: 2 }\nlet o = [{ p: a }, { p: { v: 1 } }]\nprint(o.map(x => x.p.w ?? 0))", "V0331"),
        (
            "let xs = [{ v: 1, w: 2 }]\nconst r = xs.find(x => x.v == 1) ?? { v: 0 }\nprint(r.w ?? 0)\nlet q = xs.find(x => x.v == 1) ?? { v: 0 }\nprint(q.w ?? 0)",
            "V0331",
        ),
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
        (
            "let d: { a?: { v: number, w: number } } = { a: { v: 1, w: 2 } }\nlet s = { a: { v: 1 }, ...d }\ns.a.w = null\nprint(d.a?.w)\nif d.a != null { print(d.a.w * 2) }",
            "V0331",
        ),
        (
            'let d: { a?: number[] } = { a: [1] }\nlet s = { a: ["x"], ...d }\ns.a.push("q")\nif d.a != null { print(d.a.sum()) }',
            "V0331",
        ),
        (
            'let m: { [text]: number[] } = { a: [1] }\nlet x = m.get("a", ["x"])\nx.push("q")\nprint(m["a"].sum())',
            "V0301",
        ),
        (
            'let d = [1]\nlet rows: { xs?: (number | text)[] }[] = [{}]\nfor {xs = d} in rows { let y = xs; y.push("a") }\nprint(d.sum())',
            "V0331",
        ),
        ("let a = { v: 1, w: 2 }\nlet o = { list: [a, { v: 1 }] }\no.list[0].w = null\nprint(a.w * 2)", "V0331"),
        ("let a = { v: 1, w: 2 }\nlet o = [{ p: a }, { p: { v: 1 } }]\no[0].p.w = null\nprint(a.w * 2)", "V0331"),
        (
            "let a = { v: 1, w: 2 }\nconst mk = (n: number) => n > 0 ? a : { v: 1 }\nmk(1).w = null\nprint(a.w * 2)",
            "V0331",
        ),
        (
            "let xs = [{ v: 1, w: 2 }]\nlet r = xs.find(x => x.v == 1) ?? { v: 0 }\nr.w = null\nprint(xs[0].w * 2)",
            "V0331",
        ),
        (
            'let m: { [text]: { v: number, w: number } } = { a: { v: 1, w: 2 } }\nlet r = m["a"] ?? { v: 0 }\nr.w = null\nprint(m["a"].w * 2)',
            "V0331",
        ),
        ("let a = { v: 1, w: 2 }\n(args.length == 0 ? a : { v: 1 }).w = null\nprint(a.w * 2)", "V0331"),
        (
            "let a: { v: number, w: number } | null = { v: 1, w: 2 }\nfunction f(): { v: number, w?: number } { return a ?? { v: 1 } }\nf().w = null\nif a != null { print(a.w * 2) }",
            "V0331",
        ),
        (
            "let a: { v: number, w: number } | null = { v: 1, w: 2 }\nfunction f(o: { v: number, w?: number }) { o.w = null }\nf(a ?? { v: 1 })\nif a != null { print(a.w * 2) }",
            "V0331",
        ),
        (
            "let a = [{ v: 1, w: 2 }]\nfunction f(o: { v: number, w?: number }[]) { o[0].w = null }\nf(a + [{ v: 1 }])\nprint(a[0].w * 2)",
            "V0331",
        ),
        (
            "let a = [{ v: 1, w: 2 }]\nlet b: { v: number, w?: number }[] = a + [{ v: 1 }]\nb[0].w = null\nprint(a[0].w * 2)",
            "V0331",
        ),
        (
            "let a = [{ v: 1, w: 2 }]\nlet xs = [{ v: 1 }, { v: 2, w: 3 }]\nxs += a\nxs[2].w = null\nprint(a[0].w * 2)",
            "V0331",
        ),
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
        (
            'let a: { k: "x" }[] = [{ k: "x" }]\nlet b = a.reduce((s, x) => s, a[0])\nb.k = "zz"\nconst k: "x" = a[0].k\nprint(k)',
            "V0301",
        ),
        (
            'let a: { k: "x" }[] = [{ k: "x" }]\nlet b = [1].zip(a)\nb[0].second.k = "zz"\nconst k: "x" = a[0].k\nprint(k)',
            "V0301",
        ),
    ],
    "constants by way of other values": [],
    "what a test finds of what can change": [
        (
            "let xs: (number | null)[] = [1, 2]\nlet ys: number[] = []\nif xs is number[] { ys = xs }\nxs.push(null)\nprint(ys.sum())",
            "V0301",
        ),
        (
            "let xs: (number | null)[] = [1, 2]\nlet zs = xs\nif xs is number[] { zs.push(null); print(xs.sum()) }",
            "V0302",
        ),
        (
            'let o: { v: number | text } = { v: 1 }\nlet p = o\nif o is { v: number } { p.v = "x"; print(o.v * 2) }',
            "V0302",
        ),
        (
            'let o: { v: number | text } = { v: 1 }\nlet q: { v: number }[] = []\nif o is { v: number } { q.push(o) }\no.v = "x"\nfor z in q { print(z.v * 2) }',
            "V0301",
        ),
        (
            'let o: { [text]: number | text } = { v: 1 }\nlet q: { [text]: number } = {}\nif o is { [text]: number } { q = o }\no["v"] = "x"\nprint(q["v"] * 2)',
            "V0301",
        ),
        (
            "function f(xs: (number | null)[], zs: (number | null)[]): number { if xs is number[] { zs.push(null); return xs.sum() }; return 0 }\nlet a: (number | null)[] = [1]\nprint(f(a, a))",
            "V0302",
        ),
        (
            'let o: { v: number | text } = { v: 1 }\nlet q: { v: number }[] = []\nmatch o { is { v: number } => q.push(o), else => print("no") }\no.v = "x"\nfor z in q { print(z.v * 2) }',
            "V0301",
        ),
        (
            'let os: { v: number | text }[] = [{ v: 1 }]\nlet q = os.filter(o => o is { v: number })\nos[0].v = "x"\nfor z in q { print(z.v * 2) }',
            "V0302",
        ),
    ],
    "fields of several kinds": [
        ('const rows = [{ v: 1 }, { v: "a" }]\nfor r in rows { print(r.v * 2) }', "V0302"),
        ('const rows = [{ v: 1 }, { v: "a" }]\nprint(rows.map(r => r.v * 2))', "V0302"),
        ('const rows = [{ v: 1 }, { v: "a" }]\nprint(rows.sum(r => r.v))', "V0301"),
        ('let rows = [{ v: 1 }, { v: "a" }]\nprint(rows.sort("v"))', "V0302"),
        ('const rows = [{ v: 1 }, { v: "a" }]\nprint(rows.sortBy(r => r.v))', "V0302"),
        ("const rows = [{ v: 1 }, { v: true }]\nfor r in rows { print(r.v + 1) }", "V0302"),
        ("const rows = [{ v: { w: 1 } }, { v: 3 }]\nfor r in rows { print(r.v.w) }", "V0306"),
        ('const rows = [{ v: 1 }, { v: "a" }]\nprint(rows[1].v * 2)', "V0302"),
        ('const o = args.length > 2 ? { v: 1 } : { v: "a" }\nprint(o.v * 2)', "V0302"),
        ('const o = match args.length { 0 => { v: "a" }, else => { v: 1 } }\nprint(o.v * 2)', "V0302"),
        ('const f = (n: number) => { if n > 2 { return { v: 1 } }; return { v: "a" } }\nprint(f(1).v * 2)', "V0302"),
        ('const rows = [{ v: 1 }, { v: "a" }]\nprint(rows.reduce((a, r) => a + r.v, 0))', "V0302"),
        (
            'const rows = async for n in [1, 2] { if n == 1 { yield { v: 1 } } else { yield { v: "a" } } }\nfor r in rows { print(r.v * 2) }',
            "V0302",
        ),
        ('let o = { a: 1, b: "x" }\nfor k, v in o { print(v * 2) }', "V0302"),
        ('const xs = args.length > 0 ? [1] : ["a"]\nfor x in xs { print(x * 2) }', "V0302"),
        ('const xs = args.length > 0 ? [1] : ["a"]\nprint(xs.sum())', "V0307"),
        ('const rows = [{ v: { a: 1 } }, { v: { a: 2, b: "x" } }, { v: 3 }]\nfor r in rows { print(r.v.a) }', "V0306"),
        ('let rows = [{ v: 1 }, { v: "a" }]\nrows.push({ v: true })', "V0301"),
    ],
    "functions in constants": [
        (
            "const fs: ((number) => number)[] = [x => x + 1]\nfunction run(gs: ((number) => number | null)[]): number { return gs[0](1) ?? 0 }\nprint(run(fs))\nconst o = { f: (x: number) => x }\nconst p: { f: (number) => number | text } = o\nprint(p.f(2))",
            "V0331",
        ),
        (
            "let a = [1]\nconst fs: (() => number[])[] = [() => a]\nconst gs: (() => (number | null)[])[] = fs\ngs[0]().push(null)\nprint(a.sum())",
            "V0331",
        ),
        (
            "let a = [1]\nconst fs: (() => number[])[] = [() => a]\nfunction spoil(gs: (() => (number | null)[])[]) { gs[0]().push(null) }\nspoil(fs)\nprint(a.sum())",
            "V0331",
        ),
        (
            "let a = [1]\nconst o = { f: () => a }\nconst p: { f: () => (number | null)[] } = o\np.f().push(null)\nprint(a.sum())",
            "V0331",
        ),
        (
            "let a = [1]\nlet b: (number | null)[] = []\nconst fs = { x: () => a, y: () => b }\nfor k, f in fs { f().push(null) }\nprint(a.sum())",
            "V0307",
        ),
        ('const f = args.length == 0 ? (x: number) => x + 1 : (x: text) => x.length\nprint(f("a"))', "V0311"),
        ('let f: (() => number) | null = null\nconst g = f ?? (() => "a")\nprint(g() * 2)', "V0302"),
    ],
    "variables that begin with null": [
        ("let x = null\nprint(x + 1)", "V0302"),
        ("let x = null\nfunction f(n: number): number { return n }\nprint(f(x))", "V0301"),
        ("let x = null\nfor y in x { print(y) }", "V0305"),
        ("let x = null\nprint(x[0])", "V0309"),
        ("let x = null\nx.push(1)", "V0307"),
        ('let x = null\nx = "a"\nprint(x * 2)', "V0302"),
        ("let xs: (number[] | null)[] = [null, [1]]\nprint(xs.flat().sum())", "V0302"),
        ("const f = (n: number) => { if n > 0 { return }; return 1 }\nprint(f(1) + 1)", "V0330"),
    ],
}

ACCEPTED: dict[str, list[tuple[str, str]]] = {
    "values of several types put together": [
        (
            'let ns = [1]\nlet ts = ["a"]\nprint(args.length > 0 ? ns : ts)\nconst x = args.length > 0 ? ns : ts\nprint(x)\nlet y = args.length > 0 ? ns : ts\nfor z in y { print(z) }',
            '["a"]\n["a"]\na',
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
        ('let o = { a: [1], b: ["x"] }\nfor k, v in o { v.push("q") }\nprint(o.a.sum())', "1"),
        (
            "let o = { a: { v: 1, w: 2 }, b: { v: 1 } }\nfor e in o.entries() { e.value.w = null }\nprint(o.a.w * 2)",
            "4",
        ),
        ("let o = { a: { v: 1, w: 2 }, b: { v: 1 } }\nfor k, x in o { x.w = null }\nprint(o.a.w * 2)", "4"),
        ('let o = { a: { v: 1, w: 2 }, b: { v: 1 } }\nlet k = "a"\no[k].w = null\nprint(o.a.w * 2)', "4"),
        ('let o = { a: { v: 1 }, b: { v: "x" } }\nfor x in o.values() { x.v = "q" }\nprint(o.a.v * 2)', "2"),
    ],
    "constants by way of other values": [
        ("const o: { a?: number[] } = { a: [1] }\n(o.a ?? []).push(1)\nprint(o)", '{"a":[1,1]}'),
        ("const ps = [{ n: 1 }]\nps.max(p => p.n).n = 5\nprint(ps)", '[{"n":5}]'),
        ("const d = [[1]]\nd[0:1][0].push(3)\nprint(d)", "[[1,3]]"),
        ("const d = [[1]]\n(d + [[2]])[0].push(3)\nprint(d)", "[[1,3]]"),
        ('args.push("x")\nprint(args)', '["x"]'),
        (
            'const ps = [{ k: "a", n: 1 }]\nlet g = ps.groupBy(p => p.k)\ng["a"][0].n = 5\nprint(ps)',
            '[{"k":"a","n":5}]',
        ),
        ("const o = { a: [1], b: [2] }\n(args.length == 0 ? o.a : o.b).push(1)\nprint(o)", '{"a":[1,1],"b":[2]}'),
        ("const k = [{ n: 1 }]\nlet q = k.filter(x => true)\nfor z in q { z.n = 5 }\nprint(k)", '[{"n":5}]'),
        (
            "const k = [{ n: 1 }]\nfunction ch(xs: { n: number }[]) { xs[0].n = 7 }\nlet q = k.filter(x => true)\nq.push({ n: 2 })\nch(q)\nprint(k, q)",
            '[{"n":7}] [{"n":7},{"n":2}]',
        ),
        ("const k = [{ n: 1 }]\nlet q = k[:]\nq[0] = { n: 9 }\nq[0].n = 10\nprint(k, q)", '[{"n":1}] [{"n":10}]'),
        (
            "const xs = [[1], [2]]\nlet g = xs.filter(x => true)\nlet last = g.pop()\nlast.push(5)\nprint(xs, g)",
            "[[1],[2,5]] [[1]]",
        ),
        (
            "const xs = [{ n: 1 }]\nlet a = args.length == 0 ? xs : xs[:]\na.push({ n: 2 })\nprint(xs, a)",
            '[{"n":1},{"n":2}] [{"n":1},{"n":2}]',
        ),
        ('const m: { [text]: number[] } = { a: [1] }\nm.get("a")?.push(2)\nprint(m)', '{"a":[1,2]}'),
        ("const ps = [{ n: 1 }]\nlet zs = [1].zip(ps)\nzs[0].second.n = 5\nprint(ps)", '[{"n":5}]'),
        (
            "const start = { n: 0 }\nconst r = [1, 2].reduce((a, x) => { a.n += x; return a }, start)\nprint(start, r)",
            '{"n":3} {"n":3}',
        ),
        ('const d = [1]\nlet m: { [text]: number[] } = {}\nlet v = m.get("a", d)\nv.push(3)\nprint(d)', "[1,3]"),
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
        (
            'const xs = [{ k: 2 }, { k: 1 }]\nlet g = xs.filter(x => true).sort("k").reverse()\ng.pop()\nprint(xs, g)',
            '[{"k":2},{"k":1}] [{"k":2}]',
        ),
        (
            "const k = [{ n: 1 }]\nlet hold: { n: number }[][] = []\nlet q = k.filter(x => true)\nq.push({ n: 2 })\nhold.push(q)\nhold[0][0].n = 5\nprint(k, hold)",
            '[{"n":5}] [[{"n":5},{"n":2}]]',
        ),
        (
            "const k = [{ n: 1 }]\nfunction ch(xs: { n: number }[]) { xs.push({ n: 4 }) }\nlet q = k.filter(x => true)\nch(q)\nch(k.filter(x => true))\nprint(k, q)",
            '[{"n":1}] [{"n":1},{"n":4}]',
        ),
        (
            "const xs = [{ n: 1 }]\nlet a = args.length == 0 ? xs.filter(x => true) : xs[:]\na.push({ n: 2 })\nprint(xs, a)",
            '[{"n":1}] [{"n":1},{"n":2}]',
        ),
        (
            "let items = [1]\nconst store = { all: () => items, find: (n: number) => ({ n }) }\nstore.all().push(2)\nlet f = store.find(3)\nprint(items, f)",
            '[1,2] {"n":3}',
        ),
        ("const items = [1]\nconst store = { all: () => items }\nstore.all().push(2)\nprint(items)", "[1,2]"),
        (
            'const rows = [{ n: 3, t: "a" }, { n: 1, t: "b" }]\nprint(rows.map(r => r.t).reverse(), rows.filter(r => r.n > 0).reverse().map(r => r.n), rows.sortBy(r => r.n).reverse()[0].n)\nlet best = rows.sortBy(r => -r.n)[:1]\nbest.push({ n: 0, t: "z" })\nprint(best.length, rows.length)',
            '["b","a"] [1,3] 3\n2 2',
        ),
    ],
    "what a test finds of what can change": [
        ('const n: 1 | 2 = parseJson("1.0")\nprint(match n { 1 => "one", 2 => "two" })', "one"),
        (
            'type Animal { name: text }\ntype Dog { name: text, bark: text }\nfunction f(a: Animal): text { if a is Dog { return a.bark.upper() }; return a.name }\nconst d: Dog = { name: "x", bark: "wuff" }\nprint(f(d), f({ name: "y" }))',
            "WUFF y",
        ),
        (
            'let os: { v: number | text }[] = [{ v: 1 }, { v: "a" }]\nlet t = 0\nfor o in os { if o.v is number { t += o.v } }\nprint(t)',
            "1",
        ),
        (
            'const j = parseJson("[1.0, true, 1]")\nprint(j[0] is 1, j[1] is 1, j[2] is 1, j[2] is true)\nconst n: 1 | 2 = j[0]\nprint(match n { 1 => "one", 2 => "two" }, n == 1)',
            "true false true false\none true",
        ),
    ],
    "fields of several kinds": [
        (
            'const xs = args.length > 0 ? [1] : ["a"]\nfor x in xs { print(x) }\nprint(xs.length, xs.join("-"), xs)\nif xs is text[] { print(xs.map(x => x.upper())) }',
            'a\n1 a ["a"]\n["A"]',
        ),
        (
            'let rows = [{ k: "port", v: 80 }, { k: "host", v: "x" }, { k: "on", v: true }]\nfor r in rows { print(r.k, r.v is number ? r.v + 1 : r.v) }\nrows[0].v = "other"\nrows.push({ k: "n", v: 5 })\nprint(rows.length, rows.filter(r => r.v is text).map(r => r.k))',
            'port 81\nhost x\non true\n4 ["port","host"]',
        ),
        (
            'const o = { name: "Ada", age: 36, tags: ["a"] }\nfor k, v in o { print(k, v, v is text ? v.upper() : "-") }',
            'name Ada ADA\nage 36 -\ntags ["a"] -',
        ),
        (
            'const rows = [{ k: "port", v: 80 }, { k: "host", v: "x" }]\nfor r in rows { print(r.k, r.v, "${r.v}", r.v is number ? r.v + 1 : r.v.upper()) }',
            "port 80 80 81\nhost x x X",
        ),
        (
            'const rows = [{ k: "port", v: 80 }, { k: "host", v: "x" }, { k: "on", v: true }, { k: "n", v: null }]\nprint(rows)\nfor {k, v} in rows { print(k + "=" + (v ?? "-")) }',
            '[{"k":"port","v":80},{"k":"host","v":"x"},{"k":"on","v":true},{"k":"n","v":null}]\nport=80\nhost=x\non=true\nn=-',
        ),
        (
            'const settings = [{ key: "port", value: 80 }, { key: "host", value: "x" }]\nconst s = settings.find(x => x.key == "port")\nprint(s?.value ?? "none")',
            "80",
        ),
    ],
    "functions in constants": [
        (
            "let a = [1]\nlet b: (number | null)[] = []\nconst fs = [() => a, () => b]\nfs[0]().push(null)\nprint(a.sum())",
            "1",
        ),
        (
            'type Op { name: text, run: (number) => number }\nconst ops: Op[] = [{ name: "inc", run: x => x + 1 }]\nfunction go(all: Op[], n: number): number { let v = n; for o in all { v = o.run(v) }; return v }\nprint(go(ops, 2), go(ops.filter(o => o.name == "inc"), 5))',
            "3 6",
        ),
    ],
    "variables that begin with null": [
        ("let x = null\nx = 5\nprint(x + 1)", "6"),
        ("let best = null\nfor n in [3, 1, 2] { if best == null or n > best { best = n } }\nprint(best)", "3"),
        ('let x = null\nprint(x == null, x ?? 3)\nx = 5\nprint(x + 1)\nx = "a"\nprint(x.upper())', "true 3\n6\nA"),
        ("const f = (n: number) => { if n > 0 { return }; print(n) }\nf(1)\nf(-1)", "-1"),
        (
            'let longest = null\nfor w in ["a", "ccc", "bb"] { if longest == null or w.length > longest.length { longest = w } }\nprint(longest)',
            "ccc",
        ),
        (
            "let best = null\nfor n in [3, 5] { if best == null or n > best { best = n } }\nif best != null { print(best + 1) }",
            "6",
        ),
    ],
    "idioms": [
        (
            'type Opts { host: text, port: number, tls?: boolean }\nfunction opts(over: { host?: text, port?: number, tls?: boolean } = {}): Opts { return { host: "localhost", port: 80, ...over } }\nprint(opts(), opts({ port: 443, tls: true }))',
            '{"host":"localhost","port":80} {"host":"localhost","port":443,"tls":true}',
        ),
        (
            'type Ok { ok: true, value: number }\ntype Err { ok: false, error: text }\nfunction parse(t: text): Ok | Err { try { return { ok: true, value: t.toNumber() } } catch e { return { ok: false, error: e.message } } }\nconst r = parse("12")\nif r.ok { print(r.value + 1) } else { print(r.error) }\nconst q = parse("x")\nprint(q.ok ? "ok" : q.error.length > 0)',
            "13\ntrue",
        ),
        (
            "let ts = [{ id: 1, done: false }, { id: 2, done: false }]\nts = ts.map(t => t.id == 1 ? { ...t, done: true } : t)\nts.push({ id: 3, done: true })\nprint(ts)",
            '[{"id":1,"done":true},{"id":2,"done":false},{"id":3,"done":true}]',
        ),
        (
            "let ts = [{ id: 1, n: 0 }]\nconst t = ts.find(t => t.id == 1)\nprint(t?.n)\nlet u = ts.find(t => t.id == 1)\nif u != null { u.n += 1 }\nprint(ts)",
            '0\n[{"id":1,"n":1}]',
        ),
        ("let grid = (1..2).map(y => (1..3).map(x => x * y))\ngrid[0][0] = 9\nprint(grid)", "[[9,2,3],[2,4,6]]"),
        (
            "function depth(v: json): number {\n  if v is json[] { return 1 + [0, ...v.map(depth)].max() }\n  if v is { [text]: json } { return 1 + [0, ...v.values().map(depth)].max() }\n  return 0\n}\nprint(depth(parseJson('[[1], {\"a\": [2]}]')))",
            "3",
        ),
        (
            'type State = "idle" | "run" | "stop"\nlet state: State = "idle"\nfor e in ["go", "halt"] {\n  state = match state { "idle" => e == "go" ? "run" : "idle", "run" => "stop", "stop" => "stop" }\n}\nprint(state)',
            "stop",
        ),
        (
            'type T { status: "open" | "done", n: number }\nconst t: T = { status: "open", n: 1 }\nconst u: T = { ...t, status: "done" }\nprint(u)',
            '{"status":"done","n":1}',
        ),
        (
            'type S { user: { name: text, tags: text[] } }\nlet s: S = { user: { name: "a", tags: [] } }\ns.user.tags.push("x")\ns.user = { ...s.user, name: "b" }\ns = { ...s, user: { ...s.user, tags: [...s.user.tags, "y"] } }\nprint(s)',
            '{"user":{"name":"b","tags":["x","y"]}}',
        ),
        (
            'type Task { title: text, status: "open" | "done" }\nconst tasks: Task[] = ["a", "b"].map(t => ({ title: t, status: "open" }))\nprint(tasks)',
            '[{"title":"a","status":"open"},{"title":"b","status":"open"}]',
        ),
        (
            'const table = [["a", 1], ["b", 2]]\nfor [name, n] in table { print(name.upper(), n + 1) }\nprint(table.map(r => r[1]).sum(), table[0][0].upper())',
            "A 2\nB 3\n3 A",
        ),
        (
            'type Item { name: text, qty: number, tags?: text[] }\nlet stock: Item[] = []\nfunction add(name: text, qty: number, tags: text[] = []) {\n  const found = stock.find(i => i.name == name)\n  if found != null { return }\n  stock.push({ name, qty, tags })\n}\nadd("tea", 3)\nadd("milk", 1, ["cold"])\nadd("tea", 9)\nlet low = stock.filter(i => i.qty < 3)\nlow.push({ name: "sugar", qty: 0 })\nlow.sort("name")\nfor i in low { print(i.name, i.qty, (i.tags ?? []).join("+")) }\nconst byName: { [text]: Item } = {}\nlet index: { [text]: Item } = {}\nfor i in stock { index[i.name] = i }\nindex["tea"].qty += 1\nprint(stock[0].qty, byName.length)',
            "milk 1 cold\nsugar 0 \n4 0",
        ),
        (
            'const events = [\n  { type: "login", user: "a", at: 1 },\n  { type: "buy", user: "a", at: 2, amount: 10 },\n  { type: "buy", user: "b", at: 3, amount: 5 },\n]\nlet totals: { [text]: number } = {}\nfor e in events { if e.amount != null { totals[e.user] = (totals[e.user] ?? 0) + e.amount } }\nprint(totals)\nconst last = events[-1]\nprint(last.amount ?? 0, events.map(e => e.amount ?? 0).sum())\nconst {user: text, at: number} = events[0]\nprint(user, at)',
            '{"a":10,"b":5}\n5 15\na 1',
        ),
        (
            'const defaults = { host: "localhost", port: 80, tags: ["a"] }\nlet config = { ...defaults, port: 8080 }\nconfig.host = "x"\nconfig.tags.push("b")\nprint(defaults, config)',
            '{"host":"localhost","port":80,"tags":["a","b"]} {"host":"x","port":8080,"tags":["a","b"]}',
        ),
        (
            'let settings = [{ key: "port", value: 80 }, { key: "host", value: "x" }]\nfor s in settings { if s.key == "port" { s.value = 81 } }\nfunction get(key: text): number | text | null { return settings.find(s => s.key == key)?.value ?? null }\nconst port = get("port")\nif port is number { print(port + 1) }\nprint(get("zzz") ?? "none")',
            "82\nnone",
        ),
        (
            'type P { name: text, age?: number }\nlet ada: P = { name: "Ada", age: 3 }\nlet bob: P = { name: "Bob" }\nlet older = (ada.age ?? 0) > (bob.age ?? 0) ? ada : bob\nolder.age = 50\nprint(ada, bob)',
            '{"name":"Ada","age":50} {"name":"Bob"}',
        ),
        (
            'type P { name: text, age?: number }\nlet ada: P = { name: "Ada", age: 3 }\nlet bob: P = { name: "Bob" }\nlet all = [ada, bob]\nfor p in all { p.name = p.name.upper() }\nprint(ada.name, all.length)',
            "ADA 2",
        ),
        (
            'let rows = [{ id: 1, note: "x" }, { id: 2 }]\nrows.push({ id: 3 })\nrows[1].note = "y"\nprint(rows)',
            '[{"id":1,"note":"x"},{"id":2,"note":"y"},{"id":3}]',
        ),
        (
            "type T { items?: number[] }\nlet t: T = {}\nif t.items == null { t.items = [] }\nt.items.push(1)\nprint(t)",
            '{"items":[1]}',
        ),
        (
            'let people = [{ name: "a", city: "x" }, { name: "b", city: "x" }]\nlet groups = people.groupBy(p => p.city)\ngroups["x"].push({ name: "c", city: "x" })\ngroups["x"][0].name = "z"\nprint(people[0].name, groups["x"].length)',
            "z 3",
        ),
        (
            'const facts = [{ k: "a", v: 1 }, { k: "b", v: true }, { k: "c", v: "t" }, { k: "d", v: [1] }]\nfor f in facts { print("{f.k}: {f.v}") }\nprint(facts.map(f => f.k + f.v).join())',
            "a: 1\nb: true\nc: t\nd: [1]\na1,btrue,ct,d[1]",
        ),
        (
            'const facts = [{ k: "a", v: 1 }, { k: "b", v: "x" }]\nprint(facts.filter(f => f.v == 1).length, facts.some(f => f.v == "x"), facts.find(f => f.v == "x")?.k)',
            "1 true b",
        ),
    ],
}
