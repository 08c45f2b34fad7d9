"""Streamed answers of the Chat Completions API, also of servers that stream in their own way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from antiphon._json import dumps, loads
from antiphon._shape import arr, number, obj, string
from antiphon.conversation import Origin
from antiphon.errors import MalformedJSONError, StreamCut
from antiphon.wire.growing import Growing, longer, settled
from antiphon.wire.openai_chat.reasoning import LISTS, fields_of, merged, readable, thought
from antiphon.wire.openai_chat.response import content_blocks, decode, error_text, fail, is_no_call, says_nothing
from antiphon.wire.reply import CallDelta, Delta, ProgressDelta, ReasoningDelta, Reply, TextDelta
from antiphon.wire.sse import Event, EventParser

#: Strings that are names, not pieces of a longer text.
_LABELS = ("role", "id", "type", "name", "format")

#: The index of the one call that the deprecated field can hold.
_OLD = -1


@dataclass(slots=True)
class _Call:
    """A call while its pieces arrive."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])
    more: dict[str, Any] = field(default_factory=dict[str, Any])

    def is_complete(self) -> bool:
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False
        try:
            return isinstance(loads("".join(self.pieces)), dict)
        except MalformedJSONError:
            return False

    def repeated_by(self, id: str, name: str, arguments: str) -> bool:
        """Whether a piece is this call once more, which some servers send at the end."""
        same = bool(id) and id == self.id and name == self.name and bool(arguments.strip())
        return same and self.is_complete() and arguments.strip() == "".join(self.pieces).strip()

    def whole(self) -> dict[str, Any]:
        text = "".join(self.pieces)
        if self.more.get("type") == "custom":
            return {"id": self.id, "custom": {"name": self.name, "input": text}} | self.more
        function = {"name": self.name, "arguments": text}
        return {"id": self.id, "type": "function", "function": function} | self.more


class _Calls:
    """The calls of a stream. Which one a piece belongs to is told by its index, its id, or neither."""

    def __init__(self) -> None:
        self.list: list[_Call] = []
        self._at: dict[int, _Call] = {}

    def take(self, piece: dict[str, Any]) -> CallDelta | None:
        kind = string(piece.get("type")) or ("function" if says_nothing(piece.get("custom")) else "custom")
        function = obj(piece.get(kind)) or obj(piece.get("function"))
        id, name = string(piece.get("id")), string(function.get("name"))
        arguments = _text(function.get("input" if kind == "custom" else "arguments"))
        index = number(piece.get("index"))
        call = self._home(index, id, name, arguments)
        if is_no_call(piece) and (call is None or (index is not None and index not in self._at)):
            return None
        if call is None:
            call = _Call()
            self.list.append(call)
        elif call.repeated_by(id, name, arguments):
            return None
        if index is not None:
            self._at[index] = call
        # Names and ids are repeated by some servers, and sent late by others.
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

    def has_new(self) -> bool:
        """Whether there is a call that did not come in the deprecated field."""
        return any(call is not self._at.get(_OLD) for call in self.list)

    def _home(self, index: int | None, id: str, name: str, arguments: str) -> _Call | None:
        """The call that a piece continues, or nothing where it begins one."""
        known = next((call for call in self.list if id and call.id == id), None)
        call = self._at.get(index) if index is not None else None
        if call is None and (known or not name):
            # Without an index, or with one nobody has seen, a piece that begins nothing continues something.
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
        if not name or not call.name or call.repeated_by(id, name, arguments):
            return call
        # Some servers send whole calls, all with the same index or none: another name begins another call, and so does
        # what comes after complete arguments. The same name alone does not, since others repeat it in every piece.
        if (name != call.name and not id) or (arguments.strip() and call.is_complete()):
            return None
        return call


