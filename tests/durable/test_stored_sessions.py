"""Sessions in a store: a script is run again and repeats nothing, and saved sessions go on in every front."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon import Session, Store
from antiphon.chat.service import ChatOptions, ChatService
from antiphon.conversation import Text
from antiphon.durable import ReplayDiverged
from antiphon.effects import HumanAnswer
from antiphon.errors import OptionError, RequestRejected, RunInUse
from antiphon.fakes import Fail, Fake
from antiphon.session import ModelProtocol, NeedsHuman
from antiphon.tools import NeedsHumanInput, tool
from tests.session.scripted import Scripted, calls

done: list[str] = []


class Killed(BaseException):
    """The process is gone."""


@tool
def note(text: str) -> str:
    """Note."""
    done.append(text)
    if text == "deadly" and done.count("deadly") == 1:
        raise Killed
    return f"noted {text}"


def count(text: str) -> int:
    done.append(text)
    return len(done)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    done.clear()
    return Store(tmp_path / "logs.db")


def script(store: Store, model: ModelProtocol, *prompts: str, id: str = "mine") -> list[str]:
    """One run of a script that sends these messages."""
    with Session(model, [note], store=store, id=id) as session:
        return [str(session.vibe(prompt)) for prompt in prompts]


def test_a_script_that_is_run_again_repeats_no_message(store: Store) -> None:
    first = Scripted(calls("note", text="a"), "One.", "Two.")
    assert script(store, first, "First.", "Second.") == ["One.", "Two."]
    second = Scripted("Three.")
    assert script(store, second, "First.", "Second.", "Third.") == ["One.", "Two.", "Three."]
    assert done == ["a"]
    assert [turn.text for turn in store.load("mine").turns if turn.text] == [
        "First.", "One.", "Second.", "Two.", "Third.", "Three."
    ]  # fmt: skip
    steps = [(each.path.partition("/")[0], each.kind) for each in store.journal.iterate_effects("mine")]
    assert steps == [
        ("1", "message"), ("1", "request"), ("1", "tool"), ("1", "request"),
        ("2", "message"), ("2", "request"), ("3", "message"), ("3", "request"),
    ]  # fmt: skip
    (entry,) = store.list()
    assert (entry.id, entry.turns, store.journal.find("mine").state) == ("mine", 7, "done")


def test_a_script_that_dies_in_a_message_goes_on_in_it(store: Store) -> None:
    with pytest.raises(Killed):
        script(store, Scripted("One.", calls("note", text="a"), calls("note", text="deadly")), "First.", "Second.")
    again = Scripted("Two.")
    assert script(store, again, "First.", "Second.") == ["One.", "Two."]
    assert done == ["a", "deadly"]
    assert "not known whether it took effect" in str(store.load("mine").turns[-2])


def test_a_request_that_failed_is_sent_again(store: Store) -> None:
    with Fake(["One.", Fail(400, "no"), "Two."]) as fake:
        with pytest.raises(RequestRejected):
            script(store, fake.connect("openai/gpt-5"), "First.", "Second.")
        assert script(store, fake.connect("openai/gpt-5"), "First.", "Second.") == ["One.", "Two."]
        assert len(fake.requests) == 3


def test_a_script_that_sends_something_else_is_told(store: Store) -> None:
    script(store, Scripted("One."), "First.")
    with pytest.raises(ReplayDiverged, match=r"message 1 of session mine differs from the saved one, 'First\.'"):
        script(store, Scripted("Two."), "Another.")
    assert store.load("mine").turns[0].text == "First."


def test_a_script_waits_for_a_person_over_its_end(store: Store) -> None:
    @tool
    def ask() -> str:
        """Ask."""
        raise NeedsHumanInput("Which colour?")

    def run(model: Scripted) -> str:
        with Session(model, [ask], store=store, id="paint") as session:
            return str(session.vibe("Paint."))

    with pytest.raises(NeedsHuman):
        run(Scripted(calls("ask")))
    (question,) = store.journal.list_questions("paint")
    store.journal.answer("paint", question.path, HumanAnswer("red"))
    assert run(Scripted("Red it is.")) == "Red it is."


def test_an_opened_session_gets_more_messages(store: Store) -> None:
    script(store, Scripted("One."), "First.")
    with Session.open("mine", Scripted("Two."), store=store) as session:
        assert session.chat("Second.") == "Two."
    with Session.open("mine", Scripted("Three."), store=store) as session:
        assert session.chat("Third.") == "Three."
    assert [each.path for each in store.journal.list_messages("mine")] == ["1", "2", "3"]
    assert len(store.load("mine").turns) == 6


def test_a_session_belongs_to_one_program_at_a_time(store: Store) -> None:
    script(store, Scripted("One."), "First.")
    with Session.open("mine", Scripted("Two."), store=store) as session:
        session.chat("Second.")
        with Session.open("mine", Scripted("Never."), store=store) as other, pytest.raises(RunInUse, match="in use"):
            other.chat("Third.")
    with Session.open("mine", Scripted("Three."), store=store) as session:
        assert session.chat("Third.") == "Three."


def test_a_session_of_a_program_is_a_chat_elsewhere(store: Store, tmp_path: Path) -> None:
    script(store, Scripted("One."), "First.")
    place = str(tmp_path / "logs.db")
    with ChatService().open(ChatOptions(model=Scripted("Two."), resume="mine", location=place)) as chat:
        assert chat.send("Second.").result() == "Two."
    with Session.open("mine", Scripted("Three."), store=store) as session:
        assert session.chat("Third.") == "Three."
    assert [each.path for each in store.journal.list_messages("mine")] == ["1", "2", "3"]


def test_a_session_without_a_name_gets_one(store: Store) -> None:
    session = Session(Scripted("One."), store=store)
    assert session.id == ""
    session.chat("First.")
    assert store.find("last").id == session.id != ""
    session.close()
    with pytest.raises(OptionError, match="needs a store"):
        Session(Scripted("One."), id="mine")


def test_the_steps_of_a_script_are_called_once(store: Store) -> None:
    for _ in range(2):
        with store.session("nightly-7") as script:
            assert script.step(count, "step") == 1
    assert [each.path for each in store.journal.iterate_effects("nightly-7")] == ["1"]


def test_sessions_are_in_postgres_too(tmp_path: Path, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs.db"))
    done.clear()
    store = Store(postgres)
    assert script(store, Scripted(calls("note", text="a"), "One."), "First.") == ["One."]
    assert script(store, Scripted("Two."), "First.", "Second.") == ["One.", "Two."]
    with ChatService().open(ChatOptions(model=Scripted("Three."), resume="mine", location=postgres)) as chat:
        assert chat.send("Third.").result() == "Three."
    assert [each.path for each in store.journal.list_messages("mine")] == ["1", "2", "3"]
    conversation, mode, prompt = store.journal.load_request("mine", "2")
    assert (len(conversation.turns), mode, prompt) == (3, "vibe", (Text("Second."),))
    assert done == ["a"]
    store.close()
