"""Effects and outcomes as JSON, both ways, whatever text and numbers they hold; and what two effects have in common."""

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import antiphon.session.exceptions  # noqa: F401  (what ends a run is part of the tree)
from antiphon import errors
from antiphon.conversation import Conversation, ToolCall, ToolResult
from antiphon.effects import (
    AskModel,
    AskPerson,
    CallTool,
    Effect,
    HumanAnswer,
    ModelReplied,
    Outcome,
    Print,
    ReadClock,
    ReadEnvironment,
    RunPython,
    SendBatch,
    SendMessage,
    Sleep,
    ToolReturned,
    UploadFile,
    effect_from_json,
    effect_json,
    fingerprint,
    outcome_from_json,
    outcome_to_json,
)
from antiphon.effects.codec import recorded_outcome_from_json, recorded_outcome_to_json
from antiphon.effects.types import EFFECT_TYPES, UnserializableValue
from antiphon.errors import AntiphonError, ContentError, FormatError
from antiphon.results import question
from antiphon.tools import ToolCallRecord
from antiphon.wire import RefusalDetails, Reply, ReplyState, Usage
from tests.strategies import any_text, assistant_parts, calls, conversations, json_values

#: What a program may hand over: JSON and beyond, bytes and keys of our own making among it.
#: Data that is JSON already, which has no infinite numbers.
stored = json_values.filter(lambda value: "Infinity" not in (text := json.dumps(value)) and "NaN" not in text)
values = st.recursive(
    json_values | st.binary(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["$float", "$bytes", "$object", "$", "a"]) | any_text, inner, max_size=3)
    ),
    max_leaves=8,
)


def asked(conversation: Conversation, model: str, options: dict[str, Any]) -> AskModel:
    return AskModel(model, conversation.system, conversation.turns, conversation.tools, options)


effects: st.SearchStrategy[Effect] = st.one_of(
    st.builds(asked, conversations(), any_text, st.dictionaries(any_text, values, max_size=2)),
    st.builds(SendMessage, any_text, any_text, st.none() | stored, stored, st.integers(0, 9), any_text),
    st.builds(CallTool, any_text, values, st.sampled_from(["unsure", "harmless", "inside"])),
    st.builds(AskPerson, st.sampled_from(["question", "approval"]), any_text, st.none() | calls),
    st.builds(Print, any_text),
    st.just(ReadClock()),
    st.builds(ReadEnvironment, any_text),
    st.builds(Sleep, st.floats(0, allow_nan=False)),
    st.builds(RunPython, any_text, values),
    st.builds(UploadFile, any_text, any_text, any_text, any_text, st.integers(0, 9)),
    st.builds(SendBatch, any_text, any_text, st.integers(0, 9)),
)
counts = st.none() | st.integers(0, 9)
#: What an answer may hold: its JSON is read without NaN and infinities.
answered = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)
states = st.builds(
    ReplyState,
    container=st.none() | st.just({"id": "c1"}),
    continuation_token=any_text,
    refusal=st.none() | st.builds(RefusalDetails, any_text, any_text, any_text),
    transformations=st.lists(answered, max_size=2).map(tuple),
    other=st.dictionaries(any_text, answered, max_size=2),
)
replies = st.builds(
    lambda parts, stop, usage, words, state, hops: Reply(
        tuple(parts), stop, words, usage, words, words, words, state=state, hops=hops
    ),
    st.lists(assistant_parts, max_size=3),
    st.sampled_from(["end", "tool_calls", "length", "refusal", "pause", "not_done"]),
    st.builds(Usage, counts, counts, counts, counts, counts, counts),
    any_text,
    states,
    st.integers(1, 3),
)
results = st.builds(
    ToolResult,
    st.text("abc", min_size=1, max_size=3),
    any_text,
    st.booleans(),
    semantic=st.none() | st.just(question("Which?", answer="This")),
)
records = st.builds(
    ToolCallRecord,
    any_text,
    st.dictionaries(any_text, values, max_size=2),
    st.none() | any_text,
    st.none() | any_text,
    st.floats(0, 9),
)
outcomes = st.one_of(
    st.builds(ModelReplied, replies, st.none() | st.floats(0, 9)),
    st.builds(
        ToolReturned,
        st.none() | results,
        st.none() | records,
        st.dictionaries(any_text, any_text, max_size=2),
        any_text,
        st.none() | st.tuples(values),
        st.none() | st.builds(Usage, counts, counts),
        st.none() | st.floats(0, 9),
    ),
    st.builds(HumanAnswer, any_text, st.booleans(), st.booleans()),
    values,
)


def written(data: dict[str, Any]) -> str:
    """As it stands in a file; NaN is not equal to itself, but its text is."""
    return json.dumps(data, sort_keys=True, allow_nan=False)


@given(effects)
def test_an_effect_is_read_back_as_it_was(effect: Effect):
    text = written(effect_json(effect))
    text.encode("ascii")
    again = effect_from_json(json.loads(text))
    assert written(effect_json(again)) == text
    assert fingerprint(again) == fingerprint(effect)
    assert type(again) is type(effect)


@given(outcomes)
def test_an_outcome_is_read_back_as_it_was(value: Any):
    text = written(outcome_to_json(Outcome(value)))
    again = outcome_from_json(json.loads(text))
    assert written(outcome_to_json(again)) == text
    assert type(again.value) is type(value)


