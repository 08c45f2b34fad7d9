"""Decoder of streamed answers of the Chat Completions API, including deviations of compatible servers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from antiphon._base.json import dump_json, load_json
from antiphon._base.json_access import as_array, as_integer, as_object, as_string
from antiphon.conversation import Origin
from antiphon.errors import MalformedJSONError, StreamCut
from antiphon.wire.accumulate import TextAccumulator, append_text, join_accumulated
from antiphon.wire.openai_chat.reasoning import (
    REASONING_LIST_FIELDS,
    extract_reasoning_fields,
    extract_reasoning_text,
    extract_thinking_text,
    merge_reasoning_details,
)
from antiphon.wire.openai_chat.response import (
    decode,
    is_empty_call,
    is_empty_value,
    normalize_content,
    parse_error,
    raise_chat_error,
)
from antiphon.wire.reply import CallDelta, ProgressDelta, ReasoningDelta, Reply, ReplyDelta, TextDelta
from antiphon.wire.sse import ServerSentEvent, SseParser

#: Text fields that are replaced by the next value, not extended.
_REPLACED_FIELDS = ("role", "id", "type", "name", "format")

#: The index of the single call in the deprecated `function_call` field.
_FUNCTION_CALL_INDEX = -1


@dataclass(slots=True)
class _StreamedCall:
    """A call under construction."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])
    more: dict[str, Any] = field(default_factory=dict[str, Any])

    def is_complete(self) -> bool:
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False
        try:
            return isinstance(load_json("".join(self.pieces)), dict)
        except MalformedJSONError:
            return False

    def is_repeated_by(self, id: str, name: str, arguments: str) -> bool:
        """Return whether a piece repeats this complete call, as some servers do at the end."""
        same = bool(id) and id == self.id and name == self.name and bool(arguments.strip())
        return same and self.is_complete() and arguments.strip() == "".join(self.pieces).strip()

    def whole(self) -> dict[str, Any]:
        text = "".join(self.pieces)
        if self.more.get("type") == "custom":
            return {"id": self.id, "custom": {"name": self.name, "input": text}} | self.more
        function = {"name": self.name, "arguments": text}
        return {"id": self.id, "type": "function", "function": function} | self.more


class _StreamedCalls:
    """The calls of a stream. A piece is assigned to its call by index, by id, or by order."""

    def __init__(self) -> None:
        self.list: list[_StreamedCall] = []
        self._at: dict[int, _StreamedCall] = {}

    def take(self, piece: dict[str, Any]) -> CallDelta | None:
        kind = as_string(piece.get("type")) or ("function" if is_empty_value(piece.get("custom")) else "custom")
        function = as_object(piece.get(kind)) or as_object(piece.get("function"))
        id, name = as_string(piece.get("id")), as_string(function.get("name"))
        arguments = _arguments_to_text(function.get("input" if kind == "custom" else "arguments"))
        index = as_integer(piece.get("index"))
        call = self._home(index, id, name, arguments)
        if is_empty_call(piece) and (call is None or (index is not None and index not in self._at)):
            return None
        if call is None:
            call = _StreamedCall()
            self.list.append(call)
        elif call.is_repeated_by(id, name, arguments):
            return None
        if index is not None:
            self._at[index] = call
        # Some servers repeat names and ids, others send them late.
        news = name if not call.name else ""
        call.id, call.name = call.id or id, call.name or name
        if kind == "custom":
            call.more["type"] = kind
        if arguments:
            call.pieces.append(arguments)
        rest = {k: v for k, v in piece.items() if k not in ("index", "id", "function", "custom") and v is not None}
        call.more |= {k: v for k, v in rest.items() if k != "type" or v != "function"}
        place = next(n for n, known in enumerate(self.list) if known is call)
        return CallDelta(place, news, arguments) if news or arguments else None

    def has_tool_calls(self) -> bool:
        """Return whether any call did not come in the deprecated field."""
        return any(call is not self._at.get(_FUNCTION_CALL_INDEX) for call in self.list)

    def _home(self, index: int | None, id: str, name: str, arguments: str) -> _StreamedCall | None:
        """Return the call that a piece continues, or None if it begins one."""
        known = next((call for call in self.list if id and call.id == id), None)
        call = self._at.get(index) if index is not None else None
        if call is None and (known or not name):
            # A piece without a known index that has no name continues a call.
            call = known or (self.list[-1] if self.list else None)
        elif call is None and index is None and not id and self.list:
            call = self.list[-1]
        if call is None:
            return None
        if id and call.id and id != call.id:
            # The same index with another id is another call (B7), unless it has no name: a server that makes up an
            # id for every piece.
            if known:
                return known
            return None if name or call.is_complete() else call
        if not name or not call.name or call.is_repeated_by(id, name, arguments):
            return call
        # Some servers send whole calls, all with the same index or none: another name begins another call, and so does
        # what comes after complete arguments. The same name alone does not, since others repeat it in every piece.
        if (name != call.name and not id) or (arguments.strip() and call.is_complete()):
            return None
        return call


