"""Reading typed answers strictly, whatever stands around them."""

import json
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import validate

from antiphon.conversation import ToolCall
from antiphon.session.typed_output import TypedOutput
from tests.session.scripted import STRATEGIES
from tests.strategies import any_text, json_values

prose = st.text("abc XYZ.,!?\n'\"", max_size=30)
tags = st.lists(st.text('xy{}[]"', max_size=4), max_size=3)
records = st.fixed_dictionaries({"name": st.text(max_size=8), "age": st.integers(-99, 99), "tags": tags})
WHOLE = ["{}", "```json\n{}\n```", "```\n{}\n```", "\n {} \n"]
WANTED = {"name": str, "age": int, "tags": list[str]}


@given(records, st.sampled_from(WHOLE))
def test_an_answer_that_is_nothing_but_json_is_the_value(record: dict[str, Any], frame: str):
    expected = TypedOutput(WANTED)
    expected.accept_text(frame.replace("{}", json.dumps(record)))
    assert expected.has_value
    assert expected.value == record


@given(records | st.integers(-999, 999) | st.lists(st.integers(-9, 9)), prose, prose, st.sampled_from(WHOLE))
@settings(max_examples=100)
def test_nothing_is_fished_out_of_prose(said: Any, before: str, after: str, frame: str):
    assume((before + after).strip().strip("'\"`"))
    for wanted in (WANTED, int, float, bool, list[int], int | None):
        expected = TypedOutput(wanted)
        expected.accept_text(f"{before} {frame.replace('{}', json.dumps(said))} {after}")
        assert not expected.has_value
        assert expected.refused


@given(any_text | prose, st.sampled_from([WANTED, int, list[int], bool, str]))
@settings(max_examples=100)
def test_any_text_is_taken_or_left(text: str, wanted: Any):
    expected = TypedOutput(wanted)
    expected.accept_text(text)
    assert expected.has_value == (not expected.refused)
    assert expected.has_value or expected.describe_faults()
    for strategy in STRATEGIES:
        expected.strategy = strategy
        assert expected.has_value or expected.describe_faults() in expected.format_reminder()


@given(json_values)
@settings(max_examples=100)
def test_any_arguments_of_the_return_tool_are_taken_or_told_back(arguments: Any):
    for given_ in (arguments, {"value": arguments, "name": arguments}):
        expected = TypedOutput(WANTED)
        result = expected.accept_calls([ToolCall.read("c", "answer", given_)])["c"]
        assert result.is_error == (result.text != "Received.")
        assert result.is_error == bool(expected.refused)
        assert result.is_error != expected.has_value


@given(records)
def test_what_the_tool_takes_is_what_its_schema_describes(record: dict[str, Any]):
    expected = TypedOutput(WANTED)
    schema = expected.tool().parameters
    validate(record, schema)
    assert set(schema["required"]) == set(WANTED)
    assert not expected.accept_calls([ToolCall("c", "answer", record)])["c"].is_error
    assert expected.value == record


@given(
    st.dictionaries(st.sampled_from(["value", "name", "age", "tags", "other"]), json_values, max_size=4),
    st.sampled_from([WANTED, int, list[int], bool, str, int | None, dict[str, int]]),
)
@settings(max_examples=200)
def test_in_words_and_by_the_tool_the_same_is_taken(said: dict[str, Any], wanted: Any):
    in_words, by_tool = TypedOutput(wanted), TypedOutput(wanted)
    in_words.accept_text(json.dumps(said))
    by_tool.accept_calls([ToolCall.read("c", "answer", said)])
    assert in_words.has_value or not by_tool.has_value
    if by_tool.has_value:
        assert in_words.value == by_tool.value
