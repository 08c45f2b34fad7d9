"""What a local model is asked and how its words are read, without any model."""

import itertools
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from antiphon.errors import BadReply, OptionError
from antiphon.local.grammar import MAX_ITEMS, MAX_TEXT, bound_schema
from antiphon.local.prompt_template import LocalPrompt, build_prompt
from antiphon.local.stream_chunks import ChunkConverter, join_chunks

_LEAVES = st.sampled_from(
    [{"type": kind} for kind in ("string", "integer", "number", "boolean", "null", "object", "array")]
    + [{"enum": ["a", 1]}, {"const": None}, {}, {"type": "string", "format": "date"}, {"type": ["string", "null"]}]
)
_SCHEMAS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda item: {"type": "array", "items": item}, inner),
        st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda fields: {"type": "object", "properties": fields}, st.dictionaries(st.text(max_size=3), inner)),
        st.builds(lambda value: {"type": "object", "additionalProperties": value}, inner),
    ),
    max_leaves=8,
)


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and all schemas in it."""
    yield schema
    inner = [*schema.get("anyOf", []), *schema.get("properties", {}).values()]
    inner += [*schema.get("patternProperties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    for part in inner:
        yield from parts(part)


@given(_SCHEMAS)
def test_everything_in_a_schema_comes_to_an_end(schema: dict[str, Any]):
    for part in parts(bound_schema(schema)):
        match part.get("type"):
            case "string":
                assert part.get("maxLength", 0) <= MAX_TEXT
                assert "maxLength" in part or "pattern" in part
            case "array":
                assert part["maxItems"] <= MAX_ITEMS
            case "integer" | "number":
                assert {"minimum", "maximum"} <= part.keys()
            case "object":
                assert part["additionalProperties"] is False
                assert "patternProperties" not in part or part["maxProperties"] <= MAX_ITEMS
            case kind:
                assert kind in (None, "boolean", "null")


def test_bounds_of_the_schema_itself_are_kept():
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 3, "exclusiveMaximum": 9}}}
    assert bound_schema(schema)["properties"]["a"] == {"type": "integer", "minimum": 3, "exclusiveMaximum": 9}
    assert bound_schema({"type": "string", "minLength": 2, "maxLength": 5000})["maxLength"] == 5000
    assert bound_schema({"type": "array", "items": {}, "minItems": 60})["maxItems"] == 60


def test_what_may_be_null_is_asked_for_and_other_optional_fields_are_not():
    schema = {
        "type": "object",
        "properties": {
            "a": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "b": {"type": "null"},
            "c": {"type": "string"},
        },
    }
    assert bound_schema(schema)["required"] == ["a", "b"]


def test_an_option_whose_pattern_cannot_be_followed_is_left_out_where_there_are_others():
    decimal = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^(?!^[-+.]*$)[+-]?\d+$"}]}
    assert [option["type"] for option in bound_schema(decimal)["anyOf"]] == ["number"]
    assert [option["type"] for option in bound_schema(TypeAdapter(Decimal | None).json_schema())["anyOf"]] == [
        "number",
        "null",
    ]


def test_names_from_a_list_become_fields():
    schema = {"type": "object", "propertyNames": {"enum": ["n", "s"]}, "additionalProperties": {"type": "boolean"}}
    assert bound_schema(schema)["properties"] == {"n": {"type": "boolean"}, "s": {"type": "boolean"}}
    assert bound_schema(schema)["additionalProperties"] is False


def test_a_reference_to_nothing_and_endless_nesting_are_refused():
    with pytest.raises(OptionError, match="Missing"):
        bound_schema({"$ref": "#/$defs/Missing"})
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"type": "array", "items": deep}
    with pytest.raises(OptionError, match="nested too deeply"):
        bound_schema(deep)


def spoken(form: Any, pieces: list[str], finish: str = "stop", name: str = "") -> dict[str, Any]:
    """The message that a model's words become, however they are cut into pieces."""
    speech = ChunkConverter(LocalPrompt({}, form, json=True, name=name), "tiny")
    stream = [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]
    stream.append({"choices": [{"delta": {}, "finish_reason": finish}]})
    return join_chunks(chunk for piece in stream for chunk in speech.chunks(piece))["choices"][0]


def cut(text: str, places: list[int]) -> list[str]:
    marks = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in itertools.pairwise(marks)]


