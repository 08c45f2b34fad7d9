"""Fixes for illegal function names: declaration, calls and choice get the same new name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import ToolCall

_LEGAL_NAME = {
    "anthropic": re.compile(r"[A-Za-z0-9_-]{1,128}"),
    "openai-chat": re.compile(r"[A-Za-z0-9_-]{1,64}"),
    "openai-responses": re.compile(r"[A-Za-z0-9_-]{1,64}"),
    "gemini": re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}"),
}


def fix_tool_names(body: dict[str, Any], api: str) -> list[tuple[str, str, str]]:
    """Rename illegal names in place. Return location, finding and new name of each."""
    places = list(_NAME_ITERATORS[api](body))
    taken = {as_string(holder.get("name")) for _, holder in places}
    renamed: dict[str, str] = {}
    told: list[tuple[str, str, str]] = []
    for where, holder in places:
        name = as_string(holder.get("name"))
        if not name or _LEGAL_NAME[api].fullmatch(name):
            continue
        if name not in renamed:
            renamed[name] = _make_unused_name(ToolCall.read("id", name, {}).name, taken)
            told.append((where, f"the name {name[:80]!r}, which is not legal", f"it becomes `{renamed[name]}`"))
        holder["name"] = renamed[name]
    return told


def _make_unused_name(name: str, taken: set[str]) -> str:
    number, made = 1, name
    while made in taken:
        number += 1
        made = f"{name[:60]}_{number}"
    taken.add(made)
    return made


def _iter_anthropic_names(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, tool in enumerate(map(as_object, as_array(body.get("tools")))):
        if "input_schema" in tool:
            yield f"tool {index}", tool
    for index, message in enumerate(map(as_object, as_array(body.get("messages")))):
        for block in map(as_object, as_array(message.get("content"))):
            if block.get("type") == "tool_use":
                yield f"message {index}", block
    yield "tool_choice", as_object(body.get("tool_choice"))


def _iter_chat_names(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, tool in enumerate(map(as_object, as_array(body.get("tools")))):
        yield f"tool {index}", as_object(tool.get("function"))
    for index, function in enumerate(map(as_object, as_array(body.get("functions")))):
        yield f"function {index}", function
    for index, message in enumerate(map(as_object, as_array(body.get("messages")))):
        for call in map(as_object, as_array(message.get("tool_calls"))):
            yield f"message {index}", as_object(call.get("function"))
        yield f"message {index}", as_object(message.get("function_call"))
        if message.get("role") == "function":
            yield f"message {index}", message
    yield "tool_choice", as_object(as_object(body.get("tool_choice")).get("function"))


def _iter_responses_names(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, tool in enumerate(map(as_object, as_array(body.get("tools")))):
        if tool.get("type") == "function":
            yield f"tool {index}", tool
    for index, item in enumerate(map(as_object, as_array(body.get("input")))):
        if item.get("type") == "function_call":
            yield f"item {index}", item
    if as_object(body.get("tool_choice")).get("type") == "function":
        yield "tool_choice", as_object(body.get("tool_choice"))


def _iter_gemini_names(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    tools = body.get("tools")
    for index, tool in enumerate(map(as_object, as_array(tools) or [tools])):
        for key in ("functionDeclarations", "function_declarations"):
            for function in map(as_object, as_array(tool.get(key)) or [tool.get(key)]):
                yield f"tool {index}", function
    contents = body.get("contents", body.get("messages"))
    for index, content in enumerate(map(as_object, as_array(contents) or [contents])):
        for part in map(as_object, as_array(content.get("parts")) or [content.get("parts")]):
            for key in ("functionCall", "function_call", "functionResponse", "function_response"):
                yield f"content {index}", as_object(part.get(key))


_NAME_ITERATORS = {
    "anthropic": _iter_anthropic_names,
    "openai-chat": _iter_chat_names,
    "openai-responses": _iter_responses_names,
    "gemini": _iter_gemini_names,
}
