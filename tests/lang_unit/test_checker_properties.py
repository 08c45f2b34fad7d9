"""Whatever the program: the checker says something sensible of it, fills the tree in, and is quick."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.lang.analysis import analyse
from antiphon.lang.syntax import nodes
from antiphon.lang.syntax.parser.source_parser import parse_source
from antiphon.lang.syntax.source import Source
from antiphon.lang.typecheck import check_program
from tests.effort import calls_of
from tests.lang_unit.checking import EXPRESSIONS, TYPES, every
from tests.lang_unit.programs import programs

TOKENS = """
let const if else for in while break continue return throw try catch function import export do vibe ask yield true false
null and or not private async model type tool test from as default local none verbose forget compress py
text number boolean json prompt a b c f T U print push length toolCalls value name upper len x.y
= == != < <= > >= + - * / % ** ?? .. . , : ; ( ) [ ] { } | ? @description += -=
1 2.5 "s" 'q {a} ${b}' "{a.b[0]}" `t` []  "x" // \n \n \n
""".replace("\\n", "NEWLINE").split()
soup = st.lists(st.sampled_from(TOKENS), max_size=60).map(lambda each: " ".join(each).replace("NEWLINE", "\n"))

#: Pieces that fit together, right or wrong in their meaning.
LEAVES = ["1", "-2", "'s'", '"{a}${b}"', "true", "null", "a", "b", "c", "f", "T", "m", "t", "[]", "{}", "args", "do'x'"]
OPERATORS = "+ - * == < and or ?? ..".split()  # noqa: SIM905
METHODS = "push pop upper keys sum nope".split()  # noqa: SIM905
TYPE = st.sampled_from(
    ["text", "number", "json", "boolean | null", "T", "T[]", "'a' | 'b'", "{x: T}", "model", "U", "No"]
)


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions with others in them."""
    two, some = st.tuples(inner, inner), st.lists(inner, max_size=3).map(", ".join)
    return st.one_of(
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(lambda e: f"({' '.join(e)})"),
        inner.map(lambda e: f"({e}).name"),
        two.map(lambda e: f"({e[0]})[{e[1]}]"),
        two.map(lambda e: f"({e[0]})[{e[1]}:]"),
        some.map(lambda e: f"f({e})"),
        some.map(lambda e: f"[{e}]"),
        st.tuples(inner, st.sampled_from(METHODS), some).map(lambda e: f"({e[0]}).{e[1]}({e[2]})"),
        two.map(lambda e: f"{{ k: {e[0]}, 'l': {e[1]} }}"),
        inner.map(lambda e: f"(not {e})"),
        two.map(lambda e: f"(async for i in {e[0]} {{ yield {e[1]} }})"),
        inner.map(lambda e: f"(do ({e}) m)"),
        inner.map(lambda e: f"(ask ({e}))"),
    )


EXPRESSION = st.recursive(st.sampled_from(LEAVES), larger, max_leaves=6)
START = st.sampled_from(["let", "const", "private let", "async const", "export let"])
TARGET = st.sampled_from(["a", "b", "c.name", "b[0]", "f", "T"])
STATEMENT = st.one_of(
    st.tuples(START, TYPE, EXPRESSION).map(lambda e: f"{e[0]} a: {e[1]} = {e[2]}"),
    EXPRESSION.map(lambda e: f"let b = {e}"),
    EXPRESSION.map(lambda e: f"const c = {e}"),
    st.tuples(TYPE, EXPRESSION).map(lambda e: f"const {{p: {e[0]}, q: {{r: text}}, s: json = 1}} = {e[1]}"),
    st.tuples(
        st.sampled_from(["a", "b", "c.name", "b[0]", "f", "T"]), st.sampled_from(["=", "+=", "-="]), EXPRESSION
    ).map(" ".join),
    EXPRESSION.map(lambda e: f"if {e} {{ print(a) }} else if a == null {{ return {e} }}"),
    EXPRESSION.map(lambda e: f"for i in {e} {{ print(i)\ncontinue }} forget"),
    EXPRESSION.map(lambda e: f"while {e} {{ a = {e}\nbreak }}"),
    EXPRESSION.map(lambda e: f"try {{ throw {e} }} catch e {{ print(e.message) }}"),
    st.tuples(TYPE, TYPE, EXPRESSION).map(
        lambda e: f"function f(p: {e[0]} = {e[2]}, q): {e[1]} {{ a = p\nreturn {e[2]} }}"
    ),
    EXPRESSION.map(lambda e: f"// Doc\ntool t(p: text) {{ return {e} }}"),
    EXPRESSION.map(lambda e: f"model m = {{ name: 'x', tools: [t], temperature: {e} }}"),
    TYPE.map(lambda e: f"type T {{ x?: {e}, y: T[] }}"),
    TYPE.map(lambda e: f"type U = {e}"),
    EXPRESSION,
)
pieces = st.lists(STATEMENT, max_size=8).map("\n".join)


@given(soup)
@settings(max_examples=150, deadline=None)
def test_any_row_of_tokens_is_checked(text: str) -> None:
    for each in analyse(Source("s", text)).diagnostics:
        assert 0 <= each.start <= each.end <= len(text) + 1


