"""One exchange with a provider, free of I/O: it says what to do next and is told what came of it.

Written once as a generator, it is driven by an ordinary client or by an asynchronous one.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field

from antiphon._json import loads
from antiphon.conversation import Conversation, Reasoning, Text, Turn
from antiphon.errors import (
    BadReply,
    ConnectionFailed,
    MalformedJSONError,
    NotReadyError,
    ProviderError,
    StatusError,
    StreamCut,
)
from antiphon.providers.bounds import ERROR_BYTES, ERROR_SECONDS, Bounds, Meter
from antiphon.providers.failures import refused_reply, request_id, status_error
from antiphon.providers.retry import Retry
from antiphon.providers.secrets import Secrets
from antiphon.wire import CallDelta, Decoder, Delta, ReasoningDelta, Reply, Target, TextDelta, Wire
from antiphon.wire.wording import is_page, page_text

log = logging.getLogger("antiphon.providers")

#: How a stream of events may begin, and how many bytes tell.
_EVENTS = re.compile(rb"(?:data|event|id|retry)\b|:")
_TELLING = 6


@dataclass(frozen=True, slots=True)
class Answer:
    """How an answer begins; its content is still to be read."""

    status: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Send:
    """Send the request. The driver answers with an Answer, or with the error that came instead."""

    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Read:
    """Read on in the answer. The driver answers with bytes, with `None` at the end, or with an error."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Emit:
    """Hand a piece of the answer to whoever iterates."""

    delta: Delta


Step = Send | Read | Sleep | Emit
Arrival = Answer | ProviderError | bytes | None
Steps = Generator[Step, Arrival, None]


