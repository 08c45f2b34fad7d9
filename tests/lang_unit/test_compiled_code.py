"""What code is made of usual programs: Python's own, without a call of the library for what the text tells."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType

import pytest

from antiphon.lang.runtime.program import loads
from tests.lang_unit.harness import ran

#: Code of a function `f`, and what it must not need.
DIRECT = {
    "rest of naturals": ("function f(a: number): number { return a % 7 }\nprint(f(9))", "_v_modulo"),
    "rest of what may be negative": ("export function f(a: number): number { return a % 7 }", "_v_modulo"),
    "rest of calls": (
        "function g(): number { return 3 }\nfunction f(): number { return g() % 2 }\nprint(f())",
        "_v_modulo",
    ),
    "index of a loop": ("export function f(xs: number[]) { for i in xs.length { print(xs[i]) } }", "_v_require_index"),
    "step": ("export function f(t: text): text { return t[::-1] }", "_v_slice_value"),
    "arrays": ("export function f(a: number[], b: number[]): number[] { return a + b }", "_v_add_values"),
    "includes": (
        "export function f(a: number[], b: number): boolean { return a.includes(b + 1) }",
        "_vm_array_includes",
    ),
    "copy": ("export function f(a: number[]): number[] { return a.copy() }", "_vm_array_copy"),
    "private": ("export function f(): number {\nprivate let a = 1\na = a + 1\nreturn a\n}", "private_effects"),
    "unused error": ("export function f() { try { print(1) } catch e { print(2) } }", "_v_make_error_value"),
    "key of a loop": ("export function f(m: { [text]: number }) { for k, v in m { m[k] = v + 1 } }", "_v_list"),
}
#: The same of what only the running program knows.
LOOKED_AT = {
    "a function that is a value": (
        "function f(a: number): number { return a % 7 }\nprint([1].map(f))",
        "_v_modulo",
        False,
    ),
    "rest of an unknown sign": ("export function f(a: number, b: number): number { return a % b }", "_v_modulo", True),
    "unknown index": ("export function f(xs: text[], i: number): text { return xs[i] }", "_v_require_index", True),
    "private answer": ('export function f() {\nprivate let a: text = do "x"\nprint(a)\n}', "private_effects", True),
    "private print": (
        "function g(): number {\nprint(1)\nreturn 1\n}\nexport function f() { private let a = g() }",
        "private_effects",
        True,
    ),
    "new keys": ('export function f(m: { [text]: number }) { for k, v in m { m[k + "!"] = v } }', "_v_list", True),
    "another map": (
        "export function f(m: { [text]: number }, o: { [text]: number }) { for k, v in m { o[k] = v } }",
        "_v_list",
        True,
    ),
}


def names_in(source: str) -> set[str]:
    """The names that the code of `f` uses."""
    code = loads(source, "code.vibe").code.main
    assert code is not None
    (found,) = (each for each in all_code(code) if each.co_name == "f")
    return {name for each in all_code(found) for name in each.co_names}


def all_code(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from all_code(each)


@pytest.mark.parametrize("case", DIRECT)
def test_usual_code_is_pythons_own(case: str):
    source, unwanted = DIRECT[case]
    assert unwanted not in names_in(source)


@pytest.mark.parametrize("case", LOOKED_AT)
def test_what_is_not_known_is_looked_at(case: str):
    source, wanted, is_there = LOOKED_AT[case]
    assert (wanted in names_in(source)) is is_there


def test_variables_of_the_top_level_are_what_is_given():
    program = loads("let i = 0\nlet out: number[] = []\nfor k in 2 { out.push((i + k) % 3) }\nreturn out", "top.vibe")
    assert program.run().value == [0, 1]
    assert program.run(i=-7).value == [-1, 0]
    assert program.run(i=-7.5).value == [-1.5, -0.5]
    assert program.run().value == [0, 1]


def test_variables_are_made_for_whoever_looks_at_them():
    report = loads("let xs = [1]\nconst o = { a: xs }\nprivate let key = 1\nprint(key, o)", "v.vibe").run()
    assert report.variables == {"xs": [1], "o": {"a": [1]}}
    assert report.variables is report.variables


@pytest.mark.parametrize(("operation", "result"), [("x % f()", "3"), ("x / f()", "1.75"), ("x ** f()", "2401")])
def test_the_left_operand_is_read_before_the_right_one_changes_it(operation: str, result: str):
    program = f"let x = 7\nfunction f(): number {{ x = 100\n return 4 }}\nprint({operation})"
    assert ran(program).prints == [result]
