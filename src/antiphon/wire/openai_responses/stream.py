"""Decoder of streamed answers of OpenAI's Responses API."""

from __future__ import annotations

from typing import Any

from antiphon._base.json import dump_json, load_json
from antiphon._base.json_access import as_array, as_integer, as_object, as_string
from antiphon.conversation import Origin
from antiphon.errors import MalformedJSONError, StreamCut
from antiphon.wire.accumulate import TextAccumulator, append_text
from antiphon.wire.openai_responses.client_calls import get_client_tool_name, is_client_call, read_client_arguments
from antiphon.wire.openai_responses.item_rules import get_item_type
from antiphon.wire.openai_responses.response import decode, get_content_blocks, make_failure_error, parse_error
from antiphon.wire.reply import CallDelta, ReasoningDelta, Reply, ReplyDelta, TextDelta
from antiphon.wire.sse import ServerSentEvent, SseParser

# A text under construction: index of its item, its kind, and its index in the item.
_TextPosition = tuple[int, str, int]

_DELTA_EVENTS = {
    "response.output_text.delta": ("text", "content_index"),
    "response.refusal.delta": ("text", "content_index"),
    "response.function_call_arguments.delta": ("arguments", ""),
    "response.custom_tool_call_input.delta": ("input", ""),
    "response.reasoning_summary_text.delta": ("summary", "summary_index"),
    "response.reasoning_text.delta": ("thought", "content_index"),
}


