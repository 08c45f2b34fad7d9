"""Messages of the Vercel AI SDK: those of the user interface (versions 4 to 6) and those for the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from antiphon._shape import arr, obj, string
from antiphon.conversation import AssistantPart, Image, Item, Origin, Text, ToolCall, ToolResult, UserPart, legal_id
from antiphon.formats import pieces
from antiphon.formats.finding import LEFT_OUT
from antiphon.wire.reading import Reader, Reading

_NOWHERE = Origin("", "vercel", "")
_OPEN = ("partial-call", "call", "input-streaming", "input-available", "approval-requested", "approval-responded")
#: What the interface shows beside the conversation; the SDK sends none of it to a model.
_SHOWN = ("source", "source-url", "source-document", "tool-approval-request", "tool-approval-response")


def read(data: Any) -> Reading:
    """Messages as a conversation."""
    reader = Reader(_NOWHERE)
    given = arr(obj(data).get("messages")) if "messages" in obj(data) else arr(data) or [data]
    for index, message in enumerate(map(obj, given)):
        _read_message(reader, f"message {index}", message)
    return reader.done({}, merges=True)


def _read_message(reader: Reader, where: str, message: dict[str, Any]) -> None:
    parts = _parts(message)
    match message.get("role"):
        case "system" if not reader.items:
            reader.system += [string(part.get("text")) for part in parts if part.get("type") == "text"]
        case "system":
            reader.note("unknown-role", where, "a system message within the conversation", "it is read as the user's")
            reader.items.append(Item("user", where, tuple(_user_parts(reader, where, parts))))
        case "user":
            said = tuple(_user_parts(reader, where, parts))
            if not said:
                reader.note("empty-message", where, "a message without content", "it is dropped")
            reader.items.append(Item("user", where, said))
        case "assistant":
            _read_assistant(reader, where, parts)
        case "tool":
            found = [part for part in parts if part.get("type") == "tool-result"]
            results = tuple(_result(reader, where, part) for part in found)
            for part in parts:
                if part not in found:
                    _note_unknown(reader, where, part)
            reader.items.append(Item("user", where, (), results))
        case role:
            reader.note("unknown-role", where, f"a message of role {role!r}", "it is dropped")


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts in whichever of the places they were kept in."""
    parts = [obj(part) for part in arr(message.get("parts"))]
    if not parts:
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else [obj(p) for p in arr(content)]
        reasoning = [{"type": "reasoning", "text": text}] if (text := string(message.get("reasoning"))) else []
        parts = [*reasoning, *_invocations(message), *parts]
    attached = [{"type": "file", **obj(file)} for file in arr(message.get("experimental_attachments"))]
    return parts + attached


