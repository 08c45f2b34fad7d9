"""Random programs that are right in their types: `Typed(random).program()`; and such with one mistake planted in them.

They null and test, share and copy, narrow and assign, go through json and back, call and are called.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from random import Random

HEAD = """type Person { name: text, age?: number, tags: text[] }
let g: number | null = 3
function clear(): number { g = null
return 1 }
function grow(xs: number[]): number { xs.push(xs.length)
return xs.sum() }
function total(xs: number[]): number { let s = 0
for x in xs { s += x }
return s }
function older(p: Person): number { p.age = (p.age ?? 0) + 1
return p.age }
function find(people: Person[], name: text): Person | null { for p in people { if p.name == name { return p } }
return null }
function count(things: json[]): number { return things.length }
function show(thing) { return "{thing}".length }
function person(name: text, age: number | null): Person { return { name: name, age: age, tags: [name] } }
function people(name: text): Person[] { return [{ name: name, tags: [] }] }
function half(n: number): number | null { if n % 2 == 0 { return n / 2 }
return null }
"""
TYPES = ("number", "text", "boolean", "number | null", "text | null", "number[]", "Person", "Person[]")
SHARED = ("number[]", "Person", "Person[]")
#: A statement that is wrong in its types, by the type of the variable `{}` in it.
MISTAKES = {
    "number": ("print({}.upper())", "print({}[0])", "print({}.name)", "let z: text = {}", "if {} { print(1) }"),
    "text": ("print({} * 2)", "print({}.push(1))", "for z in {} { print(z) }", "let z: number = {}", "print(-{})"),
    "boolean": ("print({} + 1)", "print([{}, true].sort())", "let z: text = {}", "print(len({}))"),
    "number | null": (
        "print({} + 1)",
        "for z in {} { print(z) }",
        "let z: number = {}",
        "print(1..{})",
        "print({}.round())",
    ),
    "text | null": (
        "print({}.upper())",
        "print({} + 'x')",
        "let z: text = {}",
        "print(do 'say ' + {})",
        "print({}[0])",
    ),
    "number[]": (
        "{}.push('x')",
        "{}[0] = null",
        "let z: json[] = {}",
        "print({}.upper())",
        "print({}[0.5])",
        "{} += ['x']",
    ),
    "Person": ("print({}.nme)", "print({}.age + 1)", "{}.remove('name')", "{}.name = null", "print({}['zz'])"),
    "Person[]": ("print({}.sort())", "print({}.sort('age'))", "print({}[0].age * 2)", "{}.push({ name: 'x' })"),
}


class Typed:
    """One program. `variables` are those that are known here: name, type, and whether it is a constant."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.variables: list[tuple[str, str, bool]] = []
        self.mistake = ""
        self.calls = True
        self._names = 0

    def program(self, statements: int = 14) -> str:
        self._some(statements, 2)
        return HEAD + "\n".join(self.lines) + "\n"

    def wrong_program(self) -> str:
        """The same with a mistake somewhere at the end of a block."""
        self.program(8)
        kind = self.random.choice(TYPES)
        name = self._new()
        wrong = self.random.choice(MISTAKES[kind]).replace("{}", name)
        # What the initial value says is forgotten: the declared type is what counts.
        self.lines += [
            f"let {name}: {kind} = {self.value(kind, 0)}",
            f"for _ in 1 {{ {name} = {self.value(kind, 0)} }}",
        ]
        self.lines += [f"if {self.value('boolean', 1)} {{", wrong, "}"] if self.random.random() < 0.5 else [wrong]
        return HEAD + "\n".join(self.lines) + "\n"

    # Values

    def value(self, kind: str, depth: int) -> str:
        known = [(name, is_const) for name, each, is_const in self.variables if each == kind]
        if known and self.random.random() < 0.5:
            name, is_const = self.random.choice(known)
            return f"{name}.copy()" if is_const and kind in SHARED else name
        choices = [*self._simple(kind), *(self._composed(kind, depth - 1) if depth > 0 else ())]
        return self.random.choice(choices)

    def _simple(self, kind: str) -> list[str]:
        n, t = self.random.randrange(9), self.random.choice("abc")
        return {
            "number": [str(n), f"{n}.5"],
            "text": [f"'{t}'", f"'{t}{n}'"],
            "boolean": ["true", "false"],
            "number | null": [str(n), "null"],
            "text | null": [f"'{t}'", "null"],
            "number[]": [f"[{n}, 1]", "[]"],
            "Person": [f"person('{t}', null)", f"person('{t}', {n})"],
            "Person[]": [f"people('{t}')"],
        }[kind]

    def _composed(self, kind: str, depth: int) -> list[str]:
        def of(other: str) -> str:
            return self.value(other, depth)

        found = {
            "number": [
                f"(({of('number')} + {of('number')} * 2) % 97)",
                f"({of('number | null')} ?? 1)",
                f"{of('text')}.length",
                f"({of('Person')}.age ?? 0)",
                f"{of('number[]')}.sum()",
                f"count(({of('number[]')}).copy())",
                f"total({of('number[]')})",
                f"len({of('Person[]')})",
            ],
            "text": [
                f"('x' + {of('number')}).slice(0, 9)",
                f"'{{g}}${{{of('number | null')}}}'.slice(0, 9)",
                f"{of('Person')}.name.upper()",
                f"({of('text | null')} ?? 'none')",
                f"{of('Person')}.tags.join('-').slice(0, 9)",
            ],
            "boolean": [
                f"{of('number')} < {of('number')}",
                f"({of('text | null')} == null)",
                f"(not {of('boolean')})",
                f"({of('boolean')} and {of('boolean')})",
                f"{of('number[]')}.includes({of('number')})",
            ],
            "number | null": [f"half({of('number')})", f"{of('Person')}.age"],
            "text | null": [of("text")],
            "number[]": [
                f"({of('number[]')} + {of('number[]')}).slice(0, 5)",
                f"{of('number[]')}[0:3]",
                f"{of('number[]')}.copy().sort()",
                f"{of('number[]')}.map(x => x + {of('number')})",
            ],
            "Person": [f"(find({of('Person[]')}, {of('text')}) ?? {of('Person')})"],
            "Person[]": [f"{of('Person[]')}.filter(p => p.age != null)", f"[{of('Person')}]"],
        }[kind]
        if self.calls:
            found += {"number": ["clear()", f"grow({of('number[]')})", f"older({of('Person')})"]}.get(kind, [])
        return found

    # Statements

    def _new(self) -> str:
        self._names += 1
        return f"v{self._names}"

    @contextmanager
    def _block(self, head: str, *names: tuple[str, str, bool]) -> Generator[None]:
        before = self.variables
        self.variables = [*[each for each in before if each[0] not in {n[0] for n in names}], *names]
        self.lines.append(head)
        yield
        self.lines.append("}")
        self.variables = before

    def _some(self, most: int, depth: int) -> None:
        for _ in range(self.random.randint(1, most)):
            self._statement(depth)

    def _statement(self, depth: int) -> None:
        simple = (self._declare, self._declare, self._assign, self._change, self._print, self._json)
        self.random.choice((*simple, self._test, self._loop) if depth else simple)(depth)

    def _declare(self, _: int) -> None:
        kind, name = self.random.choice(TYPES), self._new()
        is_const = self.random.random() < 0.3
        self.lines.append(f"{'const' if is_const else 'let'} {name}: {kind} = {self.value(kind, 2)}")
        self.variables = [*self.variables, (name, kind, is_const)]

    def _variable(self, *kinds: str) -> tuple[str, str] | None:
        fitting = [(n, k) for n, k, is_const in self.variables if not is_const and (not kinds or k in kinds)]
        return self.random.choice(fitting) if fitting else None

    def _assign(self, _: int) -> None:
        if (found := self._variable()) is not None:
            self.lines.append(f"{found[0]} = {self.value(found[1], 2)}")

    def _change(self, _: int) -> None:
        if (found := self._variable(*SHARED)) is None:
            return
        name, kind = found
        number, text = self.value("number", 1), self.value("text", 1)
        ways = {
            "number[]": [
                f"{name}.push({number})",
                f"{name} += [{number}]",
                f"if {name}.length > 0 {{ {name}[0] = {number} }}",
            ],
            "Person": [
                f"{name}.age = {self.value('number | null', 1)}",
                f"{name}.tags.push({text})",
                f"{name}.name = {text}",
            ],
            "Person[]": [f"{name}.push({self.value('Person', 1)})", f"for each in {name} {{ each.age = {number} }}"],
        }
        self.lines.append(self.random.choice(ways[kind]))

    def _print(self, _: int) -> None:
        self.lines.append(f"print({self.value(self.random.choice(TYPES), 2)})")

    def _json(self, _: int) -> None:
        """A value goes through json, where it is spoiled; what has a type stays sound."""
        kind, name, j = self.random.choice(SHARED), self._new(), self._new()
        spoil = {"number[]": f"{j}.push('bad')", "Person": f"{j}.name = 5", "Person[]": f"{j}.push(5)"}[kind]
        self.lines.append(f"let {j}: json = {self.value(kind, 1)}")
        if self.random.random() < 0.6:
            self.lines.append(f"let {name}: {kind} = {j}")
            self.variables = [*self.variables, (name, kind, False)]
        self.lines += [spoil, f"print(show({j}) > 0)"]

    def _test(self, depth: int) -> None:
        maybe = [(n, k) for n, k, _ in self.variables if k.endswith("| null")]
        if not maybe or self.random.random() < 0.3:
            with self._block(f"if {self.value('boolean', 2)} {{"):
                self._some(3, depth - 1)
            return
        name, kind = self.random.choice([*maybe, ("g", "number | null")])
        calls, self.calls = self.calls, self.calls and name != "g"
        # Inside it is known not to be null, and stays so: as a constant it is not assigned.
        with self._block(f"if {name} != null {{", (name, kind.removesuffix(" | null"), True)):
            self._some(3, depth - 1)
        self.calls = calls

    def _loop(self, depth: int) -> None:
        name, kind = self._new(), self.random.choice(("number", "Person"))
        items = self.value(f"{kind}[]", 1)
        with self._block(f"for {name} in {items}.slice(0, 3) {{", (name, kind, True)):
            self._some(2, depth - 1)
