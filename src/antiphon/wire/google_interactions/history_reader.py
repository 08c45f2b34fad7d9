"""Reader of histories in the shape of the Interactions API."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import (
    AssistantPart,
    Audio,
    Document,
    File,
    Image,
    Item,
    OpaquePart,
    Origin,
    ProviderPayload,
    ResultPart,
    Text,
    ToolResult,
    ToolSpec,
    UserPart,
    Video,
)
from antiphon.conversation.media_types import is_text_type
from antiphon.errors import ContentError
from antiphon.wire.files import GOOGLE_FILES
from antiphon.wire.google_interactions import get_contents
from antiphon.wire.google_interactions.request import declare_interactions_function
from antiphon.wire.google_interactions.response import read_step
from antiphon.wire.google_interactions.steps import FUNCTION_NAME
from antiphon.wire.history_reader import HistoryReader, ReadHistory
from antiphon.wire.media import get_file_kind


def build_reasoning(text: str, signature: str, *, is_redacted: bool = False, id: str = "") -> dict[str, Any] | None:  # noqa: ARG001
    """Return the step of a signed thought, or None without a signature."""
    if not signature:
        return None
    summary = {"summary": [{"type": "text", "text": text}]} if text else {}
    return {"type": "thought", "signature": signature, **summary}


def read(data: object, origin: Origin) -> ReadHistory:
    """Convert a list of steps, or a complete request, into a conversation."""
    top = as_object(data) or {"input": [] if data == {} else data}
    reader = HistoryReader(origin, data)
    if text := as_string(top.get("system_instruction")):
        reader.system.append(text)
    for tool in map(as_object, as_array(top.get("tools"))):
        _read_tool(reader, tool)
    given = top.get("input", top.get("messages"))
    steps: list[object] = [{"type": "user_input", "content": given}] if isinstance(given, str) else as_array(given)
    for number, step in enumerate(steps):
        _read_step(reader, f"step {number}", as_object(step))
    rest = {k: v for k, v in top.items() if k not in ("input", "messages", "system_instruction", "tools")}
    return reader.done(rest, by_id=True, merges=True)


def _read_tool(reader: HistoryReader, tool: dict[str, Any]) -> None:
    name, description = as_string(tool.get("name")), as_string(tool.get("description"))
    if tool.get("type") != "function":
        kind = as_string(tool.get("type"))
        taken = any(kind == known.name for known in reader.tools)
        reader.tool("" if taken else kind, "", {}, ProviderPayload(reader.origin, tool))
        return
    schema = as_object(tool.get("parameters"))
    try:
        ToolSpec(name, description, schema)
        plain: object = declare_interactions_function(name, description, schema)
    except ContentError:
        plain = None
    native = None if plain == {"description": ""} | tool else ProviderPayload(reader.origin, tool)
    # A declaration kept unchanged gets parameters too, so that it is recognisable as a function.
    reader.tool(name, description, schema or ({"type": "object"} if native else {}), native)


def _read_step(reader: HistoryReader, where: str, step: dict[str, Any]) -> None:
    match as_string(step.get("type")):
        case "function_result":
            reader.items.append(Item("user", where, (), (_read_result(reader, where, step),)))
        case "user_input":
            _read_user_step(reader, where, step)
        case "function_call":
            id, name = as_string(step.get("id")), as_string(step.get("name"))
            native = next(iter(read_step(step, reader.origin))).native  # type: ignore[union-attr]
            if reader.name(name) != name:
                native = ProviderPayload(reader.origin, step)
            call = reader.call(where, id, name, step.get("arguments", {}), native, FUNCTION_NAME)
            reader.items.append(Item("assistant", where, (call,)))
        case "":
            reader.note("unreadable", where, "a step without a type", "it is dropped")
        case _:
            parts: tuple[AssistantPart, ...] = read_step(step, reader.origin)
            if parts:
                reader.items.append(Item("assistant", where, parts))
            else:
                reader.note("empty-message", where, "a step without content", "it is dropped")


def _read_user_step(reader: HistoryReader, where: str, step: dict[str, Any]) -> None:
    said = tuple(_read_user_block(reader, where, block) for block in get_contents(step))
    if said:
        reader.items.append(Item("user", where, said))
    else:
        reader.note("empty-message", where, "a step without content", "it is dropped")


def _read_user_block(reader: HistoryReader, where: str, block: dict[str, Any]) -> UserPart:
    text = as_string(block.get("text"))
    if block.get("type") == "text" and text.strip():
        return Text(text, None if block.keys() == {"type", "text"} else ProviderPayload(reader.origin, block))
    if block.get("type") == "image":
        return _read_image(reader, where, block)
    if block.get("type") in _CLASSES:
        return _read_medium(reader, block)
    return OpaquePart(ProviderPayload(reader.origin, block), "" if block.get("type") == "text" else _describe(block))


def _describe(block: dict[str, Any]) -> str:
    return f"[{as_string(block.get('mime_type')) or as_string(block.get('type')) or 'a block'}]"


_CLASSES: dict[str, type[Document | Audio | Video]] = {"document": Document, "audio": Audio, "video": Video}


def _read_medium(reader: HistoryReader, block: dict[str, Any]) -> ResultPart:
    """Return a document, audio or video. Without bytes, type and address there is none."""
    data, kind, url = (as_string(block.get(name)) for name in ("data", "mime_type", "uri"))
    named = {"mime_type": kind} if kind else {}
    if "//generativelanguage." in url and not data:
        is_same = get_file_kind(File(url, GOOGLE_FILES.origin, kind)) == block["type"]
        plain = is_same and block == {"type": block["type"], "uri": url} | named
        return reader.file(GOOGLE_FILES, block, plain, url, kind)
    plain = block == {"type": block["type"]} | ({"data": data, "mime_type": kind} if data else {"uri": url} | named)
    source = {"data": data, "media_type": kind} if data else {"url": url, "media_type": kind}
    made = reader.media(_CLASSES[block["type"]], block, plain and not is_text_type(kind), **source)
    return replace(made, text=_describe(block)) if isinstance(made, OpaquePart) else made


def _read_image(reader: HistoryReader, where: str, block: dict[str, Any]) -> Image | OpaquePart | Text:
    data, kind, url = (as_string(block.get(name)) for name in ("data", "mime_type", "uri"))
    plain = block in (
        {"type": "image", "data": data, "mime_type": kind},
        {"type": "image", "uri": url} | ({"mime_type": kind} if kind else {}),
    )
    source = {"data": data, "media_type": kind} if data else {"url": url, "media_type": kind}
    return reader.image(where, block, plain, **source)


def _read_result(reader: HistoryReader, where: str, step: dict[str, Any]) -> ToolResult:
    id, given = as_string(step.get("call_id")), step.get("result")
    is_error = step.get("is_error") is True
    name = as_string(step.get("name"))
    native = ProviderPayload(reader.origin, step)
    if isinstance(given, str) and given.strip():
        known = {"type", "call_id", "name", "result"} | ({"is_error"} if is_error else set[str]())
        return ToolResult(id, given, is_error, name=name, native=None if step.keys() <= known else native)
    blocks = [as_object(block) for block in as_array(given)]
    if blocks and all(block.get("type") in ("text", "image", *_CLASSES) for block in blocks):
        parts = tuple(_read_user_block(reader, where, block) for block in blocks)
        content = tuple(part for part in parts if isinstance(part, ResultPart))
        return ToolResult(id, content, is_error, name=name, native=native)
    text = given if isinstance(given, str) else dump_json(given)
    return ToolResult(id, text, is_error, name=name, native=native)
