"""Inputs of programs: how values are read, from text and from Python, and what is said of those that do not fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import antiphon
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.host import Host
from antiphon.lang.runtime.inputs import InputError, check_inputs, make_inputs_schema, parse_inputs
from antiphon.lang.runtime.program import Program, loads
from antiphon.lang.runtime.test_runner import load_tests
from antiphon.lang.syntax.source import extract_first_comment
from tests.lang_unit.checking import codes
from tests.lang_unit.commands import antiphon as command
from tests.lang_unit.harness import ran

PERSON = "type Person { name: text, age?: number }\n"


def program(type_: str) -> Program:
    return loads(f"{PERSON}input x: {type_}\nx\n")


def faults(error: InputError) -> list[tuple[str, str]]:
    return [(each.name, each.kind) for each in error.faults]


# From text


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("text", "5", "5"),
        ("text", " true ", " true "),
        ("text", "", ""),
        ("prompt", "Do it", "Do it"),
        ("number", "5", 5),
        ("number", " -2.5e1 ", -25.0),
        ("number", "123456789012345678901234567890", 123456789012345678901234567890),
        ("boolean", "true", True),
        ("boolean", "false", False),
        ('"low" | "high"', "low", "low"),
        ("1 | 2", "2", 2),
        ('"1" | 1', "1", "1"),
        ('"a" | true', "true", True),
        ("text | null", "", ""),
        ("text | null", "null", "null"),
        ("number | null", "", None),
        ("number | null", "null", None),
        ("number | null", "7", 7),
        ('"low" | null', "", None),
        ("text[]", '["a", "b"]', ["a", "b"]),
        ("number[][]", "[[1], []]", [[1], []]),
        ("Person", '{"name": "Ada"}', {"name": "Ada"}),
        ("json", '{"a": [1, null]}', {"a": [1, None]}),
        ("json", '"5"', "5"),
        ("json", "5", 5),
    ],
)
def test_a_text_is_read_as_the_type_and_no_other(type_: str, text: str, value: Any):
    found = parse_inputs(program(type_).code, {"x": text})["x"]
    assert (found, type(found)) == (value, type(value))
    assert ran(program(type_), inputs={"x": found}).outcome.value == value


@pytest.mark.parametrize(
    ("type_", "text", "said"),
    [
        ("number", "five", '`x`: expected number, found "five"'),
        ("number", "", '`x`: expected number, found ""'),
        ("number", "1,5", "expected number"),
        ("number", "1_000", "expected number"),
        ("number", "0x10", "expected number"),
        ("number", "NaN", "expected number"),
        ("number", "Infinity", "expected number"),
        ("number", "1e999", "expected number"),
        ("number", "9" * 5000, "expected number"),
        ("number", "true", "expected number"),
        ("number", '"5"', "expected number"),
        ("boolean", "yes", '`x`: expected boolean, found "yes"'),
        ("boolean", "True", "expected boolean"),
        ("boolean", "1", "expected boolean"),
        ('"low" | "high"', "LOW", '`x`: expected "low" | "high", found "LOW"'),
        ('"low" | "high"', " low", 'expected "low" | "high"'),
        ("1 | 2", "1.5", "expected 1 | 2"),
        ("text[]", "a,b", '`x`: expected text[] as JSON, found "a,b"'),
        ("text[]", "[1]", "`x[0]`: expected text, found number 1"),
        ("Person", "{}", "`x`: the field `name` is missing"),
        ("Person", '{"name": "A", "age": "3"}', '`x.age`: expected number, found text "3"'),
        ("Person[]", '[{"name": 3}]', "`x[0].name`: expected text, found number 3"),
        ("json", "hello", '`x`: expected json as JSON, found "hello"'),
        ("json", "[" * 100_000, "expected json as JSON"),
        ("json", "[NaN]", "expected json as JSON"),
        ("number[]", "[1e999]", "expected number[] as JSON"),
        ("number", "\x1b[31m" + "9x" * 100, "…"),
    ],
)
def test_what_does_not_fit_is_told_by_name_with_what_was_wanted_and_given(type_: str, text: str, said: str):
    with pytest.raises(InputError) as error:
        parse_inputs(program(type_).code, {"x": text})
    assert said in str(error.value)
    assert "\x1b" not in str(error.value)
    assert faults(error.value) == [("x", "wrong")]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(VALUES)
def test_whatever_is_written_as_json_is_read_as_itself(value: Any):
    assert parse_inputs(program("json").code, {"x": json.dumps(value)})["x"] == value


@given(st.text())
def test_any_text_is_itself_or_told_and_nothing_else_happens(text: str):
    assert parse_inputs(program("text").code, {"x": text})["x"] == text
    for type_ in ("number", "boolean", "Person", '"a" | 3'):
        try:
            value = parse_inputs(program(type_).code, {"x": text})["x"]
        except InputError:
            continue
        assert text == value or json.loads(text) == value


# From Python


def test_python_gives_values_and_no_texts_for_them(tmp_path: Path):
    file = tmp_path / "p.vibe"
    file.write_text('input n: number\ninput tags: text[] = ["a"]\ninput on = false\n'.replace("on =", "on: boolean ="))
    loaded = antiphon.load(file)
    given = ["x"]
    assert loaded.run(n=3, tags=given).variables == {"n": 3, "tags": ["x"], "on": False}
    assert loaded.run(n=3, tags=("x", "y")).variables["tags"] == ["x", "y"]
    with pytest.raises(VibeError) as error:
        loaded.run(n="3", tgas=[], on=1)
    assert str(error.value).split("\n") == [
        '`n`: expected number, found text "3"',
        "there is no input `tgas`; did you mean `tags`?",
        "`on`: expected boolean, found number 1",
    ]
    assert error.value.code == "V0925"
    with pytest.raises(VibeError, match="`n` is not given"):
        loaded.run()
    with pytest.raises(VibeError, match="`n` is not given"):
        loaded.start()


def test_all_that_is_missing_is_told_at_once_and_nothing_runs():
    loaded = loads('print("ran")\ninput a: text "first"\ninput b: number\ninput c: text | null\ninput d: number = 1\n')
    report = loaded.attempt(Host(write=lambda _: None), inputs={})
    assert report.prints == []
    assert isinstance(report.error, InputError)
    assert faults(report.error) == [("a", "missing"), ("b", "missing")]
    assert "`a` is not given (text: first)" in report.error.message


def test_a_private_value_is_in_no_message():
    loaded = loads("private input key: number\nprint(1)\n")
    with pytest.raises(InputError) as error:
        parse_inputs(loaded.code, {"key": "s3cret"})
    assert "s3cret" not in error.value.render()
    assert "private" in str(error.value)
    with pytest.raises(InputError) as error:
        check_inputs(loaded.code, {"key": "s3cret"})
    assert "s3cret" not in error.value.render()


def test_a_program_with_inputs_is_given_nothing_else():
    loaded = loads("input n: number = 1\nlet other = 2\nn + other\n")
    assert loaded.run(n=3).value == 5
    with pytest.raises(VibeError, match="`other` takes no value from outside"):
        loaded.run(other=3)


def test_given_arrays_are_the_programs_own():
    given = {"xs": [{"a": 1}]}
    loaded = loads("input xs: json\nlet ys = xs\nys[0].a = 2\nxs\n")
    assert loaded.attempt(Host(write=lambda _: None), inputs=given).value == [{"a": 2}]
    assert given == {"xs": [{"a": 1}]}


# What a program says of itself


def test_the_schema_is_that_of_the_declared_types():
    text = (
        f'{PERSON}input who: Person "whom"\ninput n: number = 3\ninput level: "low" | "high" = "low"\n'
        "input self: text | null\ninput class: boolean = true\nprint(1)\n"
    )
    schema = make_inputs_schema(loads(text).inputs)
    assert schema["required"] == ["who"]
    assert schema["additionalProperties"] is False
    fields = schema["properties"]
    assert fields["who"]["description"] == "whom"
    assert schema["$defs"]["Person"]["required"] == ["name"]
    assert (fields["n"], fields["level"]["enum"]) == ({"default": 3, "type": "number"}, ["low", "high"])
    assert fields["self"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    assert fields["class"]["default"] is True


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("// One\n//  two\n\n// three\nprint(1)", "One\n two"),
        ("#!/usr/bin/env antiphon\n\n// One", "One"),
        ("\ufeff/* One\n * two\n */ print(1)", "One\ntwo"),
        ("\r\n// One\r\n// two\r\n", "One\ntwo"),
        ("print(1) // One", ""),
        ("", ""),
        ("/* open", ""),
        ("//", ""),
    ],
)
def test_the_first_comment_says_what_a_program_does(text: str, said: str):
    assert extract_first_comment(text) == said


@pytest.mark.parametrize(
    ("last", "value"),
    [
        ("{ n: 1 }", {"n": 1}),
        ("{ n, m: [n] }", {"n": 3, "m": [3]}),
        ('{\n  "n": 1,\n  n2: 2,\n}', {"n": 1, "n2": 2}),
        ("{ n: 1 }.n + 1", 2),
        ("({ n })", {"n": 3}),
        ("{ n }", None),
        ("{\n  n\n}", None),
        ("{ print(n) }", None),
    ],
)
def test_an_object_may_be_the_last_expression_and_a_block_has_no_value(last: str, value: Any):
    assert ran(f"const n = 3\n{last}\n").outcome.value == value


def test_returns_is_checked_when_only_the_run_can_know():
    loaded = loads("input x: json\nreturns number[]\nx\n")
    assert loaded.run(x=[1, 2]).value == [1, 2]
    with pytest.raises(VibeError, match="expected number") as error:
        loaded.run(x=["a"])
    assert error.value.code == "V0902"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("returns number\n3", []),
        ("returns number | null\nprint(1)", []),
        ("returns json\nprint(1)", []),
        ("returns number\nthrow 'x'", []),
        ("returns number\nif now() == '' { return 1 } else { return 2 }", []),
        ("returns number\nwhile true { return 1 }", []),
        ("returns number\nfor x in [1] { return x }", ["V0501"]),
        ("returns number", ["V0501"]),
        ("returns text\nfunction f(): number { return 1 }\nf()", ["V0301"]),
        ("returns text\ntest 'x' { return }\n'a'", []),
        ("returns Missing\n3", ["V0206"]),
        ("export input x: text", ["V0122"]),
        ("input if: text", ["V0118"]),
        ("let input = { a: 1 }\nprint(input.a)\ninput.a = 2", []),
        ("input x: text = 'a' + 'b'\nprint(x)", ["V0421"]),
        ("const y = 'a'\ninput x: text = y\nprint(x)", ["V0421"]),
        ("input x: text = '{now}'", ["V0421", "V0342"]),
        ("input x: number[] = [1, -2]\nprint(x)", []),
        ("input x: { a: text } = { a: '1' }\nprint(x)", []),
        ("input x: { a: text } = { a: 1 }\nprint(x)", ["V0301"]),
        ("private input x: text\nprint(x)", []),
        ("input x: text 'a' 'b'\nprint(x)", ["V0127"]),
    ],
)
def test_inputs_and_returns_are_checked(text: str, found: list[str]):
    assert [each for each in codes(text) if each < "V0700"] == found


# Where nobody gives anything


def test_tests_have_the_defaults_and_nothing_for_what_is_required(tmp_path: Path):
    file = tmp_path / "p.vibe"
    file.write_text(
        "input n: number = 3\ninput city: text\nfunction f(): number { return n + 1 }\nprint(city)\n"
        'test "fine" { assert(f() == 4) }\ntest "not given" { print(city) }\n'
    )
    suite = load_tests(str(file))
    from antiphon.cli.scripted_models import ScriptedTestModels

    fine, missing = [suite.run(each, ScriptedTestModels()) for each in suite.tests]
    assert fine.error is None
    assert missing.error is not None
    assert missing.error.code == "V0914"


def test_the_repl_says_what_to_write():
    ran = command("repl", input="input city: text\n")
    assert "V0507" in ran.err + ran.out
    assert "const city" in ran.err + ran.out
