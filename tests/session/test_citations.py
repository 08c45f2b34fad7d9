"""Values that cite the tool call they come from: told to the model, checked, and with the record of the call."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from fastapi.encoders import jsonable_encoder
from pydantic import TypeAdapter, ValidationError

from antiphon import Session
from antiphon.conversation import AssistantTurn, Note
from antiphon.fakes import Answer, Fake, Received, call
from antiphon.results import to_plain_json
from antiphon.session import Cited, ReturnError
from antiphon.tools import FinishRun, ToolFailure
from tests.session.scripted import STRATEGIES, Scripted, calls


def price(product: str) -> str:
    """The price of a product."""
    return {"chair": "chair: 1,249.50 EUR, since 2026-11-20, in stock: true", "desk": "desk: -80 EUR"}[product]


class Color(Enum):
    RED = "red"


@dataclass
class Offer:
    product: str
    price: Cited[float]
    note: Cited[str] | None = None


def last_text(received: Received) -> str:
    return json.dumps(received.body)


def find_id(received: Received) -> str:
    """The id of the last call that the conversation names in a note."""
    text = last_text(received)
    return text[text.rindex("Ids of tool calls: ") :].removeprefix("Ids of tool calls: ").split(" (")[0]


@pytest.mark.parametrize("model", ["anthropic/claude-sonnet-5", "openai/gpt-5", "google/gemini-3-pro"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_value_has_the_record_of_its_call(model: str, strategy: Any):
    def answer(received: Received) -> Any:
        fields = {"product": "chair", "price": {"value": 1249.5, "call": find_id(received)}, "note": None}
        return call("answer", **fields) if strategy == "tool" else Answer(json.dumps(fields))

    with Fake([call("price", product="chair"), answer]) as fake:
        session = Session(fake.connect(model), [price], strategy=strategy)
        result = session.vibe("What is the chair?", returns=Offer)
        assert not any(each.rejected for each in fake.requests)
        assert "The id of the tool call" in last_text(fake.requests[0])
    cited = result.value.price
    assert (cited.value, cited.call) == (1249.5, result.tool_calls[0])
    assert (cited.call.tool, cited.call.args) == ("price", {"product": "chair"})
    turn = session.conversation.turns[1]
    assert isinstance(turn, AssistantTurn)
    assert cited.id == turn.calls[0].id


class Scenario:
    """A session in which the chair was looked up, and the model then answers."""

    def __init__(self, *answers: Any, product: str = "chair") -> None:
        self.model = Scripted(calls("price", product=product), *answers)
        self.session = Session(self.model, [price], attempts=len(answers) - 1)
        self.id = f"c{id(self.model) % 9999}n1"
        self.model.script = [json.dumps(each(self.id)) if callable(each) else each for each in self.model.script]

    def ask(self, returns: Any) -> Any:
        return self.session.vibe("…", returns=returns)


def test_an_unknown_call_is_asked_for_again():
    known = Scenario(lambda _: {"value": 1249.5, "call": "c9"}, lambda id: {"value": 1249.5, "call": id})
    assert known.ask(Cited[float]).value.value == 1249.5
    assert "with a result; calls: " in known.model.seen[2]
    assert f"{known.id} (price)" in known.model.seen[2]


@pytest.mark.parametrize(
    ("type_", "value", "is_there"),
    [
        (float, 1249.5, True),
        (float, 1249.51, False),
        (int, 1249, False),
        (int, 20, True),
        (int, -20, False),
        (str, "EUR", True),
        (str, "in\n stock", True),
        (str, "USD", False),
        (str, "", False),
        (str, "  ", False),
        (bool, True, True),
        (bool, False, False),
        (date, "2026-11-20", True),
        (date, "2026-11-21", False),
        (Decimal, "1249.50", True),
        (Decimal, "1249.05", False),
        (list[int], [7], True),
        (Color, "red", False),
        (str | None, None, False),
    ],
)
def test_the_result_contains_the_value(type_: Any, value: Any, is_there: bool):
    found = Scenario(lambda id: {"value": value, "call": id})
    if is_there:
        assert found.ask(Cited[type_]).value.call.tool == "price"
        return
    with pytest.raises(ReturnError, match="does not contain this value"):
        found.ask(Cited[type_])


def test_a_sign_counts():
    for value, is_there in ((-80, True), (80, False)):
        found = Scenario(lambda id, value=value: {"value": value, "call": id}, product="desk")
        if is_there:
            assert found.ask(Cited[int]).value.value == value
        else:
            with pytest.raises(ReturnError):
                found.ask(Cited[int])


def test_failed_calls_cannot_be_cited():
    def fail() -> None:
        """Fail."""
        raise ToolFailure("7 things went wrong")

    model = Scripted(calls("fail"), "")
    model.script[1] = json.dumps({"value": 7, "call": f"c{id(model) % 9999}n1"})
    with pytest.raises(ReturnError, match=r"there is no tool call .* calls: none"):
        Session(model, [fail], attempts=0).vibe("…", returns=Cited[int])


def test_calls_of_earlier_messages_can_be_cited_and_are_named_once():
    scenario = Scenario("It costs 1,249.50 EUR.", lambda id: {"value": 1249.5, "call": id}, "fine")
    session = scenario.session
    assert session.vibe("How much?") == "It costs 1,249.50 EUR."
    cited = session.vibe("And as a value?", returns=Cited[float]).value
    assert (cited.id, cited.call.args, cited.call.result) == (scenario.id, {"product": "chair"}, price("chair"))
    session.vibe("Thanks.")
    notes = [
        part.text
        for turn in session.conversation.turns
        for part in turn.parts
        if isinstance(part, Note) and "Ids of tool calls" in part.text
    ]
    assert notes == [f"Ids of tool calls: {scenario.id} (price)"]


def test_without_citations_nothing_is_said_of_ids():
    scenario = Scenario('{"value": 3}')
    assert scenario.ask(int) == 3
    assert "Ids of tool calls" not in str(scenario.session.conversation.to_json())


def test_lists_of_citations_stream_to_their_end():
    scenario = Scenario(lambda id: {"value": [{"value": 1249.5, "call": id}, {"value": 20, "call": id}]})
    stream = scenario.session.stream("…", returns=list[Cited[float]])
    assert [each.value for each in stream.items()] == [1249.5, 20]


def test_a_value_that_a_tool_ends_the_run_with_is_checked_too():
    def end() -> None:
        """End."""
        raise FinishRun({"value": 3, "call": "c0"})

    with pytest.raises(ReturnError):
        Session(Scripted(calls("end")), [end], attempts=0).vibe("…", returns=Cited[int])


def test_its_json_is_the_value_and_the_id():
    cited = Scenario(lambda id: {"value": 20, "call": id}).ask(Cited[int]).value
    assert TypeAdapter(Cited[int]).dump_python(cited) == {"value": 20, "call": cited.id}
    assert jsonable_encoder({"cited": cited}) == {"cited": {"value": 20, "call": cited.id}}
    assert to_plain_json([cited]) == [{"value": 20, "call": cited.id}]
    assert pickle.loads(pickle.dumps(cited)) == cited
    with pytest.raises(AttributeError, match="does not change"):
        cited.value = 3
    assert TypeAdapter(Cited[int]).validate_python(cited) is cited
    with pytest.raises(ValidationError, match="only valid in an answer of a session"):
        TypeAdapter(Cited[int]).validate_json('{"value": 20, "call": "c"}')
