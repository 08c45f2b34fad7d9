"""Sessions with a journal: each ask is a run that another process goes on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from antiphon.durable import Journal
from antiphon.errors import NotReadyError
from antiphon.session import NeedsHuman, Session
from antiphon.tools import NeedsHumanInput, ToolContext, tool
from tests.session.scripted import Scripted, calls


class Killed(BaseException):
    """The process is gone."""


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def test_an_ask_is_a_run_with_the_same_name(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    result = Session(Scripted(calls("add", a=1, b=2), "three"), [add], journal=journal).vibe("Add one and two.")
    (entry,) = journal.list_runs()
    assert (entry.id, entry.kind, entry.title, entry.state) == (result.run.id, "session", "Add one and two.", "done")
    assert [each.kind for each in journal.iterate_effects(entry.id)] == ["request", "tool", "request"]
    assert entry.ending == {"outcome": "done", "value": "three"}


def test_another_process_goes_on_with_the_conversation_of_then(tmp_path: Path) -> None:
    done: list[str] = []

    @tool
    def note(text: str) -> str:
        """Note."""
        done.append(text)
        if text == "second" and len(done) == 2:
            raise Killed
        return f"noted {text}"

    first = Session(Scripted("hello", calls("note", text="first"), calls("note", text="second")), [note])
    first.chat("Hi.")
    first._settings.journal = Journal(tmp_path / "j.db")
    with pytest.raises(Killed):
        first.vibe("Note two things.")
    journal = Journal(tmp_path / "j.db")
    (entry,) = journal.list_runs()
    other = Session(Scripted("both, I think"), [note], journal=journal)
    assert other.resume_run(entry.id).value == "both, I think"
    assert done == ["first", "second"]
    assert [turn.text for turn in other.conversation.turns][:2] == ["Hi.", "hello"]
    assert "not known whether it took effect" in other.conversation.turns[-2].results[0].text
    assert journal.find(entry.id).state == "done"


def test_a_person_answers_in_another_process(tmp_path: Path) -> None:
    from antiphon.effects import HumanAnswer

    ran: list[str] = []

    @tool(needs_approval=True)
    def drop(table: str) -> str:
        """Drop."""
        ran.append(table)
        return "gone"

    with pytest.raises(NeedsHuman):
        Session(Scripted(calls("drop", table="t")), [drop], journal=Journal(tmp_path / "j.db")).vibe("Tidy.")
    journal = Journal(tmp_path / "j.db")
    (entry,) = journal.list_runs()
    assert entry.state == "waiting"
    journal.answer(entry.id, entry.waiting[0].path, HumanAnswer(allowed=True))
    assert Session(Scripted("Tidy."), [drop], journal=journal).resume_run(entry.id).value == "Tidy."
    assert ran == ["t"]


def test_the_same_process_may_answer_and_go_on(tmp_path: Path) -> None:
    @tool
    def ask(question: str) -> str:
        """Ask."""
        raise NeedsHumanInput(question)

    journal = Journal(tmp_path / "j.db")
    session = Session(Scripted(calls("ask", question="Which?"), "That one."), [ask], journal=journal)
    run = session.start("Choose.")
    with pytest.raises(NeedsHuman):
        run.wait()
    (question,) = run.waiting
    run.answer(question, "the red one")
    assert run.wait().value == "That one."
    (entry,) = journal.list_runs()
    assert (entry.id, entry.state) == (run.id, "done")


def test_values_are_typed_again(tmp_path: Path) -> None:
    class City(BaseModel):
        name: str

    journal = Journal(tmp_path / "j.db")
    result = Session(Scripted('{"name": "Oslo"}'), journal=journal).do("A city.", returns=City)
    again = Session(Scripted(), journal=journal).resume_run(result.run.id, returns=City)
    assert again.value == City(name="Oslo")


def test_inside_of_a_run_an_ask_is_part_of_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    with journal.run("outer"):
        assert Session(Scripted("x"), journal=journal).vibe("go").value == "x"
    assert [each.id for each in journal.list_runs()] == ["outer"]


def test_what_was_said_is_kept_once_however_often_it_goes_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    session = Session(Scripted(*(f"answer {n} {'x' * 500}" for n in range(20))), journal=journal)
    for n in range(20):
        session.chat(f"Message {n}.")
    assert journal.query("SELECT count(*) FROM said", ()) == [(39,)]
    last = journal.list_runs()[0]
    conversation, mode, prompt = journal.load_request(last.id)
    assert ([turn.text for turn in conversation.turns], mode) == (
        [turn.text for turn in session.conversation.turns[:-2]],
        "chat",
    )
    assert prompt[0].text == "Message 19."
    journal.remove(*(each.id for each in journal.list_runs()[1:]))
    assert len(journal.load_request(last.id)[0].turns) == 38
    journal.remove(last.id)
    assert journal.query("SELECT count(*) FROM said", ()) == [(0,)]


def test_only_what_is_written_down_can_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="journal=Journal"):
        Session(Scripted("x")).resume_run("abc")
    journal = Journal(tmp_path / "j.db")
    with journal.run("plain"):
        pass
    with pytest.raises(NotReadyError, match="has no request of a model"):
        Session(Scripted("x"), journal=journal).resume_run("plain")


def test_a_tool_has_a_key_that_is_the_same_when_it_is_run_again(tmp_path: Path) -> None:
    keys: list[str] = []

    @tool(idempotent=True)
    def pay(amount: int, context: ToolContext[Any]) -> str:
        """Pay."""
        assert amount == 5
        keys.append(context.key)
        if len(keys) == 1:
            raise Killed
        return "paid"

    journal = Journal(tmp_path / "j.db")
    with pytest.raises(Killed):
        Session(Scripted(calls("pay", amount=5)), [pay], journal=journal).vibe("Pay.")
    (entry,) = journal.list_runs()
    Session(Scripted("done"), [pay], journal=journal).resume_run(entry.id)
    assert len(keys) == 2
    assert keys[0] == keys[1]
    assert keys[0].startswith(f"{entry.id}/")
    Session(Scripted(calls("pay", amount=5), "done"), [pay]).vibe("Pay.")
    assert keys[2] not in keys[:2]
