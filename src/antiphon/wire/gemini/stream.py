"""Decoder of streamed answers of Google's Gemini API: every event is a response with the next parts.

A server that was not asked for SSE, or a proxy that drops the parameter, sends the same responses
as one array.
"""

from __future__ import annotations

from typing import Any

from antiphon._base.json import dump_json, load_json
from antiphon._base.json_access import as_integer, as_object, as_string
from antiphon.conversation import Origin
from antiphon.errors import MalformedJSONError, RateLimited, RequestRejected, ServerFailed, StreamCut
from antiphon.wire.accumulate import TextAccumulator, append_text, join_accumulated
from antiphon.wire.gemini.field_names import as_object_list, camelize_keys, find_content_field, normalize_part
from antiphon.wire.gemini.json_array_stream import JsonArrayParser
from antiphon.wire.gemini.partial_arguments import add_partial_argument
from antiphon.wire.gemini.response import decode, first_candidate, parse_error
from antiphon.wire.quota import make_quota_error
from antiphon.wire.reply import CallDelta, ReasoningDelta, Reply, ReplyDelta, TextDelta
from antiphon.wire.sse import ServerSentEvent, SseParser


class Decoder:
    """Decoder of a stream: build the complete response from its events, then decode it."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._events = SseParser()
        self._array: JsonArrayParser | None = None
        self._begun = False
        self._response: dict[str, Any] = {}
        self._candidate: dict[str, Any] = {}
        self._parts: list[dict[str, Any]] = []
        self._calls = 0
        # The call whose arguments are still being streamed.
        self._open_call: dict[str, Any] | None = None

    def feed(self, chunk: bytes) -> list[ReplyDelta]:
        """Return the deltas that these bytes complete."""
        if not self._begun and (start := chunk.lstrip(b"\xef\xbb\xbf \t\r\n")):
            self._begun = True
            # No line of an SSE stream begins with these.
            self._array = JsonArrayParser() if start[:1] in b"[{" else None
        if self._array is not None:
            return [delta for text in self._array.feed(chunk) for delta in self._handle_json(text)]
        return [delta for event in self._events.feed(chunk) for delta in self._handle_event(event)]

    def reply(self) -> Reply:
        """Return the complete reply. Raise StreamCut if the stream ended too early."""
        for event in self._events.end():
            self._handle_event(event)
        blocked = not self._candidate and as_object(self._response.get("promptFeedback")).get("blockReason")
        # There is no closing event: the finish reason shows that the answer is complete.
        if not (self._candidate.get("finishReason") or blocked):
            raise self._stream_cut_error("the stream ended before the answer did")
        candidates = (
            [self._candidate | {"content": {"parts": join_accumulated(self._parts)}}] if self._candidate else []
        )
        return decode(self._response | {"candidates": candidates}, self._origin)

    def _handle_event(self, event: ServerSentEvent) -> list[ReplyDelta]:
        if event.data.strip() == "[DONE]":
            return []
        return self._handle_json(event.data)

    def _handle_json(self, text: str | bytes) -> list[ReplyDelta]:
        try:
            data = load_json(text, "an event")
        except MalformedJSONError as error:
            raise self._stream_cut_error(f"the stream is broken: {error}") from None
        return [delta for response in as_object_list(data) for delta in self._take(camelize_keys(response))]

    def _take(self, response: dict[str, Any]) -> list[ReplyDelta]:
        if response.get("error"):
            self._raise_error(response)
        candidate = first_candidate(response)
        usage = as_object(self._response.get("usageMetadata")) | camelize_keys(response.get("usageMetadata"))
        self._response |= {k: v for k, v in response.items() if k != "candidates"}
        self._response["usageMetadata"] = usage
        self._candidate |= {k: v for k, v in candidate.items() if k != "content"}
        parts = as_object_list(as_object(candidate.get("content")).get("parts"))
        return [delta for part in parts for delta in self._add(normalize_part(part))]

    def _add(self, part: dict[str, Any]) -> list[ReplyDelta]:
        kind = find_content_field(part)
        if kind == "functionCall":
            return self._add_call_part(part)
        text = as_string(part.get("text"))
        last = self._parts[-1] if self._parts else {}
        if _is_plain_text(part) and _is_plain_text(last) and part.get("thought") == last.get("thought"):
            last["text"] = append_text(last["text"], text)
        elif part:
            self._parts.append(dict(part))
        if kind != "text" or not text:
            return []
        return [ReasoningDelta(text) if part.get("thought") is True else TextDelta(text)]

    def _add_call_part(self, part: dict[str, Any]) -> list[ReplyDelta]:
        call = as_object(part["functionCall"])
        if self._open_call is not None and not call.get("name"):
            return self._grow(call)
        self._open_call = None
        index, self._calls = self._calls, self._calls + 1
        name = as_string(call.get("name"))
        if not (call.get("willContinue") or call.get("partialArgs")):
            self._parts.append(part)
            return [CallDelta(index, name, dump_json(call.get("args", {})))]
        whole = {k: v for k, v in call.items() if k not in ("willContinue", "partialArgs")}
        whole["args"] = dict(as_object(call.get("args")))
        self._open_call = whole
        self._parts.append(part | {"functionCall": whole})
        return [CallDelta(index, name, ""), *self._grow(call)]

    def _grow(self, pieces: dict[str, Any]) -> list[ReplyDelta]:
        growing = self._open_call or {}
        for piece in as_object_list(pieces.get("partialArgs")):
            add_partial_argument(growing["args"], piece)
        if pieces.get("willContinue"):
            return []
        self._open_call = None
        # Pieces are values, not JSON text, so the text is known only at the end.
        growing["args"] = join_accumulated(growing["args"])
        return [CallDelta(self._calls - 1, "", dump_json(growing["args"]))]

    def _stream_cut_error(self, message: str) -> StreamCut:
        text = "".join(as_string(join_accumulated(part.get("text"))) for part in self._parts if not part.get("thought"))
        return StreamCut(message, provider=self._origin.provider, partial=text)

    def _raise_error(self, response: dict[str, Any]) -> None:
        error = parse_error(response)
        code = as_integer(as_object(response.get("error")).get("code")) or 500
        kind = RateLimited if code == 429 else ServerFailed if code >= 500 else RequestRejected
        message = f"{self._origin.provider} broke off the stream: {error.message or error.kind}"
        about: dict[str, Any] = {"provider": self._origin.provider, "status": code, "text": error.message}
        raise make_quota_error(error, message, **about) or kind(message, **about)


def _is_plain_text(part: dict[str, Any]) -> bool:
    """Return whether a part is text that may be joined. A signed part must be sent back unchanged."""
    return isinstance(part.get("text"), str | TextAccumulator) and set(part) <= {"text", "thought"}
