"""Messages of LangChain: `messages_to_dict`, `dumpd` and its JavaScript twin, and the flat form of its servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from antiphon._shape import arr, obj, several, string
from antiphon.conversation import AssistantPart, Image, Item, Origin, Text, ToolResult, UserPart, legal_id, short_id
from antiphon.formats import pieces
from antiphon.wire.reading import Reader, Reading

_NOWHERE = Origin("", "langchain", "")
_KINDS = {"humanmessage": "human", "aimessage": "ai", "systemmessage": "system", "toolmessage": "tool"}
#: The kinds in messages that are written in short.
_SHORT = {"human": "human", "user": "human", "ai": "ai", "assistant": "ai", "system": "system"}
#: Objects of its JavaScript twin that were written field by field do not name their class; some fields tell.
_TOLD_BY = {"tool_call_id": "tool", "tool_calls": "ai", "tool_call_chunks": "ai", "usage_metadata": "ai"}
#: What a message repeats of its calls in the provider's own form.
_REPEATED = ("tool_use", "function_call", "tool_call", "input_json_delta", "tool_call_chunk", "invalid_tool_call")


def read(data: Any) -> Reading:
    """Messages as a conversation."""
    reader = Reader(_NOWHERE)
    given = arr(obj(data).get("messages")) if "messages" in obj(data) else arr(data) or [data]
    for index, message in enumerate(obj(untupled(each)) for each in given):
        _read_message(reader, f"message {index}", _kind(message), _fields(message))
    return reader.done({}, merges=True)


def untupled(message: Any) -> Any:
    """A message; also one that was written in short, as its kind and its content."""
    pair = arr(message)
    if len(pair) != 2 or string(pair[0]) not in _SHORT:
        return message
    return {"type": _SHORT[pair[0]], "content": pair[1]}


def _kind(message: dict[str, Any]) -> str:
    name = string(message.get("type"))
    if message.get("lc") == 1:
        name = string(["", *arr(message.get("id"))][-1])
    if not name and "lc_kwargs" in message:
        name = next((kind for field, kind in _TOLD_BY.items() if field in _fields(message)), "")
    name = name.removesuffix("Chunk").lower()
    return _KINDS.get(name, name.removesuffix("message"))


def _fields(message: dict[str, Any]) -> dict[str, Any]:
    if message.get("lc") == 1:
        return obj(message.get("kwargs"))
    return obj(message.get("data")) or obj(message.get("lc_kwargs")) | message


def _read_message(reader: Reader, where: str, kind: str, data: dict[str, Any]) -> None:
    role = string(data.get("role")) if kind in ("chat", "generic") else kind
    match role:
        case "human" | "user":
            reader.items.append(Item("user", where, tuple(_user_parts(reader, where, data))))
        case "ai" | "assistant":
            _read_ai(reader, where, data)
        case "system" | "developer" if not reader.items:
            reader.system += [part.text for part in _content(reader, where, data) if isinstance(part, Text)]
        case "system" | "developer":
            reader.note("unknown-role", where, "a system message within the conversation", "it is read as the user's")
            reader.items.append(Item("user", where, tuple(_user_parts(reader, where, data))))
        case "tool" | "function":
            reader.items.append(Item("user", where, (), (_result(reader, where, data),)))
        case "remove":
            _remove(reader, where, string(data.get("id")))
        case _:
            reader.note("unknown-role", where, f"a message of role {role!r}", "it is read as the user's")
            reader.items.append(Item("user", where, tuple(_user_parts(reader, where, data))))


def _remove(reader: Reader, where: str, id: str) -> None:
    reader.note("unreadable", where, f"an order to remove message {id!r}", "it is dropped; the message stays")


def _user_parts(reader: Reader, where: str, data: dict[str, Any]) -> Iterator[UserPart]:
    found = False
    for part in _content(reader, where, data):
        if not isinstance(part, Text) or part.text.strip():
            found = True
            yield part
    if not found:
        reader.note("empty-message", where, "a message without content", "it is dropped")


def _content(reader: Reader, where: str, data: dict[str, Any]) -> Iterator[Text | Image]:
    content = data.get("content")
    for block in several(content):
        piece = {"type": "text", "text": block} if isinstance(block, str) else obj(block)
        kind = string(piece.get("type"))
        if kind == "text" or kind in ("input_text", "output_text"):
            yield Text(string(piece.get("text")))
        elif kind in ("image", "image_url", "input_image", "file", "audio", "video", "document", "media"):
            yield _media(reader, where, piece)
        elif kind or piece:
            pieces.dropped(reader, where, kind, piece)


def _media(reader: Reader, where: str, piece: dict[str, Any]) -> Text | Image:
    kind = string(piece.get("type"))
    source = obj(piece.get("source"))
    url: Any = piece.get("image_url") or piece.get("url")
    url = string(obj(url).get("url")) or string(url) or string(source.get("url"))
    data = piece.get("base64") or piece.get("data") or source.get("data")
    media_type = piece.get("mime_type") or piece.get("mimeType") or piece.get("media_type") or source.get("media_type")
    fallback = "image/*" if url and "image" in kind else ""
    name = string(piece.get("filename") or obj(piece.get("metadata")).get("name"))
    return pieces.media(reader, where, url or string(data), string(media_type) or fallback, name)


def _result(reader: Reader, where: str, data: dict[str, Any]) -> ToolResult:
    name, content, failed = string(data.get("name")), data.get("content"), data.get("status") == "error"
    id = string(data.get("tool_call_id")) or short_id(name)
    if any(map(obj, arr(content))):
        parts = tuple(_content(reader, where, data))
        if failed:
            parts = tuple(part if isinstance(part, Text) else Text("[image]") for part in parts)
        return ToolResult(legal_id(id), parts, failed, name)
    return ToolResult(legal_id(id), pieces.text_of(content), failed, name)


def _read_ai(reader: Reader, where: str, data: dict[str, Any]) -> None:
    parts = [*_reasoning(data), *_said(reader, where, data), *_calls(reader, where, data)]
    if not parts:
        reader.note("empty-message", where, "a message without content", "it is dropped")
    reader.items.append(Item("assistant", where, tuple(pieces.joined(parts))))


def _origin(data: dict[str, Any]) -> Origin:
    told = obj(data.get("response_metadata"))
    model = string(told.get("model_name") or told.get("model"))
    return pieces.origin_of(string(told.get("model_provider")) or pieces.provider_of(model), model)


def _reasoning(data: dict[str, Any]) -> Iterator[AssistantPart]:
    more = obj(data.get("additional_kwargs"))
    if text := string(more.get("reasoning_content")):
        yield pieces.thinking(text, "", _origin(data))
    if item := obj(more.get("reasoning")):
        text = "\n\n".join(string(obj(piece).get("text")) for piece in arr(item.get("summary")))
        origin = pieces.origin_of("openai", _origin(data).model)
        yield pieces.thinking(text, string(item.get("encrypted_content")), origin, id=string(item.get("id")))


def _said(reader: Reader, where: str, data: dict[str, Any]) -> Iterator[AssistantPart]:
    content = data.get("content")
    for block in several(content):
        piece = {"type": "text", "text": block} if isinstance(block, str) else obj(block)
        kind = string(piece.get("type"))
        if kind in ("thinking", "redacted_thinking"):
            hidden = kind == "redacted_thinking"
            signature = string(piece.get("data") if hidden else piece.get("signature"))
            origin = pieces.origin_of("anthropic", _origin(data).model)
            yield pieces.thinking(string(piece.get("thinking")), signature, origin, redacted=hidden)
        elif kind == "reasoning":
            yield _reasoning_block(piece, data)
        elif kind in ("text", "output_text"):
            if string(piece.get("text")).strip():
                yield Text(string(piece.get("text")))
        elif kind == "refusal":
            yield Text(string(piece.get("refusal")))
        elif piece and kind not in _REPEATED:
            pieces.dropped(reader, where, kind, piece)


def _reasoning_block(piece: dict[str, Any], data: dict[str, Any]) -> AssistantPart:
    extras = obj(piece.get("extras"))
    summary = "\n\n".join(string(obj(each).get("text")) for each in arr(piece.get("summary")))
    text = string(piece.get("reasoning") or piece.get("text")) or summary
    signature = string(piece.get("signature") or extras.get("signature") or piece.get("encrypted_content"))
    return pieces.thinking(text, signature, _origin(data), id=string(piece.get("id")))


def _calls(reader: Reader, where: str, data: dict[str, Any]) -> Iterator[AssistantPart]:
    """The calls: the framework's own list, or the provider's where there is none."""
    more = obj(data.get("additional_kwargs"))
    calls = arr(data.get("tool_calls"))
    signatures = obj(more.get("__gemini_function_call_thought_signatures__"))
    for each in map(obj, calls):
        id, name, arguments = string(each.get("id")), string(each.get("name")), each.get("args", {})
        signature = string(signatures.get(id))
        native = pieces.signed(name, arguments, signature, pieces.origin_of("google", _origin(data).model))
        yield pieces.call(reader, where, id, name, arguments, native)
    for each in map(obj, arr(data.get("invalid_tool_calls"))):
        yield pieces.call(reader, where, string(each.get("id")), string(each.get("name")), each.get("args"))
    if calls or arr(data.get("invalid_tool_calls")):
        return
    for each in map(obj, arr(more.get("tool_calls"))):
        function = obj(each.get("function"))
        name, arguments = string(function.get("name")), function.get("arguments", "")
        yield pieces.call(reader, where, string(each.get("id")), name, arguments)
    if old := obj(more.get("function_call")):
        # Functions have no ids: the name tells which call a result answers.
        name = string(old.get("name"))
        yield pieces.call(reader, where, short_id(name), name, old.get("arguments", ""))
    for each in map(obj, arr(data.get("content"))):
        if each.get("type") == "tool_use" and not arr(more.get("tool_calls")):
            yield pieces.call(reader, where, string(each.get("id")), string(each.get("name")), each.get("input", {}))
