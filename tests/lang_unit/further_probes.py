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
}
