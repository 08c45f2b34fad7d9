"""What the checker fills in: types, symbols, and what asks are wanted to give."""

from __future__ import annotations

import pytest

from antiphon.lang.syntax import nodes
from antiphon.lang.typecheck.type_printer import format_type
from antiphon.lang.typecheck.types import (
    BOOLEAN,
    JSON,
    NULL,
    NUMBER,
    TEXT,
    AIResultType,
    Array,
    CallableType,
    Literal,
    Object,
    Union,
)
from tests.lang_unit.checking import checked, every, sound, symbol, type_of


def wanted(text: str) -> list[str | None]:
    """What each `do`, `vibe` and `ask` of a program is wanted to give."""
    asks = every(sound(text), (nodes.ModelCall, nodes.AskHuman))
    return [None if each.wanted is None else format_type(each.wanted) for each in asks]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const x: number = do 'x'", ["number"]),
        ("const x: text = do 'x'", ["text"]),
        ("const x: prompt = do 'x'", ["text"]),
        ("const x: json = do 'x'", [None]),
        ("const x: json[] = do 'x'", ["json[]"]),
        ("const x = do 'x'", [None]),
        ("let x = 1\nx = do 'x'", ["number"]),
        ("let x: text | null = null\nx = do 'x'", ["text | null"]),
        ("let x: json = 1\nx = do 'x'", [None]),
        ("let x = {a: 1}\nx.a = do 'x'", ["number"]),
        ("let x = [true]\nx[0] = do 'x'\nx.push(do 'y')", ["boolean", "boolean"]),
        ("function f(a: number[]) { print(a) }\nf(do 'x')", ["number[]"]),
        ("function f(a) { print(a) }\nf(do 'x')", [None]),
        ("function f(): boolean { return do 'x' }\nf()", ["boolean"]),
        ("function f() { return do 'x' }\nf()", [None]),
        ("print(do 'x')", [None]),
        ("print((do 'x') + 1)", [None]),
        ("const {a: text, b: {c: number}, d: text = ''} = vibe 'x'", ["{a: text, b: {c: number}, d?: text}"]),
        ("const x: text[] = async for m in ['a'] { yield do m }", ["text"]),
        ("const x = async for m in ['a'] { yield do m }", [None]),
        ("function f(): number[] { return async for m in ['a'] { yield do m } }\nf()", ["number"]),
        ("const x: number = ask 'x'", ["number"]),
        ("const x = ask 'x'", [None]),
        ("const x: 'a' | 'b' = do 'x'", ['"a" | "b"']),
        ("type P { n: number }\nconst x: P = do 'x'", ["P"]),
        ("type P { n: number }\nconst x: P = { n: do 'x' }", ["number"]),
        ("const x: number[] = [do 'x', do 'y']", ["number", "number"]),
    ],
)
def test_an_ask_is_wanted_to_give_what_its_place_takes(text: str, expected: list[str | None]) -> None:
    assert wanted(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const x = do 'x'", AIResultType(JSON)),
        ("const x: number = do 'x'", AIResultType(NUMBER)),
        ("let x: text[] = vibe 'x'", AIResultType(Array(TEXT))),
        ("const x: json = do 'x'", AIResultType(JSON)),
        ("const x = ask 'x'", TEXT),
        ("const x: number = ask 'x'", NUMBER),
        ("const x = 1", Literal(1)),
        ("let x = 1", NUMBER),
        ("const x = 'a'", Literal("a")),
        ("let x = 'a'", TEXT),
        ("let x = null", JSON),
        ("let x = []", Array(JSON)),
        ("let x = [1, 2]", Array(NUMBER)),
        ("let x = [1, 'a']", Array(JSON)),
        ("let x = [1, null]", Array(Union((NUMBER, NULL)))),
        ("let x = [null]", Array(JSON)),
        ("let x = [[], [1]]", Array(Array(NUMBER))),
        ("let x = {}", JSON),
        ("const x = 1 + 2", NUMBER),
        ("const x = 'a' + 2", TEXT),
        ("const x = [1] + [2]", Array(NUMBER)),
        ("const x = 1 < 2 and 2 < 3", BOOLEAN),
        ("const x = not true", BOOLEAN),
        ("const x = 1..3", Array(NUMBER)),
        ("let n: text | null = null\nconst x = n ?? 'a'", TEXT),
        ("const x = [1, 2][0]", NUMBER),
        ("const x = 'abc'[1:]", TEXT),
        ("const x = 'a b'.split()", Array(TEXT)),
        ("const x = [1, 2].pop()", NUMBER),
        ("const x = [[1], [2]][0].length", NUMBER),
        ("const x = {a: 1, b: 'c'}.keys()", Array(TEXT)),
        ("const r = do 'x'\nconst x = r.toolCalls[0].tool", TEXT),
        ("const r = do 'x'\nconst x = r.toolCalls[0].error", Union((TEXT, NULL))),
        ("const r: number = do 'x'\nconst x = r.value", NUMBER),
        ("const r: number = do 'x'\nconst x = r + 1", NUMBER),
        ("const r = do 'x'\nconst x = r.anything.at.all", JSON),
        ("const x = py() { return 1 }", JSON),
        ("const x = async for i in 3 { yield i * 2 }", Array(NUMBER)),
        ("const x = async for i in 3 { yield do 'x' }", Array(JSON)),
        ("function f() { return 1 }\nconst x = f()", JSON),
        ("function f(): text { return 'a' }\nconst x = f()", TEXT),
    ],
)
def test_a_variable_has_the_type_of_its_value(text: str, expected: object) -> None:
    assert type_of(text) == expected


