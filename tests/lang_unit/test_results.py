"""Semantic results in programs: made by them, given by Python, and handed on to a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lang_unit.harness import MODELS, ran

KIT = """
from antiphon.results import text

def made():
    return text("Rain.", summary="the weather")

def many():
    return {"found": [made()]}
"""
PROGRAM = """
import { made, many } from "./kit.py"
// The weather.
tool weather(): json { return WHAT }
model m = { name: "NAME", tools: [weather] }
const answer = vibe "Go." m
answer
"""


@pytest.mark.parametrize("what", ["made()", "[made()]", "many()", "{ a: [many()] }", 'result("text", "Rain.")'])
def test_a_result_stays_one_on_its_way_to_a_model(tmp_path: Path, what: str):
    (tmp_path / "kit.py").write_text(KIT)
    file = tmp_path / "program.vibe"
    file.write_text(PROGRAM.replace("WHAT", what).replace("NAME", MODELS["anthropic"]))
    answer = ran(file, {"tool": "weather", "args": {}}, "Rain.").outcome.result
    given = next(turn.results[0] for turn in answer.run.conversation.turns if getattr(turn, "results", ()))
    assert given.semantic is not None
    assert "Rain." in given.text
    assert "display" not in given.text


def test_a_program_reads_the_fields_of_a_result(tmp_path: Path):
    (tmp_path / "kit.py").write_text(KIT)
    file = tmp_path / "program.vibe"
    lines = ["const found = made()", "print(found)", "print(found.data.content)", 'print(found.title ?? "none")']
    lines += ["print(many().found[0].summary)", "print(many().found)"]
    file.write_text("\n".join(['import { made, many } from "./kit.py"', *lines]))
    assert ran(file).prints == [
        "[text: the weather]",
        "Rain.",
        "none",
        "the weather",
        '[{"kind":"text","data":{"content":"Rain."},"summary":"the weather","mimeType":"text/plain"}]',
    ]
