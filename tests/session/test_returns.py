"""Reading typed answers strictly, whatever stands around them."""

import json
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from antiphon.conversation import ToolCall
from antiphon.session.returns import Expected
from tests.strategies import any_text, json_values

prose = st.text("abc XYZ.,!?\n'\"", max_size=30)
tags = st.lists(st.text('xy{}[]"', max_size=4), max_size=3)
records = st.fixed_dictionaries({"name": st.text(max_size=8), "age": st.integers(-99, 99), "tags": tags})
WHOLE = ["{}", "```json\n{}\n```", "```\n{}\n```", "\n {} \n"]
NAMES = ["__vibe_return_name", "__vibe_return_object", "__vibe_return_nope", "__vibe_return_"]
WANTED = {"name": str, "age": int, "tags": list[str]}


@given(records, st.sampled_from(WHOLE))
def test_an_answer_that_is_nothing_but_json_is_the_value(record: dict[str, Any], frame: str):
    expected = Expected(WANTED)
    expected.take_text(frame.replace("{}", json.dumps(record)))
    assert expected.is_complete
    assert expected.value == record


@given(records | st.integers(-999, 999) | st.lists(st.integers(-9, 9)), prose, prose, st.sampled_from(WHOLE))
@settings(max_examples=100)
def test_nothing_is_fished_out_of_prose(said: Any, before: str, after: str, frame: str):
    assume((before + after).strip().strip("'\"`"))
    for wanted in (WANTED, int, float, bool, list[int], int | None):
        expected = Expected(wanted)
        expected.take_text(f"{before} {frame.replace('{}', json.dumps(said))} {after}")
        assert not expected.is_enough
        assert expected.refused


@given(any_text | prose, st.sampled_from([WANTED, int, list[int], bool, str]))
@settings(max_examples=100)
def test_any_text_is_taken_or_left(text: str, wanted: Any):
    expected = Expected(wanted)
    expected.take_text(text)
    assert expected.is_complete == (not expected.refused)
    assert expected.is_complete or expected.lack()
    assert expected.reminder()


@given(json_values, st.sampled_from(NAMES))
@settings(max_examples=100)
def test_any_arguments_of_a_return_tool_are_taken_or_told_back(arguments: Any, name: str):
    expected = Expected(WANTED)
    result = expected.take_calls([ToolCall.read("c", name, {"value": arguments, "name": arguments})])["c"]
    assert result.is_error == (result.text != "Received.")
    assert result.is_error == bool(expected.refused)


@given(records)
def test_what_the_tools_take_is_what_their_schemas_describe(record: dict[str, Any]):
    expected = Expected(WANTED)
    names = [tool.name for tool in expected.tools()]
    assert names == [f"__vibe_return_{name}" for name in WANTED]
    for name in names:
        value = record[name.removeprefix("__vibe_return_")]
        assert not expected.take_calls([ToolCall("c", name, {"value": value})])["c"].is_error
    assert expected.value == record
