"""One exchange with a provider, free of I/O: it says what to do next and is told what came of it.

Written once as a generator, it is driven by an ordinary client or by an asynchronous one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass

from antiphon._json import loads
from antiphon.conversation import Conversation, Turn
from antiphon.errors import BadReply, MalformedJSONError, NotReadyError, ProviderError, StreamCut, TimedOut
from antiphon.providers.failures import redact, refused_reply, request_id, status_error
from antiphon.providers.retry import Retry
from antiphon.wire import Decoder, Delta, Reply, Target, Wire

log = logging.getLogger("antiphon.providers")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server answered; the content of a stream that went well is still to be read."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class Send:
    """Send the request. The driver answers with an Answer, or with the error that came instead."""

    body: bytes
    stream: bool


@dataclass(frozen=True, slots=True)
class Read:
    """Read on in the stream. The driver answers with bytes, with `None` at the end, or with an error."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Emit:
    """Hand a piece of the answer to whoever iterates."""

    delta: Delta


Step = Send | Read | Sleep | Emit
Outcome = Answer | ProviderError | bytes | None
Steps = Generator[Step, Outcome, None]


@dataclass(slots=True)
class Exchange:
    """A request under way. When its steps are done, the reply is in the conversation and in `reply`."""

    wire: Wire
    target: Target
    retry: Retry
    secrets: tuple[str, ...]
    conversation: Conversation
    seen: tuple[Turn, ...]
    body: bytes
    stream: bool
    _reply: Reply | None = None

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
            emitted = False
            try:
                answer = yield Send(self.body, self.stream)
                emitted = yield from self._receive(answer)
                return
            except _Failed as failure:
                error, emitted = failure.error, failure.emitted
            # What somebody has seen is not said again.
            wait = None if emitted else self.retry.wait(attempt, error, time.monotonic() - began)
            if wait is None:
                raise error
            log.info("%s: try %d failed (%s); the next in %.1f s", self.target.model, attempt, error, wait)
            yield Sleep(wait)

    def _receive(self, answer: Outcome) -> Generator[Step, Outcome, bool]:
        if isinstance(answer, ProviderError):
            raise _Failed(answer)
        assert isinstance(answer, Answer)
        provider = self.target.provider
        if answer.status >= 300:
            if refused := refused_reply(self.wire, answer.content):
                self._finish(refused, answer.headers)
                return False
            raise _Failed(
                status_error(self.wire, provider, answer.status, answer.headers, answer.content, self.secrets)
            )
        emitted = False
        try:
            if not self.stream:
                self._log("received", answer.content)
                self._finish(self._decoded(answer.content), answer.headers)
                return emitted
            decoder = self.wire.Decoder(self.target.origin)
            broken: ProviderError | None = None
            while (chunk := (yield Read())) is not None:
                if isinstance(chunk, ProviderError):
                    broken = chunk
                    break
                assert isinstance(chunk, bytes)
                self._log("received", chunk)
                for delta in decoder.feed(chunk):
                    emitted = True
                    yield Emit(delta)
            self._finish(self._whole(decoder, broken), answer.headers)
        except ProviderError as error:
            raise _Failed(error, emitted) from None
        return emitted

    def _decoded(self, content: bytes) -> Reply:
        provider = self.target.provider
        try:
            return self.wire.decode(loads(content, "the answer"), self.target.origin)
        except MalformedJSONError as error:
            raise BadReply(f"{provider} answered 200, but {error}", provider=provider) from None

    def _whole(self, decoder: Decoder, broken: ProviderError | None) -> Reply:
        """The reply, even if the connection broke after its end; else what had come of it."""
        try:
            return decoder.reply()
        except StreamCut as cut:
            if broken is None:
                raise
            kind = TimedOut if isinstance(broken, TimedOut) else StreamCut
            more = {} if kind is TimedOut else {"partial": cut.partial}
            raise kind(str(broken), provider=broken.provider, **more) from None

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
            text = redact(content.decode("utf-8", "replace"), self.secrets)
            log.debug("%s/%s %s %s", self.target.provider, self.target.model, direction, text)


class _Failed(Exception):
    """Carries a failure out of a try, with whether anything of the answer had been handed on."""

    def __init__(self, error: ProviderError, emitted: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.emitted = emitted
