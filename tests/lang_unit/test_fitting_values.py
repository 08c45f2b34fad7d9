"""Values of `json` that do not fit a type are rejected at run time, and types that do not fit by the checker."""

from __future__ import annotations

from pathlib import Path

import pytest

import antiphon
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.syntax.diagnostics import ProgramErrors


@pytest.mark.parametrize(
    ("value", "wanted", "said"),
    [
        ("true", "number", "expected number, found boolean true"),
        ("1", "boolean", "expected boolean, found number 1"),
        ("true", "1 | 2", "expected 1 | 2, found boolean true"),
        ("[1, true]", "number[]", "`[1]`: expected number, found boolean true"),
        ("[true, 0]", "boolean[]", "`[1]`: expected boolean, found number 0"),
        ("{ a: true }", '{ a: "x" | 1 }', '`a`: expected "x" | 1, found boolean true'),
        ("{ a: 1 }", "{ a: boolean | null }", "`a`: expected boolean"),
        ("{ a: null }", "{ a: number }", "`a`: expected number, found null"),
    ],
)
def test_true_is_no_number_and_one_is_no_boolean(value: str, wanted: str, said: str) -> None:
    with pytest.raises(VibeError) as caught:
        antiphon.loads(f"const x: json = {value}\nconst y: {wanted} = x\nprint(y)").run()
    assert said in str(caught.value)


def test_what_fits_is_taken() -> None:
    for value, wanted in (("1.0", "1 | 2"), ("{ n: null }", "{ n?: number }"), ("{}", "{ n?: number }")):
        antiphon.loads(f"const x: json = {value}\nconst y: {wanted} = x\nprint(y)").run()


@pytest.mark.parametrize(
    "program",
    [
        "const a: { n?: number } = { n: 1 }\nconst b: { n: number } = a\nprint(b)",
        "function f(b: { n: number }) { print(b.n) }\nconst a: { n?: number } = {}\nf(a)",
        "const a: { in: { n?: number } } = { in: {} }\nconst b: { in: { n: number } } = a\nprint(b)",
        "const a: { n?: number }[] = [{}]\nconst b: { n: number }[] = a\nprint(b)",
    ],
)
def test_a_field_that_may_be_absent_is_not_one_that_is_there(program: str) -> None:
    with pytest.raises(ProgramErrors, match="V0301"):
        antiphon.loads(program)


def test_a_text_is_filled_with_several_characters() -> None:
    shown = antiphon.loads('print("x".padStart(4, "ab"), "x".padEnd(4, "ab"), "x".padStart(4, "-"))').run()
    assert shown.prints == ["abax xaba ---x"]


def test_the_file_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for program in ('readText("gone.txt")', 'move("gone.txt", "there.txt")', 'copy("gone.txt", "there.txt")'):
        name = program.partition("(")[0]
        with pytest.raises(VibeError, match=r"there is no file `.*gone\.txt`"):
            antiphon.loads(f'import {{ {name} }} from "system/files"\nprint({program})').run()
