"""Programs of `tests/lang`, each with what is expected of it written in it.

    print(1 + 1)            // expect: 2
    let x = [1][3]          // expect-error: V0903 out of bounds
    let y: text = 3         // expect-diagnostic: V0301 text

`expect` is a printed line, `expect-var: name = JSON` a variable of the top level when it is over, `expect-error` the
error it ends with (`expect-error-anywhere`: at another place, or none) and `expect-diagnostic` or `expect-warning` what
the checker says, each on its own line. `expect-prompt` and `expect-no-prompt` are about the last request. `inputs` is
an object of values for variables. Answers stand beside, in `name.answers.json`. Modules begin with `_`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from antiphon.lang.runtime.modules import ModuleLoader
from antiphon.lang.runtime.program import Program
from antiphon.lang.syntax.diagnostics import ProgramErrors
from tests.lang_unit.harness import Ran, ran

ROOT = Path(__file__).parent.parent / "lang"
_MARK = re.compile(r"//.*?\b(expect(?:-[a-z]+)*|inputs): ?(.*)$")
SECTIONS = (
    *("lexical", "types", "statements", "asking", "results", "typed_returns", "tool_errors", "context", "loop_modes"),
    *("models", "tools", "python", "async", "modules", "errors", "builtins"),
    *("functions", "maps", "programs"),
)


def _programs() -> list[str]:
    found = [path for section in SECTIONS for path in sorted((ROOT / section).glob("*.vibe"))]
    return [str(path.relative_to(ROOT)) for path in found if not path.name.startswith("_")]


@dataclass(frozen=True)
class Mark:
    """An expectation, and the line it stands on."""

    word: str
    text: str
    line: int


def _marks(text: str) -> list[Mark]:
    found = ((_MARK.search(line), number) for number, line in enumerate(text.splitlines(), 1))
    return [Mark(match[1], match[2].rstrip(), number) for match, number in found if match]


def _of(marks: list[Mark], word: str) -> list[Mark]:
    return [each for each in marks if each.word == word]


@pytest.mark.parametrize("name", _programs())
def test_program(name: str, monkeypatch: pytest.MonkeyPatch):
    path = ROOT / name
    marks = _marks(path.read_text())
    assert marks, "nothing is expected of this program"
    monkeypatch.chdir(path.parent)
    modules = ModuleLoader()
    main = modules.load(path)
    _check_diagnostics(marks, main)
    if _of(marks, "expect-diagnostic"):
        return
    try:
        modules.raise_errors()
    except ProgramErrors as errors:
        pytest.fail(str(errors))
    beside = path.with_suffix(".answers.json")
    answers = json.loads(beside.read_text()) if beside.exists() else []
    inputs = {name: value for each in _of(marks, "inputs") for name, value in json.loads(each.text).items()}
    _check_run(marks, ran(Program(modules, main), *answers, inputs=inputs, environment={"HOME_TOWN": "Oslo"}))


def _check_diagnostics(marks: list[Mark], main) -> None:
    for severity, word in (("error", "expect-diagnostic"), ("warning", "expect-warning")):
        found = [
            (main.source.line_number(e.start), e.code, e.message) for e in main.diagnostics if e.severity == severity
        ]
        wanted = _of(marks, word)
        for each in wanted:
            code, _, part = each.text.partition(" ")
            assert any(line == each.line and known == code and part in said for line, known, said in found), (
                f"line {each.line}: {each.text} is expected, found {found}"
            )
        if severity == "error":
            assert wanted or not found, found
            assert {line for line, _, _ in found} <= {each.line for each in wanted}, found


def _check_run(marks: list[Mark], run: Ran) -> None:
    failed = [*_of(marks, "expect-error"), *_of(marks, "expect-error-anywhere")]
    error = run.outcome.error
    if error is not None and not failed:
        pytest.fail(error.render())
    assert run.prints == [each.text for each in _of(marks, "expect")]
    for each in failed:
        assert error is not None, f"{each.text} is expected; it ended well"
        code, _, part = each.text.partition(" ")
        assert error.code == code, error.render()
        # The line of the program holds what is expected of it.
        told = [line for line in error.render().splitlines() if "// expect" not in line]
        assert part in "\n".join(told), error.render()
        if each.word == "expect-error-anywhere":
            continue
        assert error.frames, "it says no place"
        assert error.frames[-1].source.line_number(error.frames[-1].start) == each.line, error.render()
    for each in _of(marks, "expect-var"):
        name, _, value = each.text.partition(" = ")
        assert name in run.variables
        assert _same(run.variables[name], json.loads(value)), f"{name} is {run.variables[name]!r}"
    for each in _of(marks, "expect-prompt"):
        assert _line(each) in run.prompts[-1]
    for each in _of(marks, "expect-no-prompt"):
        assert run.prompts, "no model was asked"
        assert _line(each) not in run.prompts[-1]


def _line(mark: Mark) -> str:
    return mark.text.replace("\\n", "\n")


def _same(one: object, other: object) -> bool:
    """Equal, and 1 is not true."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def test_every_section_of_the_language_has_programs():
    names = _programs()
    assert all(any(name.startswith(f"{section}/") for name in names) for section in SECTIONS)
    assert len(names) >= 350
