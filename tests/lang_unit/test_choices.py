"""Choices, `match` and what is asked where a type is expected: how they are read, laid out, run and asked for."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.lang.analysis import analyse
from antiphon.lang.codegen import compile_program
from antiphon.lang.coverage_plugin import _executable_lines
from antiphon.lang.formatter import format_source
from antiphon.lang.syntax.parser.source_parser import parse_source
from antiphon.lang.syntax.source import Source
from tests.lang_unit.harness import ran


def tree(text: str) -> Any:
    program, wrong = parse_source(Source("a.vibe", text))
    assert not wrong, wrong[0].message
    return program


@pytest.mark.parametrize(
    ("loose", "tight"),
    [
        ("a ?? b ? c : d", "(a ?? b) ? c : d"),
        ("a ? b : c ? d : e", "a ? b : (c ? d : e)"),
        ("a ? b ? c : d : e", "a ? (b ? c : d) : e"),
        ("a or b in c", "a or (b in c)"),
        ("not a in b", "not (a in b)"),
        ("not a is text", "not (a is text)"),
        ("a + 1 in b", "(a + 1) in b"),
        ("a in b..c", "a in (b..c)"),
        ("a ?? b in c", "a ?? (b in c)"),
        ("a is text ? b : c", "(a is text) ? b : c"),
        ("do a ? b : c", "(do a) ? b : c"),
        ("do a in b", "(do a) in b"),
        ("x => x ? 1 : 2", "x => (x ? 1 : 2)"),
        ("f(a ? b : c, d: e ? 1 : 2)", "f((a ? b : c), d: (e ? 1 : 2))"),
    ],
)
def test_operators_bind_as_the_reference_says(loose: str, tight: str):
    assert tree(f"x = {loose}") == tree(f"x = {tight}")


LAID_OUT = """
const a = b ? c : d
const e = f?.g?.[0]?.h(1, retries: 3)
const i = [...xs, 1]
const j = { ...o, in: 1, is: 2 }
const [k, l: text] = m
for {name, age: years} in people { print(name) }
for [key, value] in pairs { print(key in value, value is text | null) }
try {
  work()
} catch error {
  print(error)
} finally {
  close()
}
match level {
  "low", "mid" => print(1) // beside
  // above
  is number | text => { return 5 }

  -1 => count += 1
  null => {
    a()
    b()
  }
  else => {}
}
const n = match do "How urgent?" { "low" => 1, else => throw "?" }
const made = match (a) {
  1 => { name: "one" }
  else => { name: "many" }
}.name
"""


def test_choices_are_laid_out_as_they_should_be_and_stay_so():
    text = LAID_OUT.lstrip()
    assert format_source(Source("a.vibe", text)) == text
    squeezed = text.replace(" => ", "=>").replace(" ? ", "?").replace(" : ", ":")
    assert format_source(Source("a.vibe", squeezed)) == text


def test_a_long_choice_is_broken_after_its_signs():
    text = f"const a = {'b' * 40} ? {'c' * 40} : {'d' * 40}"
    lines = format_source(Source("a.vibe", text)).splitlines()
    assert lines == [f"const a = {'b' * 40} ?", f"  {'c' * 40} :", f"  {'d' * 40}"]


def forms(source: str, *answers: Any) -> list[Any]:
    """What each request offered to return the answer with: the schema of the value."""
    run = ran(source, *answers)
    assert run.outcome.error is None, run.outcome.error.render()
    return [each.body["output_config"]["format"]["schema"] for each in run.fake.requests]


def value_of(schema: Any) -> Any:
    return {name: each for name, each in schema["properties"]["value"].items() if name != "description"}


def test_a_match_asks_for_one_of_its_arms():
    source = 'const a = match do "How urgent?" { "low" => 1, "high" => 2 }\nprint(a)'
    assert value_of(forms(source, "low")[0]) == {"enum": ["low", "high"], "type": "string"}


def test_a_match_with_else_asks_for_any_value_of_its_kind():
    source = 'const a = match do "Who?" { "Ada" => 1, else => 2 }\nprint(a)'
    assert value_of(forms(source, "Bob")[0]) == {"type": "string"}


@pytest.mark.parametrize(
    "source",
    [
        'if do "Is it?" { print(1) }',
        'while do "Is it?" { print(1) }',
        'if true and do "Is it?" { print(1) }',
        'if not do "Is it?" { print(1) }',
        'print(do "Is it?" ? 1 : 2)',
        'function f(a: number, b: boolean = false) { print(a, b) }\nf(1, b: do "Is it?")',
    ],
)
def test_a_condition_asks_for_a_boolean(source: str):
    assert value_of(forms(source, False)[0]) == {"type": "boolean"}


def test_objects_that_share_a_name_are_told_apart_in_what_a_model_is_shown():
    source = 'type R = { ok: true, v: text } | { ok: false, fault: text }\nconst r: R = do "Which?"\nprint(r.ok)'
    assert sorted(forms(source, {"ok": False, "fault": "f"})[0]["$defs"]) == ["R", "R2"]


def test_an_error_in_an_arm_points_at_it():
    source = "const xs: number[] = []\nconst a = match 1 {\n  1 => xs[3]\n  else => 2\n}\nprint(a)"
    frame = ran(source).error.frames[-1]
    assert frame.source.text[frame.start : frame.end] == "xs[3]"


def test_every_arm_is_a_line_of_its_own_for_coverage():
    source = Source(
        "a.vibe", 'const a = "x"\nmatch a {\n  "x" => print(1)\n  "y" => {\n    print(2)\n  }\n  else => print(3)\n}\n'
    )
    analysis = analyse(source)
    assert analysis.is_compilable
    code = compile_program(analysis.program, source)
    assert code.main is not None
    assert {1, 2, 3, 5, 7} <= set(_executable_lines(code.main))
