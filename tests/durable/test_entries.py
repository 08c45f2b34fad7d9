"""What is read and written for each effect of a run, however many there are."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from antiphon.durable import Journal, JournalFailed
from antiphon.durable.replay_cache import set_aside_run
from antiphon.effects import (
    AskModel,
    EffectCall,
    EffectContext,
    ModelReplied,
    PathCounter,
    Print,
    RunPython,
    current_context,
    perform,
    use_context,
)
from antiphon.effects.pipeline import private_effects
from antiphon.errors import LeaseLost, StoreError
from antiphon.lang.runtime import Host, loads
from antiphon.programs.lazy_run import LazyRun
from antiphon.storage.database import LeasedWrite
from antiphon.storage.sqlite import SqliteDatabase
from antiphon.wire import Reply

LONG = "long " * 10_000


def loud(text: str) -> str:
    return text.upper()


class ReadingDatabase(SqliteDatabase):
    """A database that counts the rows it reads."""

    rows = 0

    def query(self, statement: str, values: Sequence[Any]) -> list[Any]:
        found = super().query(statement, values)
        self.rows += len(found)
        return found


class Reading(Journal):
    """A journal that counts the rows it reads."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.database: ReadingDatabase = ReadingDatabase(place)


class Swept(Journal):
    """A journal from which somebody else removes runs after every write."""

    def write_at_epoch(self, run: str, epoch: int, write: LeasedWrite, *more: Any, **beside: Any) -> None:
        super().write_at_epoch(run, epoch, write, *more, **beside)
        self.remove("another")


def test_a_large_value_is_never_without_the_row_that_names_it(path: str) -> None:
    journal = Swept(path)
    for _ in range(2):
        with journal.run("r"):
            assert journal.step(loud, LONG) == LONG.upper()
    [entry] = journal.iterate_effects("r")
    assert entry.asked["arguments"] == {"args": [LONG]}


def test_a_large_value_of_a_run_that_was_taken_over_is_not_kept(path: str) -> None:
    journal = Journal(path)

    def overtaken() -> None:
        with journal.run("r"):
            Journal(path).resume("r", by_force=True)
            journal.step(loud, LONG)

    with pytest.raises(LeaseLost):
        overtaken()
    assert not list(journal.iterate_effects("r"))
    assert not journal.database.query("SELECT hash FROM blobs", ())


def test_a_path_may_be_of_any_length(tmp_path: Path) -> None:
    journal, calls = Journal(tmp_path / "j.db"), list[int]()
    for _ in range(2):
        with journal.run("r"), use_context(EffectContext(PathCounter("x/" * 10_000), current_context().performers)):
            assert journal.step(lambda: calls.append(1)) is None
    assert calls == [1]


def test_what_a_run_does_anew_is_not_read_back(tmp_path: Path) -> None:
    def steps(journal: Journal, thread: str, count: int) -> None:
        with use_context(EffectContext(PathCounter(thread), current_context().performers)):
            for number in range(count):
                journal.step(abs, number)

    with (before := Journal(tmp_path / "j.db")).run("r"):
        steps(before, "old.", 4_400)
    with (now := Reading(tmp_path / "j.db")).run("r"):
        for thread, count in (("new.", 600), ("old.", 4_400), ("newer.", 300)):
            steps(now, thread, count)
    assert now.database.rows < 4_500


def test_a_program_that_only_prints_is_begun_when_that_is_much(tmp_path: Path) -> None:
    journal, printed = Journal(tmp_path / "j.db"), list[str]()
    for lines, runs in ((1_000, 0), (1_001, 1)):
        late = LazyRun(lambda lines, number=lines: journal.begin("program", "p", id=f"r{number}", printed=lines))
        loads(f"for i in {lines} {{ print(i) }}", "p.vibe").run(Host(printed.append, performers=(late,)))
        assert len(journal.list_runs()) == runs
    assert len(list(journal.iterate_effects("r1001"))) == 1_001
    assert len(printed) == 2_001
    assert [entry.asked["text"] for entry in journal.iterate_effects("r1001")] == [
        str(number) for number in range(1_001)
    ]


