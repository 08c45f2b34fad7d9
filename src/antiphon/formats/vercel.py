"""Reader of Vercel AI SDK messages: UI messages (versions 4 to 6) and model messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import (
    AssistantPart,
    Item,
    MediaPart,
    Origin,
    Text,
    ToolCall,
    ToolResult,
    UserPart,
    normalize_call_id,
)
from antiphon.formats import shared_parts as pieces
from antiphon.formats.issue import OMITTED_CODE
from antiphon.wire.history_reader import HistoryReader, ReadHistory

_NO_ORIGIN = Origin("", "vercel", "")
_OPEN_STATES = (
    "partial-call",
    "call",
    "input-streaming",
    "input-available",
    "approval-requested",
    "approval-responded",
)
#: Parts that the UI shows beside the conversation; the SDK sends none of them to a model.
_DISPLAY_ONLY_TYPES = ("source", "source-url", "source-document", "tool-approval-request", "tool-approval-response")


def read(data: Any) -> ReadHistory:
    """Convert messages into a conversation."""
    reader = HistoryReader(_NO_ORIGIN)
    given = as_array(as_object(data).get("messages")) if "messages" in as_object(data) else as_array(data) or [data]
    for index, message in enumerate(map(as_object, given)):
        _read_message(reader, f"message {index}", message)
    return reader.done({}, merges=True)


def _read_message(reader: HistoryReader, where: str, message: dict[str, Any]) -> None:
    parts = _get_parts(message)
    match message.get("role"):
        case "system" if not reader.items:
            reader.system += [as_string(part.get("text")) for part in parts if part.get("type") == "text"]
        case "system":
            reader.note("unknown-role", where, "a system message within the conversation", "it is read as the user's")
            reader.items.append(Item("user", where, tuple(_read_user_parts(reader, where, parts))))
        case "user":
            said = tuple(_read_user_parts(reader, where, parts))
            if not said:
                reader.note("empty-message", where, "a message without content", "it is dropped")
            reader.items.append(Item("user", where, said))
        case "assistant":
            _read_assistant(reader, where, parts)
        case "tool":
            found = [part for part in parts if part.get("type") == "tool-result"]
            results = tuple(_read_result(reader, where, part) for part in found)
            for part in parts:
                if part not in found:
                    _note_unread_part(reader, where, part)
            reader.items.append(Item("user", where, (), results))
        case role:
            reader.note("unknown-role", where, f"a message of role {role!r}", "it is dropped")


def _get_parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a message from any of the fields that versions use."""
    parts = [as_object(part) for part in as_array(message.get("parts"))]
    if not parts:
        content = message.get("content")
        parts = (
            [{"type": "text", "text": content}]
            if isinstance(content, str)
            else [as_object(p) for p in as_array(content)]
        )
        reasoning = [{"type": "reasoning", "text": text}] if (text := as_string(message.get("reasoning"))) else []
        parts = [*reasoning, *_iter_invocations(message), *parts]
    attached = [{"type": "file", **as_object(file)} for file in as_array(message.get("experimental_attachments"))]
    return parts + attached