@given(st.one_of(pieces, programs()))
@settings(max_examples=150, deadline=None)
def test_the_tree_is_filled_in_whatever_is_wrong(text: str) -> None:
    source = Source("s", text)
    program, unread = parse_source(source)
    found = check_program(program, source).diagnostics
    assert [each for each in every(program, EXPRESSIONS) if each.type is None] == []
    assert [each for each in every(program, TYPES) if each.type is None] == []
    assert [each for each in every(program, nodes.Pattern) if each.type is None] == []
    kinds = (
        nodes.Let,
        nodes.ForValue,
        nodes.PatternField,
        nodes.PatternItem,
        nodes.For,
        nodes.AsyncFor,
        nodes.Parameter,
        nodes.Function,
        nodes.ModelDecl,
        nodes.TypeDecl,
    )
    declaring = [each for each in every(program, kinds) if getattr(each, "pattern", None) is None]
    assert [each for each in declaring if each.symbol is None and getattr(each, "nested", None) is None] == []
    if not unread and not any(each.severity == "error" for each in found):
        assert [each for each in every(program, nodes.Name) if each.symbol is None] == []
    places = [(each.start, each.end, each.code) for each in found]
    assert places == sorted(places)


@given(pieces)
@settings(max_examples=60, deadline=None)
def test_checking_again_finds_the_same(text: str) -> None:
    source = Source("s", text)
    assert analyse(source).diagnostics == analyse(source).diagnostics


DEEP = {
    "parentheses": "let x = " + "(" * 95 + "1" + ")" * 95,
    "arrays": "let x = " + "[" * 95 + "1" + "]" * 95,
    "objects": "let x = " + "{a: " * 95 + "1" + "}" * 95,
    "calls": "function f(a: json): json { return a }\nlet x = " + "f(" * 95 + "1" + ")" * 95,
    "methods": "let x = " + "'a'.replace('b', " * 95 + "'c'" + ")" * 95,
    "blocks": "{" * 95 + "}" * 95,
    "ifs": "if args.length > 0 { " * 95 + "}" * 95,
    "functions": "".join(f"function f{i}() {{\n" for i in range(95)) + "}\n" * 95,
    "asks": "let x = " + "do " * 95 + "'x'",
    "holes": "let x = " + '"${' * 95 + "1" + '}"' * 95,
    "patterns": "const " + "{a: " * 95 + "text" + "}" * 95 + " = do 'x'",
    "types": "let x: "
    + "{a: " * 95
    + "text"
    + "}" * 95
    + " = do 'x'\nlet y: "
    + "{a: " * 95
    + "text"
    + "}" * 95
    + " = x",
    "sums": "let x = " + "1 + " * 990 + "1",
    "conditions": "let a: text | null = null\nlet x = " + "a != null and " * 990 + "true",
    "members": "let a: json = 1\nlet x = a" + ".b" * 990,
    "else if": "let x = 1\nif x == 1 { } " + "else if x == 2 { } " * 990,
    "dimensions": "let x: text" + "[]" * 990 + " = []",
    "aliases": "".join(f"type A{i} = A{i + 1}\n" for i in range(2000)),
    "object types": "".join(f"type A{i} {{ x: A{i + 1}, y: A{i + 1} }}\n" for i in range(2000)) + "type A2000 = text",
    "compared types": "".join(f"type A{i} {{ x: A{i + 1}, y: A{i + 1} }}\n" for i in range(500))
    + "".join(f"type B{i} {{ x: B{i + 1}, y: B{i + 1} }}\n" for i in range(500))
    + "type A500 = text\ntype B500 = number\nlet a: A0 = do 'x'\nlet b: B0 = a",
    "inferred types": "let a0 = {x: 1}\n" + "".join(f"let a{i + 1} = {{x: a{i}, y: [a{i}]}}\n" for i in range(1000)),
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_programs_leave_room_on_the_stack(name: str) -> None:
    source = Source("s", DEEP[name])
    program, _ = parse_source(source)
    depth = 0
    frame = sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + 750)
    try:
        check_program(program, source)
    finally:
        sys.setrecursionlimit(before)


WIDE: dict[str, Callable[[int], str]] = {
    "unknown names": lambda n: "".join(f"foo{i}(bar{i})\n" for i in range(n)),
    "unknown types": lambda n: "".join(f"let a{i}: T{i} = 1\n" for i in range(n)),
    "unknown fields": lambda n: "let o = {" + ", ".join(f"a{i}: 1" for i in range(n)) + "}\n" + "print(o.zz)\n" * n,
    "one name again and again": lambda n: "let a = 1\n" * n,
    "facts": lambda n: "".join(f"let x{i}: text | null = 'a'\nif x{i} == null {{ return }}\n" for i in range(n)),
    "options": lambda n: "type U = " + " | ".join(f"'a{i}'" for i in range(n)) + "\n" + "let u: U = 'a1'\n" * n,
}


@pytest.mark.parametrize("name", WIDE)
def test_the_effort_for_large_programs_grows_with_them_and_no_faster(name: str) -> None:
    def effort(size: int) -> int:
        source = Source("s", WIDE[name](size))
        program, _ = parse_source(source)
        return calls_of(lambda: check_program(program, source))

    effort(10)
    assert effort(2000) < 3 * effort(1000)


def test_programs_in_the_repository_are_sound() -> None:
    root = Path(__file__).parents[2]
    for file in root.glob("examples/**/*.vibe"):
        found = analyse(Source(file.name, file.read_text("utf-8"))).diagnostics
        assert [each.message for each in found if each.severity == "error"] == [], file