class Decoder:
    """Decoder of a stream: build the complete response from its chunks, then decode it."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._events = SseParser()
        # The first bytes, until they show whether the answer is streamed.
        self._head: bytes | None = b""
        self._is_whole = False
        self._whole = bytearray()
        self._response: dict[str, Any] = {}
        self._choice: dict[str, Any] | None = None
        self._texts: dict[str, list[str]] = {}
        self._blocks: list[dict[str, Any]] = []
        self._more: dict[str, Any] = {}
        self._calls = _StreamedCalls()
        self._refused: Reply | None = None
        self._done = False

    def feed(self, chunk: bytes) -> list[ReplyDelta]:
        """Return the deltas that these bytes complete."""
        if self._head is not None:
            chunk = self._head = (self._head + chunk).lstrip()
            if not chunk:
                return []
            self._head = None
            self._is_whole = chunk.startswith(b"{")
        if self._is_whole:
            self._whole += chunk
            return []
        return [delta for event in self._events.feed(chunk) for delta in self._handle_event(event)]

    def reply(self) -> Reply:
        """Return the complete reply. Raise StreamCut if the stream ended too early."""
        if self._is_whole:
            return self._decoded()
        for event in self._events.end():
            # Some servers do not close their last event; half of one matters only if the answer is not complete.
            if not self._is_finished():
                self._handle_event(event)
        if not self._is_finished():
            raise self._stream_cut_error("the stream ended before the answer did")
        if self._refused:
            self._calls = _StreamedCalls()
        choices = [] if self._choice is None else [self._choice | {"message": self._message()}]
        reply = decode(self._response | {"choices": choices}, self._origin)
        if self._refused:
            reply.parts += self._refused.parts
            reply.stop, reply.stop_reason = self._refused.stop, self._refused.stop_reason
        return reply

    def _decoded(self) -> Reply:
        try:
            return decode(load_json(bytes(self._whole), "the answer"), self._origin)
        except MalformedJSONError as error:
            raise self._stream_cut_error(f"the answer is no stream, and cut: {error}") from None

    def _is_finished(self) -> bool:
        # Servers omit one or the other.
        return self._done or bool((self._choice or {}).get("finish_reason"))

    def _stream_cut_error(self, message: str) -> StreamCut:
        text = "".join(self._texts.get("content", [])) + "".join(
            as_string(join_accumulated(block.get("text"))) for block in self._blocks
        )
        return StreamCut(message, provider=self._origin.provider, partial=text)

    def _message(self) -> dict[str, Any]:
        message: dict[str, Any] = {name: "".join(pieces) for name, pieces in self._texts.items()} | join_accumulated(
            self._more
        )
        if self._blocks:
            before, blocks = as_string(message.get("content")), join_accumulated(self._blocks)
            message["content"] = [{"type": "text", "text": before}, *blocks] if before else blocks
        if self._calls.list:
            message["tool_calls"] = [call.whole() for call in self._calls.list]
        return message

    def _handle_event(self, event: ServerSentEvent) -> list[ReplyDelta]:
        text = event.data.strip()
        if self._done or not text:
            return []
        if text == "[DONE]":
            self._done = True
            return []
        try:
            data = as_object(load_json(text, "an event"))
        except MalformedJSONError as error:
            if event.name == "error":
                return self._handle_error({"error": text})
            if self._is_finished():
                return []
            raise self._stream_cut_error(f"the stream is broken: {error}") from None
        if data.get("error") or data.get("object") == "error" or event.name == "error":
            return self._handle_error(data)
        if failed := as_object(data.get("x_groq")).get("error") or ("choices" not in data and data.get("detail")):
            return self._handle_error({"error": failed} if isinstance(failed, str) else data)
        if progress := as_object(data.get("prompt_progress")):
            return [ProgressDelta(as_integer(progress.get("processed")) or 0, as_integer(progress.get("total")) or 0)]
        self._response |= {k: v for k, v in data.items() if k != "choices" and v is not None}
        for choice in map(as_object, as_array(data.get("choices"))):
            if not choice.get("index"):
                return self._grow(choice)
        return []

    def _handle_error(self, data: dict[str, Any]) -> list[ReplyDelta]:
        self._done = True
        self._refused = parse_error(data).reply()
        if self._refused:
            calls = enumerate(self._refused.tool_calls)
            return [CallDelta(place, call.name, call.arguments_json) for place, call in calls]
        if (self._choice or {}).get("finish_reason") in (None, "error"):
            raise_chat_error(data, self._origin, "broke off the stream")
        # An error after the end of the answer does not undo it: OpenRouter adds that the limit was reached.
        self._response |= {"usage": data["usage"]} if as_object(data.get("usage")) else {}
        return []

    def _grow(self, choice: dict[str, Any]) -> list[ReplyDelta]:
        # A server that was asked for a stream may answer with the whole message; one that repeats it (Perplexity) is
        # ignored.
        delta = as_object(choice.get("message" if self._choice is None and "delta" not in choice else "delta"))
        self._choice = self._choice or {}
        if choice.get("finish_reason"):
            self._choice["finish_reason"] = choice["finish_reason"]
        if choice.get("error"):
            return self._handle_error({"error": choice["error"]})
        if usage := as_object(choice.get("usage")):
            # Moonshot sends it here.
            self._response["usage"] = usage
        deltas: list[ReplyDelta] = []
        if thinking := extract_reasoning_text(extract_reasoning_fields(delta)):
            deltas.append(ReasoningDelta(thinking))
        for name, value in delta.items():
            if name == "content":
                deltas += self._add_content(value)
            elif name == "tool_calls":
                calls: list[object] = as_array(value) or [value]
                deltas += [piece for call in calls if as_object(call) and (piece := self._calls.take(as_object(call)))]
            elif name == "function_call":
                # A server that fills both fields means one call.
                alone = as_object(value) and not as_array(delta.get("tool_calls")) and not self._calls.has_tool_calls()
                piece = self._calls.take({"index": _FUNCTION_CALL_INDEX, "function": value}) if alone else None
                deltas += [piece] if piece else []
            elif name in REASONING_LIST_FIELDS:
                self._more[name] = merge_reasoning_details(as_array(self._more.get(name)), as_array(value))
            elif isinstance(value, str) and name not in _REPLACED_FIELDS:
                self._texts.setdefault(name, []).append(value)
            elif value is not None:
                self._more[name] = _extend_value(self._more.get(name), value)
        return deltas

    def _add_content(self, value: object) -> list[ReplyDelta]:
        """Append content, either text or a list of parts as in Mistral's reasoning models."""
        if isinstance(value, str) and not self._blocks:
            self._texts.setdefault("content", []).append(value)
            return [TextDelta(value)] if value else []
        return [delta for block in normalize_content(value) if (delta := self._add_content_block(block))]

    def _add_content_block(self, block: dict[str, Any]) -> ReplyDelta | None:
        kind, last = block.get("type"), self._blocks[-1] if self._blocks else {}
        if last and kind in ("text", "thinking") and last.get("type") == kind:
            self._blocks[-1] = as_object(_extend_value(last, block))
        else:
            self._blocks.append(block)
        if kind == "thinking":
            return ReasoningDelta(extract_thinking_text(block)) if extract_thinking_text(block) else None
        piece = as_string(block.get("text")) if kind == "text" else ""
        return TextDelta(piece) if piece else None


def _arguments_to_text(value: object) -> str:
    """Return a piece of arguments as text. Some servers send parsed JSON instead."""
    return value if isinstance(value, str) else "" if value in (None, {}) else dump_json(value)


def _extend_value(old: object, new: object) -> object:
    """Return a field extended by its next piece.

    Texts and lists are appended, objects are merged by field, and anything else is replaced.
    """
    fields, more = as_object(old), as_object(new)
    if new is None or (isinstance(old, str | TextAccumulator) and not isinstance(new, str)):
        # A value that is no text does not replace text.
        return old
    if isinstance(old, str | TextAccumulator) and isinstance(new, str):
        return append_text(old, new)
    if isinstance(old, list) and isinstance(new, list):
        cast(list[object], old).extend(cast(list[object], new))
        return cast(list[object], old)
    if not (fields and more):
        return new
    for name, value in more.items():
        inner: object = fields.get(name)
        fields[name] = value if name in _REPLACED_FIELDS or isinstance(inner, dict) else _extend_value(inner, value)
    return fields