def test_a_declared_variable_that_is_no_answer_has_just_its_type() -> None:
    text = "function f(a: number): number { return do 'x' }\nlet n: number = f(do 'x')\nn = do 'y'"
    assert type_of(text, "n") == NUMBER


def test_the_fields_of_a_pattern_become_symbols_and_those_with_defaults_are_optional() -> None:
    program, found = checked("const {a: text, private b: number = 1, c: {d: boolean}} = do 'x'")
    pattern = program.statements[0].pattern  # type: ignore[union-attr]
    assert isinstance(pattern.type, Object)
    assert {name: field.optional for name, field in pattern.type.fields.items()} == {"a": False, "b": True, "c": False}
    names = found.scope.names
    assert (names["a"].type, names["b"].type, names["d"].type) == (TEXT, NUMBER, BOOLEAN)
    assert (names["a"].is_private, names["b"].is_private) == (False, True)
    assert "c" not in names
    assert pattern.fields[2].nested.fields[0].symbol is names["d"]


def test_symbols_say_where_they_are_seen_and_whose_they_are() -> None:
    text = "let a = 1\nfunction f(p: number): number {\n  let b = p\n  return b + a\n}\nfor i in 3 { print(i, f(a)) }\n"
    program, found = checked(text)
    a, f = found.scope.names["a"], found.scope.names["f"]
    function, loop = program.statements[1], program.statements[2]
    assert isinstance(function, nodes.Function)
    assert isinstance(loop, nodes.For)
    assert (a.since, a.is_global, a.owner) == (len("let a = 1"), True, None)
    assert (f.since, f.is_global, f.node) == (0, True, function)
    b = function.body.statements[0].symbol  # type: ignore[union-attr]
    p = function.parameters[0].symbol
    assert p is not None
    assert (b.is_global, b.owner, b.until) == (False, function, function.body.end)
    assert (p.is_global, p.owner, p.kind) == (False, function, "parameter")
    assert loop.symbol is not None
    assert (loop.symbol.kind, loop.symbol.is_global, loop.symbol.owner) == ("loop", False, None)
    assert (loop.symbol.since, loop.symbol.until) == (loop.body.start, loop.body.end)


