"""Histories in the shape of Anthropic's Messages API."""

from __future__ import annotations

from typing import Any

from antiphon._shape import arr, obj, string
from antiphon.conversation import (
    AssistantPart,
    Foreign,
    Image,
    Item,
    Native,
    Origin,
    Text,
    ToolCall,
    ToolResult,
    UserPart,
)
from antiphon.wire.anthropic.request import ID, NAME
from antiphon.wire.anthropic.response import is_plain, read_part
from antiphon.wire.naming import is_universal
from antiphon.wire.reading import Reader, Reading


def read(data: object, origin: Origin) -> Reading:
    """A list of messages, or a whole request, as a conversation."""
    top: dict[str, Any] = obj(data) or {"messages": arr(data)}
    reader = Reader(origin, data)
    reader.system.extend(_texts(top.get("system")))
    for tool in map(obj, arr(top.get("tools"))):
        if not string(tool.get("name")) and not string(tool.get("type")):
            reader.note("unreadable", "tools", "a tool without a name", "it is dropped")
            continue
        schema = obj(tool.get("input_schema")) or ({"type": "object"} if "input_schema" in tool else {})
        plain = is_plain(tool, "name", "description", "input_schema") and tool.get("type") in (None, "custom")
        plain = plain and is_universal("id", string(tool.get("name")))
        native = Native(origin, _unmarked(tool))
        reader.tool(string(tool.get("name")), string(tool.get("description")), schema, None if plain else native)
    for index, message in enumerate(arr(top.get("messages"))):
        read_message(reader, f"message {index}", obj(message))
    rest = {k: v for k, v in top.items() if k not in ("messages", "system", "tools")}
    return reader.done(rest, merges=True)


def read_message(reader: Reader, where: str, message: dict[str, Any]) -> None:
    role = message.get("role")
    if role == "system":
        text = "\n".join(_texts(message.get("content")))
        reader.items.append(Item("user", where, (Foreign(Native(reader.origin, message), text),)))
        return
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else [obj(b) for b in arr(content)]
    if role not in ("user", "assistant"):
        reader.note("unknown-role", where, f"a message of role {role!r}", "it is read as the user's")
    if not blocks:
        reader.note("empty-message", where, "a message without content", "it is dropped")
    if role == "assistant":
        kept = [_unmarked(block) for block in blocks if not _is_blank(reader, where, block)]
        reader.items.append(Item("assistant", where, tuple(_read_assistant(reader, where, block) for block in kept)))
        return
    results: list[ToolResult] = []
    parts: list[UserPart] = []
    for block in map(_unmarked, blocks):
        if block.get("type") == "tool_result":
            if parts:
                id = string(block.get("tool_use_id"))
                found = f"text before the result of call {id!r}"
                reader.note("misplaced-result", where, found, "it goes behind it", id)
            results.append(_read_result(reader, where, block))
        elif not _is_blank(reader, where, block):
            parts.append(_read_user(reader, where, block))
    reader.items.append(Item("user", where, tuple(parts), tuple(results)))


def _is_blank(reader: Reader, where: str, block: dict[str, Any]) -> bool:
    if not isinstance(block.get("type"), str):
        reader.note("unreadable", where, "a block without a type", "it is dropped")
        return True
    blank = block.get("type") == "text" and not string(block.get("text")).strip()
    if blank:
        reader.note("empty-text", where, "empty text", "it is dropped")
    return blank


def _read_assistant(reader: Reader, where: str, block: dict[str, Any]) -> AssistantPart:
    part = read_part(block, reader.origin)
    if isinstance(part, ToolCall):
        id = string(block.get("id"))
        part = reader.call(where, id, string(block.get("name")), block.get("input", {}), part.native, NAME)
        if not ID.fullmatch(id):
            reader.note("bad-id", where, f"call id {id!r} is not legal", f"the call becomes {part.id!r}", id)
    return part


def _read_user(reader: Reader, where: str, block: dict[str, Any]) -> Text | Image | Foreign:
    match block.get("type"):
        case "text":
            return Text(string(block.get("text")), None if is_plain(block, "text") else Native(reader.origin, block))
        case "image":
            source = obj(block.get("source"))
            names = {"base64": ("data", "media_type"), "url": ("url",)}.get(string(source.get("type")))
            if names is None:
                return Foreign(Native(reader.origin, block), "[image]")
            plain = is_plain(block, "source")
            return reader.image(where, block, plain, **{name: string(source.get(name)) for name in names})
        case kind:
            return Foreign(Native(reader.origin, block), f"[{kind}]")


def _read_result(reader: Reader, where: str, block: dict[str, Any]) -> ToolResult:
    id, content = string(block.get("tool_use_id")), block.get("content", "")
    is_error = block.get("is_error") is True
    blocks = [obj(piece) for piece in arr(content)]
    typed = [piece for piece in blocks if isinstance(piece.get("type"), str)]
    parts = content if isinstance(content, str) else tuple(_read_user(reader, where, piece) for piece in typed)
    broken = len(typed) < len(blocks)
    if broken:
        reader.note("bad-result", where, f"the result of call {id!r} holds a block without a type", "it is dropped", id)
    if is_error and not isinstance(parts, str) and any(isinstance(part, Image) for part in parts):
        reader.note("bad-result", where, f"the error result of call {id!r} holds an image", "the image is dropped", id)
        parts = tuple(Text("[image]") if isinstance(part, Image) else part for part in parts)
        broken = True
    # Where our own encoding would put words in place of nothing, or leave it out, theirs is kept.
    texts = [content] if isinstance(content, str) else [part.text for part in parts if isinstance(part, Text)]
    blank = not content or any(not text.strip() for text in texts)
    plain = is_plain(block, "tool_use_id", "content", "is_error") and not blank
    native = None if plain or broken else Native(reader.origin, block)
    return ToolResult(id, parts, is_error, native=native)


def _unmarked(block: dict[str, Any]) -> dict[str, Any]:
    """Without its cache markers, also those in a result: the encoder places them, and the API takes only four."""
    bare = {k: v for k, v in block.items() if k != "cache_control"}
    if inner := arr(block.get("content")):
        bare["content"] = [_unmarked(obj(piece)) if obj(piece) else piece for piece in inner]
    return block if bare == block else bare


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [string(obj(block).get("text")) for block in arr(content)]
