"""Streamed answers of OpenAI's Responses API."""

from __future__ import annotations

from typing import Any

from antiphon._json import dumps, loads
from antiphon._shape import arr, number, obj, string
from antiphon.conversation import Origin
from antiphon.errors import MalformedJSONError, StreamCut
from antiphon.wire.growing import Growing, longer
from antiphon.wire.openai_responses.calls import arguments_of, is_call, name_of
from antiphon.wire.openai_responses.response import content_of, decode, error_text, failure
from antiphon.wire.openai_responses.terms import kind_of
from antiphon.wire.reply import CallDelta, Delta, ReasoningDelta, Reply, TextDelta
from antiphon.wire.sse import Event, EventParser

# One piece of text that grows: the place of its item, its kind and its place in the item.
_Place = tuple[int, str, int]

_GROWING = {
    "response.output_text.delta": ("text", "content_index"),
    "response.refusal.delta": ("text", "content_index"),
    "response.function_call_arguments.delta": ("arguments", ""),
    "response.custom_tool_call_input.delta": ("input", ""),
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
        self._sent: dict[_Place, Growing] = {}
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
            case "response.completed" | "response.incomplete" | "response.cancelled":
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
        self._done = set(self._items)
        return [delta for index, item in self._items.items() for delta in self._catch_up(index, item)]

    def _catch_up(self, index: int, item: dict[str, Any]) -> list[Delta]:
        """The deltas of what an item says and nobody was told yet."""
        deltas: list[Delta] = []
        if self._is_call(item) and index not in self._named:
            self._named.add(index)
            name = name_of(item) if self._is_other_call(item) else string(item.get("name"))
            deltas.append(CallDelta(self._call_number(index), name, ""))
        for kind, texts in _pieces(item, self._is_other_call(item) and index in self._done).items():
            deltas += self._catch_up_texts(index, kind, texts)
        return deltas

    def _catch_up_texts(self, index: int, kind: str, texts: list[str]) -> list[Delta]:
        """What of these texts was not told, whatever numbers the server gave to those that were."""
        places = sorted(place for place in self._sent if place[:2] == (index, kind))
        sent = "".join(str(self._sent[place]) for place in places)
        if not "".join(texts).startswith(sent):
            return []
        deltas: list[Delta] = []
        told = len(sent)
        for number_, text in enumerate(texts):
            deltas += self._grow((index, kind, number_), text[told:])
            told = max(told - len(text), 0)
        return deltas

    def _grow(self, place: _Place, piece: str) -> list[Delta]:
        if not piece:
            return []
        self._sent[place] = longer(self._sent.get(place), piece)
        index, kind, _ = place
        if kind == "text":
            self._text.append(piece)
            return [TextDelta(piece)]
        if kind == "input":
            # The text becomes an argument, which is told when it is whole.
            return []
        if kind == "arguments":
            return [CallDelta(self._call_number(index), "", piece)]
        gap = "\n\n" if self._thinking not in (None, place) else ""
        self._thinking = place
        return [ReasoningDelta(gap + piece)]

    def _call_number(self, index: int) -> int:
        return sum(1 for n, item in self._items.items() if n < index and self._is_call(item))

    def _is_call(self, item: dict[str, Any]) -> bool:
        return kind_of(item) == "function_call" or self._is_other_call(item)

    def _is_other_call(self, item: dict[str, Any]) -> bool:
        return is_call(item, self._origin.provider)

    def _whole(self, index: int) -> dict[str, Any]:
        """An item, with what came in pieces where its end was never told."""
        item = self._items[index]
        if index in self._done:
            return item
        grown = {(kind, n): str(text) for (at, kind, n), text in self._sent.items() if at == index}
        match kind_of(item):
            case "function_call":
                return item | {"arguments": grown.get(("arguments", 0), "")}
            case "custom_tool_call":
                return item | {"input": grown.get(("input", 0), "")}
            case "message":
                texts = [{"type": "output_text", "text": text} for (kind, _), text in grown.items() if kind == "text"]
                return item | {"content": texts}
            case _:
                return item


def _pieces(item: dict[str, Any], other_call: bool) -> dict[str, list[str]]:
    """The texts of an item by their kind."""
    if other_call:
        return {"arguments": [dumps(arguments_of(item))]}
    match kind_of(item):
        case "message":
            return {"text": [string(block.get("text") or block.get("refusal")) for block in content_of(item)]}
        case "function_call":
            return {"arguments": [string(item.get("arguments"))]}
        case "reasoning":
            return {
                kind: [string(obj(block).get("text")) for block in arr(item.get(name))]
                for kind, name in (("summary", "summary"), ("thought", "content"))
            }
        case _:
            return {}
