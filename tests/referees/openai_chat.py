"""Checks of Chat Completions requests; the rules O1 to O13."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.referees.openai_settings import (
    check_cache,
    check_effort,
    check_fields,
    check_format,
    check_function,
    check_sampling,
)
from tests.referees.openai_tables import CHAT_FIELDS, find_model
from tests.referees.refusal import Refusal, refuse_unless

CONTENT = {
    "user": {"text", "image_url", "input_audio", "file"},
    "system": {"text"},
    "developer": {"text"},
    "assistant": {"text", "refusal"},
    "tool": {"text"},
}


def check_chat(body: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Raise a Refusal for what the documentation refuses; return the model."""
    found = find_model(body.get("model"))
    if found is None:
        words = f"The model `{body.get('model')}` does not exist or you do not have access to it."
        raise Refusal(words, status=404, code="model_not_found")
    name, model = found
    check_fields(body, CHAT_FIELDS)
    effort = body.get("reasoning_effort")
    refuse_unless(effort != "max", "Unsupported value: 'max'. Use the Responses API.", param="reasoning_effort")
    check_effort(effort, name, model["efforts"], "reasoning_effort")
    is_reasoning = bool(model["efforts"]) and (effort or model["default"]) != "none"
    check_sampling(body, is_reasoning)
    _check_size(body, model)
    _check_tools(body, name, model, is_reasoning)
    check_cache(body, model["generation"], is_chat=True)
    refuse_unless("stream_options" not in body or body.get("stream"), "'stream_options' is only allowed with 'stream'.")
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        check_format("response_format.json_schema", form.get("json_schema") or {})
    _check_messages(body.get("messages"))
    return found


def _check_size(body: Mapping[str, Any], model: Mapping[str, Any]) -> None:
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    refused = model["efforts"] and body.get("max_tokens") is not None
    refuse_unless(not refused, words, param="max_tokens", code="unsupported_parameter")
    size = body.get("max_completion_tokens") or body.get("max_tokens") or 1
    limit = model["max_output"]
    words = f"max_tokens is too large: {size}. This model supports at most {limit} completion tokens."
    refuse_unless(size <= limit, words, param="max_tokens")


def _check_tools(body: Mapping[str, Any], name: str, model: Mapping[str, Any], is_reasoning: bool) -> None:
    tools = body.get("tools")
    for each in ("tool_choice", "parallel_tool_calls"):
        words = f"Invalid value for '{each}': '{each}' is only allowed when 'tools' are specified."
        refuse_unless(body.get(each) is None or tools, words, param=each)
    if tools is None:
        return
    refuse_unless(tools, "Invalid 'tools': empty array. Expected an array with minimum length 1.", code="empty_array")
    refuse_unless(len(tools) <= 128, "Invalid 'tools': array too long. Expected an array with maximum length 128.")
    if model["chat_tools"] == "never" or (model["chat_tools"] == "none_only" and is_reasoning):
        words = (
            f"Function tools with reasoning are not supported for {name} in /v1/chat/completions. Use /v1/responses."
        )
        raise Refusal(words, param="reasoning_effort")
    names: list[str] = []
    for at, tool in enumerate(tools):
        if tool.get("type") == "function":
            check_function(f"tools[{at}].function", tool.get("function") or {})
            names.append(tool["function"]["name"])
    choice = body.get("tool_choice")
    if isinstance(choice, Mapping) and choice.get("type") == "function":
        wanted = (choice.get("function") or {}).get("name")
        refuse_unless(wanted in names, f"Tool choice '{wanted}' not found in 'tools' parameter.", param="tool_choice")


def _check_messages(messages: Any) -> None:
    words = "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
    refuse_unless(isinstance(messages, list) and messages, words, param="messages", code="empty_array")
    waiting: list[str] = []
    for at, message in enumerate(messages):
        role = message.get("role")
        refuse_unless(role in CONTENT, f"Invalid value: '{role}'.", param=f"messages[{at}].role", code="invalid_value")
        if role == "tool":
            found = message.get("tool_call_id")
            words = (
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                "'tool_calls'."
            )
            refuse_unless(found in waiting, words, param=f"messages.[{at}].role")
            waiting.remove(found)
        else:
            _check_answered(at, waiting)
        if role == "assistant" and "tool_calls" in message:
            waiting = _check_calls(at, message["tool_calls"])
        _check_content(at, role, message)
    _check_answered(len(messages), waiting)


def _check_answered(at: int, waiting: list[str]) -> None:
    words = (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(waiting)}"
    )
    refuse_unless(not waiting, words, param=f"messages.[{at}].role")


def _check_calls(at: int, calls: Any) -> list[str]:
    where = f"messages[{at}].tool_calls"
    words = f"Invalid '{where}': empty array. Expected an array with minimum length 1, but got an empty array instead."
    refuse_unless(calls, words, code="empty_array")
    for number, call in enumerate(calls):
        identity = str(call.get("id", ""))
        words = f"Invalid '{where}[{number}].id': string too long. Expected a string with maximum length 40."
        refuse_unless(1 <= len(identity) <= 40, words, code="string_above_max_length")
        function = call.get("function") or {}
        if call.get("type") == "function":
            words = f"Invalid '{where}[{number}].function.name': empty string. Expected a string with minimum length 1."
            refuse_unless(function.get("name"), words, code="empty_string")
            words = f"Invalid type for '{where}[{number}].function.arguments': expected a string."
            refuse_unless(isinstance(function.get("arguments"), str), words)
    return [call["id"] for call in calls]


def _check_content(at: int, role: str, message: Mapping[str, Any]) -> None:
    content = message.get("content")
    if content is None:
        allowed = role == "assistant" and (message.get("tool_calls") or message.get("refusal") or message.get("audio"))
        words = "Invalid value for 'content': expected a string, got null."
        refuse_unless(allowed, words, param=f"messages.[{at}].content")
        return
    if isinstance(content, str):
        return
    for part in content:
        kind = part.get("type")
        if kind == "image_url" and role != "user":
            raise Refusal(
                f"Invalid 'messages[{at}]'. Image URLs are only allowed for messages with role 'user', but this "
                f"message with role '{role}' contains an image URL."
            )
        refuse_unless(kind in CONTENT[role], f"Invalid value: '{kind}'.", param=f"messages[{at}].content")
