"""Names of functions that an API does not take: the declaration, the calls and the choice get the same new one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from antiphon._shape import arr, obj, string
from antiphon.conversation import ToolCall

_LEGAL = {
    "anthropic": re.compile(r"[A-Za-z0-9_-]{1,128}"),
    "openai-chat": re.compile(r"[A-Za-z0-9_-]{1,64}"),
    "openai-responses": re.compile(r"[A-Za-z0-9_-]{1,64}"),
    "gemini": re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}"),
}


def mend(body: dict[str, Any], api: str) -> list[tuple[str, str, str]]:
    """Rename what is not legal; each renaming as where, what was found and what it becomes."""
    places = list(_PLACES[api](body))
    taken = {string(holder.get("name")) for _, holder in places}
    renamed: dict[str, str] = {}
    told: list[tuple[str, str, str]] = []
    for where, holder in places:
        name = string(holder.get("name"))
        if not name or _LEGAL[api].fullmatch(name):
            continue
        if name not in renamed:
            renamed[name] = _unused(ToolCall.read("id", name, {}).name, taken)
            told.append((where, f"the name {name[:80]!r}, which is not legal", f"it becomes `{renamed[name]}`"))
        holder["name"] = renamed[name]
    return told


def _unused(name: str, taken: set[str]) -> str:
    number, made = 1, name
    while made in taken:
        number += 1
        made = f"{name[:60]}_{number}"
    taken.add(made)
    return made


def _anthropic(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, tool in enumerate(map(obj, arr(body.get("tools")))):
        if "input_schema" in tool:
            yield f"tool {index}", tool
    for index, message in enumerate(map(obj, arr(body.get("messages")))):
        for block in map(obj, arr(message.get("content"))):
            if block.get("type") == "tool_use":
                yield f"message {index}", block
    yield "tool_choice", obj(body.get("tool_choice"))


def _chat(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, tool in enumerate(map(obj, arr(body.get("tools")))):
        yield f"tool {index}", obj(tool.get("function"))
    for index, function in enumerate(map(obj, arr(body.get("functions")))):
        yield f"function {index}", function
    for index, message in enumerate(map(obj, arr(body.get("messages")))):
        for call in map(obj, arr(message.get("tool_calls"))):
            yield f"message {index}", obj(call.get("function"))
        yield f"message {index}", obj(message.get("function_call"))
        if message.get("role") == "function":
            yield f"message {index}", message
    yield "tool_choice", obj(obj(body.get("tool_choice")).get("function"))


def _responses(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, tool in enumerate(map(obj, arr(body.get("tools")))):
        if tool.get("type") == "function":
            yield f"tool {index}", tool
    for index, item in enumerate(map(obj, arr(body.get("input")))):
        if item.get("type") == "function_call":
            yield f"item {index}", item
    if obj(body.get("tool_choice")).get("type") == "function":
        yield "tool_choice", obj(body.get("tool_choice"))


def _gemini(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    tools = body.get("tools")
    for index, tool in enumerate(map(obj, arr(tools) or [tools])):
        for key in ("functionDeclarations", "function_declarations"):
            for function in map(obj, arr(tool.get(key)) or [tool.get(key)]):
                yield f"tool {index}", function
    contents = body.get("contents", body.get("messages"))
    for index, content in enumerate(map(obj, arr(contents) or [contents])):
        for part in map(obj, arr(content.get("parts")) or [content.get("parts")]):
            for key in ("functionCall", "function_call", "functionResponse", "function_response"):
                yield f"content {index}", obj(part.get(key))


_PLACES = {"anthropic": _anthropic, "openai-chat": _chat, "openai-responses": _responses, "gemini": _gemini}