def test_a_variable_of_an_async_for_belongs_to_it() -> None:
    program = sound("const x = async for m in ['a'] {\n let n = m\n yield n }")
    loop = every(program, nodes.AsyncFor)[0]
    assert loop.symbol.owner is loop
    assert every(program, nodes.Let)[1].symbol.owner is loop


def test_assignments_are_noted_with_the_functions_they_are_in() -> None:
    text = "let a = 1\nlet b = 1\nfunction f() { a = 2 }\nfunction g() { a = 3 }\nb = 2\nf()\ng()\nprint(a, b)"
    program, found = checked(text)
    a, b = found.scope.names["a"], found.scope.names["b"]
    assert (a.is_assigned, a.assigned_in) == (True, (program.statements[2], program.statements[3]))
    assert (b.is_assigned, b.assigned_in) == (True, ())


def test_async_and_private_variables_and_exports_are_marked() -> None:
    text = "async let a = do 'x'\nprivate const b = 1\nexport let c = 1\nexport function f() { }\nexport type T = text"
    _, found = checked(text)
    names = found.scope.names
    assert (names["a"].is_async, names["b"].is_async) == (True, False)
    assert (names["a"].is_private, names["b"].is_private) == (False, True)
    assert set(found.exports.names) == {"c", "f", "T"}
    assert found.exports.names["T"].type == TEXT


def test_functions_have_signatures() -> None:
    type_ = symbol("tool t(a: text, b: number = 1): boolean\n @description 'x'\n{ return true }", "t").type
    assert isinstance(type_, CallableType)
    assert (type_.parameters, type_.required, type_.returns) == ((TEXT, NUMBER), 1, BOOLEAN)
    assert type_.names == ("a", "b")


def test_names_point_to_what_they_stand_for() -> None:
    program, found = checked("let a = 1\n{\n let a = 'inner'\n print(a)\n}\nprint(a)")
    inner, outer = (each for each in every(program, nodes.Name) if each.name == "a")
    assert outer.symbol is found.scope.names["a"]
    assert (inner.type, outer.type) == (TEXT, NUMBER)


def test_a_function_sees_what_is_declared_after_it() -> None:
    assert sound("function f(): number { return later }\nconst later = 1\nprint(f())")


def test_recursive_types_can_be_used() -> None:
    text = "type Tree { name: text, children: Tree[] }\nlet t: Tree = { name: 'a', children: [] }"
    assert type_of(f"{text}\nconst x = t.children[0].children[0].name") == TEXT


def test_objects_in_an_array_need_not_have_the_same_fields() -> None:
    text = "let xs = [{ a: 1, b: 'x' }, { a: 2 }, { a: null, c: true }]"
    assert format_type(type_of(text, "xs")) == "{a: number | null, b?: text, c?: boolean}[]"
    assert sound(f"{text}\nfor x in xs {{ print(x.a, x.b ?? '', x.c) }}")


def test_a_repl_goes_on_with_the_names_it_has() -> None:
    from antiphon.lang.syntax.parser.source_parser import parse_source
    from antiphon.lang.syntax.source import Source
    from antiphon.lang.typecheck import check_program

    scope = None
    for line, expected in (
        ("let a = 1", []),
        ("function f(): number { return a }", []),
        ("let a = 'text'", []),
        ("a + f()", []),
        ("type P { n: number }", []),
        ("let p: P = { n: f() }", []),
        ("let bad: number = 'x'", ["V0301"]),
        ("bad", ["V0201"]),
        ("p.n", []),
        ("let b = 1\nlet b = 2", ["V0203"]),
    ):
        source = Source("repl", line)
        found = check_program(parse_source(source)[0], source, scope=scope, in_repl=True)
        assert [each.code for each in found.diagnostics] == expected, line
        scope = found.scope
    assert scope is not None
    assert scope.names["a"].type == TEXT


def test_what_is_true_in_one_type_and_false_in_another_is_a_boolean() -> None:
    types = "type R = { ok: true, n: number } | { ok: false, why: text }\n"
    assert type_of(types + "function g(): R { return { ok: true, n: 1 } }\nlet x = g().ok") is BOOLEAN
