"""What may be read at all is checked, compiled and run, however long its chains are and however deep it goes."""

import contextlib
import time

import pytest

from antiphon.lang.analysis import analyse
from antiphon.lang.formatter import format_source
from antiphon.lang.runtime.program import Host, loads
from antiphon.lang.syntax.diagnostics import ProgramErrors
from antiphon.lang.syntax.foreign_syntax import table as habits
from antiphon.lang.syntax.parser.cursor import MAX_CHAIN, MAX_DEPTH
from antiphon.lang.syntax.source import Source

VALUES = "let a: json = 1\nlet o: json = null\nlet f = (x: json) => x\n"
LONG, DEEP = MAX_CHAIN - 5, MAX_DEPTH - 5
PROGRAMS = {
    "operators": "print(" + " + ".join(["a"] * LONG) + ")",
    "defaults": "print(" + " ?? ".join(["a"] * LONG) + ")",
    "methods": "print([1]" + ".copy()" * (LONG // 2) + ")",
    "functions": "print([1]" + ".map(x => x)" * 100 + ".length)",
    "changes": "let xs = [2, 1]\nprint(xs" + ".sort().reverse()" * (LONG // 4) + ")",
    "optional members": "print(o" + "?.a" * LONG + ")",
    "conditions": "if a == 2 { print(1) }" + " else if a == 3 { print(2) }" * LONG + " else { print(3) }",
    "operators in arrays": "print(" + "[" * DEEP + " + ".join(["a"] * LONG) + "]" * DEEP + ")",
    "operators in calls": "print(" + "f(" * DEEP + " + ".join(["a"] * LONG) + ")" * DEEP + ")",
    "operators in blocks": "if a == 1 {\n" * DEEP + "print(" + " + ".join(["a"] * LONG) + ")\n" + "}\n" * DEEP,
    "operators in functions": "let h = "
    + "() => {\nreturn " * (DEEP // 2)
    + " + ".join(["a"] * LONG)
    + "}" * (DEEP // 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_long_and_deep_programs_run(name: str):
    program = loads(VALUES + PROGRAMS[name])
    error = program.attempt(Host(write=lambda _: None)).error
    assert error is None, error


#: Each line makes the type of the one before it twice as large.
DOUBLED = {
    "choice": "true ? a{0} : [a{0}]",
    "object": "{{ l: a{0}, r: a{0} }}",
    "array": "[a{0}, [a{0}]]",
    "match": "match 1 {{ 1 => a{0}, else => {{ k: a{0} }} }}",
    "default": "parseJson('1') == 1 ? [a{0}] : [[a{0}]]",
    "function": "() => true ? a{0} : [a{0}]",
}


@pytest.mark.parametrize("name", DOUBLED)
def test_types_that_double_with_each_line_are_bounded(name: str):
    lines = [f"const a{i + 1} = {DOUBLED[name].format(i)}" for i in range(40)]
    start = time.process_time()
    found = analyse(Source("a.vibe", "\n".join(["const a0 = 1", *lines, "print(a0)", ""]))).diagnostics
    assert time.process_time() - start < 10
    assert {each.code for each in found if each.severity == "error"} <= {"V0331", "V0364"}


def test_types_that_name_each_other_in_a_long_chain_are_compared_and_run():
    count = 100
    types = "".join(
        f"type {kind}{i} = {{ a: {kind}{(i + 1) % count} | null, b: {kind}{(i + 2) % count} | null }}\n"
        for kind in "TU"
        for i in range(count)
    )
    said: list[str] = []
    program = loads(f"{types}let x: T0 = {{ a: null, b: null }}\nlet y: U0 = x\nprint(y.a)")
    program.run(Host(write=said.append))
    assert said == ["null"]


def test_a_type_as_large_as_it_is_written_is_followed():
    fields = ", ".join(f"f{i}: {{ a: [{i}], b: 'x' }}" for i in range(3_000))
    loads(f"const table = {{ {fields} }}\nprint(table.f7.a[0] + 1)")


#: Each is written so often in a row that what reads it must not go deeper with each.
REPEATED = [
    *(
        "1 | ",
        "1 is 1 ",
        "not ",
        "match ",
        "1 as text ",
        "1 if ",
        "x ? ",
        "x => ",
        "(",
        "[",
        "{ ",
        "do ",
        '"${',
        "1 ?? ",
    ),
    *(
        "if true { ",
        "match 1 { else => ",
        "{ a: ",
        "() => ",
        "1 instanceof ",
        "- ",
        "async ",
        "a.b(",
        "1 < ",
        "1..",
        "!",
    ),
    *(f"1 {word} " for word in habits.POSTFIX_WORD_HINTS),
]


@pytest.mark.parametrize("part", REPEATED)
@pytest.mark.parametrize("before", ["const a = ", "let a: ", ""])
def test_what_is_nested_too_deeply_is_told_by_check_and_fmt(before: str, part: str):
    source = Source("a.vibe", f"{before}{part * 2_000}1\n")
    assert analyse(source).diagnostics
    with contextlib.suppress(ProgramErrors):
        format_source(source)
