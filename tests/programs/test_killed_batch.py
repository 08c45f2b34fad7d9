"""Batches at a provider whose process is killed at writes: no row is lost, and no request is paid twice.

`ANTIPHON_MOMENTS=1000` kills at every moment, which takes a while.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from antiphon.fakes import BatchPlan, Fake, echo
from tests.forks import Forked
from tests.lang_unit.commands import antiphon
from tests.programs.killed_batch import COUNT, MOMENT

MOMENTS = int(os.environ.get("ANTIPHON_MOMENTS", "6"))
PROGRAM = (
    'input n: number\nmodel m = { name: "MODEL" }\nconst a = do "first {n}" m\nconst b = do "then {n}" m\n[a, b]\n'
)
WORDS = ("run", "p.vibe", "--rows", "rows.csv", "--batch", "--wait")


class Life:
    """A batch of rows in a directory of its own, with a provider of its own."""

    def __init__(self, place: Path, model: str, fake: Fake) -> None:
        place.mkdir(parents=True)
        (place / "p.vibe").write_text(PROGRAM.replace("MODEL", model))
        (place / "rows.csv").write_text("n\n1\n2\n")
        self._place, self._fake = place, fake

    def variables(self) -> dict[str, str]:
        keys = {f"{name}_API_KEY": "sk-key" for name in ("ANTHROPIC", "OPENAI", "GEMINI")}
        apis = (("ANTHROPIC", "anthropic"), ("OPENAI", "openai"), ("GOOGLE_GEMINI", "gemini"))
        urls = {f"{name}_BASE_URL": self._fake.base_url(api) for name, api in apis}
        return {"ANTIPHON_DB": str(self._place / "logs.db"), **keys, **urls}

    def start(self, moment: int) -> int:
        """Run it until it dies at a moment, and return the exit code."""
        given = {"env": {**os.environ, **self.variables(), MOMENT: str(moment)}, "cwd": self._place}
        child = Forked(*WORDS, work="tests.programs.killed_batch:run", stdout=subprocess.PIPE, **given)
        child.communicate()
        return child.returncode

    def finish(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        """Go on as a person would, and return the values of the rows."""
        monkeypatch.chdir(self._place)
        for name, value in self.variables().items():
            monkeypatch.setenv(name, value)
        words = ("resume", "last", "--wait") if antiphon("list").code == 0 else WORDS
        ran = antiphon(*words)
        assert ran.code == 0, ran.err
        return [json.loads(line)["value"] for line in ran.out.splitlines()]

    def count_moments(self) -> int:
        return int((self._place / COUNT).read_text())


def check_life(place: Path, model: str, moment: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Kill at one moment, go on, and return the exit code of the killed process."""
    with Fake(echo, batches=BatchPlan(polls=0)) as fake:
        life = Life(place, model, fake)
        code = life.start(moment)
        values = life.finish(monkeypatch)
        assert values == [[f"You said: first {n}", f"You said: then {n}"] for n in (1, 2)], moment
        paid = Counter(next(t for t in TEXTS if t in json.dumps(each.body)) for each in fake.requests)
        assert paid == dict.fromkeys(TEXTS, 1), moment
        assert all(each.batch for each in fake.requests), moment
        return code


#: What is asked, the last part of a conversation first.
TEXTS = tuple(f"{word} {n}" for word in ("then", "first") for n in (1, 2))


@pytest.mark.parametrize("model", ["claude-sonnet-5", "openai/gpt-6-sol", "google/gemini-4-argon"])
def test_no_moment_loses_a_row_or_pays_twice(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with Fake(echo, batches=BatchPlan(polls=0)) as fake:
        whole = Life(tmp_path / "whole", model, fake)
        assert whole.start(0) == 0
        count = whole.count_moments()
    moments = sorted(Random(model).sample(range(1, count + 1), min(MOMENTS, count)))
    codes = {check_life(tmp_path / str(moment), model, moment, monkeypatch) for moment in moments}
    assert -signal.SIGKILL in codes
