"""Streamed answers of Google's Gemini API: every event is a response of its own, with the next parts.

A server that was not asked for events, or a proxy that drops the question, sends the same responses as one array.
"""

from __future__ import annotations

from typing import Any

from antiphon._json import dumps, loads
from antiphon._shape import number, obj, string
from antiphon.conversation import Origin
from antiphon.errors import MalformedJSONError, RateLimited, RequestRejected, ServerFailed, StreamCut
from antiphon.wire.gemini.array import ArrayParser
from antiphon.wire.gemini.keys import camel_keys, kind_of, part_of, several
from antiphon.wire.gemini.pieces import put
from antiphon.wire.gemini.response import decode, error_text, first_candidate
from antiphon.wire.growing import Growing, longer, settled
from antiphon.wire.quota import quota_error
from antiphon.wire.reply import CallDelta, Delta, ReasoningDelta, Reply, TextDelta
from antiphon.wire.sse import Event, EventParser


class Decoder:
    """Builds the whole response from its events, then decodes it like any other."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._events = EventParser()
        self._array: ArrayParser | None = None
        self._begun = False
        self._response: dict[str, Any] = {}
        self._candidate: dict[str, Any] = {}
        self._parts: list[dict[str, Any]] = []
        self._calls = 0
        # The call whose arguments still come in pieces.
        self._growing: dict[str, Any] | None = None

    def feed(self, chunk: bytes) -> list[Delta]:
        """The deltas that these bytes complete."""
        if not self._begun and (start := chunk.lstrip(b"\xef\xbb\xbf \t\r\n")):
            self._begun = True
            # No line of an event stream begins so.
            self._array = ArrayParser() if start[:1] in b"[{" else None
        if self._array is not None:
            return [delta for text in self._array.feed(chunk) for delta in self._response_text(text)]
        return [delta for event in self._events.feed(chunk) for delta in self._event(event)]

    def reply(self) -> Reply:
        """The whole reply; StreamCut if the stream ended too early."""
        for event in self._events.end():
            self._event(event)
        blocked = not self._candidate and obj(self._response.get("promptFeedback")).get("blockReason")
        # There is no closing event: the reason to stop is what says that the answer is whole.
        if not (self._candidate.get("finishReason") or blocked):
            raise self._cut("the stream ended before the answer did")
        candidates = [self._candidate | {"content": {"parts": settled(self._parts)}}] if self._candidate else []
        return decode(self._response | {"candidates": candidates}, self._origin)

    def _event(self, event: Event) -> list[Delta]:
        if event.data.strip() == "[DONE]":
            return []
        return self._response_text(event.data)

    def _response_text(self, text: str | bytes) -> list[Delta]:
        try:
            data = loads(text, "an event")
        except MalformedJSONError as error:
            raise self._cut(f"the stream is broken: {error}") from None
        return [delta for response in several(data) for delta in self._take(camel_keys(response))]

    def _take(self, response: dict[str, Any]) -> list[Delta]:
        if response.get("error"):
            self._fail(response)
        candidate = first_candidate(response)
        usage = obj(self._response.get("usageMetadata")) | camel_keys(response.get("usageMetadata"))
        self._response |= {k: v for k, v in response.items() if k != "candidates"}
        self._response["usageMetadata"] = usage
        self._candidate |= {k: v for k, v in candidate.items() if k != "content"}
        parts = several(obj(candidate.get("content")).get("parts"))
        return [delta for part in parts for delta in self._add(part_of(part))]

    def _add(self, part: dict[str, Any]) -> list[Delta]:
        kind = kind_of(part)
        if kind == "functionCall":
            return self._add_call(part)
        text = string(part.get("text"))
        last = self._parts[-1] if self._parts else {}
        if _is_running(part) and _is_running(last) and part.get("thought") == last.get("thought"):
            last["text"] = longer(last["text"], text)
        elif part:
            self._parts.append(dict(part))
        if kind != "text" or not text:
            return []
        return [ReasoningDelta(text) if part.get("thought") is True else TextDelta(text)]

    def _add_call(self, part: dict[str, Any]) -> list[Delta]:
        call = obj(part["functionCall"])
        if self._growing is not None and not call.get("name"):
            return self._grow(call)
        self._growing = None
        index, self._calls = self._calls, self._calls + 1
        name = string(call.get("name"))
        if not (call.get("willContinue") or call.get("partialArgs")):
            self._parts.append(part)
            return [CallDelta(index, name, dumps(call.get("args", {})))]
        whole = {k: v for k, v in call.items() if k not in ("willContinue", "partialArgs")}
        whole["args"] = dict(obj(call.get("args")))
        self._growing = whole
        self._parts.append(part | {"functionCall": whole})
        return [CallDelta(index, name, ""), *self._grow(call)]

    def _grow(self, pieces: dict[str, Any]) -> list[Delta]:
        growing = self._growing or {}
        for piece in several(pieces.get("partialArgs")):
            put(growing["args"], piece)
        if pieces.get("willContinue"):
            return []
        self._growing = None
        # The pieces come value by value, not as text, so the text can only be told at the end.
        growing["args"] = settled(growing["args"])
        return [CallDelta(self._calls - 1, "", dumps(growing["args"]))]

    def _cut(self, message: str) -> StreamCut:
        text = "".join(string(settled(part.get("text"))) for part in self._parts if not part.get("thought"))
        return StreamCut(message, provider=self._origin.provider, partial=text)

    def _fail(self, response: dict[str, Any]) -> None:
        error = error_text(response)
        code = number(obj(response.get("error")).get("code")) or 500
        kind = RateLimited if code == 429 else ServerFailed if code >= 500 else RequestRejected
        message = f"{self._origin.provider} broke off the stream: {error.message or error.kind}"
        about: dict[str, Any] = {"provider": self._origin.provider, "status": code, "text": error.message}
        raise quota_error(error, message, **about) or kind(message, **about)


def _is_running(part: dict[str, Any]) -> bool:
    """Whether a part is a piece of running text. One with a signature is not: it must go back as it came."""
    return isinstance(part.get("text"), str | Growing) and set(part) <= {"text", "thought"}
