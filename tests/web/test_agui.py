"""AG-UI: what clients are told, what they say, and what waits for people though their runs are over."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from antiphon import Store
from antiphon._base.optional_deps import build_install_command
from antiphon.cli import cli
from antiphon.durable import Journal
from antiphon.effects import HumanAnswer
from antiphon.fakes import Answer, Fail, Fake, call
from antiphon.tools import NeedsHumanInput, tool
from antiphon.web import app
from tests.web.agui_client import Client, events_of, outcome, posted, types
from tests.web.browser import TOKEN, Site

MODEL = "anthropic/claude-sonnet-5"
#: A dot.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ran: list[str] = []


@tool(read_only=True)
def weather(city: str) -> str:
    """The weather."""
    return f"Rain in {city}"


@tool(destructive=True)
def remove(path: str) -> str:
    """Remove a file."""
    ran.append(path)
    return f"{path} is gone"


@tool
def which(of: str) -> str:
    """Ask the user."""
    raise NeedsHumanInput(f"Which {of}?")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    ran.clear()
    made = Journal(tmp_path / "logs.db")
    yield made
    made.close()


def served(journal: Journal, fake: Fake, **more: Any) -> Any:
    return app(journal=journal, token=TOKEN, model=fake.connect(MODEL), tools=[weather, remove, which], **more)


@pytest.fixture
def page(journal: Journal, antiphon_fake: Fake) -> Any:
    return served(journal, antiphon_fake)


def said_to(fake: Fake, number: int = -1) -> list[Any]:
    return fake.requests[number].body["messages"]


# What clients are told


def test_an_answer_comes_in_pieces_and_the_thread_is_saved(journal: Journal, page: Any, antiphon_fake: Fake):
    antiphon_fake.play("Hello, Ada. How are you?", "Fine.")
    client = Client(page)
    events = client.ask("I am Ada.")
    assert types(events) == [
        *("RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"),
    ]
    assert events[0] == {
        "type": "RUN_STARTED", "threadId": client.thread, "runId": f"{client.thread}-run1", "protocolVersion": "1.0"
    }  # fmt: skip
    assert sum(each["type"] == "TEXT_MESSAGE_CONTENT" for each in events) > 1
    assert outcome(events) == {"type": "success"}
    (used,) = events[-1]["usage"]
    assert used["model"] == MODEL
    assert used["inputTokens"] > 0
    assert client.messages[-1]["content"] == "Hello, Ada. How are you?"
    client.ask("And you?")
    assert [each["role"] for each in said_to(antiphon_fake)] == ["user", "assistant", "user"]
    with Store(journal.file.path) as store:
        (entry,) = store.list()
        assert (entry.id, entry.turns, entry.command) == (client.thread, 4, "agui")
    (run,) = journal.list_runs()
    assert (run.id, run.kind, run.state) == (client.thread, "agui", "done")
    messages = [(each.path, each.asked["key"]) for each in journal.list_messages(run.id)]
    assert messages == [("1", f"{client.thread}-run1"), ("2", f"{client.thread}-run2")]


def test_thinking_and_tools_are_told_with_their_results(page: Any, antiphon_fake: Fake):
    thinking = Answer("Let me look.", [call("weather", city="Oslo"), call("weather", city="Rome")], reasoning="Hm.")
    antiphon_fake.play(thinking, "Rain everywhere.")
    client = Client(page)
    events = client.ask("Weather?")
    assert types(events) == [
        *("RUN_STARTED", "REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT"),
        *("REASONING_MESSAGE_END", "REASONING_END", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"),
        *("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END") * 2,
        *("TOOL_CALL_RESULT", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"),
    ]
    results = {each["toolCallId"]: each["content"] for each in events if each["type"] == "TOOL_CALL_RESULT"}
    named = {each["toolCallId"]: each["delta"] for each in events if each["type"] == "TOOL_CALL_ARGS"}
    assert {named[id]: result for id, result in results.items()} == {
        '{"city":"Oslo"}': "Rain in Oslo", '{"city":"Rome"}': "Rain in Rome"
    }  # fmt: skip
    antiphon_fake.play("Yes.")
    assert outcome(client.ask("Sure?")) == {"type": "success"}


def test_errors_of_the_provider_are_told_and_the_same_words_can_be_said_again(page: Any, antiphon_fake: Fake):
    antiphon_fake.play(Fail(401, "no such key"))
    client = Client(page)
    events = client.ask("Hello?")
    assert events[-1]["type"] == "RUN_ERROR"
    assert "no such key" in events[-1]["message"]
    antiphon_fake.play("Hello!")
    assert outcome(client.run()) == {"type": "success"}
    assert [each["role"] for each in said_to(antiphon_fake)] == ["user"]


@pytest.mark.parametrize("is_dropped", [False, True])
def test_an_answer_that_broke_off_stays_unless_the_client_drops_it(page: Any, antiphon_fake: Fake, is_dropped: bool):
    antiphon_fake.play(*[Answer("This is never said to its end.", cut_after=8)] * 9)
    client = Client(page)
    events = client.ask("Hello?")
    assert events[-1]["type"] == "RUN_ERROR"
    assert client.messages[-1]["role"] == "assistant"
    antiphon_fake.reset()
    antiphon_fake.play("Now it is.")
    if is_dropped:
        client.messages.pop()
    assert outcome(client.ask("Once more?")) == {"type": "success"}
    assert [each["role"] for each in said_to(antiphon_fake)] == ["user", *(() if is_dropped else ("assistant", "user"))]


def test_what_the_client_knows_is_for_the_model_to_know(page: Any, antiphon_fake: Fake):
    antiphon_fake.play("Ok.")
    client = Client(page)
    client.messages.append({"id": "s", "role": "system", "content": "Be brief."})
    client.messages.append({"id": "u", "role": "user", "content": [{"type": "text", "text": "What is this?"}, {
        "type": "image", "source": {"type": "data", "value": PNG, "mimeType": "image/png"}}, {
        "type": "audio", "source": {"type": "url", "value": "https://a.example/a.mp3"}}]})  # fmt: skip
    events = client.run(context=[{"description": "The time", "value": "noon"}])
    assert outcome(events) == {"type": "success"}, events
    assert antiphon_fake.requests[0].body["system"][0]["text"] == "Be brief.\n\nThe time: noon"
    assert [each["type"] for each in said_to(antiphon_fake)[0]["content"]] == ["text", "image"]


# What clients say


def test_a_thread_of_others_is_taken_by_the_rules_of_conversations(page: Any, antiphon_fake: Fake):
    antiphon_fake.play("Twice.")
    client = Client(page)
    client.messages = [
        {"id": "1", "role": "user", "content": "Weather?"},
        {"id": "2", "role": "assistant", "content": "I look.", "toolCalls": [
            {"id": "c:1", "type": "function", "function": {"name": "sky", "arguments": "{\"a\": 1}"}}]},
        {"id": "3", "role": "tool", "toolCallId": "c:1", "content": "blue"},
        {"id": "4", "role": "assistant", "content": "Blue."},
    ]  # fmt: skip
    client.ask("Again?")
    assert [each["role"] for each in said_to(antiphon_fake)] == ["user", "assistant", "user", "assistant", "user"]
    antiphon_fake.play("Thrice.")
    assert outcome(client.ask("Again?")) == {"type": "success"}
    wrong = Client(page, "another-thread-00")
    wrong.messages = [{"id": "1", "role": "tool", "toolCallId": "c1", "content": "blue"}]
    response = wrong.post()
    assert response.status_code == 400
    assert "these messages are not a conversation" in response.json()["error"]


def test_what_differs_from_what_is_written_down_is_an_error_and_the_client_is_told_what_is(
    page: Any, antiphon_fake: Fake
):
    antiphon_fake.play("One.", "Two.", "Four.")
    client, behind = Client(page), Client(page)
    client.messages.append({"id": "u", "role": "user", "content": "We"})
    client.ask("count.")
    behind.messages = [*client.messages]
    client.ask("On.")
    behind.runs = 50
    forged = Client(page)
    forged.messages = [*client.messages[:2], {"id": "x", "role": "assistant", "content": "Ten."}]
    forged.runs = 70
    for other in (behind, forged):
        events = other.ask("And then?")
        assert types(events) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_ERROR"]
        assert events[-1]["code"] == "differs"
        both = [{"type": "text", "text": "We"}, {"type": "text", "text": "count."}]
        assert [each["content"] for each in other.messages] == [both, "One.", "On.", "Two."]
    assert outcome(behind.ask("And then?")) == {"type": "success"}
    assert len(antiphon_fake.requests) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {}, {"threadId": 5}, {"threadId": ""}, {"threadId": "x" * 300}, {"runId": None}, {"runId": "x" * 300},
        {"messages": "hi"}, {"messages": None}, {"messages": [5]}, {"messages": [{"role": "user", "content": "x"}]},
        {"messages": []},
        {"messages": [{"id": "1", "role": "king", "content": "x"}]},
        {"messages": [{"id": "1", "role": "user", "content": 5}]}, {"messages": [{"id": "1", "role": "user"}]},
        {"messages": [{"id": "1", "role": "user", "content": ""}]},
        {"messages": [{"id": "1", "role": "user", "content": [{"type": "hologram"}]}]},
        {"messages": [{"id": "1", "role": "user", "content": [
            {"type": "image", "source": {"type": "data", "value": "no base64!", "mimeType": "image/png"}}]}]},
        {"messages": [{"id": "1", "role": "assistant", "content": "x"}]},
        {"messages": [{"id": "1", "role": "assistant", "toolCalls": [{"id": "c"}]}]},
        {"tools": {}}, {"tools": [{"name": "no name", "description": ""}]},
        {"tools": [{"name": "weather", "description": ""}]},
        {"tools": [{"name": "a", "description": "", "parameters": []}]}, {"tools": [{"name": "a"}, {"name": "a"}]},
        {"tools": [{"name": "a", "description": "", "parameters": {"type": "array"}}]},
        {"context": "x"}, {"context": [{"description": 1, "value": "x"}]}, {"protocolVersion": "2.0"},
        {"protocolVersion": 1},
        {"resume": {}}, {"resume": [{"interruptId": "x", "status": "maybe"}]},
        {"resume": [{"interruptId": "none/x/1", "status": "cancelled"}]},
        {"resume": [{"interruptId": "", "status": "cancelled"}]},
    ],
)  # fmt: skip
def test_what_is_no_input_is_refused_in_a_sentence(page: Any, antiphon_fake: Fake, wrong: dict[str, Any]):
    good = {"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "Hi"}]}
    response = posted(page, {**good, **wrong} if wrong else {})
    assert response.status_code == 400, response.text
    assert len(response.json()["error"]) > 10
    assert antiphon_fake.requests == []
    antiphon_fake.play("Hi.")
    newer = {
        "protocolVersion": "1.7",
        "tools": None,
        "resume": None,
        "state": [1],
        "forwardedProps": {"a": None},
        "x": 1,
    }
    assert outcome(events_of(posted(page, {**good, **newer}).text)) == {"type": "success"}


def test_notes_of_the_program_are_no_messages_and_the_thread_goes_on(page: Any, antiphon_fake: Fake):
    antiphon_fake.play(Answer(""), "Here I am.", "Yes.")
    client = Client(page)
    client.ask("Hello?")
    assert "You gave neither an answer" in json.dumps(said_to(antiphon_fake))
    assert "You gave neither" not in json.dumps(client.messages)
    client.ask("Still there?")
    assert [each["content"] for each in client.messages if each["role"] == "user"] == ["Hello?", "Still there?"]
    assert client.messages[-1]["content"] == "Yes."
    assert "You gave neither an answer" in json.dumps(said_to(antiphon_fake))


def test_a_request_that_is_sent_twice_is_answered_once(page: Any, antiphon_fake: Fake):
    antiphon_fake.play("Once.")
    client = Client(page)
    client.ask("Go.")
    client.messages.append({"id": "u", "role": "user", "content": "Again."})
    client.runs = 0
    events = client.run()
    assert types(events) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert [each["content"] for each in client.messages] == ["Go.", "Once."]
    assert len(antiphon_fake.requests) == 1


# People


@pytest.mark.parametrize(
    ("entry", "has_run", "told"),
    [
        ({"status": "resolved", "payload": {"approved": True}}, True, "a.txt is gone"),
        ({"status": "resolved", "payload": {"approved": False, "reason": "I need it"}}, False, "denied: I need it"),
        ({"status": "cancelled"}, False, "denied: nobody decided it"),
    ],
)
def test_a_call_that_must_be_allowed_interrupts_and_waits_over_a_restart(
    tmp_path: Path, antiphon_fake: Fake, entry: dict[str, Any], has_run: bool, told: str
):
    ran.clear()
    antiphon_fake.play(Answer("I will.", [call("remove", path="a.txt"), call("weather", city="Oslo")]), "Done.")
    with_one = Journal(tmp_path / "logs.db")
    client = Client(served(with_one, antiphon_fake))
    events = client.ask("Remove it.")
    (interrupt,) = outcome(events)["interrupts"]
    assert outcome(events)["type"] == "interrupt"
    assert interrupt["reason"] == "tool_call"
    assert "remove" in interrupt["message"]
    starts = {each["toolCallName"]: each["toolCallId"] for each in events if each["type"] == "TOOL_CALL_START"}
    assert interrupt["toolCallId"] == starts["remove"]
    assert interrupt["responseSchema"]["required"] == ["approved"]
    assert ran == []
    assert [each.state for each in with_one.list_runs()] == ["waiting"]
    with_one.close()
    with_two = Journal(tmp_path / "logs.db")
    client.page = served(with_two, antiphon_fake)
    # Who asks for something else is told what is waited for, and nothing is decided for him.
    again = client.run()
    assert types(again) == ["RUN_STARTED", "RUN_FINISHED"]
    assert outcome(again) == outcome(events)
    events = client.run(resume=[{"interruptId": interrupt["id"], **entry}])
    assert types(events) == [
        *("RUN_STARTED", "TOOL_CALL_RESULT", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"),
        "RUN_FINISHED",
    ]
    (result,) = [each for each in events if each["type"] == "TOOL_CALL_RESULT"]
    assert result["toolCallId"] == starts["remove"]
    assert told in result["content"]
    assert events[0]["runId"] == f"{client.thread}-run3"
    assert ran == (["a.txt"] if has_run else [])
    assert len(antiphon_fake.requests) == 2
    assert [(each.id, each.state) for each in with_two.list_runs()] == [(client.thread, "done")]
    late = client.post(resume=[{"interruptId": interrupt["id"], **entry}])
    assert late.status_code == 409
    assert "already answered" in late.json()["error"]
    assert len(ran) == has_run
    antiphon_fake.play("Bye.")
    assert outcome(client.ask("Bye.")) == {"type": "success"}
    with_two.close()


def test_a_question_of_a_tool_is_answered_in_words_that_are_the_users(page: Any, antiphon_fake: Fake):
    antiphon_fake.play(call("which", of="colour"), "Red it is.")
    client = Client(page)
    events = client.ask("Paint it.")
    (interrupt,) = outcome(events)["interrupts"]
    assert (interrupt["reason"], interrupt["message"]) == ("input_required", "Which colour?")
    for wrong in ({"payload": "red"}, {"payload": {"answer": 5}}, {}):
        refused = client.post(resume=[{"interruptId": interrupt["id"], "status": "resolved", **wrong}])
        assert refused.status_code == 400
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"answer": "red"}}]
    assert outcome(client.run(resume=resume)) == {"type": "success"}
    assert [each["content"] for each in client.messages if each["role"] == "user"] == ["Paint it.", "red"]
    antiphon_fake.play("Yes.")
    assert outcome(client.ask("Sure?")) == {"type": "success"}


def test_every_interrupt_is_answered_and_each_by_what_it_asked(page: Any, antiphon_fake: Fake):
    antiphon_fake.play(Answer("", [call("remove", path="a"), call("remove", path="b")]), "Done.")
    client = Client(page)
    one, two = outcome(client.ask("Both."))["interrupts"]
    yes = {"status": "resolved", "payload": {"approved": True}}
    no = {"status": "resolved", "payload": {"approved": False}}
    half = client.post(resume=[{"interruptId": one["id"], **yes}])
    assert (half.status_code, "every interrupt" in half.json()["error"]) == (400, True)
    wrong = client.post(resume=[{"interruptId": one["id"], **yes}, {"interruptId": two["id"][:-9], **yes}])
    assert wrong.status_code in (400, 404)
    other = Client(page, "some-other-thread-1")
    other.messages = client.messages
    stolen = other.post(resume=[{"interruptId": one["id"], **yes}, {"interruptId": two["id"], **yes}])
    assert (stolen.status_code, "does not belong to thread" in stolen.json()["error"]) == (400, True)
    assert ran == []
    client.run(resume=[{"interruptId": one["id"], **yes}, {"interruptId": two["id"], **no}])
    assert ran == ["a"]


def test_whoever_answers_first_counts_also_on_the_page(journal: Journal, page: Any, antiphon_fake: Fake):
    antiphon_fake.play(call("remove", path="a"), "Done.")
    client = Client(page)
    (interrupt,) = outcome(client.ask("Go."))["interrupts"]
    (question,) = journal.list_questions(client.thread)
    journal.answer(client.thread, question.path, HumanAnswer("mine", allowed=False))
    events = client.run(resume=[{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}])
    (note,) = [each for each in events if each["type"] == "CUSTOM"]
    assert note["value"] == {"interruptId": interrupt["id"], "why": "the question is already answered: mine"}
    (result,) = [each for each in events if each["type"] == "TOOL_CALL_RESULT"]
    assert "denied: mine" in result["content"]
    assert ran == []


def test_a_client_that_has_forgotten_what_was_asked_goes_on_when_it_is_answered_elsewhere(
    journal: Journal, page: Any, antiphon_fake: Fake
):
    antiphon_fake.play(Answer("", [call("remove", path="a"), call("remove", path="b")]), "Done.")
    client = Client(page)
    _, second = outcome(client.ask("Go."))["interrupts"]
    id = client.thread
    one, two = journal.list_questions(id)
    journal.answer(id, one.path, HumanAnswer())
    assert outcome(client.run())["interrupts"] == [second]
    journal.answer(id, two.path, HumanAnswer(allowed=False))
    refused = client.post(messages=[*client.messages, {"id": "u9", "role": "user", "content": "Well?"}])
    assert (refused.status_code, "has its answers" in refused.json()["error"]) == (409, True)
    assert outcome(client.run()) == {"type": "success"}
    assert ran == ["a"]
    assert len(antiphon_fake.requests) == 2


def test_a_run_of_a_thread_goes_on_in_a_terminal_and_the_client_hears_of_it(
    tmp_path: Path, antiphon_fake: Fake, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret-0123456789")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", antiphon_fake.base_url("anthropic"))
    antiphon_fake.play(call("write_file", path="a.txt", content="hi"), "Written.", "Yes.")
    journal = Journal()
    client = Client(app(journal=journal, token=TOKEN, model=MODEL, tools="all"))
    (interrupt,) = outcome(client.ask("Write."))["interrupts"]
    id = client.thread
    (question,) = journal.list_questions(id)
    journal.answer(id, question.path, HumanAnswer())
    resumed = CliRunner().invoke(cli, ["resume", id])
    assert (resumed.exit_code, "Written." in resumed.output) == (0, True)
    assert (tmp_path / "a.txt").read_text() == "hi"
    late = client.post(resume=[{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": False}}])
    assert late.status_code == 409
    assert "already answered: allowed; thread" in late.json()["error"]
    assert types(client.ask("Sure?")) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_ERROR"]
    assert outcome(client.ask("Sure?")) == {"type": "success"}
    journal.close()


# Tools of the client

PICK = {
    "name": "pick", "description": "Let the user pick.",
    "parameters": {"type": "object", "properties": {"of": {"type": "array", "items": {"type": "string"}}}},
}  # fmt: skip


def test_calls_of_the_clients_tools_end_the_run_and_its_messages_answer_them(
    journal: Journal, page: Any, antiphon_fake: Fake
):
    antiphon_fake.play(
        Answer("", [call("pick", of=["a", "b"]), call("weather", city="Oslo"), call("pick", of=[])]), "b!"
    )
    client = Client(page, tools=[PICK])
    events = client.ask("Let me choose.")
    made = [
        each["toolCallId"] for each in events if each["type"] == "TOOL_CALL_START" and each["toolCallName"] == "pick"
    ]
    declared = [each["name"] for each in antiphon_fake.requests[0].body["tools"]]
    assert declared == ["weather", "remove", "which", "pick", "read_result"]
    assert outcome(events) == {"type": "success", "pendingToolCallIds": made}
    assert [each["toolCallId"] not in made for each in events if each["type"] == "TOOL_CALL_RESULT"] == [True]
    assert [each.state for each in journal.list_runs()] == ["done"]
    unanswered = client.post()
    assert (unanswered.status_code, made[0] in unanswered.json()["error"]) == (400, True)
    client.answer(made[0], [{"type": "text", "text": "b"}])
    client.answer(made[1], "", error="nothing to pick")
    assert outcome(client.ask("I took b.")) == {"type": "success"}
    results, words = said_to(antiphon_fake)[-1]["content"][:-1], said_to(antiphon_fake)[-1]["content"][-1]
    assert [each["type"] for each in results] == ["tool_result"] * 3
    assert results[2]["is_error"]
    assert words["text"] == "I took b."


def test_an_interrupt_and_a_tool_of_the_client_in_one_answer(page: Any, antiphon_fake: Fake):
    antiphon_fake.play(Answer("", [call("pick", of=["a"]), call("remove", path="a")]), "Done.")
    client = Client(page, tools=[PICK])
    events = client.ask("Go.")
    (interrupt,) = outcome(events)["interrupts"]
    (picked,) = [each["toolCallId"] for each in events if each.get("toolCallName") == "pick"]
    client.answer(picked, "a")
    # The tools are those with which it was begun.
    client.tools = []
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
    assert outcome(client.run(resume=resume)) == {"type": "success"}
    assert ran == ["a"]
    assert [each["content"] for each in said_to(antiphon_fake)[-1]["content"]] == ["a", "a is gone"]


# The end of it


def wait_for(what: Any) -> None:
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_client_that_leaves_stops_the_run_and_can_go_on(journal: Journal, antiphon_fake: Fake):
    begun = threading.Event()

    @tool
    async def slow() -> str:
        """Slow."""
        begun.set()
        await asyncio.sleep(600)
        return "late"

    antiphon_fake.play(call("slow"), "Never.")
    site = Site(journal, model=antiphon_fake.connect(MODEL), tools=[slow])
    client = Client(None)
    client.messages.append({"id": "u", "role": "user", "content": "Go."})
    given = {"threadId": client.thread, "runId": "r1", "messages": client.messages}
    headers = {"authorization": f"Bearer {TOKEN}"}
    try:
        with httpx2.stream("POST", f"{site.url}/agui", json=given, headers=headers, timeout=60) as stream:
            lines = stream.iter_lines()
            assert "RUN_STARTED" in next(lines)
            assert begun.wait(60)
            second = httpx2.post(f"{site.url}/agui", json={**given, "runId": "r2"}, headers=headers, timeout=60)
            assert (second.status_code, "active run" in second.json()["error"]) == (409, True)
        wait_for(lambda: journal.find(client.thread).state == "cancelled")
        antiphon_fake.reset()
        antiphon_fake.play("Here.")
        wait_for(lambda: _answers(site, client, headers))
    finally:
        site.stop()


def _answers(site: Site, client: Client, headers: dict[str, str]) -> bool:
    """Whether it says what it should; who has missed something is told what, and goes on from there."""
    word = {"id": "u2", "role": "user", "content": "Still there?"}
    given = {"threadId": client.thread, "runId": f"r{time.monotonic_ns()}", "messages": [*client.messages, word]}
    response = httpx2.post(f"{site.url}/agui", json=given, headers=headers, timeout=60)
    events = events_of(response.text) if response.status_code == 200 else []
    client.take(events)
    return "Here." in "".join(each.get("delta", "") for each in events)


def test_a_run_that_is_cancelled_elsewhere_says_so(journal: Journal, antiphon_fake: Fake):
    @tool
    def ending() -> str:
        """Somebody cancels the run."""
        journal.cancel("thread-of-many")
        return "so"

    antiphon_fake.play(call("ending"))
    page = app(journal=journal, token=TOKEN, model=antiphon_fake.connect(MODEL), tools=[ending])
    assert outcome(Client(page, "thread-of-many").ask("Go.")) == {"type": "cancelled"}
    assert len(antiphon_fake.requests) == 1


def test_the_protocol_is_imported_with_the_first_request_only():
    code = """