def test_a_run_begins_with_all_that_was_printed_or_not_at_all(tmp_path: Path) -> None:
    journal, printed = Journal(tmp_path / "j.db"), list[str]()
    with journal.file.write_transaction() as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON steps WHEN NEW.seq = 40 BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    late = LazyRun(lambda lines: journal.begin("program", "p", id="r", printed=lines))
    report = loads("for i in 60 { print(i) }\nsleep(0)", "p.vibe").attempt(Host(printed.append, performers=(late,)))
    assert report.error is not None
    assert (report.error.code, "the database cannot be written" in report.error.message) == ("V0930", True)
    assert (len(printed), journal.list_runs()) == (60, [])


def test_what_was_printed_privately_before_the_run_began_is_sealed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    late = LazyRun(lambda lines: journal.begin("program", "p", id="r", printed=lines))
    with use_context(EffectContext(PathCounter(), (late,))):
        with private_effects():
            perform(EffectCall("1", Print("hush-hush")), lambda: None)
        perform(EffectCall("2", Print("loud")), lambda: None)
        perform(EffectCall("3", RunPython("1", [])), lambda: None)
    assert [entry.asked.get("text") for entry in journal.iterate_effects("r")] == [None, "loud", None]
    assert b"hush-hush" not in b"".join(each.read_bytes() for each in tmp_path.iterdir())


@pytest.mark.parametrize("count", [300, 700])
def test_a_run_of_many_steps_repeats_none(path: str, count: int) -> None:
    done: list[int] = []
    for _ in range(2):
        with (journal := Journal(path)).run("r"):
            for number in range(count):
                assert journal.step(lambda n: done.append(n) or n, number) == number
    assert done == list(range(count))


@pytest.mark.parametrize("gone", [0, 1, 300])
def test_a_step_that_is_gone_is_told_of_and_not_repeated(path: str, gone: int) -> None:
    done: list[int] = []

    def work(journal: Journal) -> None:
        for number in range(302):
            journal.step(lambda n: done.append(n) or n, number)

    with (journal := Journal(path)).run("r"):
        work(journal)
    running = journal.resume("r")
    journal.write_at_epoch(
        *running.fence, LeasedWrite("DELETE FROM steps WHERE session = (SELECT session FROM at) AND seq = ?", (gone,))
    )
    running.finish("interrupted")
    with pytest.raises(JournalFailed, match=f"steps before step {gone + 2} are missing.*--edited"):  # noqa: SIM117
        with journal.run("r"):
            work(journal)
    assert len(done) == 302
    with pytest.raises(StoreError, match="a step before it is gone"):
        journal.fork("r", "302")
    # Whoever has looked may decide that it is done again.
    running = journal.resume("r")
    set_aside_run(journal, running)
    with use_context(EffectContext(PathCounter(), (running.middleware,))):
        work(journal)
    assert done[302:] == [gone]


@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize("kept", [301, 300, 0])
def test_last_steps_that_are_gone_are_told_of_and_not_repeated(path: str, kept: int, is_left: bool) -> None:
    done: list[int] = []
    journal = Journal(path)

    def work() -> None:
        for number in range(302):
            journal.step(lambda n: done.append(n) or n, number)

    def work_again() -> None:
        with journal.run("r"):
            work()

    running = journal.begin("python", "r", id="r")
    with use_context(EffectContext(PathCounter(), (running.middleware,))):
        work()
    if is_left:
        running.finish("interrupted")
    else:
        # As after a kill: nothing is noted by the process itself.
        journal.revoke_lease("r")
    remove_steps(path, kept)
    for _ in range(2):
        with pytest.raises(JournalFailed, match=r"steps at the end are missing.*--edited"):
            work_again()
    assert len(done) == 302
    running = journal.resume("r")
    set_aside_run(journal, running)
    with use_context(EffectContext(PathCounter(), (running.middleware,))):
        work()
    running.finish("done")
    assert done[302:] == list(range(kept, 302))
    work_again()
    assert len(done) == 604 - kept


def remove_steps(path: str, first: int) -> None:
    """Remove the last steps of the run by hand, with no code of ours."""
    statement = "DELETE FROM {}steps WHERE session = 'r' AND seq >= {}"
    if path.startswith("postgres"):
        with psycopg.connect(path) as server:
            server.execute(statement.format("antiphon.", first).encode())
        return
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(statement.format("", first))


