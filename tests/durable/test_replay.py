"""What is done again when a run is resumed, and how its steps are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from antiphon.durable import Journal
from antiphon.durable.replay_cache import set_aside_run
from antiphon.effects import CallTool, EffectCall, child_context, current_context, perform, use_context
from antiphon.errors import ConfigurationError, Suspended
from antiphon.session import Session
from antiphon.storage.sqlite import SqliteDatabase
from tests.session.scripted import Scripted


def test_a_step_that_was_suspended_is_done_again(tmp_path: Path) -> None:
    """It may be unsafe to repeat, but it is known how far it came."""
    tried: list[str] = []

    def pay() -> str:
        tried.append("pay")
        if len(tried) == 1:
            raise Suspended("the bank opens at nine")
        return "paid"

    journal = Journal(tmp_path / "j.db")
    with pytest.raises(Suspended, match="opens at nine"), journal.run("r"):
        journal.step(pay)
    assert [each.state for each in journal.iterate_effects("r")] == ["waiting"]
    journal = Journal(tmp_path / "j.db")
    with journal.run("r"):
        assert journal.step(pay) == "paid"
    assert [each.state for each in journal.iterate_effects("r")] == ["done"]
    assert len(tried) == 2


def test_a_request_without_a_key_is_sent_when_there_is_one(tmp_path: Path) -> None:
    class Keyless(Scripted):
        async def achat(self, conversation: Any, **options: Any) -> Any:
            if not self.script:
                raise ConfigurationError("there is no key for openai")
            return await super().achat(conversation, **options)

    def ask(*script: str) -> Any:
        with Journal(tmp_path / "j.db").run("r"):
            return Session(Keyless(*script)).vibe("Go.").value

    with pytest.raises(ConfigurationError):
        ask()
    assert [each.state for each in Journal(tmp_path / "j.db").iterate_effects("r")] == ["begun"]
    assert ask("Done.") == "Done."
    assert ask() == "Done."


class CountingDatabase(SqliteDatabase):
    """A database that counts its queries."""

    queries = 0

    def query(self, statement: str, values: Sequence[Any]) -> list[Any]:
        self.queries += 1
        return super().query(statement, values)


class CountingJournal(Journal):
    """A journal that counts its queries."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.database: CountingDatabase = CountingDatabase(place)


def test_the_steps_of_a_resumed_run_are_read_many_at_a_time(tmp_path: Path) -> None:
    def work(journal: Journal, count: int) -> list[int]:
        with journal.run("r"):
            return [journal.step(abs, -number) for number in range(count)]

    work(Journal(tmp_path / "j.db"), 600)
    journal = CountingJournal(tmp_path / "j.db")
    assert work(journal, 700) == list(range(700))
    assert journal.database.queries < 30


def test_a_suspended_step_of_an_edited_program_is_done_again(tmp_path: Path) -> None:
    """It is in the set-aside steps then, and it is still known that it has not taken effect."""
    tried: list[str] = []

    def pay() -> str:
        tried.append("pay")
        if len(tried) == 1:
            raise Suspended("the bank opens at nine")
        return "paid"

    journal = Journal(tmp_path / "j.db")
    with pytest.raises(Suspended), journal.run("r"):
        journal.step(pay)
    journal = Journal(tmp_path / "j.db")
    running = journal.resume("r")
    set_aside_run(journal, running)
    running.finish("waiting")
    with journal.run("r"):
        assert journal.step(pay) == "paid"
    assert len(tried) == 2


def test_what_a_repeated_step_is_inside_of_is_come_to_again(tmp_path: Path) -> None:
    done: list[str] = []

    def work(journal: Journal) -> None:
        with journal.run("r"):
            path = current_context().node.next()

            def inside() -> str:
                with use_context(child_context(f"{path}/")):
                    journal.step(done.append, "inner")
                return "outer"

            assert perform(EffectCall(path, CallTool("outer", {}, "inside")), inside) == "outer"

    work(Journal(tmp_path / "j.db"))
    journal = Journal(tmp_path / "j.db")
    running = journal.resume("r")
    set_aside_run(journal, running, decided={"1/1": None})
    running.finish("interrupted")
    work(Journal(tmp_path / "j.db"))
    assert done == ["inner", "inner"]
