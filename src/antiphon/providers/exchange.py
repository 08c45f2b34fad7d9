"""One exchange with a provider, free of I/O: it says what to do next and is told what came of it.

Written once as a generator, it is driven by an ordinary client or by an asynchronous one.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from antiphon._json import loads
from antiphon.conversation import Conversation, Reasoning, Text
from antiphon.errors import (
    BadReply,
    ConnectionFailed,
    ContinuationFailed,
    MalformedJSONError,
    NotReadyError,
    OptionError,
    OptionRefused,
    ProviderError,
    StatusError,
    StreamCut,
)
from antiphon.providers.bounds import ERROR_BYTES, ERROR_SECONDS, Bounds, Meter
from antiphon.providers.continuation import (
    Hop,
    Pending,
    broken_off,
    is_background,
    join_replies,
    not_fetched,
    plan_hop,
    too_late,
    too_many,
)
from antiphon.providers.failures import refused_reply, request_id, status_error
from antiphon.providers.prewarming import INTERVAL, PATIENCE, Opening, Prewarming, make_opening
from antiphon.providers.retry import Retry, retry_after
from antiphon.providers.secrets import Secrets
from antiphon.wire import (
    CallDelta,
    Decoder,
    Delta,
    Healed,
    Options,
    ReasoningDelta,
    Reply,
    Request,
    RetryDelta,
    Target,
    TextDelta,
    Usage,
    Wire,
)
from antiphon.wire.cache import SentPrompt, last_sent, remember_sent, report_cache
from antiphon.wire.contradictions import find_wrong_facts
from antiphon.wire.prompt import Prompt, is_costly
from antiphon.wire.wording import is_page, page_text

if TYPE_CHECKING:
    from logging import Logger

#: The level of `logging` for what is sent and received.
_DEBUG = 10
#: How a stream of events may begin, and how many bytes tell.
_EVENTS = re.compile(rb"(?:data|event|id|retry)\b|:")
_TELLING = 6
#: How often an answer is asked for that the server itself cannot read.
_UNREADABLE = 3


class Answer(NamedTuple):
    """How an answer begins; its content is still to be read."""

    status: int
    headers: Mapping[str, str]


class Send(NamedTuple):
    """Send a request. The driver answers with an Answer, or with the error that came instead.

    `headers` join those of the connection. `get` is the path of something to fetch in place of the request, `post` of
    something to do.
    """

    body: bytes
    headers: Mapping[str, str] = MappingProxyType({})
    get: str = ""
    post: str = ""


class Read:
    """Read on in the answer. The driver answers with bytes, with `None` at the end, or with an error."""


class Sleep(NamedTuple):
    """Wait."""

    seconds: float


class Emit(NamedTuple):
    """Hand a piece of the answer to whoever iterates."""

    delta: Delta


Step = Send | Read | Sleep | Emit
Arrival = Answer | ProviderError | bytes | None
Steps = Generator[Step, Arrival, None]


#: Encodes a conversation with some of the options changed.
Encode = Callable[[Conversation, Mapping[str, Any]], Request]


@dataclass(slots=True)
class Exchange:
    """A request under way, with the requests that continue its answer.

    When its steps are done, the reply is in the conversation and in `reply`. `asked` is the conversation as it was when
    the exchange began; `healed` names the facts that were changed on the way.
    """

    wire: Wire
    target: Target
    retry: Retry
    bounds: Bounds
    secrets: Secrets
    conversation: Conversation = field(repr=False)
    asked: Conversation = field(repr=False)
    encode: Encode = field(repr=False)
    options: Options
    request: Request
    continuations: int
    prewarming: Prewarming | None = None
    pending: Pending | None = None
    #: What stops the provider, where the exchange was given up while it makes an answer that nobody will fetch.
    cancelling: Send | None = None
    healed: list[Healed] = field(default_factory=list[Healed])
    _is_cured: bool = False
    #: The prompt that others may wait for, until its answer begins.
    _opening: Opening | None = field(default=None, repr=False)
    #: The headers of the last answer.
    _headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    #: The prompt that was answered last.
    _prompt: Prompt | None = field(default=None, repr=False)
    _reply: Reply | None = field(default=None, repr=False)

    @property
    def reply(self) -> Reply:
        """The reply, once it is complete."""
        if self._reply is None:
            raise NotReadyError("the reply is not complete; read the stream to its end first")
        return self._reply

    def steps(self) -> Steps:
        """Ask, and continue the answer until it has ended or no more steps are allowed."""
        try:
            yield from self._wait_for_cache()
            yield from self._converse()
        finally:
            self._let_others_go()

    def _wait_for_cache(self) -> Generator[Step, Arrival, None]:
        """Wait while the beginning of a conversation's first prompt is on its way into the cache."""
        if self.prewarming is None or last_sent(self.conversation, self.target) is not None:
            return
        opening, began = make_opening(self.request.prompt, self.target), time.monotonic()
        while opening is not None and (first := self.prewarming.enter(opening, self.target)) is not None:
            while not first.is_sent:
                if time.monotonic() - began > PATIENCE:
                    return
                yield Sleep(INTERVAL)
        self._opening = opening

    def _let_others_go(self) -> None:
        if self.prewarming is not None and self._opening is not None:
            self.prewarming.leave(self._opening)
            self._opening = None

    def _converse(self) -> Steps:
        whole = yield from self._fetch_pending()
        if whole is None:
            whole = yield from self._ask(lambda: self.encode(self.asked, {}), self.request)
        while (hop := plan_hop(whole, self.target, self.options)) is not None:
            if whole.hops > self.continuations:
                raise too_many(whole, self.target.provider, self.continuations)
            _logger().info("%s: step %d of the answer (%s)", self.target.model, whole.hops + 1, whole.stop_reason)
            try:
                step = yield from self._continue(whole, hop)
            except ProviderError as error:
                raise broken_off(whole, error, self.target.provider, hop.kind) from error
            whole = join_replies(whole, step, hop.kind)
        self._finish(whole)

    def _continue(self, whole: Reply, hop: Hop) -> Generator[Step, Arrival, Reply]:
        """Ask for the next step of an answer."""
        asked = self.asked
        if hop.kind == "resend":
            asked = asked.to_be_asked()
            asked.add_reply(whole.parts)
        whole.state.keep_in(asked.state, self.target.origin)
        return (yield from self._ask(lambda: self.encode(asked, hop.changes), calls=len(whole.tool_calls)))

    def _wait_for(self, reply: Reply, calls: int) -> Generator[Step, Arrival, Reply]:
        """Fetch a response that is made in the background until it is finished."""
        from urllib.parse import quote

        began, wait, most = time.monotonic(), self.retry.first_wait, self.bounds.seconds
        place = f"{self.wire.path(self.target, False)}/{quote(reply.id, safe='')}"
        send = Send(b"", get=place)
        if self.pending is not None:
            self.pending.note(reply.id)
        while is_background(reply, self.target):
            if most is not None and time.monotonic() - began + wait > most:
                raise too_late(reply, self.target.provider, most)
            asked = retry_after(self._headers)
            try:
                yield Sleep(wait if asked is None else asked)
                reply, _ = yield from self._persist(send, calls)
            except GeneratorExit:
                # A run of a journal fetches it when it is gone on with.
                self.cancelling = Send(b"", post=f"{place}/cancel") if self.pending is None else None
                raise
            except ProviderError as error:
                raise not_fetched(reply, error, self.target.provider) from error
            wait = min(wait * 1.5, self.retry.longest_wait)
        return reply

    def _fetch_pending(self) -> Generator[Step, Arrival, Reply | None]:
        """Fetch the response that an earlier run was waiting for; nothing where there is none any more."""
        if self.pending is None or not self.pending.id:
            return None
        begun = Reply((), stop="pause", stop_reason="queued", id=self.pending.id)
        try:
            reply = yield from self._wait_for(begun, 0)
        except ContinuationFailed as error:
            if not isinstance(error.__cause__, StatusError) or error.__cause__.status != 404:
                raise
            self.pending.note("")
            return None
        reply.parts, self._prompt = self.request.bind(reply.parts), self.request.prompt
        return reply

    def _ask(
        self, encode: Callable[[], Request], request: Request | None = None, *, calls: int = 0
    ) -> Generator[Step, Arrival, Reply]:
        """Ask for one step of an answer. A refusal that names its cure is answered by one more request.

        `calls` counts those of earlier steps. An answer that cannot be read is asked for again, at most twice.
        """
        request = request or encode()
        spent = Usage()
        tries = 0
        while True:
            try:
                reply, is_seen = yield from self._persist(Send(request.body, request.headers), calls)
            except ProviderError as error:
                request = self._cure(error, request, encode)
                continue
            if is_background(reply, self.target):
                reply = yield from self._wait_for(reply, calls)
                reply.parts, self._prompt = request.bind(reply.parts), request.prompt
                return reply
            reply.parts, self._prompt = request.bind(reply.parts), request.prompt
            reply.usage = spent.plus(reply.usage)
            tries += 1
            if reply.stop != "malformed" or is_seen or tries >= min(_UNREADABLE, self.retry.attempts):
                return reply
            spent = reply.usage

    def _persist(self, send: Send, calls: int) -> Generator[Step, Arrival, tuple[Reply, bool]]:
        """Send until there is a reply or no more try is left; say as well whether anything of it was handed on."""
        began = time.monotonic()
        attempt = 0
        while True:
            attempt += 1
            self._log("sent", send.body)
            meter = Meter(self.bounds, self.target.provider)
            try:
                answer = yield send
                return (yield from self._receive(answer, meter, calls))
            except _Failed as failure:
                self._let_others_go()
                error, emitted = self._without_secrets(failure.error), failure.emitted
            # What somebody has seen is not said again.
            error.is_seen = emitted
            wait = None if emitted else self.retry.wait(attempt, error, time.monotonic() - began)
            if wait is None:
                raise error
            _logger().info("%s: try %d failed (%s); the next in %.1f s", self.target.model, attempt, error, wait)
            if self.options.stream:
                yield Emit(RetryDelta(attempt + 1, self.retry.attempts, wait, str(error)))
            yield Sleep(wait)

    def _cure(self, error: ProviderError, request: Request, encode: Callable[[], Request]) -> Request:
        """Return the request to send once more after a refusal; raise the refusal where there is no cure."""
        if error.is_seen or not isinstance(error, StatusError):
            raise error
        # Few programs see a refusal.
        from antiphon.providers.healing import find_option, learn_lesson, read_refusal, refuse_option, warn_of

        lesson = read_refusal(error, self.target, request)
        if self._is_cured:
            changed = ", ".join(f"`{each.fact}` = {each.now!r}" for each in self.healed)
            error.args = (f"{error}; it was sent once more with {changed}, which did not help",)
        if lesson is None or self._is_cured:
            raise error
        option = find_option(lesson, self.options, request)
        healed = learn_lesson(lesson, self.target, self.asked)
        if option:
            raise refuse_option(option, lesson, self.target.provider) from error
        try:
            again = encode()
        except OptionError as refused:
            message = f"{refused} ({self.target.provider} says: {lesson.said})"
            raise OptionRefused(message, fact=lesson.fact, now=lesson.value, said=lesson.said) from error
        if healed is None or again == request:
            raise error
        self._is_cured = True
        self.healed.append(healed)
        warn_of(healed)
        return again

    def _receive(self, answer: Arrival, meter: Meter, calls: int) -> Generator[Step, Arrival, tuple[Reply, bool]]:
        if isinstance(answer, ProviderError):
            raise _Failed(meter.silence(answer))
        assert isinstance(answer, Answer)
        self._headers = answer.headers
        if answer.status >= 300:
            reply = yield from self._refusal(answer)
            reply.request_id = request_id(answer.headers)
            return reply, False
        emitted = False
        stream = self.options.stream
        try:
            chunk = (yield from self._head(meter)) if stream else b""
            if stream and self._is_stream(chunk, answer.headers):
                decoder = self.wire.Decoder(self.target.origin)
                while chunk is not None:
                    for delta in decoder.feed(chunk):
                        emitted = True
                        yield Emit(_shifted(delta, calls))
                    chunk = yield from self._read(meter)
                reply = self._whole(decoder, meter.broken)
            else:
                reply = self._decoded((yield from self._rest(chunk, meter)))
                is_told = stream and not is_background(reply, self.target)
                for delta in _deltas(reply) if is_told else ():
                    emitted = True
                    yield Emit(_shifted(delta, calls))
        except ProviderError as error:
            raise _Failed(error, emitted) from None
        reply.request_id = request_id(answer.headers)
        return reply, emitted

    def _read(self, meter: Meter) -> Generator[Step, Arrival, bytes | None]:
        """The next bytes, or nothing at the end; where that came too early, `meter.broken` says why."""
        chunk = None if meter.broken else (yield Read())
        self._let_others_go()
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

    def _refusal(self, answer: Answer) -> Generator[Step, Arrival, Reply]:
        """Raise what a status means, in the server's words as far as they came; return the reply that they hold."""
        meter = Meter(Bounds(ERROR_BYTES, ERROR_SECONDS), self.target.provider)
        content = bytearray()
        while (chunk := (yield from self._read(meter))) is not None:
            content += chunk
        if reply := refused_reply(self.wire, bytes(content)):
            return reply
        raise _Failed(status_error(self.wire, self.target, answer.status, answer.headers, bytes(content), self.secrets))

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

    def _finish(self, reply: Reply) -> None:
        reply.healed = tuple(self.healed)
        reply.state.keep_in(self.conversation.state, self.target.origin)
        try:
            turn = self.conversation.add_reply(reply.parts, seen=self.asked.turns)
        except NotReadyError as error:
            error.reply = reply
            raise
        if self._prompt is not None:
            self._compare_prompts(reply, self._prompt)
        # The conversation may have given calls other ids.
        reply.parts = turn.parts
        reply.conversation = self.conversation
        self._reply = reply

    def _compare_prompts(self, reply: Reply, answered: Prompt) -> None:
        """Note where the prompt differs from the last one, and what the provider's cache made of it."""
        before, first = last_sent(self.conversation, self.target), self.request.prompt or answered
        change = first.change_since(before.prompt) if before is not None else None
        if change is not None and is_costly(change, self.target):
            reply.prefix_change = change
        reply.wrong_facts = find_wrong_facts(self.conversation, self.target, reply, first, before, change)
        ttl = self.options.cache if isinstance(self.options.cache, str) else ""
        now, known = time.time(), self.target.facts.cache
        reply.cache = report_cache(before, change, reply.usage, reply.state, known, now, ttl)
        is_missed = reply.cache is not None and reply.cache.outcome == "missed"
        sent = SentPrompt(answered, now, reply.usage.input_tokens, reply.id, is_missed)
        remember_sent(self.conversation, self.target, sent)

    def _log(self, direction: str, content: bytes) -> None:
        # It takes longer to import than a request takes to encode; whoever listens to it has imported it.
        if "logging" not in sys.modules:
            return
        log = _logger()
        if log.isEnabledFor(_DEBUG):
            text = self.secrets.hide(content.decode("utf-8", "replace"))
            log.debug("%s/%s %s %s", self.target.provider, self.target.model, direction, text)


@cache
def _logger() -> Logger:
    import logging

    return logging.getLogger("antiphon.providers")


def _deltas(reply: Reply) -> Iterator[Delta]:
    """The pieces of a reply that came whole, for those who watch it come."""
    for part in reply.parts:
        if isinstance(part, Reasoning) and part.text:
            yield ReasoningDelta(part.text)
        elif isinstance(part, Text) and part.text:
            yield TextDelta(part.text)
    for index, call in enumerate(reply.tool_calls):
        yield CallDelta(index, call.name, call.arguments_json)


def _shifted(delta: Delta, calls: int) -> Delta:
    """Return a piece of a later step of an answer, whose calls are counted behind those of the steps before it."""
    return replace(delta, index=delta.index + calls) if calls and isinstance(delta, CallDelta) else delta


class _Failed(Exception):
    """Carries a failure out of a try, with whether anything of the answer had been handed on."""

    def __init__(self, error: ProviderError, emitted: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.emitted = emitted
