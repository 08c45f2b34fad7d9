"""Reader of histories in the shape of Anthropic's Messages API."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import (
    AssistantPart,
    Document,
    Item,
    Media,
    MediaPart,
    OpaquePart,
    Origin,
    ProviderPayload,
    ResultPart,
    Text,
    ToolCall,
    ToolResult,
    UserPart,
)
from antiphon.wire.anthropic.request import ID, NAME
from antiphon.wire.anthropic.response import read_anthropic_blocks
from antiphon.wire.files import ANTHROPIC_FILES
from antiphon.wire.history_reader import HistoryReader, ReadHistory
from antiphon.wire.names_and_ids import is_universally_legal


def build_reasoning(text: str, signature: str, *, is_redacted: bool = False, id: str = "") -> dict[str, Any] | None:  # noqa: ARG001
    """Return the block of signed or redacted thinking, or None without a signature."""
    if is_redacted and signature:
        return {"type": "redacted_thinking", "data": signature}
    return {"type": "thinking", "thinking": text, "signature": signature} if signature else None


def read(data: object, origin: Origin) -> ReadHistory:
    """Convert a list of messages, or a complete request, into a conversation."""
    top: dict[str, Any] = as_object(data) or {"messages": as_array(data)}
    reader = HistoryReader(origin, data)
    reader.system.extend(_extract_texts(top.get("system")))
    for tool in map(as_object, as_array(top.get("tools"))):
        if not as_string(tool.get("name")) and not as_string(tool.get("type")):
            reader.note("unreadable", "tools", "a tool without a name", "it is dropped")
            continue
        schema = as_object(tool.get("input_schema")) or ({"type": "object"} if "input_schema" in tool else {})
        plain = _has_only_fields(tool, "name", "description", "input_schema") and tool.get("type") in (None, "custom")
        plain = plain and is_universally_legal("id", as_string(tool.get("name")))
        native = ProviderPayload(origin, _strip_cache_control(tool))
        reader.tool(as_string(tool.get("name")), as_string(tool.get("description")), schema, None if plain else native)
    for index, message in enumerate(as_array(top.get("messages"))):
        read_anthropic_message(reader, f"message {index}", as_object(message))
    rest = {k: v for k, v in top.items() if k not in ("messages", "system", "tools")}
    return reader.done(rest, merges=True)


def read_anthropic_message(reader: HistoryReader, where: str, message: dict[str, Any]) -> None:
    role = message.get("role")
    if role == "system":
        text = "\n".join(_extract_texts(message.get("content")))
        reader.items.append(Item("user", where, (OpaquePart(ProviderPayload(reader.origin, message), text),)))
        return
    content = message.get("content")
    blocks = (
        [{"type": "text", "text": content}] if isinstance(content, str) else [as_object(b) for b in as_array(content)]
    )
    if role not in ("user", "assistant"):
        reader.note("unknown-role", where, f"a message of role {role!r}", "it is read as the user's")
    if not blocks:
        reader.note("empty-message", where, "a message without content", "it is dropped")
    if role == "assistant":
        kept = [_strip_cache_control(block) for block in blocks if not _is_droppable(reader, where, block)]
        reader.items.append(
            Item("assistant", where, tuple(_read_assistant_block(reader, where, block) for block in kept))
        )
        return
    results: list[ToolResult] = []
    parts: list[UserPart] = []
    for block in map(_strip_cache_control, blocks):
        if block.get("type") == "tool_result":
            if parts:
                id = as_string(block.get("tool_use_id"))
                found = f"text before the result of call {id!r}"
                reader.note("misplaced-result", where, found, "it goes behind it", id)
            results.append(_read_tool_result(reader, where, block))
        elif not _is_droppable(reader, where, block):
            parts.append(_read_user_block(reader, where, block))
    reader.items.append(Item("user", where, tuple(parts), tuple(results)))


def _is_droppable(reader: HistoryReader, where: str, block: dict[str, Any]) -> bool:
    if not isinstance(block.get("type"), str):
        reader.note("unreadable", where, "a block without a type", "it is dropped")
        return True
    blank = block.get("type") == "text" and not as_string(block.get("text")).strip()
    if blank:
        reader.note("empty-text", where, "empty text", "it is dropped")
    return blank


def _read_assistant_block(reader: HistoryReader, where: str, block: dict[str, Any]) -> AssistantPart:
    (part,) = read_anthropic_blocks([block], reader.origin)
    if isinstance(part, ToolCall):
        id = as_string(block.get("id"))
        part = reader.call(where, id, as_string(block.get("name")), block.get("input", {}), part.native, NAME)
        if not ID.fullmatch(id):
            reader.note("bad-id", where, f"call id {id!r} is not legal", f"the call becomes {part.id!r}", id)
    return part


def _read_user_block(reader: HistoryReader, where: str, block: dict[str, Any]) -> ResultPart:
    match block.get("type"):
        case "text":
            return Text(
                as_string(block.get("text")),
                None if _has_only_fields(block, "text") else ProviderPayload(reader.origin, block),
            )
        case "image":
            source = as_object(block.get("source"))
            if source.get("type") == "file":
                plain = _has_only_fields(block, "source")
                return reader.file(ANTHROPIC_FILES, block, plain, source.get("file_id"), "image/*")
            names = {"base64": ("data", "media_type"), "url": ("url",)}.get(as_string(source.get("type")))
            if names is None:
                return OpaquePart(ProviderPayload(reader.origin, block), "[image]")
            plain = _has_only_fields(block, "source")
            return reader.image(where, block, plain, **{name: as_string(source.get(name)) for name in names})
        case "document":
            return _read_document(reader, block)
        case kind:
            return OpaquePart(ProviderPayload(reader.origin, block), f"[{kind}]")


def _read_document(reader: HistoryReader, block: dict[str, Any]) -> ResultPart:
    source, citations = as_object(block.get("source")), block.get("citations")
    title = as_string(block.get("title"))
    kept = {"title": title, "citations": citations == {"enabled": True}}
    plain = _has_only_fields(block, "source", "title", "citations") and citations in (None, {"enabled": True})
    data, media_type = as_string(source.get("data")), as_string(source.get("media_type"))
    match source.get("type"):
        case "base64":
            return reader.media(Document, block, plain, data=data, media_type=media_type, **kept)
        case "url":
            return reader.media(Document, block, plain, url=as_string(source.get("url")), **kept)
        case "text" if data.strip():
            content = b64encode(data.encode("utf-8", "replace")).decode()
            plain = plain and media_type == "text/plain" and not data.startswith("\ufeff")
            return reader.media(Document, block, plain, data=content, media_type="text/plain", **kept)
        case "file":
            return reader.file(ANTHROPIC_FILES, block, _has_only_fields(block, "source"), source.get("file_id"))
        case _:
            return OpaquePart(ProviderPayload(reader.origin, block), f"[document: {title}]" if title else "[document]")


def _read_tool_result(reader: HistoryReader, where: str, block: dict[str, Any]) -> ToolResult:
    id, content = as_string(block.get("tool_use_id")), block.get("content", "")
    is_error = block.get("is_error") is True
    blocks = [as_object(piece) for piece in as_array(content)]
    typed = [piece for piece in blocks if isinstance(piece.get("type"), str)]
    parts = content if isinstance(content, str) else tuple(_read_user_block(reader, where, piece) for piece in typed)
    broken = len(typed) < len(blocks)
    if broken:
        reader.note("bad-result", where, f"the result of call {id!r} holds a block without a type", "it is dropped", id)
    if is_error and not isinstance(parts, str) and any(isinstance(part, MediaPart) for part in parts):
        held = next(part.kind if isinstance(part, Media) else "file" for part in parts if isinstance(part, MediaPart))
        which = f"an {held}" if held == "image" else f"a {held}"
        reader.note("bad-result", where, f"the error result of call {id!r} holds {which}", f"the {held} is dropped", id)
        parts = tuple(Text(f"[{held}]") if isinstance(part, MediaPart) else part for part in parts)
        broken = True
    # Keep the original block if our encoding would replace or omit its blank content.
    texts = [content] if isinstance(content, str) else [part.text for part in parts if isinstance(part, Text)]
    blank = not content or any(not text.strip() for text in texts)
    plain = _has_only_fields(block, "tool_use_id", "content", "is_error") and not blank
    native = None if plain or broken else ProviderPayload(reader.origin, block)
    return ToolResult(id, parts, is_error, native=native)


def _has_only_fields(block: dict[str, Any], *names: str) -> bool:
    """Return whether a block has no other fields than these, so its original need not be kept."""
    return all(block.get(name) is None for name in block if name not in ("type", *names))


def _strip_cache_control(block: dict[str, Any]) -> dict[str, Any]:
    """Return the block without cache markers, also inside results.

    The encoder places its own, and the API takes only four.
    """
    bare = {k: v for k, v in block.items() if k != "cache_control"}
    if inner := as_array(block.get("content")):
        bare["content"] = [_strip_cache_control(as_object(piece)) if as_object(piece) else piece for piece in inner]
    return block if bare == block else bare


def _extract_texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [as_string(as_object(block).get("text")) for block in as_array(content)]