def _invocations(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The calls of a message without parts, each step of them begun as in those that have some."""
    before: Any = 0
    for each in map(obj, arr(message.get("toolInvocations"))):
        if (step := each.get("step", before)) != before:
            yield {"type": "step-start"}
        before = step
        yield {"type": "tool-invocation", "toolInvocation": each}


def _user_parts(reader: Reader, where: str, parts: list[dict[str, Any]]) -> Iterator[UserPart]:
    for part in parts:
        match part.get("type"):
            case "text":
                if string(part.get("text")).strip():
                    yield Text(string(part["text"]))
                else:
                    reader.note("empty-text", where, "empty text", "it is dropped")
            case "file" | "image":
                yield _media(reader, where, part)
            case _:
                _note_unknown(reader, where, part)


def _media(reader: Reader, where: str, part: dict[str, Any]) -> Text | Image:
    source = part.get("url") or part.get("image") or part.get("data")
    kind = part.get("mediaType") or part.get("mimeType") or part.get("contentType")
    fallback = "image/*" if part.get("type") == "image" or part.get("type") == "image-data" else ""
    name = string(part.get("filename") or part.get("name"))
    return pieces.media(reader, where, string(source), string(kind) or fallback, name)


def _note_unknown(reader: Reader, where: str, part: dict[str, Any]) -> None:
    kind = string(part.get("type"))
    if kind.startswith("data-") or kind in _SHOWN:
        reader.note(LEFT_OUT, where, f"a part of kind {kind!r}, which no model is told", "it is left out")
    else:
        pieces.dropped(reader, where, kind, part)


def _read_assistant(reader: Reader, where: str, parts: list[dict[str, Any]]) -> None:
    """A message of the interface holds whole steps: what the model said, what it called, and what came of it."""
    said: list[AssistantPart] = []
    results: list[ToolResult] = []
    found = False

    def end_step() -> None:
        if said:
            reader.items.append(Item("assistant", where, tuple(pieces.joined(said))))
            reader.items.append(Item("user", where, (), tuple(results)))
        said.clear()
        results.clear()

    for part in parts:
        # What is said after results came is said in a step of its own, marked or not.
        if part.get("type") == "step-start" or (results and part.get("type") in ("text", "reasoning")):
            end_step()
        for piece in _pieces(reader, where, part):
            found = True
            if isinstance(piece, ToolResult):
                results.append(piece)
            else:
                said.append(piece)
    end_step()
    if not found:
        reader.note("empty-message", where, "a message without content", "it is dropped")


def _pieces(reader: Reader, where: str, part: dict[str, Any]) -> Iterator[AssistantPart | ToolResult]:
    kind = string(part.get("type"))
    if kind == "text":
        if string(part.get("text")).strip():
            yield Text(string(part["text"]))
    elif kind in ("reasoning", "redacted-reasoning"):
        yield from _reasoning(part)
    elif kind in ("file", "image"):
        shown = _media(reader, where, part)
        text = shown.text if isinstance(shown, Text) else ""
        yield pieces.told(part, "vercel", text)
    elif kind == "tool-call":
        yield _call(reader, where, part)
    elif kind == "tool-result":
        yield _result(reader, where, part)
    elif kind == "tool-invocation":
        yield from _invocation(reader, where, obj(part.get("toolInvocation")))
    elif kind == "dynamic-tool" or (kind.startswith("tool-") and "toolCallId" in part):
        named = {"toolName": kind.removeprefix("tool-")} if kind != "dynamic-tool" else {}
        yield from _invocation(reader, where, named | part)
    elif kind != "step-start":
        _note_unknown(reader, where, part)


def _reasoning(part: dict[str, Any]) -> Iterator[AssistantPart]:
    if details := arr(part.get("details")):
        for detail in map(obj, details):
            signature = string(detail.get("signature") or detail.get("data"))
            hidden = detail.get("type") == "redacted"
            yield pieces.thinking(
                string(detail.get("text")), signature, pieces.origin_of("anthropic", ""), redacted=hidden
            )
        return
    told = obj(part.get("providerMetadata") or part.get("providerOptions"))
    text = string(part.get("text") or part.get("reasoning"))
    provider = next(iter(told), "anthropic" if part.get("signature") else "")
    opaque = obj(told.get(provider))
    hidden = string(opaque.get("redactedData") or part.get("data"))
    signature = (
        hidden
        or string(opaque.get("signature") or opaque.get("thoughtSignature") or part.get("signature"))
        or string(opaque.get("reasoningEncryptedContent"))
    )
    origin = pieces.origin_of(provider, "")
    yield pieces.thinking(text, signature, origin, redacted=bool(hidden), id=string(opaque.get("itemId")))


def _invocation(reader: Reader, where: str, part: dict[str, Any]) -> Iterator[ToolCall | ToolResult]:
    yield _call(reader, where, part)
    state = string(part.get("state"))
    id, name = legal_id(string(part.get("toolCallId"))), string(part.get("toolName"))
    if state == "output-error":
        yield ToolResult(id, string(part.get("errorText")) or "the tool failed", True, name)
    elif state == "output-denied" or (state == "approval-responded" and _is_refused(part)):
        reason = string(obj(part.get("approval")).get("reason"))
        yield ToolResult(id, reason or "the call was not approved", True, name)
    elif state in ("result", "output-available"):
        yield _answer(reader, where, id, name, part.get("output", part.get("result")))
    elif state not in _OPEN:
        reader.note("unreadable", where, f"a call in state {state!r}, which is not known", "it is read as open")


def _is_refused(part: dict[str, Any]) -> bool:
    return obj(part.get("approval")).get("approved") is False


def _call(reader: Reader, where: str, part: dict[str, Any]) -> ToolCall:
    arguments = part.get("input", part.get("args"))
    if arguments is None:
        arguments = part.get("rawInput", {})
    name = string(part.get("toolName"))
    told = obj(part.get("callProviderMetadata") or part.get("providerMetadata") or part.get("providerOptions"))
    provider = next(iter(told), "")
    signature = string(obj(told.get(provider)).get("thoughtSignature"))
    native = pieces.signed(name, arguments, signature, pieces.origin_of(provider, ""))
    return pieces.call(reader, where, string(part.get("toolCallId")), name, arguments, native)


def _result(reader: Reader, where: str, part: dict[str, Any]) -> ToolResult:
    id, name = legal_id(string(part.get("toolCallId"))), string(part.get("toolName"))
    output = obj(part.get("output"))
    value = output.get("value")
    match output.get("type"):
        case "text" | "json":
            return ToolResult(id, pieces.text_of(value), False, name)
        case "error-text" | "error-json":
            return ToolResult(id, pieces.text_of(value), True, name)
        case "execution-denied":
            return ToolResult(id, string(output.get("reason")) or "the call was not approved", True, name)
        case "content":
            return ToolResult(id, tuple(_answered(reader, where, arr(value))), False, name)
        case _:
            if blocks := arr(part.get("experimental_content")):
                return ToolResult(id, tuple(_answered(reader, where, blocks)), False, name)
            failed = part.get("isError") is True
            return ToolResult(id, pieces.text_of(part.get("result", part.get("output"))), failed, name)


def _answer(reader: Reader, where: str, id: str, name: str, value: Any) -> ToolResult:
    blocks = arr(obj(value).get("content"))
    if blocks and all(string(obj(block).get("type")) in ("text", "image") for block in blocks):
        # What tools of MCP servers give.
        failed = obj(value).get("isError") is True
        parts = tuple(_answered(reader, where, blocks))
        return ToolResult(
            id, tuple(p if isinstance(p, Text) or not failed else Text("[image]") for p in parts), failed, name
        )
    return ToolResult(id, pieces.text_of(value), False, name)


def _answered(reader: Reader, where: str, blocks: list[Any]) -> Iterator[Text | Image]:
    for block in map(obj, blocks):
        if block.get("type") == "text":
            yield Text(string(block.get("text")))
        elif block.get("type") in ("media", "image", "image-data", "image-url", "file", "file-data", "file-url"):
            yield _media(reader, where, block)
        else:
            _note_unknown(reader, where, block)
