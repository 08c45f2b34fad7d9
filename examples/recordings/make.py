"""Makes the recordings of the examples. Nothing here needs a key.

    python examples/recordings/make.py [NAME...]

Each example is run in a folder of its own, and `NAME.jsonl` keeps what went over the line. Those that the embedded
model is good enough for are answered by it; for the others the built-in fake plays `NAME.answers.json` (in the form
of `answers` in tests). The tests replay every recording; run this again when a prompt of an example changes.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from antiphon.cli.scripted_models import list_offered_tools, make_scripted_step
from antiphon.fakes import Fake, Received, Step
from antiphon.lang.runtime import Host, load
from antiphon.session import Question

HERE = Path(__file__).parent
EMBEDDED = "local/0.5b"
SCRIPTED = "anthropic/claude-sonnet-5"


def _data(place: Path) -> None:
    """The mails and notes, where a program run from the repository finds them."""
    for name in ("mails", "notes"):
        shutil.copytree(HERE.parent / name, place / "examples" / name)


def _project(place: Path) -> None:
    shutil.copytree(HERE / "project", place, dirs_exist_ok=True)


@dataclass(frozen=True)
class Case:
    """How an example is run: the folder it finds, its arguments, and what stands on its standard input."""

    name: str
    model: str = EMBEDDED
    prepare: Callable[[Path], None] = _data
    arguments: tuple[str, ...] = ()
    stdin: str = ""

    @property
    def program(self) -> Path:
        return HERE.parent / f"{self.name}.vibe"

    def file(self, ending: str) -> Path:
        return HERE / f"{self.name}.{ending}"

    def answers(self) -> list[Any]:
        return json.loads(self.file("answers.json").read_text(encoding="utf-8"))


CASES = [
    Case("changelog", arguments=("-",), stdin="commits.txt"),
    Case("chat", SCRIPTED, _project),
    Case("code_review", SCRIPTED, _project, arguments=("-",), stdin="project/change.diff"),
    Case("extract"),
    Case("mail_triage"),
    Case("notes"),
    Case("organise", SCRIPTED),
    Case("research", SCRIPTED, _project),
]


def run(case: Case, place: Path, **settings: Any) -> str:
    """Run an example in an empty folder; gives what a person at the terminal would see."""
    case.prepare(place)
    answers = case.answers() if case.model == SCRIPTED else []
    people = [each["human"] for each in answers if isinstance(each, dict) and "human" in each]
    seen: list[str] = []

    def human(question: Question) -> str:
        answer = people.pop(0)
        seen.append(f"{question.text} {answer}".rstrip())
        return answer

    host = Host(write=seen.append, people=human, default_model=lambda: case.model, **settings)
    text = (HERE / case.stdin).read_text(encoding="utf-8") if case.stdin else ""
    with contextlib.chdir(place), mock.patch("sys.stdin", io.StringIO(text)):
        load(case.program).run(host, arguments=case.arguments)
    return "\n".join(seen) + "\n"


def make(case: Case) -> str:
    """Run an example, and keep what was said; gives what a person at the terminal would see."""
    with tempfile.TemporaryDirectory() as place:
        return _play(case, Path(place)) if case.model == SCRIPTED else run(case, Path(place), record=_new(case))


def _new(case: Case) -> str:
    """Where the recording goes, which is not added to."""
    case.file("jsonl").unlink(missing_ok=True)
    return str(case.file("jsonl"))


def _play(case: Case, place: Path) -> str:
    """Run an example against the fake."""
    steps = [_step(each) for each in case.answers() if not (isinstance(each, dict) and "human" in each)]
    recording = case.file("jsonl")
    with Fake(steps) as fake:
        settings = {"ANTHROPIC_BASE_URL": fake.base_url("anthropic"), "ANTHROPIC_API_KEY": "none"}
        with mock.patch.dict(os.environ, settings):
            # One round at a time, so that the answers go where they belong.
            out = run(case, place, record=_new(case), max_parallel=1)
    assert len(fake.requests) == len(steps), f"{len(steps) - len(fake.requests)} answers are left"
    recording.write_text(_with_steady_ids(recording.read_text(encoding="utf-8")), encoding="utf-8")
    return out


def _step(answer: Any) -> Step:
    def step(received: Received) -> Step:
        return make_scripted_step(answer, list_offered_tools(received.body))

    return step


def _with_steady_ids(text: str) -> str:
    """Ids are random; numbered, they make the same recording each time."""
    numbers: dict[str, str] = {}

    def steady(match: re.Match[str]) -> str:
        return numbers.setdefault(match[0], f"{match[1]}_{len(numbers) + 1:04}")

    return re.sub(r"\b(msg|toolu|req)_[0-9A-Za-z]{10,}", steady, text)


if __name__ == "__main__":
    for case in CASES:
        if case.name in sys.argv[1:] or not sys.argv[1:]:
            print(f"--- {case.name}\n{make(case)}")
