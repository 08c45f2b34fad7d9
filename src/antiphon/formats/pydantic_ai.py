"""Messages of pydantic-ai, as its `ModelMessagesTypeAdapter` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from antiphon._json import dumps
from antiphon._shape import arr, obj, several, string
from antiphon.conversation import AssistantPart, Image, Item, Native, Origin, Text, ToolResult, UserPart, legal_id
from antiphon.formats import pieces
from antiphon.wire.reading import Reader, Reading

_NOWHERE = Origin("", "pydantic-ai", "")
#: Marks for caches and the like, which say nothing.
_SILENT = ("cache-point",)


def read(data: Any) -> Reading:
    """Messages as a conversation."""
    reader = Reader(_NOWHERE)
    instructions = ""
    given = arr(obj(data).get("messages")) if "messages" in obj(data) else arr(data) or [data]
    for index, message in enumerate(map(_snake, given)):
        where = f"message {index}"
        if message.get("kind") == "response":
            _read_response(reader, where, message)
        else:
            instructions = string(message.get("instructions")) or instructions
            _read_request(reader, where, message)
    if instructions:
        reader.system.append(instructions)
    return reader.done({}, merges=True)


def _snake(value: Any) -> dict[str, Any]:
    """The fields of an object in one spelling; what is inside of them is left alone."""
    return {re.sub(r"(?<=[a-z])([A-Z])", r"_\1", key).lower(): item for key, item in obj(value).items()}


def _read_request(reader: Reader, where: str, message: dict[str, Any]) -> None:
    results: list[ToolResult] = []
    said: list[UserPart] = []
    for part in map(_snake, arr(message.get("parts"))):
        match part.get("part_kind"):
            case "system-prompt":
                if (text := string(part.get("content"))) not in reader.system:
                    reader.system.append(text)
            case "user-prompt":
                said += _content(reader, where, part.get("content"))
            case "tool-return":
                results.append(_returned(reader, where, part))
            case "retry-prompt":
                _read_retry(results, said, part)
            case kind:
                pieces.dropped(reader, where, kind, part)
    reader.items.append(Item("user", where, tuple(said), tuple(results)))


def _content(reader: Reader, where: str, content: Any) -> Iterator[Text | Image]:
    for piece in several(content):
        if isinstance(piece, str):
            if piece.strip():
                yield Text(piece)
            else:
                reader.note("empty-text", where, "empty text", "it is dropped")
            continue
        data = _snake(piece)
        kind, media_type = string(data.get("kind")), string(data.get("media_type"))
        if kind == "binary":
            yield pieces.media(reader, where, string(data.get("data")), media_type, string(data.get("identifier")))
        elif kind.endswith("-url"):
            guessed = media_type or ("image/*" if kind == "image-url" else kind.removesuffix("-url"))
            yield pieces.media(reader, where, string(data.get("url")), guessed)
        elif kind in ("text", "text-content"):
            yield Text(string(data.get("content") or data.get("text")))
        elif kind not in _SILENT:
            pieces.dropped(reader, where, kind or type(piece).__name__, piece)


def _returned(reader: Reader, where: str, part: dict[str, Any]) -> ToolResult:
    value = part.get("content")
    failed = part.get("outcome") in ("failed", "denied", "error")
    parts = several(value)
    shown = any(string(_snake(piece).get("kind")) in ("binary", "image-url") for piece in parts)
    id, name = string(part.get("tool_call_id")), string(part.get("tool_name"))
    if not shown or failed:
        return ToolResult(legal_id(id), pieces.text_of(value), failed, name)
    plain = [piece if _snake(piece).get("kind") or isinstance(piece, str) else dumps(piece) for piece in parts]
    return ToolResult(legal_id(id), tuple(_content(reader, where, plain)), False, name)


def _read_retry(results: list[ToolResult], said: list[UserPart], part: dict[str, Any]) -> None:
    """What the model was told when its call or answer was not valid."""
    text = f"{pieces.text_of(part.get('content'))}\n\nFix the errors and try again."
    if name := string(part.get("tool_name")):
        results.append(ToolResult(legal_id(string(part.get("tool_call_id"))), text, True, name))
    else:
        said.append(Text(text))


def _read_response(reader: Reader, where: str, message: dict[str, Any]) -> None:
    model = string(message.get("model_name"))
    provider = string(message.get("provider_name")) or pieces.provider_of(model)
    parts: list[AssistantPart] = []
    for part in map(_snake, arr(message.get("parts"))):
        parts += _said(reader, where, part, pieces.origin_of(string(part.get("provider_name")) or provider, model))
    if not parts:
        reader.note("empty-message", where, "a response without content", "it is dropped")
    reader.items.append(Item("assistant", where, tuple(pieces.joined(parts))))


def _said(reader: Reader, where: str, part: dict[str, Any], origin: Origin) -> Iterator[AssistantPart]:
    content = string(part.get("content"))
    signature = string(obj(part.get("provider_details")).get("thought_signature"))
    match part.get("part_kind"):
        case "text":
            signed = Native(origin, {"text": content, "thoughtSignature": signature}) if signature else None
            if content.strip():
                yield Text(content, signed)
        case "thinking":
            id = string(part.get("id"))
            hidden = id == "redacted_thinking"
            yield pieces.thinking(content, string(part.get("signature")), origin, redacted=hidden, id=id)
        case "tool-call":
            id, name, arguments = _call(part)
            native = pieces.signed(name, arguments, signature, origin)
            yield pieces.call(reader, where, id, name, arguments, native)
        case "builtin-tool-call" | "builtin-tool-return" as kind:
            yield pieces.server_part(part, "pydantic-ai", is_call=kind.endswith("call"))
        case "compaction":
            if content:
                yield pieces.told(part, "pydantic-ai", content)
            else:
                pieces.dropped(reader, where, "compaction", part)
        case "file":
            made = _snake(part.get("content"))
            shown = pieces.media(reader, where, string(made.get("data")), string(made.get("media_type")))
            yield pieces.told(part, "pydantic-ai", shown.text if isinstance(shown, Text) else "")
        case kind:
            pieces.dropped(reader, where, kind, part)


def _call(part: dict[str, Any]) -> tuple[str, str, Any]:
    arguments = part.get("args")
    return string(part.get("tool_call_id")), string(part.get("tool_name")), {} if arguments is None else arguments
