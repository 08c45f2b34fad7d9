"""Which schemas an API guarantees answers of, and names and thinking that it would refuse."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, TypeAdapter

from antiphon.conversation import Conversation, Native, Reasoning, Text, ToolSpec
from antiphon.errors import ContentError
from antiphon.wire import APIS, Options, Target, rules, wire
from antiphon.wire.schema import closed, strict_fits
from tests.strategies import TARGETS

OPENAI = ("openai-chat", "openai-responses")


class Point(BaseModel):
    x: int
    label: str | None


class Node(BaseModel):
    value: int
    next: Node | None


class Tree(BaseModel):
    root: Node


class Defaulted(BaseModel):
    x: int = 1


class Kind(BaseModel):
    kind: Literal["a"]
    tags: list[str]
    inner: Point


@pytest.mark.parametrize(
    ("type_", "fits"),
    [
        (Point, {*APIS}),
        (Kind, {*APIS}),
        (Tree, {*OPENAI}),
        (Node, set[str]()),
        (Defaulted, {"anthropic", "gemini"}),
        (dict[str, int], {"gemini"}),
        (tuple[int, str], {"gemini"}),
        (list[dict[str, int]], {"gemini"}),
        (list[Any], {"gemini"}),
        (int, {"anthropic", "gemini"}),
    ],
)
def test_a_schema_is_native_only_where_the_api_takes_it(type_: Any, fits: set[str]):
    schema = TypeAdapter(type_).json_schema()
    assert {api for api in APIS if strict_fits(schema, api)} == fits


@pytest.mark.parametrize(
    "part",
    [
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "array", "prefixItems": [{"type": "integer"}]},
        {"type": "array"},
        {},
        {"allOf": [{"type": "integer"}]},
        {"type": "object", "properties": {}, "patternProperties": {"a": {}}},
    ],
)
def test_strict_is_asked_for_only_where_rule_o10_lets_it(part: dict[str, Any]):
    schema = {"type": "object", "properties": {"a": part}, "required": ["a"]}
    for api in OPENAI:
        assert not strict_fits(schema, api)
        conversation = Conversation()
        conversation.add_user("a")
        sent = json.loads(wire(api).encode(conversation, TARGETS[api], Options(output_schema=schema)))
        form = sent["text"]["format"] if api == "openai-responses" else sent["response_format"]["json_schema"]
        assert form["strict"] is False
    form = {"name": "answer", "strict": True, "schema": closed(schema)}
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": "a"}]}
    body |= {"response_format": {"type": "json_schema", "json_schema": form}}
    assert {found.code for found in rules.check(body, "openai-chat")} == {"O10"}


@pytest.mark.parametrize("signature", [{}, {"signature": None}, {"signature": ""}])
def test_thinking_without_a_signature_is_not_sent_back(signature: dict[str, Any]):
    target = TARGETS["anthropic"]
    thought = {"type": "thinking", "thinking": "Hm."} | signature
    reply = wire("anthropic").decode({"content": [thought, {"type": "text", "text": "Yes."}]}, target.origin)
    assert reply.reasoning == "Hm."
    for parts in (reply.parts, (Reasoning("", Native(target.origin, {"type": "redacted_thinking"})), Text("Yes."))):
        conversation = Conversation()
        conversation.add_user("a")
        conversation.add_reply(parts)
        conversation.add_user("b")
        body = json.loads(wire("anthropic").encode(conversation, target, Options()))
        assert body["messages"][1]["content"] == [{"type": "text", "text": "Yes."}]
        assert rules.check(body, "anthropic") == []


SCHEMA = {"type": "object", "properties": {}}
FOREIGN = "mcp.server/tool"
HISTORIES: dict[str, dict[str, Any]] = {
    "anthropic": {
        "tools": [{"name": FOREIGN, "input_schema": SCHEMA}],
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": FOREIGN, "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}]},
        ],
    },
    "openai-responses": {
        "tools": [{"type": "function", "name": FOREIGN, "parameters": SCHEMA}],
        "input": [
            {"role": "user", "content": "a"},
            {"type": "function_call", "call_id": "t1", "name": FOREIGN, "arguments": "{}"},
            {"type": "function_call_output", "call_id": "t1", "output": "1"},
        ],
    },
    "gemini": {
        "tools": [{"functionDeclarations": [{"name": FOREIGN, "parameters": {"type": "OBJECT"}}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "a"}]},
            {"role": "model", "parts": [{"functionCall": {"name": FOREIGN, "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": FOREIGN, "response": {"result": "1"}}}]},
        ],
    },
}


@pytest.mark.parametrize("api", HISTORIES)
def test_an_illegal_name_is_the_same_legal_one_in_every_place_and_for_every_model(api: str):
    read = wire(api).read(HISTORIES[api], TARGETS[api].origin)
    for target in (TARGETS[api], Target(TARGETS[api].provider, api, "another-model"), *TARGETS.values()):
        body = json.loads(
            wire(target.api).encode(read.conversation, target, Options(tool_choice=read.conversation.tools[0].name))
        )
        text = json.dumps(body)
        assert FOREIGN not in text
        # Declared, called and chosen, and with Gemini answered.
        assert text.count('"mcp_server_tool"') == (4 if target.api == "gemini" else 3), text
        assert rules.check(body, target.api, target.model) == []


def test_a_tool_whose_native_form_says_not_whose_it_is_is_refused_at_once():
    with pytest.raises(ContentError, match="Native"):
        ToolSpec("web_search", native={"type": "web_search"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("api", "native"),
    [
        ("anthropic", {"type": "web_search_20250305", "name": "web_search"}),
        ("openai-chat", {"type": "custom", "custom": {"name": "web_search"}}),
        ("openai-responses", {"type": "web_search"}),
        ("gemini", {"googleSearch": {}}),
    ],
)
def test_a_providers_own_tool_goes_to_its_own_api_alone(api: str, native: dict[str, Any]):
    conversation = Conversation(tools=[ToolSpec("web_search", native=Native(TARGETS[api].origin, native))])
    conversation.add_user("a")
    for other, target in TARGETS.items():
        body = json.loads(wire(other).encode(conversation, target, Options()))
        assert body.get("tools") == ([native] if other == api else None)
