"""Streamed answers of OpenAI's Responses API."""

from __future__ import annotations

from typing import Any

from antiphon._json import loads
from antiphon.conversation import Origin
from antiphon.errors import MalformedJSONError, StreamCut
from antiphon.wire.openai_responses.response import content_of, decode, error_text, failure
from antiphon.wire.openai_responses.terms import kind_of
from antiphon.wire.reply import CallDelta, Delta, ReasoningDelta, Reply, TextDelta
from antiphon.wire.shape import arr, number, obj, string
from antiphon.wire.sse import Event, EventParser

# One piece of text that grows: the place of its item, its kind and its place in the item.
_Place = tuple[int, str, int]

_GROWING = {
    "response.output_text.delta": ("text", "content_index"),
    "response.refusal.delta": ("text", "content_index"),
    "response.function_call_arguments.delta": ("arguments", ""),
    "response.reasoning_summary_text.delta": ("summary", "summary_index"),
    "response.reasoning_text.delta": ("thought", "content_index"),
}


class Decoder:
    """Takes the whole response from its last event, then decodes it like any other.

    Some servers send no deltas, or leave the last event's `output` empty: what the items say is made up for in both
    directions.
    """

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._events = EventParser()
        self._items: dict[int, dict[str, Any]] = {}
        self._done: set[int] = set()
        self._sent: dict[_Place, str] = {}
        self._named: set[int] = set()
        self._text: list[str] = []
        self._thinking: _Place | None = None
        self._response: dict[str, Any] | None = None

    def feed(self, chunk: bytes) -> list[Delta]:
        """The deltas that these bytes complete."""
        return [delta for event in self._events.feed(chunk) for delta in self._event(event)]

    def reply(self) -> Reply:
        """The whole reply; StreamCut if the stream ended too early."""
        for event in self._events.end():
            self._event(event)
        if self._response is None:
            raise self._cut("the stream ended before the response did")
        output = arr(self._response.get("output")) or [self._whole(index) for index in sorted(self._items)]
        return decode(self._response | {"output": output}, self._origin)

    def _cut(self, message: str) -> StreamCut:
        return StreamCut(message, provider=self._origin.provider, partial="".join(self._text))

    def _event(self, event: Event) -> list[Delta]:
        if event.data.strip() == "[DONE]":
            return []
        try:
            data = obj(loads(event.data, "an event"))
        except MalformedJSONError as error:
            raise self._cut(f"the stream is broken: {error}") from None
        kind = string(data.get("type")) or event.name
        match kind:
            case "response.output_item.added" | "response.output_item.done":
                return self._take(data, kind.endswith(".done"))
            case "response.completed" | "response.incomplete":
                return self._end(obj(data.get("response")))
            case "response.failed":
                raise failure(error_text(obj(data.get("response"))), self._origin.provider)
            case "error":
                raise failure(error_text(data), self._origin.provider)
            case _ if kind in _GROWING:
                name, field = _GROWING[kind]
                place = (number(data.get("output_index")) or 0, name, number(data.get(field)) or 0)
                return self._grow(place, string(data.get("delta")))
            case _:
                return []

    def _take(self, data: dict[str, Any], done: bool) -> list[Delta]:
        item = obj(data.get("item"))
        index = number(data.get("output_index"))
        if index is None:
            index = len(self._items) - done if self._items else 0
        self._items[index] = item
        if done:
            self._done.add(index)
        return self._catch_up(index, item)

    def _end(self, response: dict[str, Any]) -> list[Delta]:
        self._response = response
        if self._items or self._sent:
            return []
        self._items = {index: obj(item) for index, item in enumerate(arr(response.get("output")))}
        return [delta for index, item in self._items.items() for delta in self._catch_up(index, item)]

    def _catch_up(self, index: int, item: dict[str, Any]) -> list[Delta]:
        """The deltas of what an item says and nobody was told yet."""
        deltas: list[Delta] = []
        if kind_of(item) == "function_call" and index not in self._named:
            self._named.add(index)
            deltas.append(CallDelta(self._call_number(index), string(item.get("name")), ""))
        for place, whole in _pieces(index, item):
            sent = self._sent.get(place, "")
            if whole.startswith(sent):
                deltas += self._grow(place, whole[len(sent) :])
        return deltas

    def _grow(self, place: _Place, piece: str) -> list[Delta]:
        if not piece:
            return []
        self._sent[place] = self._sent.get(place, "") + piece
        index, kind, _ = place
        if kind == "text":
            self._text.append(piece)
            return [TextDelta(piece)]
        if kind == "arguments":
            return [CallDelta(self._call_number(index), "", piece)]
        gap = "\n\n" if self._thinking not in (None, place) else ""
        self._thinking = place
        return [ReasoningDelta(gap + piece)]

    def _call_number(self, index: int) -> int:
        return sum(1 for n, item in self._items.items() if n < index and kind_of(item) == "function_call")

    def _whole(self, index: int) -> dict[str, Any]:
        """An item, with what came in pieces where its end was never told."""
        item = self._items[index]
        if index in self._done:
            return item
        grown = {(kind, n): text for (at, kind, n), text in self._sent.items() if at == index}
        match kind_of(item):
            case "function_call":
                return item | {"arguments": grown.get(("arguments", 0), "")}
            case "message":
                texts = [{"type": "output_text", "text": text} for (kind, _), text in grown.items() if kind == "text"]
                return item | {"content": texts}
            case _:
                return item


def _pieces(index: int, item: dict[str, Any]) -> list[tuple[_Place, str]]:
    match kind_of(item):
        case "message":
            texts = [string(block.get("text") or block.get("refusal")) for block in content_of(item)]
            return [((index, "text", n), text) for n, text in enumerate(texts)]
        case "function_call":
            return [((index, "arguments", 0), string(item.get("arguments")))]
        case "reasoning":
            return [
                ((index, kind, n), string(obj(block).get("text")))
                for kind, name in (("summary", "summary"), ("thought", "content"))
                for n, block in enumerate(arr(item.get(name)))
            ]
        case _:
            return []
