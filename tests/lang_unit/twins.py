"""Random programs, each written twice: in the language, and in Python as it is meant.

`Twins(random).program()` gives both texts. Python has no block scopes, so there every variable has a name of its own;
in the language names are few, and shadow one another all the time. What Python does otherwise (`%`, `/`, how numbers
are printed) is in `PRELUDE`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

NUM, TEXT, BOOL, LIST, OBJ = "number", "text", "boolean", "number[]", "Thing"
KINDS = (NUM, NUM, TEXT, BOOL, LIST, OBJ)
NAMES = ("a", "b", "c", "d", "class", "_v1", "main", "xs_2")

PRELUDE = """
import json

class Failure(Exception):
    def __init__(self, code, message=""):
        self.code = code
        self.message = message

def div(a, b):
    if b == 0:
        raise Failure("V0904")
    if type(a) is int and type(b) is int and a % b == 0:
        return a // b
    return a / b

def mod(a, b):
    if b == 0:
        raise Failure("V0904")
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest

def at(xs, i):
    if i != int(i):
        raise Failure("V0904")
    if not -len(xs) <= i < len(xs):
        raise Failure("V0903")
    return xs[int(i)]

def put(new, xs, i):
    at(xs, i)
    xs[int(i)] = new

def update(xs, i, new):
    i = i()
    old = at(xs, i)
    put(old + new(), xs, i)

def pop(xs):
    if not xs:
        raise Failure("V0903")
    return xs.pop()

def throw(message):
    raise Failure("V0901", message)

def plain(x):
    if isinstance(x, float) and x == int(x):
        return int(x)
    if isinstance(x, list):
        return [plain(each) for each in x]
    return {k: plain(each) for k, each in x.items()} if isinstance(x, dict) else x

def show(x):
    x = plain(x)
    if isinstance(x, str):
        return x
    if isinstance(x, bool):
        return "true" if x else "false"
    return json.dumps(x, ensure_ascii=False, separators=(",", ":"))