@dataclass(slots=True)
class Exchange:
    """A request under way. When its steps are done, the reply is in the conversation and in `reply`."""

    wire: Wire
    target: Target
    retry: Retry
    bounds: Bounds
    secrets: Secrets
    conversation: Conversation = field(repr=False)
    seen: tuple[Turn, ...] = field(repr=False)
    body: bytes = field(repr=False)
    stream: bool
    _reply: Reply | None = field(default=None, repr=False)

    @property
    def reply(self) -> Reply:
        """The reply, once it is complete."""
        if self._reply is None:
            raise NotReadyError("the reply is not complete; read the stream to its end first")
        return self._reply

    def steps(self) -> Steps:
        """Try until there is a reply or no more try is left."""
        began = time.monotonic()
        attempt = 0
        while True:
            attempt += 1
            self._log("sent", self.body)
            meter = Meter(self.bounds, self.target.provider)
            try:
                answer = yield Send(self.body)
                yield from self._receive(answer, meter)
                return
            except _Failed as failure:
                error, emitted = self._without_secrets(failure.error), failure.emitted
            # What somebody has seen is not said again.
            wait = None if emitted else self.retry.wait(attempt, error, time.monotonic() - began)
            if wait is None:
                raise error
            log.info("%s: try %d failed (%s); the next in %.1f s", self.target.model, attempt, error, wait)
            yield Sleep(wait)

    def _receive(self, answer: Arrival, meter: Meter) -> Steps:
        if isinstance(answer, ProviderError):
            raise _Failed(meter.silence(answer))
        assert isinstance(answer, Answer)
        if answer.status >= 300:
            if (refused := (yield from self._refusal(answer))) is not None:
                raise _Failed(refused)
            return
        emitted = False
        try:
            chunk = (yield from self._head(meter)) if self.stream else b""
            if self.stream and self._is_stream(chunk, answer.headers):
                decoder = self.wire.Decoder(self.target.origin)
                while chunk is not None:
                    for delta in decoder.feed(chunk):
                        emitted = True
                        yield Emit(delta)
                    chunk = yield from self._read(meter)
                reply = self._whole(decoder, meter.broken)
            else:
                reply = self._decoded((yield from self._rest(chunk, meter)))
                for delta in _deltas(reply) if self.stream else ():
                    emitted = True
                    yield Emit(delta)
            self._finish(reply, answer.headers)
        except ProviderError as error:
            raise _Failed(error, emitted) from None

    def _read(self, meter: Meter) -> Generator[Step, Arrival, bytes | None]:
        """The next bytes, or nothing at the end; where that came too early, `meter.broken` says why."""
        chunk = None if meter.broken else (yield Read())
        if isinstance(chunk, bytes):
            self._log("received", chunk)
            return chunk if meter.add(len(chunk)) else None
        if isinstance(chunk, ProviderError):
            meter.broken = meter.silence(chunk)
        return None

    def _head(self, meter: Meter) -> Generator[Step, Arrival, bytes]:
        """The first bytes that are no white space, as many as tell a stream from something else."""
        head = b""
        while len(head) < _TELLING and (chunk := (yield from self._read(meter))) is not None:
            head = (head + chunk).lstrip()
        return head

    def _rest(self, head: bytes, meter: Meter) -> Generator[Step, Arrival, bytes]:
        content = bytearray(head)
        while (chunk := (yield from self._read(meter))) is not None:
            content += chunk
        if meter.broken:
            raise meter.broken
        return bytes(content)

    def _refusal(self, answer: Answer) -> Generator[Step, Arrival, ProviderError | None]:
        """The error that a status means, in the server's words as far as they came; none, where they hold a reply."""
        meter = Meter(Bounds(ERROR_BYTES, ERROR_SECONDS), self.target.provider)
        content = bytearray()
        while (chunk := (yield from self._read(meter))) is not None:
            content += chunk
        if reply := refused_reply(self.wire, bytes(content)):
            self._finish(reply, answer.headers)
            return None
        return status_error(self.wire, self.target, answer.status, answer.headers, bytes(content), self.secrets)

    def _is_stream(self, head: bytes, headers: Mapping[str, str]) -> bool:
        """Whether an answer is the stream that was asked for. Gateways and simple servers answer with something else,
        and some of them call it what it is not."""
        head = head.removeprefix(b"\xef\xbb\xbf")
        if head.startswith(b"["):
            # What Gemini sends where `alt=sse` is lost on the way.
            return self.wire.API == "gemini"
        if head.startswith((b"{", b"<")):
            return False
        return not head or bool(_EVENTS.match(head)) or "event-stream" in headers.get("content-type", "")

    def _decoded(self, content: bytes) -> Reply:
        provider = self.target.provider
        try:
            return self.wire.decode(loads(content, "the answer"), self.target.origin)
        except MalformedJSONError as error:
            # Before it is made short: half a key would not be recognised any more.
            said = page_text(self.secrets.hide(content.decode("utf-8", "replace")).encode())
            what = "a web page, and no reply; check the base URL" if is_page(content) else f"200, but {error}"
            raise BadReply(
                f"{provider} answered {what}{f' (it says: {said[:300]})' if said else ''}", provider=provider
            ) from None

    def _whole(self, decoder: Decoder, broken: ProviderError | None) -> Reply:
        """The reply, even if the connection broke after its end; else what had come of it."""
        try:
            return decoder.reply()
        except StreamCut as cut:
            if broken is None:
                raise
            if not isinstance(broken, ConnectionFailed):
                raise broken from None
            raise StreamCut(str(broken), provider=broken.provider, partial=cut.partial) from None

    def _without_secrets(self, error: ProviderError) -> ProviderError:
        """Servers echo what they were sent."""
        error.args = (self.secrets.hide(str(error)),)
        if isinstance(error, StatusError):
            error.text = self.secrets.hide(error.text)
        return error

    def _finish(self, reply: Reply, headers: Mapping[str, str]) -> None:
        reply.request_id = request_id(headers)
        try:
            turn = self.conversation.add_reply(reply.parts, seen=self.seen)
        except NotReadyError as error:
            error.reply = reply
            raise
        # The conversation may have given calls other ids.
        reply.parts = turn.parts
        reply.conversation = self.conversation
        self._reply = reply

    def _log(self, direction: str, content: bytes) -> None:
        if log.isEnabledFor(logging.DEBUG):
            text = self.secrets.hide(content.decode("utf-8", "replace"))
            log.debug("%s/%s %s %s", self.target.provider, self.target.model, direction, text)


def _deltas(reply: Reply) -> Iterator[Delta]:
    """The pieces of a reply that came whole, for those who watch it come."""
    for part in reply.parts:
        if isinstance(part, Reasoning) and part.text:
            yield ReasoningDelta(part.text)
        elif isinstance(part, Text) and part.text:
            yield TextDelta(part.text)
    for index, call in enumerate(reply.tool_calls):
        yield CallDelta(index, call.name, call.arguments_json)


class _Failed(Exception):
    """Carries a failure out of a try, with whether anything of the answer had been handed on."""

    def __init__(self, error: ProviderError, emitted: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.emitted = emitted