class Decoder:
    """Builds the whole response from its chunks, then decodes it like any other."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._events = EventParser()
        # The first bytes, until they tell a stream from an answer that came whole.
        self._head: bytes | None = b""
        self._is_whole = False
        self._whole = bytearray()
        self._response: dict[str, Any] = {}
        self._choice: dict[str, Any] | None = None
        self._texts: dict[str, list[str]] = {}
        self._blocks: list[dict[str, Any]] = []
        self._more: dict[str, Any] = {}
        self._calls = _Calls()
        self._refused: Reply | None = None
        self._done = False

    def feed(self, chunk: bytes) -> list[Delta]:
        """The deltas that these bytes complete."""
        if self._head is not None:
            chunk = self._head = (self._head + chunk).lstrip()
            if not chunk:
                return []
            self._head = None
            self._is_whole = chunk.startswith(b"{")
        if self._is_whole:
            self._whole += chunk
            return []
        return [delta for event in self._events.feed(chunk) for delta in self._event(event)]

    def reply(self) -> Reply:
        """The whole reply; StreamCut if the stream ended too early."""
        if self._is_whole:
            return self._decoded()
        for event in self._events.end():
            # Some servers do not close their last event; half of one matters only if the answer is not complete.
            if not self._finished():
                self._event(event)
        if not self._finished():
            raise self._cut("the stream ended before the answer did")
        if self._refused:
            self._calls = _Calls()
        choices = [] if self._choice is None else [self._choice | {"message": self._message()}]
        reply = decode(self._response | {"choices": choices}, self._origin)
        if self._refused:
            reply.parts += self._refused.parts
            reply.stop, reply.stop_reason = self._refused.stop, self._refused.stop_reason
        return reply

    def _decoded(self) -> Reply:
        try:
            return decode(loads(bytes(self._whole), "the answer"), self._origin)
        except MalformedJSONError as error:
            raise self._cut(f"the answer is no stream, and cut: {error}") from None

    def _finished(self) -> bool:
        # Servers leave out one or the other.
        return self._done or bool((self._choice or {}).get("finish_reason"))

    def _cut(self, message: str) -> StreamCut:
        text = "".join(self._texts.get("content", [])) + "".join(
            string(settled(block.get("text"))) for block in self._blocks
        )
        return StreamCut(message, provider=self._origin.provider, partial=text)

    def _message(self) -> dict[str, Any]:
        message: dict[str, Any] = {name: "".join(pieces) for name, pieces in self._texts.items()} | settled(self._more)
        if self._blocks:
            before, blocks = string(message.get("content")), settled(self._blocks)
            message["content"] = [{"type": "text", "text": before}, *blocks] if before else blocks
        if self._calls.list:
            message["tool_calls"] = [call.whole() for call in self._calls.list]
        return message

    def _event(self, event: Event) -> list[Delta]:
        text = event.data.strip()
        if self._done or not text:
            return []
        if text == "[DONE]":
            self._done = True
            return []
        try:
            data = obj(loads(text, "an event"))
        except MalformedJSONError as error:
            if event.name == "error":
                return self._broken_off({"error": text})
            if self._finished():
                return []
            raise self._cut(f"the stream is broken: {error}") from None
        if data.get("error") or data.get("object") == "error" or event.name == "error":
            return self._broken_off(data)
        if failed := obj(data.get("x_groq")).get("error") or ("choices" not in data and data.get("detail")):
            return self._broken_off({"error": failed} if isinstance(failed, str) else data)
        if progress := obj(data.get("prompt_progress")):
            return [ProgressDelta(number(progress.get("processed")) or 0, number(progress.get("total")) or 0)]
        self._response |= {k: v for k, v in data.items() if k != "choices" and v is not None}
        for choice in map(obj, arr(data.get("choices"))):
            if not choice.get("index"):
                return self._grow(choice)
        return []

    def _broken_off(self, data: dict[str, Any]) -> list[Delta]:
        self._done = True
        self._refused = error_text(data).reply()
        if self._refused:
            calls = enumerate(self._refused.tool_calls)
            return [CallDelta(place, call.name, call.arguments_json) for place, call in calls]
        if (self._choice or {}).get("finish_reason") in (None, "error"):
            fail(data, self._origin, "broke off the stream")
        # What an error says after the answer has ended cannot undo it: OpenRouter adds that the limit was reached.
        self._response |= {"usage": data["usage"]} if obj(data.get("usage")) else {}
        return []

    def _grow(self, choice: dict[str, Any]) -> list[Delta]:
        # A server that was asked for a stream may answer with the whole message; one that repeats it (Perplexity) is
        # not listened to twice.
        delta = obj(choice.get("message" if self._choice is None and "delta" not in choice else "delta"))
        self._choice = self._choice or {}
        if choice.get("finish_reason"):
            self._choice["finish_reason"] = choice["finish_reason"]
        if choice.get("error"):
            return self._broken_off({"error": choice["error"]})
        if usage := obj(choice.get("usage")):
            # Moonshot's place for it.
            self._response["usage"] = usage
        deltas: list[Delta] = []
        if thinking := readable(fields_of(delta)):
            deltas.append(ReasoningDelta(thinking))
        for name, value in delta.items():
            if name == "content":
                deltas += self._add_content(value)
            elif name == "tool_calls":
                calls: list[object] = arr(value) or [value]
                deltas += [piece for call in calls if obj(call) and (piece := self._calls.take(obj(call)))]
            elif name == "function_call":
                # Servers that say a call in both ways mean one.
                alone = obj(value) and not arr(delta.get("tool_calls")) and not self._calls.has_new()
                piece = self._calls.take({"index": _OLD, "function": value}) if alone else None
                deltas += [piece] if piece else []
            elif name in LISTS:
                self._more[name] = merged(arr(self._more.get(name)), arr(value))
            elif isinstance(value, str) and name not in _LABELS:
                self._texts.setdefault(name, []).append(value)
            elif value is not None:
                self._more[name] = _grown(self._more.get(name), value)
        return deltas

    def _add_content(self, value: object) -> list[Delta]:
        """The next piece of the content: text, or a list of parts, as Mistral's reasoning models have it."""
        if isinstance(value, str) and not self._blocks:
            self._texts.setdefault("content", []).append(value)
            return [TextDelta(value)] if value else []
        return [delta for block in content_blocks(value) if (delta := self._add_block(block))]

    def _add_block(self, block: dict[str, Any]) -> Delta | None:
        kind, last = block.get("type"), self._blocks[-1] if self._blocks else {}
        if last and kind in ("text", "thinking") and last.get("type") == kind:
            self._blocks[-1] = obj(_grown(last, block))
        else:
            self._blocks.append(block)
        if kind == "thinking":
            return ReasoningDelta(thought(block)) if thought(block) else None
        piece = string(block.get("text")) if kind == "text" else ""
        return TextDelta(piece) if piece else None


def _text(value: object) -> str:
    """A piece of arguments as text: some servers send them as what the text would mean."""
    return value if isinstance(value, str) else "" if value in (None, {}) else dumps(value)


def _grown(old: object, new: object) -> object:
    """A field with its next piece: texts and lists go on, objects field by field, anything else is replaced."""
    fields, more = obj(old), obj(new)
    if new is None or (isinstance(old, str | Growing) and not isinstance(new, str)):
        # What is no text takes none away.
        return old
    if isinstance(old, str | Growing) and isinstance(new, str):
        return longer(old, new)
    if isinstance(old, list) and isinstance(new, list):
        cast(list[object], old).extend(cast(list[object], new))
        return cast(list[object], old)
    if not (fields and more):
        return new
    for name, value in more.items():
        inner: object = fields.get(name)
        fields[name] = value if name in _LABELS or isinstance(inner, dict) else _grown(inner, value)
    return fields
