"""Very many open questions: looking at runs and answering one costs what it costs with a few."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.durable import Journal
from antiphon.effects import AskPerson, EffectCall
from tests.effort import calls_of
from tests.lang_unit.commands import antiphon


@pytest.mark.parametrize("shape", ["of many runs", "of one run"])
def test_listing_and_answering_cost_the_same_however_many_questions_are_open(tmp_path: Path, shape: str) -> None:
    def effort(count: int) -> int:
        place = str(tmp_path / f"{count}.db")
        journal, runs = Journal(place), count if shape == "of many runs" else 1
        for number in range(runs):
            running = journal.begin("test", "t", id=f"r{number}")
            for step in range(count // runs):
                running.middleware.before(EffectCall(str(step + 1), AskPerson("question", "Which one?")))
            running.finish("waiting")
        return calls_of(lambda: look(place))

    def look(place: str) -> None:
        assert antiphon("--db", place, "list", "--state", "waiting", "-n", "5").out.count("Which one?") > 0
        assert antiphon("--db", place, "answer", "r0:1", "this one").code == 0

    effort(2)
    assert effort(600) < 1.3 * effort(40)