def test_every_kind_has_been_tried():
    assert {each.kind for each in (AskModel, CallTool, AskPerson, Print, ReadClock, ReadEnvironment, Sleep)} | {
        RunPython.kind,
        SendMessage.kind,
        UploadFile.kind,
        SendBatch.kind,
    } == set(EFFECT_TYPES)


@given(effects, effects)
def test_two_effects_have_a_fingerprint_in_common_exactly_when_they_are_the_same(first: Effect, second: Effect):
    same = written(effect_json(first)) == written(effect_json(second))
    assert (fingerprint(first) == fingerprint(second)) == same


@given(conversations(), any_text)
def test_whatever_a_model_is_shown_changes_the_fingerprint(conversation: Conversation, text: str):
    before = fingerprint(asked(conversation, "m", {}))
    assert fingerprint(asked(conversation.fork(), "m", {})) == before
    assert fingerprint(asked(conversation, "m", {"temperature": 1})) != before
    assert fingerprint(asked(conversation, "n", {})) != before
    turns = conversation.turns
    conversation = conversation.repair()[0].add_user(f"x{text}")
    assert conversation.turns != turns
    assert fingerprint(asked(conversation, "m", {})) != before


@pytest.mark.parametrize("data", [{}, {"kind": "nope"}, {"kind": "print"}, {"kind": "print", "text": "x", "more": 1}])
def test_what_is_no_effect_is_a_format_error(data: dict[str, Any]):
    with pytest.raises(FormatError):
        effect_from_json(data)


def test_what_is_no_outcome_is_a_format_error():
    with pytest.raises(FormatError):
        outcome_from_json({"nope": 1})


def test_a_value_that_has_no_json_form_is_named():
    with pytest.raises(ContentError, match="a object has no JSON form"):
        outcome_to_json(Outcome(object()))
    with pytest.raises(ContentError, match="a dict has no JSON form"):
        outcome_to_json(Outcome({1: "a number for a key"}))


def test_an_object_that_python_made_is_named_and_asked_for_again():
    made = recorded_outcome_to_json(RunPython("f", []), Outcome([object()]))
    assert (made, recorded_outcome_from_json(made), outcome_from_json(made).value) == (
        {"unwritten": "list"},
        None,
        UnserializableValue("list"),
    )
    assert recorded_outcome_from_json(recorded_outcome_to_json(RunPython("f", []), Outcome(1))) == Outcome(1)
    with pytest.raises(ContentError, match="a object has no JSON form"):
        recorded_outcome_to_json(CallTool("f", {}), Outcome(object()))


def all_below(kind: type[BaseException]) -> list[type[BaseException]]:
    found = [kind, *(each for below in kind.__subclasses__() for each in all_below(below))]
    return [each for each in dict.fromkeys(found) if each.__module__.startswith("antiphon.")]


@pytest.mark.parametrize("kind", all_below(AntiphonError), ids=lambda kind: kind.__name__)
def test_errors_of_the_tree_come_back_with_what_they_carry(kind: type[BaseException]):
    error = kind.__new__(kind)
    error.args = ("it\0 failed \ud800",)
    if not isinstance(error, UnicodeError):
        error.status, error.request_id, error.partial, error.call_id = 429, "r1", "so f", "c1"  # type: ignore[attr-defined]
    again = outcome_from_json(json.loads(written(outcome_to_json(Outcome(error=error))))).error
    assert type(again) is kind
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_errors_made_as_usual_keep_everything():
    limited = errors.RateLimited("slow down", provider="p", status=429, text="own words", retry_after=2.5)
    overflow = errors.ContextOverflow("too long", status=400)
    overflow.tokens, overflow.limit = 9, 8
    for error in (limited, overflow, errors.PairingError("twice", "c1"), errors.StreamCut("cut", partial="Once")):
        again = outcome_from_json(outcome_to_json(Outcome(error=error))).error
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize(
    "error",
    [KeyError("a"), ValueError("x", 2), OSError(2, "no such file"), FileNotFoundError(2, "gone", "a.txt"), Exception()],
    ids=repr,
)
def test_errors_of_python_come_back_as_they_were(error: Exception):
    again = outcome_from_json(json.loads(written(outcome_to_json(Outcome(error=error))))).error
    assert type(again) is type(error)
    assert (again.args, str(again)) == (error.args, str(error))
    assert getattr(again, "errno", None) == getattr(error, "errno", None)


def test_an_error_of_an_unknown_class_keeps_its_words():
    class Private(Exception):
        pass

    again = outcome_from_json(outcome_to_json(Outcome(error=Private("mine")))).error
    assert isinstance(again, AntiphonError)
    assert str(again) == "Private: mine"
    assert not hasattr(builtins, "Private")


def test_a_call_stays_itself():
    call = ToolCall("c1", "run", {"a": "\ud800"})
    again = effect_from_json(effect_json(AskPerson("approval", "May it?", call)))
    assert again == AskPerson("approval", "May it?", call)


def test_a_path_is_written_down_and_read_again():
    assert outcome_from_json(outcome_to_json(Outcome([Path("a/b.txt")]))) == Outcome([Path("a/b.txt")])