"""


@dataclass
class Scope:
    """A block: the variables it declares, and the names it has used so far."""

    names: dict[str, tuple[str, str, bool]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)


class Twins:
    """Writes the two texts at once. Expressions are pairs; statements go to `vibe` and `python`."""

    def __init__(self, random: Random, typed: bool = True) -> None:
        self.random = random
        self.typed = typed
        self.vibe: list[str] = ["type Thing { n: number, s: text }"]
        self.python: list[str] = []
        self.scopes = [Scope()]
        self.functions: list[tuple[str, list[str], str]] = []
        self.indent = 0
        self.loops = 0
        self.returns: str | None = None
        self.count = 0
        self.globals: list[str] = []

    def program(self, size: int = 8) -> tuple[str, str]:
        for _ in range(3):
            self.declaration()
        for _ in range(self.random.randint(0, 3)):
            self.function()
        for _ in range(size):
            self.statement(2)
        for name in list(self.scopes[0].names):
            self.line(f"print({name})", f"out({self.scopes[0].names[name][0]})")
        return "\n".join(self.vibe) + "\n", "\n".join(self.python) + "\n"

    # Text

    def line(self, vibe: str, python: str) -> None:
        pad = "    " * self.indent
        self.vibe.append(pad + vibe)
        self.python.append(pad + python)

    @contextmanager
    def block(self, vibe: str, python: str, *declared: tuple[str, str, str, bool]):
        self.line(f"{vibe} {{", python)
        self.indent += 1
        self.scopes.append(Scope({name: (own, kind, fixed) for name, own, kind, fixed in declared}))
        yield
        self.line("", "pass")
        self.scopes.pop()
        self.indent -= 1
        self.vibe.append("    " * self.indent + "}")

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    # Names

    def visible(self, kind: str, assignable: bool = False) -> list[tuple[str, str]]:
        seen: dict[str, tuple[str, str, bool]] = {}
        for scope in self.scopes:
            seen |= scope.names
        return [(n, own) for n, (own, k, fixed) in seen.items() if k == kind and not (assignable and fixed)]

    def use(self, kind: str, assignable: bool = False) -> tuple[str, str] | None:
        known = self.visible(kind, assignable)
        if not known:
            return None
        name, own = self.random.choice(known)
        for scope in reversed(self.scopes):
            scope.used.add(name)
            if name in scope.names:
                break
        return name, own

    def new_name(self) -> str | None:
        scope = self.scopes[-1]
        free = [name for name in NAMES if name not in scope.names and name not in scope.used]
        return self.random.choice(free) if free else None

    # Expressions

    def expr(self, kind: str, depth: int = 3) -> tuple[str, str]:
        if depth <= 0 or self.random.random() < 0.25:
            return self.use(kind) or self.literal(kind)
        known = [f for f in self.functions if f[2] == kind]
        if known and self.random.random() < 0.25:
            return self.call(self.random.choice(known), depth)
        ways = {NUM: self.number, TEXT: self.text, BOOL: self.boolean, LIST: self.list, OBJ: self.object}
        return ways[kind](depth - 1)

    def literal(self, kind: str) -> tuple[str, str]:
        pick = self.random
        if kind == NUM:
            value = pick.choice((0, 1, 2, 3, 7, 10, 0.5, 2.25, 100))
            return str(value), str(value)
        if kind == TEXT:
            value = pick.choice(('""', '"a"', '"xyz"', '"é ☃"', "'q'"))
            return value, value
        if kind == BOOL:
            return pick.choice((("true", "True"), ("false", "False")))
        if kind == LIST:
            items = [self.literal(NUM)[0] for _ in range(pick.randint(1, 3))]
            return f"[{', '.join(items)}]", f"[{', '.join(items)}]"
        n, s = self.literal(NUM)[0], self.literal(TEXT)[0]
        return f"{{ n: {n}, s: {s} }}", f"{{'n': {n}, 's': {s}}}"

    def number(self, depth: int) -> tuple[str, str]:
        v, p = self.expr(NUM, depth)
        w, q = self.expr(NUM, depth)
        xs, ys = self.expr(LIST, depth - 1)
        o, oo = self.expr(OBJ, depth - 1)
        t, tt = self.expr(TEXT, depth - 1)
        ways = [
            (f"({v} + {w})", f"({p} + {q})"),
            (f"({v} - {w})", f"({p} - {q})"),
            (f"({v} * 3)", f"({p} * 3)"),
            (f"({v} / 4)", f"div({p}, 4)"),
            (f"({v} % 7)", f"mod({p}, 7)"),
            (f"(-{v})", f"(-{p})"),
            (f"{xs}.length", f"len({ys})"),
            (f"len({t})", f"len({tt})"),
            (f"({o}).n", f"{oo}['n']"),
        ]
        if self.random.random() < 0.07:
            # These may well fail.
            ways = [
                (f"({v} / {w})", f"div({p}, {q})"),
                (f"({v} % {w})", f"mod({p}, {q})"),
                (f"{xs}[{v} % 4]", f"at({ys}, mod({p}, 4))"),
                (f"{xs}[0]", f"at({ys}, 0)"),
                (f"{xs}[-1]", f"at({ys}, -1)"),
            ]
        return self.random.choice(ways)

    def text(self, depth: int) -> tuple[str, str]:
        t, tt = self.expr(TEXT, depth)
        kind = self.random.choice(KINDS)
        v, p = self.expr(kind, depth)
        o, oo = self.expr(OBJ, depth - 1)
        xs, ys = self.expr(LIST, depth - 1)
        ways = [
            (f"({t} + {v})", f"({tt} + show({p}))"),
            (f"({v} + {t})", f"(show({p}) + {tt})"),
            (f"{t}.upper()", f"{tt}.upper()"),
            (f"{t}[0:2]", f"{tt}[0:2]"),
            (f"{t}[::-1]", f"{tt}[::-1]"),
            (f"({o}).s", f"{oo}['s']"),
            (f'{xs}.join("-")', f"'-'.join(map(show, {ys}))"),
            (f"`<${{{v}}}>`", f"('<' + show({p}) + '>')"),
        ]
        return self.random.choice(ways)

    def boolean(self, depth: int) -> tuple[str, str]:
        kind = self.random.choice((NUM, TEXT, LIST))
        v, p = self.expr(kind, depth)
        w, q = self.expr(kind, depth)
        b, bb = self.expr(BOOL, depth)
        c, cc = self.expr(BOOL, depth)
        xs, ys = self.expr(LIST, depth - 1)
        n, m = self.expr(NUM, depth - 1)
        ways = [
            (f"({v} == {w})", f"({p} == {q})"),
            (f"({v} != {w})", f"({p} != {q})"),
            (f"({b} and {c})", f"({bb} and {cc})"),
            (f"({b} or {c})", f"({bb} or {cc})"),
            (f"(not {b})", f"(not {bb})"),
            (f"{xs}.includes({n})", f"contains({ys}, {m})"),
        ]
        if kind != LIST:
            ways += [(f"({v} {op} {w})", f"({p} {op} {q})") for op in ("<", "<=", ">", ">=")]
        return self.random.choice(ways)

    def list(self, depth: int) -> tuple[str, str]:
        xs, ys = self.expr(LIST, depth)
        zs, ws = self.expr(LIST, depth)
        n, m = self.expr(NUM, depth)
        return self.random.choice(
            (
                (f"({xs} + {zs})", f"({ys} + {ws})"),
                (f"{xs}[1:]", f"{ys}[1:]"),
                (f"[{n}]", f"[{m}]"),
                (f"{xs}.copy()", f"list({ys})"),
                (f"{xs}.copy().sort()", f"sorted({ys})"),
            )
        )

    def object(self, depth: int) -> tuple[str, str]:
        n, m = self.expr(NUM, depth)
        s, t = self.expr(TEXT, depth)
        (n, m), (s, t) = _bounded(NUM, n, m), _bounded(TEXT, s, t)
        return f"{{ n: {n}, s: {s} }}", f"{{'n': {m}, 's': {t}}}"

    def call(self, function: tuple[str, list[str], str], depth: int) -> tuple[str, str]:
        name, kinds, _ = function
        arguments = [self.expr(kind, min(depth - 1, 1)) for kind in kinds]
        return f"{name}({', '.join(v for v, _ in arguments)})", f"{name}({', '.join(p for _, p in arguments)})"

    # Statements

    def statement(self, depth: int) -> None:
        ways = [self.declaration, self.declaration, self.assignment, self.assignment, self.update, self.show]
        if depth > 0:
            inner = depth - 1
            ways += [lambda: self.branch(inner), lambda: self.loop(inner), lambda: self.attempt(inner)]
            ways += [lambda: self.scope(inner)]
        if self.loops:
            ways.append(self.leave)
        if self.returns:
            ways.append(self.early_return)
        self.random.choice(ways)()

    def statements(self, depth: int) -> None:
        for _ in range(self.random.randint(2, 3)):
            self.statement(depth)

    def declaration(self) -> None:
        kind = self.random.choice(KINDS)
        v, p = self.expr(kind)
        name = self.new_name()
        if name is None:
            return
        own = self.fresh()
        if len(self.scopes) == 1:
            self.globals.append(own)
        self.scopes[-1].names[name] = (own, kind, False)
        self.line(f"let {name}: {kind if self.typed else 'json'} = {v}", f"{own} = {p}")

    def assignment(self) -> None:
        kind = self.random.choice(KINDS)
        v, p = self.expr(kind)
        target = self.use(kind, True)
        if target is None:
            return
        name, own = target
        if kind in (NUM, TEXT) and self.random.random() < 0.4:
            self.line(f"{name} += {v}", f"{own} = {own} + {p}")
            v, p = name, own
        self.line(*(f"{one} = {two}" for one, two in zip(target, _bounded(kind, v, p), strict=True)))

    def update(self) -> None:
        """Change an array or an object in place."""
        n, m = self.expr(NUM, 2)
        k, l = self.expr(NUM, 1) if self.random.random() < 0.2 else ("3", "3")  # noqa: E741
        way = self.random.choice((0, 0, 0, 1, 2, 3, 4, 4))
        target = self.use(OBJ if way == 4 else LIST)
        if target is None:
            return
        v, p = target
        if way == 0:
            n, m = _bounded(NUM, n, m)
            self.line(f"{v}.push({n})", f"{p}.append({m})")
        elif way == 1:
            self.line(f"print({v}.pop())", f"out(pop({p}))")
        elif way == 2:
            n, m = _bounded(NUM, n, m)
            self.line(f"{v}[{k} % 2] = {n}", f"put({m}, {p}, mod({l}, 2))")
        elif way == 3:
            self.line(f"{v}[{k} % 2] += {n}", f"update({p}, lambda: mod({l}, 2), lambda: {m})")
        else:
            n, m = _bounded(NUM, n, m)
            self.line(f"{v}.n = {n}", f"{p}['n'] = {m}")

    def show(self) -> None:
        v, p = self.expr(self.random.choice(KINDS))
        self.line(f"print({v})", f"out({p})")

    def branch(self, depth: int) -> None:
        b, c = self.expr(BOOL)
        with self.block(f"if {b}", f"if {c}:"):
            self.statements(depth)
        if self.random.random() < 0.5:
            with self.block("else", "else:"):
                self.statements(depth)

    def scope(self, depth: int) -> None:
        with self.block("", "if True:"):
            self.statements(depth)

    def loop(self, depth: int) -> None:
        own, way = self.fresh(), self.random.randrange(3)
        self.loops += 1
        if way == 0:
            first = self.random.randint(-1, 2)
            with self.block(f"for i in {first}..2", f"for {own} in range({first}, 3):", ("i", own, NUM, True)):
                self.statements(depth)
        elif way == 1:
            xs, ys = self.expr(LIST, 1)
            with self.block(f"for a in {xs}.copy()", f"for {own} in list({ys}):", ("a", own, NUM, True)):
                self.statements(depth)
        else:
            self.bounded_while(own, depth)
        self.loops -= 1

    def bounded_while(self, own: str, depth: int) -> None:
        b, c = self.expr(BOOL, 2)
        # A name that no other statement knows.
        counter = f"turns{own}"
        if len(self.scopes) == 1:
            self.globals.append(own)
        self.line(f"let {counter} = 0", f"{own} = 0")
        with self.block(f"while {counter} < 3 and {b}", f"while {own} < 3 and {c}:"):
            self.line(f"{counter} += 1", f"{own} += 1")
            self.statements(depth)

    def leave(self) -> None:
        b, c = self.expr(BOOL, 1)
        word = self.random.choice(("break", "continue"))
        self.line(f"if {b} {{ {word} }}", f"if {c}: {word}")

    def early_return(self) -> None:
        b, c = self.expr(BOOL, 1)
        v, p = self.expr(self.returns or NUM, 1)
        self.line(f"if {b} {{ return {v} }}", f"if {c}: return {p}")

    def attempt(self, depth: int) -> None:
        with self.block("try", "try:"):
            self.statements(depth)
            if self.random.random() < 0.4:
                t, tt = self.expr(TEXT, 1)
                b, c = self.expr(BOOL, 1)
                self.line(f"if {b} {{ throw {t} }}", f"if {c}: throw({tt})")
        with self.block("catch e", "except Failure as e:"):
            self.line("print(e.code)", "out(e.code)")
            self.line('if e.code == "V0901" { print(e.message) }', "if e.code == 'V0901': out(e.message)")
            self.statements(depth)

    def function(self) -> None:
        name = f"f{len(self.functions)}"
        kinds = [self.random.choice(KINDS) for _ in range(self.random.randint(0, 2))]
        returns = self.random.choice(KINDS)
        names = self.random.sample(NAMES, len(kinds))
        own = [self.fresh() for _ in kinds]
        typed = ", ".join(f"{n}: {k}" if self.typed else n for n, k in zip(names, kinds, strict=True))
        head = f"function {name}({typed}){f': {returns}' if self.typed else ''}"
        declared = [(n, o, k, False) for n, o, k in zip(names, own, kinds, strict=True)]
        outer, self.loops, self.returns = self.loops, 0, returns
        with self.block(head, f"def {name}({', '.join(own)}):", *declared):
            # Only Python must be told; in the language an assignment finds its variable.
            self.line("", f"global {', '.join(self.globals)}")
            self.statements(1)
            v, p = self.expr(returns, 2)
            self.line(f"return {v}", f"return {p}")
        self.loops, self.returns = outer, None
        self.functions.append((name, kinds, returns))


def _bounded(kind: str, vibe: str, python: str) -> tuple[str, str]:
    """A value of which nothing grows without end in a loop."""
    if kind == NUM:
        return f"({vibe}) % 10007", f"mod({python}, 10007)"
    length = {TEXT: 20, LIST: 5}.get(kind)
    return (f"({vibe})[0:{length}]", f"({python})[0:{length}]") if length else (vibe, python)
