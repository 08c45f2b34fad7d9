"""Reader of LangChain messages: `messages_to_dict`, `dumpd`, their JavaScript forms, and the flat form
of its servers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from antiphon._base.json_access import as_array, as_list, as_object, as_string
from antiphon.conversation import (
    AssistantPart,
    Item,
    MediaPart,
    Origin,
    Text,
    ToolResult,
    UserPart,
    normalize_call_id,
    shorten_call_id,
)
from antiphon.formats import shared_parts as pieces
from antiphon.wire.history_reader import HistoryReader, ReadHistory

_NO_ORIGIN = Origin("", "langchain", "")
_KIND_OF_CLASS = {"humanmessage": "human", "aimessage": "ai", "systemmessage": "system", "toolmessage": "tool"}
#: Kinds of messages written in short form.
_KIND_OF_ROLE = {"human": "human", "user": "human", "ai": "ai", "assistant": "ai", "system": "system"}
#: Serialised JavaScript objects do not name their class; these fields identify it.
_KIND_OF_FIELD = {"tool_call_id": "tool", "tool_calls": "ai", "tool_call_chunks": "ai", "usage_metadata": "ai"}
#: Blocks that repeat a message's calls in the provider's own form.
_REPEATED_BLOCKS = (
    "tool_use",
    "function_call",
    "tool_call",
    "input_json_delta",
    "tool_call_chunk",
    "invalid_tool_call",
)


def read(data: Any) -> ReadHistory:
    """Convert messages into a conversation."""
    reader = HistoryReader(_NO_ORIGIN)
    given = as_array(as_object(data).get("messages")) if "messages" in as_object(data) else as_array(data) or [data]
    for index, message in enumerate(as_object(expand_short_message(each)) for each in given):
        _read_message(reader, f"message {index}", _find_kind(message), _get_fields(message))
    return reader.done({}, merges=True)


def expand_short_message(message: Any) -> Any:
    """Return a message. Expand the short form, which is a pair of role and content."""
    pair = as_array(message)
    if len(pair) != 2 or as_string(pair[0]) not in _KIND_OF_ROLE:
        return message
    return {"type": _KIND_OF_ROLE[pair[0]], "content": pair[1]}


def _find_kind(message: dict[str, Any]) -> str:
    name = as_string(message.get("type"))
    if message.get("lc") == 1:
        name = as_string(["", *as_array(message.get("id"))][-1])
    if not name and "lc_kwargs" in message:
        name = next((kind for field, kind in _KIND_OF_FIELD.items() if field in _get_fields(message)), "")
    name = name.removesuffix("Chunk").lower()
    return _KIND_OF_CLASS.get(name, name.removesuffix("message"))


def _get_fields(message: dict[str, Any]) -> dict[str, Any]:
    if message.get("lc") == 1:
        return as_object(message.get("kwargs"))
    return as_object(message.get("data")) or as_object(message.get("lc_kwargs")) | message


def _read_message(reader: HistoryReader, where: str, kind: str, data: dict[str, Any]) -> None:
    role = as_string(data.get("role")) if kind in ("chat", "generic") else kind
    match role:
        case "human" | "user":
            reader.items.append(Item("user", where, tuple(_read_user_parts(reader, where, data))))
        case "ai" | "assistant":
            _read_assistant(reader, where, data)
        case "system" | "developer" if not reader.items:
            reader.system += [part.text for part in _read_content(reader, where, data) if isinstance(part, Text)]
        case "system" | "developer":
            reader.note("unknown-role", where, "a system message within the conversation", "it is read as the user's")
            reader.items.append(Item("user", where, tuple(_read_user_parts(reader, where, data))))
        case "tool" | "function":
            reader.items.append(Item("user", where, (), (_read_result(reader, where, data),)))
        case "remove":
            found = f"an order to remove message {as_string(data.get('id'))!r}"
            reader.note("unreadable", where, found, "it is dropped; the message stays")
        case _:
            reader.note("unknown-role", where, f"a message of role {role!r}", "it is read as the user's")
            reader.items.append(Item("user", where, tuple(_read_user_parts(reader, where, data))))


def _read_user_parts(reader: HistoryReader, where: str, data: dict[str, Any]) -> Iterator[UserPart]:
    found = False
    for part in _read_content(reader, where, data):
        if not isinstance(part, Text) or part.text.strip():
            found = True
            yield part
    if not found:
        reader.note("empty-message", where, "a message without content", "it is dropped")


def _read_content(reader: HistoryReader, where: str, data: dict[str, Any]) -> Iterator[Text | MediaPart]:
    content = data.get("content")
    for block in as_list(content):
        piece = {"type": "text", "text": block} if isinstance(block, str) else as_object(block)
        kind = as_string(piece.get("type"))
        if kind == "text" or kind in ("input_text", "output_text"):
            yield Text(as_string(piece.get("text")))
        elif kind in ("image", "image_url", "input_image", "file", "audio", "video", "document", "media"):
            yield _read_media(reader, where, piece)
        elif kind or piece:
            pieces.note_dropped_part(reader, where, kind, piece)


def _read_media(reader: HistoryReader, where: str, piece: dict[str, Any]) -> Text | MediaPart:
    kind = as_string(piece.get("type"))
    source = as_object(piece.get("source"))
    url: Any = piece.get("image_url") or piece.get("url")
    url = as_string(as_object(url).get("url")) or as_string(url) or as_string(source.get("url"))
    data = piece.get("base64") or piece.get("data") or source.get("data")
    media_type = piece.get("mime_type") or piece.get("mimeType") or piece.get("media_type") or source.get("media_type")
    fallback = "image/*" if url and "image" in kind else ""
    name = as_string(piece.get("filename") or as_object(piece.get("metadata")).get("name"))
    return pieces.make_file_part(reader, where, url or as_string(data), as_string(media_type) or fallback, name)


def _read_result(reader: HistoryReader, where: str, data: dict[str, Any]) -> ToolResult:
    name, content, failed = as_string(data.get("name")), data.get("content"), data.get("status") == "error"
    id = as_string(data.get("tool_call_id")) or shorten_call_id(name)
    if any(map(as_object, as_array(content))):
        parts = tuple(_read_content(reader, where, data))
        if failed:
            parts = tuple(part if isinstance(part, Text) else Text("[image]") for part in parts)
        return ToolResult(normalize_call_id(id), parts, failed, name)
    return ToolResult(normalize_call_id(id), pieces.format_result(content), failed, name)


def _read_assistant(reader: HistoryReader, where: str, data: dict[str, Any]) -> None:
    parts = [*_read_reasoning(data), *_read_assistant_blocks(reader, where, data), *_read_calls(reader, where, data)]
    if not parts:
        reader.note("empty-message", where, "a message without content", "it is dropped")
    reader.items.append(Item("assistant", where, tuple(pieces.join_reasoning(parts))))


def _find_origin(data: dict[str, Any]) -> Origin:
    told = as_object(data.get("response_metadata"))
    model = as_string(told.get("model_name") or told.get("model"))
    return pieces.make_origin(as_string(told.get("model_provider")) or pieces.guess_provider(model), model)


def _read_reasoning(data: dict[str, Any]) -> Iterator[AssistantPart]:
    more = as_object(data.get("additional_kwargs"))
    if text := as_string(more.get("reasoning_content")):
        yield pieces.make_reasoning(text, "", _find_origin(data))
    if item := as_object(more.get("reasoning")):
        text = "\n\n".join(as_string(as_object(piece).get("text")) for piece in as_array(item.get("summary")))
        origin = pieces.make_origin("openai", _find_origin(data).model)
        yield pieces.make_reasoning(
            text, as_string(item.get("encrypted_content")), origin, id=as_string(item.get("id"))
        )


def _read_assistant_blocks(reader: HistoryReader, where: str, data: dict[str, Any]) -> Iterator[AssistantPart]:
    content = data.get("content")
    for block in as_list(content):
        piece = {"type": "text", "text": block} if isinstance(block, str) else as_object(block)
        kind = as_string(piece.get("type"))
        if kind in ("thinking", "redacted_thinking"):
            hidden = kind == "redacted_thinking"
            signature = as_string(piece.get("data") if hidden else piece.get("signature"))
            origin = pieces.make_origin("anthropic", _find_origin(data).model)
            yield pieces.make_reasoning(as_string(piece.get("thinking")), signature, origin, redacted=hidden)
        elif kind == "reasoning":
            yield _read_reasoning_block(piece, data)
        elif kind in ("text", "output_text"):
            if as_string(piece.get("text")).strip():
                yield Text(as_string(piece.get("text")))
        elif kind == "refusal":
            yield Text(as_string(piece.get("refusal")))
        elif piece and kind not in _REPEATED_BLOCKS:
            pieces.note_dropped_part(reader, where, kind, piece)


def _read_reasoning_block(piece: dict[str, Any], data: dict[str, Any]) -> AssistantPart:
    extras = as_object(piece.get("extras"))
    summary = "\n\n".join(as_string(as_object(each).get("text")) for each in as_array(piece.get("summary")))
    text = as_string(piece.get("reasoning") or piece.get("text")) or summary
    signature = as_string(piece.get("signature") or extras.get("signature") or piece.get("encrypted_content"))
    return pieces.make_reasoning(text, signature, _find_origin(data), id=as_string(piece.get("id")))


def _read_calls(reader: HistoryReader, where: str, data: dict[str, Any]) -> Iterator[AssistantPart]:
    """Yield the calls: the framework's own list, or the provider's if there is none."""
    more = as_object(data.get("additional_kwargs"))
    calls = as_array(data.get("tool_calls"))
    signatures = as_object(more.get("__gemini_function_call_thought_signatures__"))
    for each in map(as_object, calls):
        id, name, arguments = as_string(each.get("id")), as_string(each.get("name")), each.get("args", {})
        signature = as_string(signatures.get(id))
        native = pieces.make_signed_call(
            name, arguments, signature, pieces.make_origin("google", _find_origin(data).model)
        )
        yield pieces.make_call(reader, where, id, name, arguments, native)
    for each in map(as_object, as_array(data.get("invalid_tool_calls"))):
        yield pieces.make_call(reader, where, as_string(each.get("id")), as_string(each.get("name")), each.get("args"))
    if calls or as_array(data.get("invalid_tool_calls")):
        return
    for each in map(as_object, as_array(more.get("tool_calls"))):
        function = as_object(each.get("function"))
        name, arguments = as_string(function.get("name")), function.get("arguments", "")
        yield pieces.make_call(reader, where, as_string(each.get("id")), name, arguments)
    if old := as_object(more.get("function_call")):
        # Functions have no ids: results are matched to calls by name.
        name = as_string(old.get("name"))
        yield pieces.make_call(reader, where, shorten_call_id(name), name, old.get("arguments", ""))
    for each in map(as_object, as_array(data.get("content"))):
        if each.get("type") == "tool_use" and not as_array(more.get("tool_calls")):
            yield pieces.make_call(
                reader, where, as_string(each.get("id")), as_string(each.get("name")), each.get("input", {})
            )
