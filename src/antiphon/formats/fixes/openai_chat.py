"""Fixes for bodies of the Chat Completions API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import RepairAction
from antiphon.formats.fixes import HistoryFixer


def _drop_tool_choice(body: dict[str, Any]) -> bool:
    """Fix O8: drop tool options without tools."""
    found = [key for key in ("tool_choice", "parallel_tool_calls") if body.pop(key, None) is not None]
    return bool(found)


def _disable_strict(body: dict[str, Any]) -> bool:
    """Fix O10: keep the schema but turn `strict` off."""
    wanted = [as_object(tool.get("function")) for tool in map(as_object, as_array(body.get("tools")))]
    wanted.append(as_object(as_object(body.get("response_format")).get("json_schema")))
    strict = [each for each in wanted if each.get("strict") is True]
    for each in strict:
        each["strict"] = False
    return bool(strict)


def _drop_null_required(body: dict[str, Any]) -> bool:
    """Fix O12 for schemas: drop `required: null`."""
    schemas = [
        as_object(tool.get("function")).get("parameters") for tool in map(as_object, as_array(body.get("tools")))
    ]
    # Fix all schemas: `any` would stop at the first one that changed.
    return sum(map(_remove_null_required, schemas)) > 0


def _remove_null_required(schema: Any) -> bool:
    changed = False
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        waiting += as_array(node)
        data = as_object(node)
        if "required" in data and data["required"] is None:
            del data["required"]
            changed = True
        waiting += data.values()
    return changed


def _fix_shape(body: dict[str, Any]) -> bool:
    """Fix O0: contents that are neither text nor a list, and tools that cannot be declared."""
    changed = False
    for message in map(as_object, as_array(body.get("messages"))):
        content = message.get("content")
        if content is not None and not isinstance(content, str | list) and message.get("role") != "tool":
            message["content"] = dump_json(content)
            changed = True
    return _fix_tools(body) or changed


def _fix_tools(body: dict[str, Any]) -> bool:
    if "tools" not in body or body["tools"] is None:
        return False
    before = body["tools"]
    tools = [tool for tool in map(_wrap_declaration, map(as_object, as_array(before))) if tool]
    if tools == before:
        return False
    body["tools"] = tools
    if not tools:
        del body["tools"]
    return True


def _wrap_declaration(tool: dict[str, Any]) -> dict[str, Any]:
    """Return the tool in its wrapper, or {} if it has no name."""
    if tool.get("type", "function") != "function":
        return tool
    function = as_object(tool.get("function")) or {k: v for k, v in tool.items() if k != "type"}
    return {"type": "function", "function": function} if as_string(function.get("name")) else {}


def _drop_system_images(body: dict[str, Any]) -> bool:
    """Fix O9 in system messages. Images of tools and models are moved by reading and encoding."""
    changed = False
    for message in map(as_object, as_array(body.get("messages"))):
        blocks = as_array(message.get("content"))
        if message.get("role") in ("system", "developer") and any(_is_image(block) for block in blocks):
            message["content"] = [block for block in blocks if not _is_image(block)]
            changed = True
    return changed


def _convert_anthropic_blocks(messages: list[Any]) -> tuple[list[Any], list[RepairAction]]:
    """Return the messages with Anthropic's blocks converted to calls and results, and the changes."""
    parts = [_convert_message(as_object(message)) or [message] for message in messages]
    places = [f"message {n}" for n, (given, made) in enumerate(zip(messages, parts, strict=True)) if made != [given]]
    found = "a call or a result as a block of Anthropic's Messages API"
    changes = [RepairAction("bad-item", where, found, "it becomes one of this API") for where in places]
    return [message for made in parts for message in made] if changes else messages, changes


def _convert_message(message: dict[str, Any]) -> list[dict[str, Any]]:
    blocks = [as_object(block) for block in as_array(message.get("content"))]
    kind = {"assistant": "tool_use", "user": "tool_result"}.get(as_string(message.get("role")), "")
    found = [block for block in blocks if kind and block.get("type") == kind]
    if not found:
        return []
    rest = {**message, "content": [block for block in blocks if block not in found] or None}
    if kind == "tool_result":
        return [*map(_convert_result, found), *([rest] if rest["content"] else [])]
    calls = as_array(message.get("tool_calls"))
    known = {as_string(as_object(call).get("id")) for call in calls}
    return [
        rest
        | {
            "tool_calls": [
                *calls,
                *(_convert_call(block) for block in found if as_string(block.get("id")) not in known),
            ]
        }
    ]


def _convert_call(block: dict[str, Any]) -> dict[str, Any]:
    given = block.get("input", {})
    function = {
        "name": as_string(block.get("name")),
        "arguments": given if isinstance(given, str) else dump_json(given),
    }
    return {"id": as_string(block.get("id")), "type": "function", "function": function}


def _convert_result(block: dict[str, Any]) -> dict[str, Any]:
    given = block.get("content", "")
    pieces = [as_object(piece) for piece in as_array(given)]
    texts = [as_string(piece.get("text")) or f"[{as_string(piece.get('type')) or 'block'}]" for piece in pieces]
    text = given if isinstance(given, str) else "\n".join(texts) if isinstance(given, list) else dump_json(given)
    said = f"Error: {text}" if block.get("is_error") is True else text
    return {"role": "tool", "tool_call_id": as_string(block.get("tool_use_id")), "content": said}


def _is_image(block: Any) -> bool:
    return as_object(block).get("type") == "image_url"


def _iter_names(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
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


_FIXES = {
    "O0": (_fix_shape, "it is written as the API wants it; tools without a name are dropped"),
    "O8": (_drop_tool_choice, "it is left out"),
    "O9": (_drop_system_images, "the image is dropped"),
    "O10": (_disable_strict, "`strict` is turned off"),
    "O12": (_drop_null_required, "`required: null` is left out"),
}

FIXER = HistoryFixer(
    fixes=_FIXES,
    legal_name=re.compile(r"[A-Za-z0-9_-]{1,64}"),
    iter_names=_iter_names,
    clean=_convert_anthropic_blocks,
)
"""The fixes for histories of this API."""