_PLACES = st.lists(st.integers(0, 500), max_size=12)
_TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(_TEXTS, _PLACES, st.booleans())
def test_an_answer_reads_the_same_however_it_is_cut(text: str, places: list[int], is_ascii: bool):
    said = json.dumps({"answer": text}, ensure_ascii=is_ascii)
    choice = spoken("choice", cut(said, places))
    assert (choice["message"]["content"] or "") == text
    assert choice["finish_reason"] == "stop"


@given(st.dictionaries(_TEXTS, st.recursive(_TEXTS | st.integers(), st.lists)), _PLACES)
def test_a_call_reads_the_same_however_it_is_cut(arguments: dict[str, Any], places: list[int]):
    said = json.dumps({"tool": "look", "arguments": arguments}, ensure_ascii=False)
    choice = spoken("choice", cut(said, places))
    (call,) = choice["message"]["tool_calls"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("look", arguments)
    assert choice["finish_reason"] == "tool_calls"


def test_half_a_pair_of_an_escape_is_shown_as_unreadable():
    assert spoken("choice", ['{"answer": "a\\ud83', 'd b"}'])["message"]["content"] == "a\ufffd b"


def test_an_answer_that_is_cut_off_keeps_what_came():
    choice = spoken("choice", ['{"answer": "so f', "ar"], finish="length")
    assert (choice["message"]["content"], choice["finish_reason"]) == ("so far", "length")


def test_words_outside_the_grammar_are_an_error():
    with pytest.raises(BadReply, match="left its grammar"):
        spoken("text", ["Sure, here you are."])


def body(**more: Any) -> dict[str, Any]:
    return {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}], **more}


def tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}


def test_what_comes_before_the_tools_is_always_the_same():
    first, second = (
        build_prompt(body(tools=[tool(name), tool("b")]), False).request["messages"] for name in ("a", "c")
    )
    assert first[:-1] == second[:-1]
    assert len(first) > 4


def test_two_messages_of_the_same_role_never_follow_each_other():
    call = {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    history = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Let me see.", "tool_calls": [call, call | {"id": "2"}]},
        {"role": "tool", "tool_call_id": "1", "content": "one"},
        {"role": "tool", "tool_call_id": "2", "content": "two"},
        {"role": "user", "content": "And?"},
    ]
    messages = build_prompt(body(tools=[tool("a")]) | {"messages": history}, False).request["messages"]
    roles = [message["role"] for message in messages]
    assert all(one != other for one, other in itertools.pairwise(roles))
    assert "Result of a: one" in messages[-1]["content"]


def test_models_that_are_good_at_their_own_tools_use_those():
    asked = build_prompt(body(tools=[tool("a"), tool("b")], tool_choice={"function": {"name": "b"}}), True)
    assert asked.form == "native"
    assert [each["function"]["name"] for each in asked.request["tools"]] == ["b"]
    assert asked.request["tool_choice"] == "required"


def test_definitions_of_two_tools_do_not_meet():
    def defined(name: str, kind: str) -> dict[str, Any]:
        parameters = {"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"type": kind}}}
        return {"type": "function", "function": {"name": name, "parameters": parameters}}

    asked = build_prompt(body(tools=[defined("a", "string"), defined("b", "integer")]), False)
    grammar = json.loads(asked.request["grammar"].partition("%json ")[2])
    assert grammar["$defs"]["a.X"]["type"] == "string"
    assert grammar["$defs"]["b.X"]["type"] == "integer"


def test_a_single_forced_tool_is_asked_for_its_arguments_alone():
    asked = build_prompt(body(tools=[tool("a")], tool_choice="required", stop=["}"]), False)
    assert (asked.form, asked.name) == ("call", "a")
    assert "grammar" in asked.request
    assert "stop" not in asked.request


def test_the_schema_stands_before_the_text_that_is_to_be_read():
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}}
    told = f"Anna is 31.\n\nAnswer with JSON that fits this schema: {json.dumps(schema, separators=(',', ':'))}"
    form = {"type": "json_schema", "json_schema": {"schema": schema}}
    asked = build_prompt(body(response_format=form) | {"messages": [{"role": "user", "content": told}]}, False)
    text = asked.request["messages"][-1]["content"]
    assert text.endswith("Anna is 31.")
    assert text.count("Answer with JSON") == 1
