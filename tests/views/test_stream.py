"""A run as lines of JSON: nothing is missing, and nothing in it can do harm."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.conversation import Conversation, Image, OpaquePart, Origin, ProviderPayload, Text, ToolCall, ToolResult
from antiphon.effects import HumanAnswer
from antiphon.fakes import Answer, Fake, call
from antiphon.results import table
from antiphon.session import (
    AIResult,
    CallFinished,
    CallStarted,
    Compacted,
    Event,
    LimitReached,
    Question,
    QuestionAnswered,
    QuestionAsked,
    RequestEnded,
    RequestStarted,
    RunEnded,
    RunRecord,
    RunStarted,
    RunWaits,
    Session,
    UsageChanged,
)
from antiphon.tools import ToolCallRecord, Toolset
from antiphon.views.stream import event_json, event_line, final_json, format_safe_json
from antiphon.wire import CallDelta, ProgressDelta, ReasoningDelta, RetryDelta, TextDelta, Usage
from tests.strategies import any_text, json_values

CALL = ToolCall("c1", "weather", {"city": "Oslo"})
RECORD = ToolCallRecord("weather", {"city": "Oslo"}, "Rain", None, 12.5)


def event(body: Any) -> Event:
    return Event("r1", 7, 1.5, body)


def weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}"


@pytest.fixture(scope="module")
def fake() -> Iterator[Fake]:
    with Fake() as served:
        yield served


class TestAWholeRun:
    def lines(self, fake: Fake, *script: Any, **settings: Any) -> list[dict[str, Any]]:
        fake.reset()
        fake.play(*script)
        tools = [weather, *Toolset([fetch]).requiring_approval()]
        session = Session(fake.connect("anthropic/claude-sonnet-5"), tools, **settings)
        with session.stream("…") as events:
            text = "".join(event_line(event) + "\n" for event in events)
        assert text.count("\n") == len(text.splitlines())
        return [json.loads(line) for line in text.splitlines()]

    def test_every_line_is_an_event_and_together_they_tell_all(self, fake: Fake):
        script = Answer("Let me look.", [call("weather", city="Oslo")], reasoning="Hm.", usage=(10, 5)), "It rains."
        lines = self.lines(fake, *script)
        types = [line["type"] for line in lines]
        pieces = {"reasoning", "text", "call_delta", "usage", "call_started", "call_finished"}
        assert set(types) == {*pieces, "run_started", "request_started", "request_ended", "run_ended"}
        assert [line["seq"] for line in lines] == list(range(len(lines)))
        assert len({line["run"] for line in lines}) == 1
        said = [line["text"] for line in lines if line["type"] == "text"]
        assert "".join(said) == "Let me look.It rains."
        assert "".join(line["text"] for line in lines if line["type"] == "reasoning") == "Hm."
        written = [line for line in lines if line["type"] == "call_delta"]
        assert written[0]["name"] == "weather"
        assert json.loads("".join(line["arguments"] for line in written)) == {"city": "Oslo"}
        (finished,) = (line for line in lines if line["type"] == "call_finished")
        assert finished["call"]["arguments"] == {"city": "Oslo"}
        assert finished["call"]["id"] == lines[types.index("call_started")]["call"]["id"]
        assert finished["result"] == {"content": "Rain in Oslo", "is_error": False}
        assert finished["record"]["result"] == "Rain in Oslo"
        assert finished["record"]["duration"] > 0
        done = lines[-1]
        assert (done["value"], done["outcome"], done["detail"]) == ("It rains.", "done", "")
        assert done["tool_calls"] == [finished["record"]]
        assert done["usage"] == [line for line in lines if line["type"] == "usage"][-1]["usage"]
        assert done["usage"]["input_tokens"] > 10
        assert "claude-sonnet-5" in done["model"]

    def test_a_run_that_waits_in_vain(self, fake: Fake):
        lines = self.lines(fake, call("fetch", url="x"))
        (asked,) = (line["question"] for line in lines if line["type"] == "asked")
        assert asked["kind"] == "approval"
        assert asked["call"]["name"] == "fetch"
        assert lines[-1]["type"] == "run_waits"
        assert lines[-1]["questions"] == [asked]


def fetch(url: str) -> str:
    """Fetch a page."""
    return url


def test_the_final_object_is_the_last_event_without_its_type():
    result = AIResult({"n": 1}, (RECORD,), RunRecord(Usage(1, 2), 0.5, "m", "limit", "3 turns"))
    data = final_json(result)
    assert data == {
        "value": {"n": 1},
        "outcome": "limit",
        "detail": "3 turns",
        "model": "m",
        "usage": {
            "input_tokens": 1,
            "output_tokens": 2,
            "cache_read_tokens": None,
            "cache_write_tokens": None,
            "reasoning_tokens": None,
            "cache_write_1h_tokens": None,
        },
        "cost": 0.5,
        "tool_calls": [
            {"tool": "weather", "args": {"city": "Oslo"}, "result": "Rain", "error": None, "duration": 12.5}
        ],
    }
    known = {"run": "r1", "seq": 7, "at": 1.5}
    assert event_json(event(RunEnded("done", result))) == {**known, "type": "run_ended", "state": "done", **data}
    failed = event_json(event(RunEnded("failed", error=LimitReached("3 turns", result.run))))
    assert (failed["error"], failed["outcome"], failed["usage"]) == ("3 turns", "limit", data["usage"])
    assert event_json(event(RunEnded("failed", error=ValueError("x"))))["error"] == "x"


def test_a_result_brings_its_images_its_handle_and_its_semantic_form():
    native = ProviderPayload(Origin("p", "anthropic", "m"), {"type": "document", "x": 1})
    parts = (Text("t"), Image(url="https://e.x/a.png"), Image("aGk=", "image/png"), OpaquePart(native, "f"))
    rows = table([{"a": 1}])
    data = event_json(event(CallFinished(CALL, ToolResult("c1", parts, handle="result:c1", semantic=rows), RECORD)))
    assert data["result"] == {
        "content": [
            {"type": "text", "text": "t"},
            {"type": "image", "url": "https://e.x/a.png"},
            {"type": "image", "data": "aGk=", "media_type": "image/png"},
            {"type": "foreign", "text": "f", "data": {"type": "document", "x": 1}},
        ],
        "is_error": False,
        "handle": "result:c1",
        "semantic": rows.to_json(),
    }


def test_questions_and_their_answers():
    question = Question("c1", "approval", "May it?", "r1", "tidy up", CALL)
    call = {"id": "c1", "name": "weather", "arguments": {"city": "Oslo"}}
    told = {"id": "c1", "kind": "approval", "text": "May it?", "who": "tidy up", "call": call}
    assert event_json(event(QuestionAsked(question)))["question"] == told
    said = event_json(event(QuestionAnswered(question, HumanAnswer("no", allowed=False, always=True))))
    assert (said["question"], said["said"]) == (told, {"text": "no", "allowed": False, "always": True})
    assert event_json(event(RunWaits((question,))))["questions"] == [told]


class Odd:
    def __str__(self) -> str:
        raise RuntimeError("no")


def test_any_value_has_a_json_form():
    for value in (float("nan"), b"\xff", {1: {2}}, Odd(), object, 10**5000, "\ud800", [[]] * 3):
        json.loads(format_safe_json(final_json(AIResult(value))))


def test_what_one_line_must_not_hold_is_escaped_without_loss():
    hostile = "\x1b[31m\x7f\x9b\x85\u2028\u202e\u200b\U000e0041\r\n é 漢 👍"
    line = event_line(event(TextDelta(hostile)))
    assert len(line.splitlines()) == 1
    assert "é 漢 👍" in line
    assert line.isprintable()
    assert json.loads(line)["text"] == hostile


@settings(max_examples=80, deadline=None)
@given(any_text, json_values, st.sampled_from(range(13)))
def test_whatever_is_in_an_event(text: str, value: Any, which: int):
    events = [
        TextDelta(text),
        ReasoningDelta(text),
        CallDelta(0, text, text),
        ProgressDelta(1200, 1837),
        RetryDelta(2, 5, 1.5, text),
        CallStarted(ToolCall.read(text, text, value)),
        CallFinished(CALL, ToolResult("c1", text, is_error=True), ToolCallRecord(text, {text: value}, None, text, 0)),
        RunEnded("done", AIResult(value, run=RunRecord(detail=text))),
        RunStarted("vibe", text, text, None),
        RequestStarted(1, text),
        RequestEnded(1, text, Usage(), None, text),
        QuestionAsked(Question(text, "question", text, text, text)),
        Compacted(3, Conversation(text)),
    ]
    line = event_line(event(events[which]))
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", line)
    assert isinstance(json.loads(line)["type"], str)


def test_usage_says_what_it_does_not_know():
    assert event_json(event(UsageChanged(Usage(3), None)))["cost"] is None
