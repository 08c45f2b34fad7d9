"""How long the checker knows that a value is narrowed, and what it reports once."""

from __future__ import annotations

import pytest

from tests.lang_unit.checking import codes, messages

_CLEAR = "let a: text | null = 'x'\nfunction clear(): number {\n  a = null\n  return 1\n}\n"


def test_a_field_is_not_narrowed_in_a_function_that_is_called_later() -> None:
    text = "type P { name: text | null }\nconst p: P = { name: 'a' }\nif p.name != null {\n"
    assert codes(f"{text}  const f = () => p.name.length\n  p.name = null\n  print(f())\n}}") == ["V0330"]


@pytest.mark.parametrize(
    "text",
    [
        "const g = clear\nfunction run(): number { return g() }\nif a != null {\n  run()\n  print(a.length)\n}",
        "function run(f: () => number): number { return f() }\nif a != null {\n  run(clear)\n  print(a.length)\n}",
    ],
)
def test_a_function_in_a_variable_may_change_what_any_function_changes(text: str) -> None:
    assert codes(_CLEAR + text) == ["V0330"]


def test_a_test_may_call_a_function_before_the_variables_that_it_uses() -> None:
    assert codes("test 't' { print(f()) }\nconst a = 1\nfunction f(): number { return a }\nprint(f())") == []


def test_a_program_may_declare_many_types() -> None:
    types = "\n".join(f"type T{i} {{ x: number }}" for i in range(60))
    assert codes(f"{types}\nlet t: T59 = {{ x: 1 }}\nprint(t)") == []


def test_a_name_of_a_block_that_ended_gets_no_hint_about_braces() -> None:
    [said] = messages("if now() != '' {\n  let x = now()\n}\nprint('{x}')")
    assert "any more" in said
    assert "brace" not in said


def test_an_unknown_name_in_braces_gets_a_hint_how_to_write_a_brace() -> None:
    [said] = messages("print('{nothing}')")
    assert said == "there is no `nothing` here (for a brace as such, write `\\{nothing`)"


def test_an_argument_passed_as_json_is_reported_only_if_the_function_changes_it() -> None:
    call = "let xs = [1]\nprint(f(xs))"
    assert codes(f"function f(x: json): json {{ return x }}\n{call}") == []
    assert codes(f"function f(x: json): json {{\n  x.push(1)\n  return x\n}}\n{call}") == ["V0331"]


def test_a_statement_in_indented_blocks_is_reported_once() -> None:
    assert codes("let x = 1\nif x > 1:\n  print(1)\nelif x > 0:\n  print(2)\n") == ["V0109"]


def test_the_type_of_a_field_in_a_pattern_may_be_a_map() -> None:
    text = "type P { scores: { [text]: number } }\nlet p: P = { scores: { 'a': 1 } }\n"
    assert codes(text + "const { scores: { [text]: number } } = p\nprint(scores)") == []
