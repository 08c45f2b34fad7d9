"""Reader of pydantic-ai messages, as its `ModelMessagesTypeAdapter` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_list, as_object, as_string
from antiphon.conversation import (
    AssistantPart,
    Item,
    MediaPart,
    Origin,
    ProviderPayload,
    Text,
    ToolResult,
    UserPart,
    normalize_call_id,
)
from antiphon.formats import shared_parts as pieces
from antiphon.wire.history_reader import HistoryReader, ReadHistory

_NO_ORIGIN = Origin("", "pydantic-ai", "")
#: Kinds of parts without content, such as cache marks.
_IGNORED_KINDS = ("cache-point",)


def read(data: Any) -> ReadHistory:
    """Convert messages into a conversation."""
    reader = HistoryReader(_NO_ORIGIN)
    instructions = ""
    given = as_array(as_object(data).get("messages")) if "messages" in as_object(data) else as_array(data) or [data]
    for index, message in enumerate(map(_snake_case_keys, given)):
        where = f"message {index}"
        if message.get("kind") == "response":
            _read_response(reader, where, message)
        else:
            instructions = as_string(message.get("instructions")) or instructions
            _read_request(reader, where, message)
    if instructions:
        reader.system.append(instructions)
    return reader.done({}, merges=True)


def _snake_case_keys(value: Any) -> dict[str, Any]:
    """Return the object with its own keys in snake_case. Inner values stay unchanged."""
    return {re.sub(r"(?<=[a-z])([A-Z])", r"_\1", key).lower(): item for key, item in as_object(value).items()}


def _read_request(reader: HistoryReader, where: str, message: dict[str, Any]) -> None:
    results: list[ToolResult] = []
    said: list[UserPart] = []
    for part in map(_snake_case_keys, as_array(message.get("parts"))):
        match part.get("part_kind"):
            case "system-prompt":
                if (text := as_string(part.get("content"))) not in reader.system:
                    reader.system.append(text)
            case "user-prompt":
                said += _read_content(reader, where, part.get("content"))
            case "tool-return":
                results.append(_read_tool_return(reader, where, part))
            case "retry-prompt":
                _read_retry(results, said, part)
            case kind:
                pieces.note_dropped_part(reader, where, kind, part)
    reader.items.append(Item("user", where, tuple(said), tuple(results)))


_FILE_KINDS = ("binary", "image-url", "document-url", "audio-url", "video-url")


def _read_content(reader: HistoryReader, where: str, content: Any) -> Iterator[Text | MediaPart]:
    for piece in as_list(content):
        if isinstance(piece, str):
            if piece.strip():
                yield Text(piece)
            else:
                reader.note("empty-text", where, "empty text", "it is dropped")
            continue
        data = _snake_case_keys(piece)
        kind, media_type = as_string(data.get("kind")), as_string(data.get("media_type"))
        if kind == "binary":
            yield pieces.make_file_part(
                reader, where, as_string(data.get("data")), media_type, as_string(data.get("identifier"))
            )
        elif kind.endswith("-url"):
            guessed = media_type or ("image/*" if kind == "image-url" else kind.removesuffix("-url"))
            yield pieces.make_file_part(reader, where, as_string(data.get("url")), guessed)
        elif kind in ("text", "text-content"):
            yield Text(as_string(data.get("content") or data.get("text")))
        elif kind not in _IGNORED_KINDS:
            pieces.note_dropped_part(reader, where, kind or type(piece).__name__, piece)


def _read_tool_return(reader: HistoryReader, where: str, part: dict[str, Any]) -> ToolResult:
    value = part.get("content")
    failed = part.get("outcome") in ("failed", "denied", "error")
    parts = as_list(value)
    shown = any(as_string(_snake_case_keys(piece).get("kind")) in _FILE_KINDS for piece in parts)
    id, name = as_string(part.get("tool_call_id")), as_string(part.get("tool_name"))
    if not shown or failed:
        return ToolResult(normalize_call_id(id), pieces.format_result(value), failed, name)
    plain = [
        piece if _snake_case_keys(piece).get("kind") or isinstance(piece, str) else dump_json(piece) for piece in parts
    ]
    return ToolResult(normalize_call_id(id), tuple(_read_content(reader, where, plain)), False, name)


def _read_retry(results: list[ToolResult], said: list[UserPart], part: dict[str, Any]) -> None:
    """Read the message that told the model that its call or answer was invalid."""
    text = f"{pieces.format_result(part.get('content'))}\n\nFix the errors and try again."
    if name := as_string(part.get("tool_name")):
        results.append(ToolResult(normalize_call_id(as_string(part.get("tool_call_id"))), text, True, name))
    else:
        said.append(Text(text))


def _read_response(reader: HistoryReader, where: str, message: dict[str, Any]) -> None:
    model = as_string(message.get("model_name"))
    provider = as_string(message.get("provider_name")) or pieces.guess_provider(model)
    parts: list[AssistantPart] = []
    for part in map(_snake_case_keys, as_array(message.get("parts"))):
        parts += _read_response_part(
            reader, where, part, pieces.make_origin(as_string(part.get("provider_name")) or provider, model)
        )
    if not parts:
        reader.note("empty-message", where, "a response without content", "it is dropped")
    reader.items.append(Item("assistant", where, tuple(pieces.join_reasoning(parts))))


def _read_response_part(
    reader: HistoryReader, where: str, part: dict[str, Any], origin: Origin
) -> Iterator[AssistantPart]:
    content = as_string(part.get("content"))
    signature = as_string(as_object(part.get("provider_details")).get("thought_signature"))
    match part.get("part_kind"):
        case "text":
            signed = ProviderPayload(origin, {"text": content, "thoughtSignature": signature}) if signature else None
            if content.strip():
                yield Text(content, signed)
        case "thinking":
            id = as_string(part.get("id"))
            hidden = id == "redacted_thinking"
            yield pieces.make_reasoning(content, as_string(part.get("signature")), origin, redacted=hidden, id=id)
        case "tool-call":
            id, name, arguments = _read_call_fields(part)
            native = pieces.make_signed_call(name, arguments, signature, origin)
            yield pieces.make_call(reader, where, id, name, arguments, native)
        case "builtin-tool-call" | "builtin-tool-return" as kind:
            yield pieces.make_server_part(part, "pydantic-ai", is_call=kind.endswith("call"))
        case "compaction":
            if content:
                yield pieces.make_opaque_part(part, "pydantic-ai", content)
            else:
                pieces.note_dropped_part(reader, where, "compaction", part)
        case "file":
            made = _snake_case_keys(part.get("content"))
            shown = pieces.make_file_part(reader, where, as_string(made.get("data")), as_string(made.get("media_type")))
            yield pieces.make_opaque_part(part, "pydantic-ai", shown.text if isinstance(shown, Text) else "")
        case kind:
            pieces.note_dropped_part(reader, where, kind, part)


def _read_call_fields(part: dict[str, Any]) -> tuple[str, str, Any]:
    arguments = part.get("args")
    return as_string(part.get("tool_call_id")), as_string(part.get("tool_name")), {} if arguments is None else arguments