import sys
from antiphon.web import app
from antiphon.durable import Journal
page = app(journal=Journal(sys.argv[1]), token="t")
assert not [each for each in sys.modules if each.startswith("ag_ui")], "loaded"
"""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([sys.executable, "-c", code, f"{directory}/logs.db"], check=True)


def test_a_request_without_the_package_of_the_protocol_says_what_to_install(page: Any, monkeypatch: pytest.MonkeyPatch):
    for name in [*sys.modules]:
        if name.startswith(("antiphon.web.agui", "ag_ui.")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ag_ui", None)
    response = posted(page, {})
    assert (response.status_code, response.json()) == (
        400,
        {"error": f"AG-UI needs `ag_ui`: {build_install_command('web')}"},
    )


def test_keys_are_in_no_event(page: Any, antiphon_fake: Fake, monkeypatch: pytest.MonkeyPatch):
    from antiphon.web.json_response import _load_redactions

    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret-0123456789")
    _load_redactions.cache_clear()
    antiphon_fake.play(call("weather", city="sk-ant-secret-0123456789"), "Rain.")
    events = Client(page).ask("Weather?")
    _load_redactions.cache_clear()
    assert "sk-ant-secret" not in str(events)
    assert "[$ANTHROPIC_API_KEY]" in str(events), events


def test_a_thread_of_any_name_is_its_own(journal: Journal, page: Any, antiphon_fake: Fake):
    names = ["last", "0", "ÄÖ/ü ?#", "UPPER-CASE-NAME", "upper-case-name", "x" * 200]
    antiphon_fake.play(*(f"{number}." for number in range(len(names))))
    clients = [Client(page, each) for each in names]
    for number, client in enumerate(clients):
        client.runs = number * 100
        client.thread, name = client.thread, client.thread
        response = posted(page, {"threadId": name, "runId": f"r{number}", "messages": [
            {"id": "u", "role": "user", "content": f"I am {number}."}]})  # fmt: skip
        assert outcome(events_of(response.text)) == {"type": "success"}
    with Store(journal.file.path) as store:
        assert sorted(each.title for each in store.list()) == [f"I am {number}." for number in range(len(names))]


def test_a_long_thread_stays_whole_for_the_client(journal: Journal, antiphon_fake: Fake):
    too_long = Fail(400, "prompt is too long: 210000 tokens > 200000 maximum")
    antiphon_fake.play("one", "two", too_long, "three", "four")
    client = Client(served(journal, antiphon_fake))
    for text in ("first", "word " * 3000, "more", "and?"):
        assert outcome(client.ask(text)) == {"type": "success"}
    assert [len(str(each.body)) > 10_000 for each in antiphon_fake.requests] == [False, True, True, False, True]
    assert len(client.messages) == 8