def test_a_failure_that_is_forgotten_is_no_step_that_is_gone(path: str) -> None:
    journal = Journal(path)
    running = journal.begin("python", "r", id="r")
    ask = EffectCall("2", AskModel("m", "", ()))
    for ways in ([], [ModelReplied(Reply((), "end"))]):
        with use_context(EffectContext(PathCounter(), (running.middleware,))), suppress(IndexError):
            perform(EffectCall("1", RunPython("u")), lambda: None)
            perform(ask, ways.pop)
        running.finish("failed")
        running = journal.resume("r")
        running.clear_failure()
    assert [each.state for each in journal.iterate_effects("r")] == ["done", "done"]


def test_runs_are_removed_with_their_steps(path: str) -> None:
    journal = Journal(path)
    for id in ("r", "s"):
        with journal.run(id):
            for number in range(20):
                journal.step(abs, number)
    journal.remove("r")
    assert journal.database.query("SELECT id, step_count FROM sessions", ()) == [("s", 20)]
    with journal.run("s"):
        assert journal.step(abs, 0) == 0


def test_steps_are_numbered_without_gaps_where_one_cannot_be_written(tmp_path: Path) -> None:
    """So what dies between two of them leaves none that looks as if it were gone."""
    journal = Journal(tmp_path / "j.db")
    with journal.run("r"):
        journal.step(loud, "a")
        with journal.file.write_transaction() as connection:
            connection.execute(
                "CREATE TRIGGER full BEFORE INSERT ON steps WHEN NEW.path = '2' BEGIN SELECT RAISE(ABORT, 'full'); END"
            )
        with pytest.raises(JournalFailed):
            journal.step(loud, "b")
        journal.step(loud, "c")
    assert journal.database.query("SELECT path, seq FROM steps ORDER BY seq", ()) == [("1", 0), ("3", 1)]


@pytest.mark.parametrize(
    ("chosen", "levels"),
    [
        ("", {"harmless": "NORMAL", "unsure": "FULL", "outcome": "NORMAL"}),
        ("full", {"harmless": "FULL", "unsure": "FULL", "outcome": "FULL"}),
        ("normal", {"harmless": "NORMAL", "unsure": "NORMAL", "outcome": "NORMAL"}),
    ],
)
@pytest.mark.parametrize("size", [1, 10_000])
def test_what_cannot_be_repeated_is_on_the_disk_before_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str, levels: dict[str, str], size: int
) -> None:
    monkeypatch.setenv("ANTIPHON_SYNCHRONOUS", chosen)
    said: list[str] = []
    connect = sqlite3.connect

    def traced(*given: Any, **named: Any) -> sqlite3.Connection:
        connection = connect(*given, **named)
        connection.set_trace_callback(said.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    journal = Journal(tmp_path / "j.db")
    running = journal.begin("program", "p", id="r")
    found: dict[str, str] = {}

    def level() -> str:
        return [line.rpartition(" ")[2] for line in said if line.startswith("PRAGMA synchronous")][-1]

    with use_context(EffectContext(PathCounter(), (running.middleware,))):
        asked = {"text": "x" * size}
        perform(EffectCall("1", RunPython("h", asked, is_harmless=True)), lambda: found.update(harmless=level()))
        perform(EffectCall("2", RunPython("u", asked)), lambda: found.update(unsure=level()))
        found["outcome"] = level()
    assert found == levels


def test_another_word_for_when_the_disk_is_waited_for_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_SYNCHRONOUS", "sometimes")
    with pytest.raises(StoreError, match="'sometimes'; it can be effects, full or normal"):
        Journal(tmp_path / "j.db").begin("program", "p")


def test_a_fork_has_no_gaps(path: str) -> None:
    journal = Journal(path)
    with journal.run("r"):
        for each in "abcd":
            journal.step(loud, each)
    running = journal.resume("r")
    journal.write_at_epoch(
        *running.fence,
        LeasedWrite("UPDATE steps SET state = 'begun' WHERE session = (SELECT session FROM at) AND seq = 1", ()),
    )
    running.finish("interrupted")
    name = journal.fork("r", "4")
    rows = journal.database.query("SELECT path, seq FROM steps WHERE session = ? ORDER BY seq", (name,))
    assert rows == [("1", 0), ("3", 1)]


def test_whatever_can_be_called_is_a_step(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    with journal.run("r"):
        assert (journal.step(str.upper, "a"), journal.step(partial(max, 3), 2), journal.step([1].count, 1)) == (
            "A",
            3,
            1,
        )
    assert [entry.asked["source"] for entry in journal.iterate_effects("r")] == [
        "builtins.str.upper",
        "functools.partial",
        "builtins.list.count",
    ]
