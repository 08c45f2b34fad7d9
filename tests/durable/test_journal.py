"""Runs that are left at any point and begun anew: same end, nothing twice but what may be."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from antiphon import Store
from antiphon.durable import ActiveRun, Journal, QuestionEntry, ReplayDiverged
from antiphon.durable.replay_cache import set_aside_run
from antiphon.effects import (
    EffectContext,
    HumanAnswer,
    IndeterminateEffect,
    PathCounter,
    Print,
    fingerprint,
    use_context,
)
from antiphon.errors import LeaseLost, NotReadyError, RunInUse, StoreError
from antiphon.lang.runtime import Host, VibeError, loads
from antiphon.session import NeedsHuman, Session
from antiphon.storage.database import LeasedWrite
from antiphon.tools import tool
from tests.lang_unit.harness import connecting
from tests.session.scripted import Scripted, calls

EXAMPLES = Path(__file__).parents[2] / "examples"


def _make() -> Any:
    spec = importlib.util.spec_from_file_location("recordings_make_for_journal", EXAMPLES / "recordings" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = _make()


class Killed(BaseException):
    """The process is gone."""


class Dying(Journal):
    """A journal whose process dies after so many writes."""

    def __init__(self, path: str | Path, writes: int) -> None:
        super().__init__(path)
        self.left = writes

    def write_at_epoch(self, run: str, epoch: int, write: LeasedWrite, *more: Any, **beside: Any) -> None:
        super().write_at_epoch(run, epoch, write, *more, **beside)
        self.left -= 1
        if self.left <= 0:
            raise Killed


def effects(journal: Journal, run: str = "r") -> list[tuple[Any, ...]]:
    return journal.database.query("SELECT path, kind, hash, state FROM steps WHERE session = ? ORDER BY path", (run,))


def until_done(path: str, work: Callable[[], Any], *, most: int = 500) -> tuple[Any, int]:
    """Run, die after one more write each time, and begin anew, until it is done; the value, and how often."""
    for died in range(most):
        journal = Dying(path, 1 + died % 3)
        try:
            with journal.run("r"):
                return work(), died
        except Killed:
            journal.close()
    raise AssertionError("it never ends")


@pytest.mark.parametrize("case", make.CASES, ids=lambda case: case.name)
def test_an_example_that_dies_after_any_write_ends_as_if_it_had_not(
    case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    # What is private has a hash that depends on the key, which is to be the same for all of them.
    monkeypatch.setenv("ANTIPHON_JOURNAL_KEY", "k" * 43 + "=")

    whole_answers = make.Case.answers

    def run(journal: Journal, place: Path) -> None:
        place.mkdir(exist_ok=True)
        given = len(journal.database.query("SELECT path FROM steps WHERE kind = 'person' AND state = 'done'", ()))

        def answers(self: Any) -> list[Any]:
            """Without what the person has said already."""
            said = whole_answers(self)
            people = [each for each in said if isinstance(each, dict) and "human" in each]
            return [each for each in said if not any(each is old for old in people[:given])]

        going_on = replace(case, prepare=lambda _: None) if any(place.iterdir()) else case
        with monkeypatch.context() as patch, journal.run("r"):
            patch.setattr(make.Case, "answers", answers)
            make.run(going_on, place, replay=str(case.file("jsonl")))

    whole = Dying(tmp_path / "whole.db", 1_000_000)
    run(whole, tmp_path / "whole")
    writes, unsure = 1_000_000 - whole.left, 0
    for number in range(1, writes + 1):
        path = tmp_path / f"{number}.db"
        with pytest.raises(Killed):
            run(Dying(path, number), tmp_path / f"in{number}")
        if _is_unsure(Journal(path)):
            unsure += 1
            continue
        run(Journal(path), tmp_path / f"in{number}")
        assert effects(Journal(path)) == effects(whole), number
    assert unsure < writes / 2


def _is_unsure(journal: Journal) -> bool:
    """Whether it died inside of something that nobody can know to have taken effect: then the end is another one."""
    rows = journal.database.query("SELECT request FROM steps WHERE state = 'begun'", ())
    asked = [json.loads(journal.load_text(row)) for (row,) in rows]
    return any(each.get("again") == "unsure" or each.get("is_harmless") is False for each in asked)


def test_a_program_with_rounds_side_by_side_dies_and_ends_the_same(path: str) -> None:
    text = 'const xs = async for i in 1..4 { yield do "say {i}" }\nprint(xs.join(","))\nprint(now())\nxs\n'
    asked: list[str] = []

    def work() -> Any:
        from antiphon.fakes import Fake, Received
        from tests.lang_unit.harness import said

        def answer(received: Received) -> str:
            asked.append(said(received).splitlines()[-1])
            return asked[-1].upper()

        host = Host(
            write=lambda _: None, connect=connecting(Fake([answer] * 50)), default_model=lambda: "gpt-5", max_parallel=1
        )
        outcome = loads(text, "rounds.vibe").attempt(host)
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    value, died = until_done(path, work)
    assert value == ["SAY 1", "SAY 2", "SAY 3", "SAY 4"]
    assert died > 5
    # A request that was begun and not ended is the only thing that is done again.
    assert 4 <= len(asked) <= 8


def test_steps_and_sessions_of_plain_code(path: str) -> None:
    done: list[str] = []

    def load(n: int) -> list[int]:
        done.append("load")
        return list(range(n))

    def work(journal: Journal) -> list[str]:
        rows = journal.step(load, 3)
        return [str(Session(Scripted(f"row {row}")).vibe(f"Check {row}")) for row in rows]

    with (journal := Journal(path)).run("nightly"):
        first = work(journal)
    with (journal := Journal(path)).run("nightly"):
        again = [str(each) for each in journal.step(load, 3)]
        answers = [str(Session(Scripted()).vibe(f"Check {row}")) for row in again]
    assert (first, answers) == (["row 0", "row 1", "row 2"],) * 2
    assert done == ["load"]
    (entry,) = Journal(path).list_runs()
    assert (entry.id, entry.state, entry.effects, entry.waiting) == ("nightly", "done", 4, ())


def test_what_failed_fails_again_without_being_done(path: str) -> None:
    tried: list[int] = []

    def bad() -> None:
        tried.append(1)
        raise ValueError("no")

    for _ in range(2):
        journal = Journal(path)
        with pytest.raises(ValueError, match=r"^no$"), journal.run("r"):
            journal.step(bad)
    assert tried == [1]


def test_a_step_that_was_interrupted_is_not_repeated_blindly(path: str) -> None:
    tried: list[int] = []

    def pay() -> str:
        tried.append(1)
        raise Killed

    journal = Journal(path)
    with pytest.raises(Killed), journal.run("r"):
        journal.step(pay)
    for _ in range(2):
        journal = Journal(path)
        with pytest.raises(IndeterminateEffect, match="not known whether it took effect"), journal.run("r"):
            journal.step(pay)
    assert tried == [1]


@pytest.mark.parametrize("harmless", [True, False])
def test_a_call_that_was_interrupted_is_told_to_the_model_or_run_again(path: str, harmless: bool) -> None:
    tried: list[int] = []

    @tool(read_only=harmless)
    def look() -> str:
        """Look."""
        tried.append(1)
        if len(tried) == 1:
            raise Killed
        return "seen"

    script = [calls("look"), "done"]
    for _ in range(2):
        model = Scripted(*script)
        journal = Journal(path)
        session = Session(model, [look])
        try:
            with journal.run("r"):
                session.vibe("go")
        except Killed:
            script = ["done"]
    assert len(tried) == (2 if harmless else 1)
    (result,) = session.conversation.turns[1].results
    assert ("not known whether it took effect" in result.text) is not harmless
    assert result.is_error is not harmless


def test_a_changed_program_stops_with_both_sides(path: str) -> None:
    with (journal := Journal(path)).run("r"):
        journal.step(len, "abc")
    with (
        pytest.raises(ReplayDiverged, match=r"(?s)step 1 of session r.*then:.*abc.*now:.*xyz"),
        (journal := Journal(path)).run("r"),
    ):
        journal.step(len, "xyz")


def test_a_question_waits_and_is_answered_later(path: str) -> None:
    text = 'const who = ask "Who?"\ntry { print("hi {who}") } catch e { print("caught") }\nwho\n'

    def work() -> Any:
        return loads(text, "asks.vibe").run(Host(write=lambda _: None)).value

    for _ in range(2):
        with pytest.raises(VibeError, match="nobody is here"), Journal(path).run("r"):
            work()
        (entry,) = Journal(path).list_runs()
        assert (entry.state, entry.waiting) == ("waiting", (QuestionEntry("1/1", "question", "Who?"),))
    journal = Journal(path)
    with pytest.raises(NotReadyError, match=r"no open question '9'; open: 1/1"):
        journal.answer("r", "9", HumanAnswer("x"))
    journal.answer("r", "1/1", HumanAnswer("me"))
    with pytest.raises(NotReadyError, match="open: none"):
        journal.answer("r", "1/1", HumanAnswer("you"))
    with Journal(path).run("r"):
        assert work() == "me"


def test_an_approval_waits_and_is_given_later(path: str) -> None:
    ran: list[str] = []

    @tool(needs_approval=True)
    def drop(table: str) -> str:
        """Drop."""
        ran.append(table)
        return "gone"

    def work(*script: Any) -> str:
        return str(Session(Scripted(*script), [drop]).vibe("Tidy up."))

    with pytest.raises(NeedsHuman), Journal(path).run("r"):
        work(calls("drop", table="t"))
    (entry,) = Journal(path).list_runs()
    (question,) = entry.waiting
    assert (entry.state, "May `drop` run" in question.text) == ("waiting", True)
    Journal(path).answer("r", question.path, HumanAnswer(allowed=True))
    with Journal(path).run("r"):
        assert work("Tidy.") == "Tidy."
    assert ran == ["t"]


def test_prints_are_not_printed_twice(path: str) -> None:
    lines: list[str] = []

    def work() -> None:
        loads('print("one")\nprint("two")\nprint("three")\n', "p.vibe").run(Host(write=lines.append))

    until_done(path, work)
    with Journal(path).run("r"):
        work()
    # The process may have died between the note and the line: it is never there twice.
    assert len(lines) == len(set(lines))


def test_values_of_the_environment_are_not_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOP_SECRET", "s3cret-value-of-mine")
    path = tmp_path / "j.db"
    for _ in range(2):
        with Journal(path).run("r"):
            assert loads('env("TOP_SECRET")', "e.vibe").run(Host()).value == "s3cret-value-of-mine"
    written = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert b"TOP_SECRET" in written
    assert b"s3cret-value" not in written


def test_nobody_finds_a_secret_by_trying_the_hashes_of_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOP_SECRET", "s3cret-value-of-mine")
    journal = Journal(tmp_path / "j.db")
    with journal.run("r"):
        loads('print("plain")\nprint(env("TOP_SECRET"))', "e.vibe").run(Host(lambda _: None))
    hashes = {each for (each,) in journal.database.query("SELECT hash FROM steps WHERE kind = 'print'", ())}
    assert fingerprint(Print("plain")) in hashes
    assert len(hashes) == 2
    assert fingerprint(Print("s3cret-value-of-mine")) not in hashes


def test_large_values_are_kept_once(path: str) -> None:

    def large(_: int) -> str:
        return "x" * 50_000

    with (journal := Journal(path)).run("r"):
        assert [len(journal.step(large, n)) for n in range(5)] == [50_000] * 5
    with (journal := Journal(path)).run("r"):
        assert [len(journal.step(large, n)) for n in range(5)] == [50_000] * 5
    assert journal.database.query("SELECT count(*) FROM blobs", ()) == [(1,)]


def test_a_run_has_one_process_at_a_time(path: str) -> None:
    with Journal(path).run("r"), pytest.raises(RunInUse, match="is running in process"), Journal(path).run("r"):
        pass
    first = Journal(path)

    def overtaken() -> None:
        with first.run("r"):
            with first.database.write_transaction() as connection:
                connection.execute("UPDATE sessions SET epoch = epoch + 1 WHERE id = 'r'")
            first.step(len, "x")

    with pytest.raises(LeaseLost):
        overtaken()


@pytest.mark.parametrize("way", ["cancel", "revoke_lease"])
def test_a_run_that_is_stopped_by_another_process_writes_nothing_more(tmp_path: Path, way: str) -> None:
    done: list[str] = []

    def stopped() -> None:
        with (journal := Journal(tmp_path / "j.db")).run("r"):
            journal.step(done.append, "before")
            getattr(Journal(tmp_path / "j.db"), way)("r")
            journal.step(done.append, "after")

    with pytest.raises(LeaseLost, match="was stopped"):
        stopped()
    assert done == ["before"]
    assert len(list(Journal(tmp_path / "j.db").iterate_effects("r"))) == 1


def test_conversations_and_runs_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "logs.db"
    store = Store(path)
    from antiphon.conversation import Conversation

    id = store.save(Conversation().add_user("hi").add_assistant("ho"), model="m", command="ask")
    with (journal := Journal(path)).run("r"):
        assert journal.step(len, "abc") == 3
    assert len(store.load(id).turns) == 2
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    journal.remove("r")
    assert (journal.list_runs(), effects(journal)) == ([], [])


def test_a_newer_or_broken_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "no.db").write_text("this is no database, but a text that is long enough to be looked at" * 20)
    with pytest.raises(StoreError, match="is not a database"):
        Journal(tmp_path / "no.db").list_runs()
    assert Journal(tmp_path / "new.db").list_runs() == []
    assert not (tmp_path / "new.db").exists()


PROGRAM = """
import sys, time
from antiphon.durable import Journal
def slow(n):
    print("did", n, flush=True)
    if n == 2 and not sys.argv[2:]: time.sleep(600)
    return n
