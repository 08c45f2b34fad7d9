"""Mends for bodies of the Chat Completions API."""

from __future__ import annotations

from typing import Any

from antiphon._json import dumps
from antiphon._shape import arr, obj, string


def _drop_choice(body: dict[str, Any]) -> bool:
    """O8."""
    found = [key for key in ("tool_choice", "parallel_tool_calls") if body.pop(key, None) is not None]
    return bool(found)


def _relax(body: dict[str, Any]) -> bool:
    """O10: the schema stays as it is, and is no longer promised to be followed strictly."""
    wanted = [obj(tool.get("function")) for tool in map(obj, arr(body.get("tools")))]
    wanted.append(obj(obj(body.get("response_format")).get("json_schema")))
    strict = [each for each in wanted if each.get("strict") is True]
    for each in strict:
        each["strict"] = False
    return bool(strict)


def _drop_null_required(body: dict[str, Any]) -> bool:
    """O12, as far as it is about schemas."""
    schemas = [obj(tool.get("function")).get("parameters") for tool in map(obj, arr(body.get("tools")))]
    # All of them, not only the first that has one.
    return sum(map(_without_null, schemas)) > 0


def _without_null(schema: Any) -> bool:
    changed = False
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        waiting += arr(node)
        data = obj(node)
        if "required" in data and data["required"] is None:
            del data["required"]
            changed = True
        waiting += data.values()
    return changed


def _mend_shape(body: dict[str, Any]) -> bool:
    """O0: contents that are neither text nor a list, and tools that cannot be declared."""
    changed = False
    for message in map(obj, arr(body.get("messages"))):
        content = message.get("content")
        if content is not None and not isinstance(content, str | list) and message.get("role") != "tool":
            message["content"] = dumps(content)
            changed = True
    return _mend_tools(body) or changed


def _mend_tools(body: dict[str, Any]) -> bool:
    if "tools" not in body or body["tools"] is None:
        return False
    before = body["tools"]
    tools = [tool for tool in map(_declared, map(obj, arr(before))) if tool]
    if tools == before:
        return False
    body["tools"] = tools
    if not tools:
        del body["tools"]
    return True


def _declared(tool: dict[str, Any]) -> dict[str, Any]:
    """The tool in its wrapping; empty where it has no name."""
    if tool.get("type", "function") != "function":
        return tool
    function = obj(tool.get("function")) or {k: v for k, v in tool.items() if k != "type"}
    return {"type": "function", "function": function} if string(function.get("name")) else {}


def _move_images(body: dict[str, Any]) -> bool:
    """O9 in the system's messages; what tools and models show is moved when it is read and written."""
    changed = False
    for message in map(obj, arr(body.get("messages"))):
        blocks = arr(message.get("content"))
        if message.get("role") in ("system", "developer") and any(_is_image(block) for block in blocks):
            message["content"] = [block for block in blocks if not _is_image(block)]
            changed = True
    return changed


def with_calls(messages: list[Any]) -> tuple[list[Any], list[str]]:
    """Return the messages with Anthropic's blocks as calls and results of this API, and where such blocks stood."""
    parts = [_messages_of(obj(message)) or [message] for message in messages]
    places = [f"message {n}" for n, (given, made) in enumerate(zip(messages, parts, strict=True)) if made != [given]]
    return [message for made in parts for message in made], places


def _messages_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    blocks = [obj(block) for block in arr(message.get("content"))]
    kind = {"assistant": "tool_use", "user": "tool_result"}.get(string(message.get("role")), "")
    found = [block for block in blocks if kind and block.get("type") == kind]
    if not found:
        return []
    rest = {**message, "content": [block for block in blocks if block not in found] or None}
    if kind == "tool_result":
        return [*map(_result, found), *([rest] if rest["content"] else [])]
    calls = arr(message.get("tool_calls"))
    known = {string(obj(call).get("id")) for call in calls}
    return [rest | {"tool_calls": [*calls, *(_call(block) for block in found if string(block.get("id")) not in known)]}]


def _call(block: dict[str, Any]) -> dict[str, Any]:
    given = block.get("input", {})
    function = {"name": string(block.get("name")), "arguments": given if isinstance(given, str) else dumps(given)}
    return {"id": string(block.get("id")), "type": "function", "function": function}


def _result(block: dict[str, Any]) -> dict[str, Any]:
    given = block.get("content", "")
    pieces = [obj(piece) for piece in arr(given)]
    texts = [string(piece.get("text")) or f"[{string(piece.get('type')) or 'block'}]" for piece in pieces]
    text = given if isinstance(given, str) else "\n".join(texts) if isinstance(given, list) else dumps(given)
    said = f"Error: {text}" if block.get("is_error") is True else text
    return {"role": "tool", "tool_call_id": string(block.get("tool_use_id")), "content": said}


def _is_image(block: Any) -> bool:
    return obj(block).get("type") == "image_url"


MENDS = {
    "O0": (_mend_shape, "it is written as the API wants it; tools without a name are dropped"),
    "O8": (_drop_choice, "it is left out"),
    "O9": (_move_images, "the image is dropped"),
    "O10": (_relax, "`strict` is turned off"),
    "O12": (_drop_null_required, "`required: null` is left out"),
}
