"""What every error of a running program looks like to the person who runs it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

import antiphon.lang
from antiphon.cli.scripted_models import ScriptedTestModels
from antiphon.fakes import Answer, Fail, Fake
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.program import Host, loads
from antiphon.lang.runtime.test_runner import load_tests
from antiphon.lang.typecheck.codes import explain_code
from antiphon.providers.retry import NO_RETRY

GOLDEN = Path(__file__).parent.parent / "lang" / "golden_run"
PROGRAMS = sorted(GOLDEN.glob("*.vibe"))
ROOM = Path(antiphon.lang.__file__).parent
FENCE = re.compile(r"```vibe\n(.*?)```", re.DOTALL)
#: What the models say, the settings of the run, and the inputs, where the default would show something else.
SCRIPTS: dict[str, list[Any]] = {
    "V0916": [Answer("No idea.")] * 2,
    "V0920": [Fail(404, "The model `gpt-9` does not exist")],
    "V0922": ["one"],
}
SETTINGS: dict[str, dict[str, Any]] = {"V0922": {"max_turns": 1}, "V0924": {"people": lambda _: "old"}}
INPUTS = {"V0925": {"count": [3]}}


def error_of(code: str, text: str, tmp_path: Path) -> VibeError:
    """The error a program ends with; one that consists of a test ends with the test's."""
    if text.startswith("test"):
        file = tmp_path / f"{code}.vibe"
        file.write_text(text, encoding="utf-8")
        suite = load_tests(str(file))
        error = suite.run(suite.tests[0], ScriptedTestModels()).error
    else:
        with Fake(SCRIPTS.get(code, ())) as fake:
            given = SETTINGS.get(code, {})
            if code in SCRIPTS:
                given = {**given, "connect": lambda name, **_: fake.connect(name, retry=NO_RETRY)}
            program = loads(text, f"{code}.vibe")
            error = program.attempt(Host(write=lambda _: None, **given), inputs=INPUTS.get(code)).error
    assert error is not None
    return error


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_an_error_of_a_run_is_told_as_in_its_golden_file(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    golden = path.with_suffix(".txt")
    text = error_of(path.stem, path.read_text("utf-8"), tmp_path).render().replace(f"{tmp_path}/", "") + "\n"
    text = re.sub(r"request req_\w+", "request req_1", text)
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text("utf-8")
    assert f"[{path.stem}]" in text


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_wrong_program_of_an_explanation_is_that_of_the_golden_file(path: Path):
    wrong, _ = FENCE.findall(explain_code(path.stem) or "")
    assert wrong == path.read_text("utf-8")


def test_every_code_of_a_run_is_explained_and_has_a_golden_program():
    used = {code for file in ROOM.rglob("*.py") for code in re.findall(r'"(V09\d\d)"', file.read_text("utf-8"))}
    assert {code for code in used if explain_code(code) is None} == set()
    # A round that was stopped is never what a program ends with, and a pattern's type is looked at before its fields;
    # no text of a program by itself makes it one that cannot go on.
    assert used - {"V0909", "V0927", "V0930"} == {path.stem for path in PROGRAMS}