def _iter_invocations(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the calls of a message without parts, with a `step-start` before each new step."""
    before: Any = 0
    for each in map(as_object, as_array(message.get("toolInvocations"))):
        if (step := each.get("step", before)) != before:
            yield {"type": "step-start"}
        before = step
        yield {"type": "tool-invocation", "toolInvocation": each}


def _read_user_parts(reader: HistoryReader, where: str, parts: list[dict[str, Any]]) -> Iterator[UserPart]:
    for part in parts:
        match part.get("type"):
            case "text":
                if as_string(part.get("text")).strip():
                    yield Text(as_string(part["text"]))
                else:
                    reader.note("empty-text", where, "empty text", "it is dropped")
            case "file" | "image":
                yield _read_media(reader, where, part)
            case _:
                _note_unread_part(reader, where, part)


def _read_media(reader: HistoryReader, where: str, part: dict[str, Any]) -> Text | MediaPart:
    source = part.get("url") or part.get("image") or part.get("data")
    kind = part.get("mediaType") or part.get("mimeType") or part.get("contentType")
    fallback = "image/*" if part.get("type") == "image" or part.get("type") == "image-data" else ""
    name = as_string(part.get("filename") or part.get("name"))
    return pieces.make_file_part(reader, where, as_string(source), as_string(kind) or fallback, name)


def _note_unread_part(reader: HistoryReader, where: str, part: dict[str, Any]) -> None:
    kind = as_string(part.get("type"))
    if kind.startswith("data-") or kind in _DISPLAY_ONLY_TYPES:
        reader.note(OMITTED_CODE, where, f"a part of kind {kind!r}, which no model is told", "it is left out")
    else:
        pieces.note_dropped_part(reader, where, kind, part)


def _read_assistant(reader: HistoryReader, where: str, parts: list[dict[str, Any]]) -> None:
    """Read an assistant message of the UI, which holds complete steps: text, calls and results."""
    said: list[AssistantPart] = []
    results: list[ToolResult] = []
    found = False

    def end_step() -> None:
        if said:
            reader.items.append(Item("assistant", where, tuple(pieces.join_reasoning(said))))
            reader.items.append(Item("user", where, (), tuple(results)))
        said.clear()
        results.clear()

    for part in parts:
        # Text after results belongs to a new step, whether marked or not.
        if part.get("type") == "step-start" or (results and part.get("type") in ("text", "reasoning")):
            end_step()
        for piece in _read_assistant_part(reader, where, part):
            found = True
            if isinstance(piece, ToolResult):
                results.append(piece)
            else:
                said.append(piece)
    end_step()
    if not found:
        reader.note("empty-message", where, "a message without content", "it is dropped")


def _read_assistant_part(
    reader: HistoryReader, where: str, part: dict[str, Any]
) -> Iterator[AssistantPart | ToolResult]:
    kind = as_string(part.get("type"))
    if kind == "text":
        if as_string(part.get("text")).strip():
            yield Text(as_string(part["text"]))
    elif kind in ("reasoning", "redacted-reasoning"):
        yield from _read_reasoning(part)
    elif kind in ("file", "image"):
        shown = _read_media(reader, where, part)
        text = shown.text if isinstance(shown, Text) else ""
        yield pieces.make_opaque_part(part, "vercel", text)
    elif kind == "tool-call":
        yield _read_call(reader, where, part)
    elif kind == "tool-result":
        yield _read_result(reader, where, part)
    elif kind == "tool-invocation":
        yield from _read_invocation(reader, where, as_object(part.get("toolInvocation")))
    elif kind == "dynamic-tool" or (kind.startswith("tool-") and "toolCallId" in part):
        named = {"toolName": kind.removeprefix("tool-")} if kind != "dynamic-tool" else {}
        yield from _read_invocation(reader, where, named | part)
    elif kind != "step-start":
        _note_unread_part(reader, where, part)


def _read_reasoning(part: dict[str, Any]) -> Iterator[AssistantPart]:
    if details := as_array(part.get("details")):
        for detail in map(as_object, details):
            signature = as_string(detail.get("signature") or detail.get("data"))
            hidden = detail.get("type") == "redacted"
            yield pieces.make_reasoning(
                as_string(detail.get("text")), signature, pieces.make_origin("anthropic", ""), redacted=hidden
            )
        return
    told = as_object(part.get("providerMetadata") or part.get("providerOptions"))
    text = as_string(part.get("text") or part.get("reasoning"))
    provider = next(iter(told), "anthropic" if part.get("signature") else "")
    opaque = as_object(told.get(provider))
    hidden = as_string(opaque.get("redactedData") or part.get("data"))
    signature = (
        hidden
        or as_string(opaque.get("signature") or opaque.get("thoughtSignature") or part.get("signature"))
        or as_string(opaque.get("reasoningEncryptedContent"))
    )
    origin = pieces.make_origin(provider, "")
    yield pieces.make_reasoning(text, signature, origin, redacted=bool(hidden), id=as_string(opaque.get("itemId")))


def _read_invocation(reader: HistoryReader, where: str, part: dict[str, Any]) -> Iterator[ToolCall | ToolResult]:
    yield _read_call(reader, where, part)
    state = as_string(part.get("state"))
    id, name = normalize_call_id(as_string(part.get("toolCallId"))), as_string(part.get("toolName"))
    if state == "output-error":
        yield ToolResult(id, as_string(part.get("errorText")) or "the tool failed", True, name)
    elif state == "output-denied" or (state == "approval-responded" and _is_denied(part)):
        reason = as_string(as_object(part.get("approval")).get("reason"))
        yield ToolResult(id, reason or "the call was not approved", True, name)
    elif state in ("result", "output-available"):
        yield _make_result(reader, where, id, name, part.get("output", part.get("result")))
    elif state not in _OPEN_STATES:
        reader.note("unreadable", where, f"a call in state {state!r}, which is not known", "it is read as open")


def _is_denied(part: dict[str, Any]) -> bool:
    return as_object(part.get("approval")).get("approved") is False


def _read_call(reader: HistoryReader, where: str, part: dict[str, Any]) -> ToolCall:
    arguments = part.get("input", part.get("args"))
    if arguments is None:
        arguments = part.get("rawInput", {})
    name = as_string(part.get("toolName"))
    told = as_object(part.get("callProviderMetadata") or part.get("providerMetadata") or part.get("providerOptions"))
    provider = next(iter(told), "")
    signature = as_string(as_object(told.get(provider)).get("thoughtSignature"))
    native = pieces.make_signed_call(name, arguments, signature, pieces.make_origin(provider, ""))
    return pieces.make_call(reader, where, as_string(part.get("toolCallId")), name, arguments, native)


def _read_result(reader: HistoryReader, where: str, part: dict[str, Any]) -> ToolResult:
    id, name = normalize_call_id(as_string(part.get("toolCallId"))), as_string(part.get("toolName"))
    output = as_object(part.get("output"))
    value = output.get("value")
    match output.get("type"):
        case "text" | "json":
            return ToolResult(id, pieces.format_result(value), False, name)
        case "error-text" | "error-json":
            return ToolResult(id, pieces.format_result(value), True, name)
        case "execution-denied":
            return ToolResult(id, as_string(output.get("reason")) or "the call was not approved", True, name)
        case "content":
            return ToolResult(id, tuple(_read_result_blocks(reader, where, as_array(value))), False, name)
        case _:
            if blocks := as_array(part.get("experimental_content")):
                return ToolResult(id, tuple(_read_result_blocks(reader, where, blocks)), False, name)
            failed = part.get("isError") is True
            return ToolResult(id, pieces.format_result(part.get("result", part.get("output"))), failed, name)


def _make_result(reader: HistoryReader, where: str, id: str, name: str, value: Any) -> ToolResult:
    blocks = as_array(as_object(value).get("content"))
    if blocks and all(as_string(as_object(block).get("type")) in ("text", "image") for block in blocks):
        # The result format of MCP tools.
        failed = as_object(value).get("isError") is True
        parts = tuple(_read_result_blocks(reader, where, blocks))
        return ToolResult(
            id, tuple(p if isinstance(p, Text) or not failed else Text("[image]") for p in parts), failed, name
        )
    return ToolResult(id, pieces.format_result(value), False, name)


def _read_result_blocks(reader: HistoryReader, where: str, blocks: list[Any]) -> Iterator[Text | MediaPart]:
    for block in map(as_object, blocks):
        if block.get("type") == "text":
            yield Text(as_string(block.get("text")))
        elif block.get("type") in ("media", "image", "image-data", "image-url", "file", "file-data", "file-url"):
            yield _read_media(reader, where, block)
        else:
            _note_unread_part(reader, where, block)