class Decoder:
    """Decoder of a stream: take the complete response from its last event, then decode it.

    Some servers send no deltas, or leave the last event's `output` empty. The decoder derives one from
    the other.
    """

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._events = SseParser()
        self._items: dict[int, dict[str, Any]] = {}
        self._done: set[int] = set()
        self._sent: dict[_TextPosition, TextAccumulator] = {}
        self._announced: set[int] = set()
        self._text: list[str] = []
        self._thinking: _TextPosition | None = None
        self._response: dict[str, Any] | None = None

    def feed(self, chunk: bytes) -> list[ReplyDelta]:
        """Return the deltas that these bytes complete."""
        return [delta for event in self._events.feed(chunk) for delta in self._handle_event(event)]

    def reply(self) -> Reply:
        """Return the complete reply. Raise StreamCut if the stream ended too early."""
        for event in self._events.end():
            self._handle_event(event)
        if self._response is None:
            raise self._stream_cut_error("the stream ended before the response did")
        output = as_array(self._response.get("output")) or [self._whole(index) for index in sorted(self._items)]
        return decode(self._response | {"output": output}, self._origin)

    def _stream_cut_error(self, message: str) -> StreamCut:
        return StreamCut(message, provider=self._origin.provider, partial="".join(self._text))

    def _handle_event(self, event: ServerSentEvent) -> list[ReplyDelta]:
        if event.data.strip() == "[DONE]":
            return []
        try:
            data = as_object(load_json(event.data, "an event"))
        except MalformedJSONError as error:
            raise self._stream_cut_error(f"the stream is broken: {error}") from None
        kind = as_string(data.get("type")) or event.name
        match kind:
            case "response.output_item.added" | "response.output_item.done":
                return self._take(data, kind.endswith(".done"))
            case "response.completed" | "response.incomplete" | "response.cancelled":
                return self._end(as_object(data.get("response")))
            case "response.failed":
                raise make_failure_error(parse_error(as_object(data.get("response"))), self._origin.provider)
            case "error":
                raise make_failure_error(parse_error(data), self._origin.provider)
            case _ if kind in _DELTA_EVENTS:
                name, field = _DELTA_EVENTS[kind]
                place = (as_integer(data.get("output_index")) or 0, name, as_integer(data.get(field)) or 0)
                return self._grow(place, as_string(data.get("delta")))
            case _:
                return []

    def _take(self, data: dict[str, Any], done: bool) -> list[ReplyDelta]:
        item = as_object(data.get("item"))
        index = as_integer(data.get("output_index"))
        if index is None:
            index = len(self._items) - done if self._items else 0
        self._items[index] = item
        if done:
            self._done.add(index)
        return self._emit_missing(index, item)

    def _end(self, response: dict[str, Any]) -> list[ReplyDelta]:
        self._response = response
        if self._items or self._sent:
            return []
        self._items = {index: as_object(item) for index, item in enumerate(as_array(response.get("output")))}
        self._done = set(self._items)
        return [delta for index, item in self._items.items() for delta in self._emit_missing(index, item)]

    def _emit_missing(self, index: int, item: dict[str, Any]) -> list[ReplyDelta]:
        """Return deltas for the content of an item that has not been emitted yet."""
        deltas: list[ReplyDelta] = []
        if self._is_any_call(item) and index not in self._announced:
            self._announced.add(index)
            name = get_client_tool_name(item) if self._is_client_call(item) else as_string(item.get("name"))
            deltas.append(CallDelta(self._call_index(index), name, ""))
        for kind, texts in _extract_texts(item, self._is_client_call(item) and index in self._done).items():
            deltas += self._emit_missing_texts(index, kind, texts)
        return deltas

    def _emit_missing_texts(self, index: int, kind: str, texts: list[str]) -> list[ReplyDelta]:
        """Return deltas for the texts not emitted yet, regardless of the server's numbering."""
        places = sorted(place for place in self._sent if place[:2] == (index, kind))
        sent = "".join(str(self._sent[place]) for place in places)
        if not "".join(texts).startswith(sent):
            return []
        deltas: list[ReplyDelta] = []
        told = len(sent)
        for number_, text in enumerate(texts):
            deltas += self._grow((index, kind, number_), text[told:])
            told = max(told - len(text), 0)
        return deltas

    def _grow(self, place: _TextPosition, piece: str) -> list[ReplyDelta]:
        if not piece:
            return []
        self._sent[place] = append_text(self._sent.get(place), piece)
        index, kind, _ = place
        if kind == "text":
            self._text.append(piece)
            return [TextDelta(piece)]
        if kind == "input":
            # The text becomes an argument, which is emitted when it is complete.
            return []
        if kind == "arguments":
            return [CallDelta(self._call_index(index), "", piece)]
        gap = "\n\n" if self._thinking not in (None, place) else ""
        self._thinking = place
        return [ReasoningDelta(gap + piece)]

    def _call_index(self, index: int) -> int:
        return sum(1 for n, item in self._items.items() if n < index and self._is_any_call(item))

    def _is_any_call(self, item: dict[str, Any]) -> bool:
        return get_item_type(item) == "function_call" or self._is_client_call(item)

    def _is_client_call(self, item: dict[str, Any]) -> bool:
        return is_client_call(item, self._origin.provider)

    def _whole(self, index: int) -> dict[str, Any]:
        """Return an item, completed from its deltas if its end was never reported."""
        item = self._items[index]
        if index in self._done:
            return item
        grown = {(kind, n): str(text) for (at, kind, n), text in self._sent.items() if at == index}
        match get_item_type(item):
            case "function_call":
                return item | {"arguments": grown.get(("arguments", 0), "")}
            case "custom_tool_call":
                return item | {"input": grown.get(("input", 0), "")}
            case "message":
                texts = [{"type": "output_text", "text": text} for (kind, _), text in grown.items() if kind == "text"]
                return item | {"content": texts}
            case _:
                return item


def _extract_texts(item: dict[str, Any], other_call: bool) -> dict[str, list[str]]:
    """Return the texts of an item by their kind."""
    if other_call:
        return {"arguments": [dump_json(read_client_arguments(item))]}
    match get_item_type(item):
        case "message":
            return {
                "text": [as_string(block.get("text") or block.get("refusal")) for block in get_content_blocks(item)]
            }
        case "function_call":
            return {"arguments": [as_string(item.get("arguments"))]}
        case "reasoning":
            return {
                kind: [as_string(as_object(block).get("text")) for block in as_array(item.get(name))]
                for kind, name in (("summary", "summary"), ("thought", "content"))
            }
        case _:
            return {}
