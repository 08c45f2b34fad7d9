"""What is read and written for each effect of a run, however many there are."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from antiphon.effects import Node, Place, at, place
from antiphon.journal import Journal, TakenOver
from antiphon.lang.run import Host, loads
from antiphon.runs.late import Late

LONG = "long " * 10_000


def loud(text: str) -> str:
    return text.upper()


class Reading(Journal):
    """A journal that counts the rows it reads."""

    rows = 0

    def read(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        found = super().read(statement, values)
        self.rows += len(found)
        return found


class Swept(Journal):
    """A journal from which somebody else removes runs after every write."""

    def write(self, run: str, epoch: int, statement: str, values: tuple[Any, ...], said: Any = ()) -> None:
        super().write(run, epoch, statement, values, said)
        self.forget("another")


def test_a_large_value_is_never_without_the_row_that_names_it(path: str) -> None:
    journal = Swept(path)
    for _ in range(2):
        with journal.run("r"):
            assert journal.step(loud, LONG) == LONG.upper()
    [entry] = journal.effects("r")
    assert entry.asked["arguments"] == {"args": [LONG]}


def test_a_large_value_of_a_run_that_was_taken_over_is_not_kept(path: str) -> None:
    journal = Journal(path)

    def overtaken() -> None:
        with journal.run("r"):
            Journal(path).go_on("r", by_force=True)
            journal.step(loud, LONG)

    with pytest.raises(TakenOver):
        overtaken()
    assert not list(journal.effects("r"))
    assert not journal.read("SELECT hash FROM texts", ())


def test_a_path_may_be_of_any_length(tmp_path: Path) -> None:
    journal, calls = Journal(tmp_path / "j.db"), list[int]()
    for _ in range(2):
        with journal.run("r"), at(Place(Node("x/" * 10_000), place().performers)):
            assert journal.step(lambda: calls.append(1)) is None
    assert calls == [1]


def test_what_a_run_does_anew_is_not_read_back(tmp_path: Path) -> None:
    def steps(journal: Journal, thread: str, count: int) -> None:
        with at(Place(Node(thread), place().performers)):
            for number in range(count):
                journal.step(abs, number)

    with (before := Journal(tmp_path / "j.db")).run("r"):
        steps(before, "old.", 4_400)
    with (now := Reading(tmp_path / "j.db")).run("r"):
        for thread, count in (("new.", 600), ("old.", 4_400), ("newer.", 300)):
            steps(now, thread, count)
    assert now.rows < 4_500


def test_a_program_that_only_prints_is_begun_when_that_is_much(tmp_path: Path) -> None:
    journal, told, printed = Journal(tmp_path / "j.db"), list[str](), list[str]()
    for lines, runs in ((1_000, 0), (1_001, 1)):
        late = Late(lambda lines=lines: journal.begin("program", "p", id=f"r{lines}"), told.append)
        loads(f"for i in {lines} {{ print(i) }}", "p.vibe").run(Host(printed.append, performers=(late,)))
        assert len(journal.runs()) == runs
    assert len(list(journal.effects("r1001"))) == 1_001
    assert (len(printed), told) == (2_001, [])


def test_whatever_can_be_called_is_a_step(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    with journal.run("r"):
        assert (journal.step(str.upper, "a"), journal.step(partial(max, 3), 2), journal.step([1].count, 1)) == (
            "A",
            3,
            1,
        )
    assert [entry.asked["source"] for entry in journal.effects("r")] == [
        "builtins.str.upper",
        "functools.partial",
        "builtins.list.count",
    ]
