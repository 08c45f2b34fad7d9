"""Documented refusals of OpenAI's two APIs, each with its words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.referees.bodies import HI, OPEN, SCHEMA, closed, post
from tests.referees.openai_server import OpenAIServer


@pytest.fixture(scope="module")
def gpt() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


CALL = {"type": "function_call", "call_id": "call_1", "name": "w", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "x"}
FUNCTION = {"type": "function", "name": "w", "parameters": SCHEMA, "strict": True}
UPDATE = {"type": "configuration_update", "reasoning": {"effort": "low"}}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAeA=="}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "x", "annotations": []}],
}


def strict(schema: Any) -> dict[str, Any]:
    """Return a text format with a strict schema."""
    return {"text": {"format": {"type": "json_schema", "name": "a", "schema": schema, "strict": True}}}


RESPONSES: list[tuple[str, dict[str, Any], str]] = [
    ("gpt-6.1-sol", {"reasoning": {"effort": "none"}}, "Unsupported value: 'none'"),
    ("gpt-6-astra", {"reasoning": {"effort": "minimal"}}, "Unsupported value: 'minimal'"),
    ("gpt-6-sol", {"reasoning": {"effort": "minimal"}}, "Unsupported value: 'minimal'"),
    ("gpt-5.5", {"reasoning": {"effort": "max"}}, "Unsupported value: 'max'"),
    ("gpt-5", {"reasoning": {"effort": "none"}}, "Unsupported value: 'none'"),
    ("gpt-4.1", {"reasoning": {"effort": "low"}}, "'reasoning.effort' is not supported"),
    ("gpt-6.1-sol", {"temperature": 0.2}, "'temperature' is not supported"),
    ("gpt-5.5", {"top_p": 0.2}, "'top_p' is not supported"),
    ("gpt-5.5", {"max_output_tokens": 8}, "Expected a value >= 16"),
    ("gpt-5.5", {"stop": ["x"]}, "Unknown parameter: 'stop'"),
    ("gpt-5.5", {"input": [HI, CALL]}, "No tool output found for function call call_1"),
    ("gpt-5.5", {"input": [HI, OUTPUT]}, "No tool call found for function call output with call_id call_1"),
    ("gpt-5.5", {"input": [HI, REASONING]}, "without its required following item"),
    ("gpt-5.5", {"input": [HI, REASONING, HI]}, "without its required following item"),
    ("gpt-4.1", {"input": [HI, REASONING, SAID, HI]}, "only be provided to a reasoning"),
    ("gpt-5.5", {"input": [HI, REASONING, SAID, HI]}, "could not be verified"),
    ("gpt-5.5", {"input": [HI, {**CALL, "id": "call_1"}, OUTPUT]}, "Expected an ID that begins with 'fc'"),
    ("gpt-5.5", {"input": [HI, {**CALL, "id": "fc a"}, OUTPUT]}, "letters, numbers, underscores, or dashes"),
    ("gpt-5.5", {"input": [HI, {**CALL, "call_id": ""}, OUTPUT]}, "minimum length 1"),
    ("gpt-5.5", {"input": [HI, {**CALL, "call_id": "c" * 65}, OUTPUT]}, "maximum length 64"),
    (
        "gpt-5.5",
        {"input": [HI, {**CALL, "id": "fc_1"}, OUTPUT, {**CALL, "id": "fc_1"}]},
        "Duplicate item found with id fc_1",
    ),
    (
        "gpt-5.5",
        {"input": [HI, {"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}]},
        "'output_text' and 'refusal'",
    ),
    ("gpt-5.5", {"input": [HI, {"role": "user", "content": [{"type": "output_text", "text": "x"}]}]}, "'input_text'"),
    ("gpt-5.5", {"input": [HI, UPDATE]}, "configuration_update is not supported with the 'gpt-5.5' model"),
    ("gpt-6-sol", {"input": [HI, UPDATE, UPDATE]}, "Two configuration_update items in a row"),
    ("gpt-6-sol", {"input": [HI, UPDATE], "reasoning": {"mode": "pro"}}, "not supported with pro or tournament models"),
    ("gpt-6.1-sol", {"input": [HI, {**UPDATE, "reasoning": {"effort": "none"}}]}, "Unsupported value: 'none'"),
    ("gpt-5.5", strict(OPEN), "'additionalProperties' is required"),
    ("gpt-5.5", strict({**SCHEMA, "required": ["name"]}), "Missing 'age'"),
    ("gpt-5.5", strict(closed(a={"type": "string", "minLength": 1})), "'minLength' is not permitted"),
    ("gpt-5.5", strict(closed(a={"type": "string", "format": "uri"})), "'uri' is not a valid format"),
    ("gpt-5.5", strict(closed(a={"oneOf": []})), "'oneOf' is not permitted"),
    (
        "gpt-5.5",
        strict({"type": "array", "items": {"type": "string"}}),
        "schema must be a JSON Schema of 'type: \"object\"'",
    ),
    ("gpt-5.5", {"tools": [{**FUNCTION, "parameters": OPEN}]}, "Invalid schema for function 'w'"),
    ("gpt-5.5", {"tools": [{"type": "function", "function": FUNCTION}]}, "Unknown parameter: 'tools[0].function'"),
    ("gpt-5.5", {"tools": [{**FUNCTION, "async": True}]}, "async' is not supported"),
    (
        "gpt-5.5",
        {"tools": [FUNCTION], "tool_choice": {"type": "function", "name": "v"}},
        "Tool choice 'v' not found in 'tools'",
    ),
    (
        "gpt-5.5",
        {
            "tools": [FUNCTION],
            "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "v"}]},
        },
        "Tool choice 'v' not found",
    ),
    (
        "gpt-5.5",
        {
            "input": [HI, {"type": "additional_tools", "role": "developer", "tools": [FUNCTION]}],
            "tool_choice": {"type": "function", "name": "w"},
        },
        "Tool choice 'w' not found",
    ),
    ("gpt-6-sol", {"prompt_cache_options": {"ttl": "30m"}, "prompt_cache_retention": "24h"}, "cannot be used with"),
    ("gpt-5.5", {"prompt_cache_options": {"ttl": "30m"}}, "'prompt_cache_options' is not supported"),
    ("gpt-5.5", {"background": True, "store": False}, "Background mode requires"),
    ("gpt-4.1", {"include": ["reasoning.encrypted_content"]}, "Encrypted content is not supported"),
    ("gpt-5.5", {"previous_response_id": "resp_9"}, "not found"),
    ("gpt-9", {}, "does not exist"),
]


@pytest.mark.parametrize(("model", "change", "words"), RESPONSES)
def test_responses_refuse(gpt: OpenAIServer, model: str, change: dict[str, Any], words: str) -> None:
    body = {"model": model, "input": [HI], **change}
    status, answer = post(f"{gpt.url}/responses", body, {"authorization": "Bearer k"})
    assert status == 400
    assert words in answer["error"]["message"]


@pytest.mark.parametrize(
    ("model", "change"),
    [
        ("gpt-6-sol", {"reasoning": {"effort": "none"}, "temperature": 0.2}),
        ("gpt-6.1-sol", {"reasoning": {"effort": "max"}}),
        ("gpt-4.1", {"temperature": 0.2}),
        ("gpt-6-sol", {"input": [HI, UPDATE], "prompt_cache_options": {"ttl": "12h"}}),
        (
            "gpt-6-sol",
            {
                "input": [HI, {"type": "additional_tools", "role": "developer", "tools": [FUNCTION]}],
                "tool_choice": {"type": "function", "name": "w"},
            },
        ),
        ("gpt-5.5", {"input": [HI, CALL, OUTPUT], "tools": [FUNCTION]}),
        ("gpt-5.5", {"input": [HI, {**SAID, "phase": "commentary"}, HI]}),
    ],
)
def test_responses_accept(gpt: OpenAIServer, model: str, change: dict[str, Any]) -> None:
    body = {"model": model, "input": [HI], **change}
    assert post(f"{gpt.url}/responses", body, {"authorization": "Bearer k"})[0] == 200


def test_responses_want_the_reasoning_of_items_sent_with_their_id(gpt: OpenAIServer) -> None:
    key = {"authorization": "Bearer k"}
    _, first = post(f"{gpt.url}/responses", {"model": "gpt-5.5", "input": [HI], "store": False}, key)
    reasoning, message = first["output"]
    for items, words in (
        ([message], "without its required 'reasoning' item"),
        ([{"type": "item_reference", "id": reasoning["id"]}, message], "Items are not persisted when `store`"),
    ):
        body = {"model": "gpt-5.5", "input": [HI, *items, HI], "store": False}
        status, answer = post(f"{gpt.url}/responses", body, key)
        assert (status, words in answer["error"]["message"]) == (400, True)


CHAT_CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "w", "arguments": "{}"}}],
}
CHAT_RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "x"}
CHAT_TOOL = {"type": "function", "function": {"name": "w", "parameters": SCHEMA, "strict": True}}

CHAT: list[tuple[str, dict[str, Any], str]] = [
    ("gpt-5.6", {"tools": [CHAT_TOOL]}, "Function tools with reasoning are not supported"),
    ("gpt-6-sol", {"tools": [CHAT_TOOL], "reasoning_effort": "low"}, "Function tools with reasoning are not supported"),
    ("gpt-6.1-sol", {"tools": [CHAT_TOOL]}, "Function tools with reasoning are not supported"),
    ("gpt-6.1-sol", {"reasoning_effort": "none"}, "Unsupported value: 'none'"),
    ("gpt-6-sol", {"reasoning_effort": "max"}, "Unsupported value: 'max'"),
    ("gpt-5.5", {"max_tokens": 9}, "Use 'max_completion_tokens' instead"),
    ("gpt-5.5", {"temperature": 0.5}, "'temperature' is not supported"),
    ("gpt-4.1", {"reasoning_effort": "low"}, "'reasoning_effort' is not supported"),
    ("gpt-4.1", {"max_tokens": 40_000}, "max_tokens is too large"),
    ("gpt-4.1", {"messages": []}, "Invalid 'messages': empty array"),
    ("gpt-4.1", {"messages": [HI, CHAT_RESULT]}, "must be a response to a preceeding message"),
    ("gpt-4.1", {"messages": [HI, CHAT_CALL]}, "did not have response messages: call_1"),
    ("gpt-4.1", {"messages": [HI, CHAT_CALL, HI, CHAT_RESULT]}, "did not have response messages: call_1"),
    ("gpt-4.1", {"messages": [HI, {**CHAT_CALL, "tool_calls": []}]}, "tool_calls': empty array"),
    ("gpt-4.1", {"messages": [HI, {"role": "user", "content": None}]}, "expected a string, got null"),
    (
        "gpt-4.1",
        {"messages": [HI, CHAT_CALL, {**CHAT_RESULT, "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
        "Image URLs are only allowed for messages with role 'user'",
    ),
    ("gpt-4.1", {"tool_choice": "auto"}, "only allowed when 'tools' are specified"),
    ("gpt-4.1", {"parallel_tool_calls": True}, "only allowed when 'tools' are specified"),
    (
        "gpt-4.1",
        {"tools": [{"type": "function", "function": {"name": "w", "parameters": OPEN, "strict": True}}]},
        "additionalProperties",
    ),
    (
        "gpt-4.1",
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": OPEN, "strict": True}}},
        "Invalid schema for response_format",
    ),
    ("gpt-5.6", {"prompt_cache_options": {"ttl": "12h"}}, "Invalid value: '12h'"),
    ("gpt-4.1", {"stream_options": {"include_usage": True}}, "only allowed with 'stream'"),
    ("gpt-4.1", {"thinking": {}}, "Unknown parameter: 'thinking'"),
]


@pytest.mark.parametrize(("model", "change", "words"), CHAT)
def test_chat_refuses(gpt: OpenAIServer, model: str, change: dict[str, Any], words: str) -> None:
    body = {"model": model, "messages": [HI], **change}
    status, answer = post(f"{gpt.url}/chat/completions", body, {"authorization": "Bearer k"})
    assert status == 400
    assert words in answer["error"]["message"]


def test_chat_takes_tools_without_reasoning(gpt: OpenAIServer) -> None:
    for model, more in (("gpt-6-sol", {"reasoning_effort": "none"}), ("gpt-4.1", {}), ("gpt-5.4", {})):
        body = {"model": model, "messages": [HI], "tools": [CHAT_TOOL], **more}
        assert post(f"{gpt.url}/chat/completions", body, {"authorization": "Bearer k"})[0] == 200