journal = Journal(sys.argv[1])
with journal.run("r"):
    print("sum", sum(journal.step(slow, n) for n in range(2)), flush=True)
    try:
        journal.step(slow, 2)
    except Exception as error:
        print(type(error).__name__, flush=True)
"""


def test_a_process_that_is_killed(path: str) -> None:
    first = subprocess.Popen([sys.executable, "-c", PROGRAM, path], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    lines = [first.stdout.readline().strip() for _ in range(4)]
    assert lines == ["did 0", "did 1", "sum 1", "did 2"]
    first.send_signal(signal.SIGKILL)
    first.wait()
    again = subprocess.run([sys.executable, "-c", PROGRAM, path, "on"], capture_output=True, text=True, check=True)
    assert again.stdout.splitlines() == ["sum 1", "IndeterminateEffect"]


def test_what_was_set_aside_is_used_also_by_who_goes_on_later(tmp_path: Path) -> None:
    journal, done = Journal(tmp_path / "j.db"), list[str]()

    def step(name: str) -> str:
        done.append(name)
        return name

    def steps(running: ActiveRun, *names: str, state: str) -> None:
        with use_context(EffectContext(PathCounter(), (running.middleware,))):
            assert [journal.step(step, name) for name in names] == list(names)
        running.finish(state)

    steps(journal.begin("python", "r", id="r"), "a", "b", "c", "d", state="interrupted")
    again = journal.resume("r")
    set_aside_run(journal, again, decided={"1": None})
    steps(again, "a", "b", state="interrupted")
    once_more = journal.resume("r")
    set_aside_run(journal, once_more, decided={"2": None})
    steps(once_more, "a", state="waiting")
    steps(journal.resume("r"), "a", "b", "c", state="interrupted")
    steps(journal.resume("r"), "a", "b", "c", "d", "e", state="done")
    assert done == ["a", "b", "c", "d", "a", "b", "e"]
