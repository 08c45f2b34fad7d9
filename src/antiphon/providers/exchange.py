"""One exchange with a provider, free of I/O: a generator that yields the next step and receives its
result.

It is written once and driven by a synchronous or an asynchronous client.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from antiphon._base.json import load_json
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
from antiphon.providers.circuit_breaker import Circuit
from antiphon.providers.continuation import (
    ContinuationStep,
    Pending,
    is_background_response,
    join_replies,
    make_fetch_error,
    make_step_error,
    make_step_limit_error,
    make_wait_error,
    plan_continuation,
)
from antiphon.providers.error_mapping import get_request_id, make_status_error, parse_rejected_reply
from antiphon.providers.prewarming import INTERVAL, PATIENCE, Opening, Prewarming, make_opening
from antiphon.providers.redaction import SecretRedactor
from antiphon.providers.response_limits import ERROR_BYTES, ERROR_SECONDS, ResponseLimits, ResponseMeter
from antiphon.providers.retry import Retry, parse_retry_after
from antiphon.wire import (
    ApiCodec,
    CallDelta,
    Decoder,
    EncodedRequest,
    Healed,
    Options,
    ReasoningDelta,
    Reply,
    ReplyDelta,
    RetryDelta,
    Target,
    TextDelta,
    Usage,
)
from antiphon.wire.cache import get_last_prompt, store_unanswered_prompt
from antiphon.wire.prompt import Prompt
from antiphon.wire.prompt_reports import add_prompt_reports
from antiphon.wire.text_conventions import extract_message, is_markup

if TYPE_CHECKING:
    from logging import Logger

    from antiphon.providers.batches import Deferral, ProviderBatches

#: The `logging` level for sent and received content.
_DEBUG = 10
#: The beginning of an SSE stream, and how many bytes are needed to recognise it.
_SSE_START = re.compile(rb"(?:data|event|id|retry)\b|:")
_SSE_START_LENGTH = 6
#: Maximum requests for an answer that the server itself reports as malformed.
_MAX_MALFORMED = 3


class ResponseHead(NamedTuple):
    """Status and headers of a response whose content is still to be read."""

    status: int
    headers: Mapping[str, str]


class SendRequest(NamedTuple):
    """Step that sends a request. The driver returns a ResponseHead, or the error instead.

    `headers` are added to those of the connection. `get` is a path to fetch in place of the request, and `path`
    another one for the body.
    """

    body: bytes
    headers: Mapping[str, str] = MappingProxyType({})
    get: str = ""
    post: str = ""
    path: str = ""


class ReadChunk:
    """Step that reads on in the response. The driver returns bytes, None at the end, or an error."""


class WaitStep(NamedTuple):
    """Step that waits."""

    seconds: float


class EmitDelta(NamedTuple):
    """Step that hands a delta to the caller who iterates."""

    delta: ReplyDelta


ExchangeStep = SendRequest | ReadChunk | WaitStep | EmitDelta
ExchangeEvent = ResponseHead | ProviderError | bytes | None
ExchangeSteps = Generator[ExchangeStep, ExchangeEvent, None]


class Exchange(Protocol):
    """Requests and responses free of I/O, which a client drives."""

    #: The request that ends what still goes on at the server, if the exchange was left early.
    cancelling: SendRequest | None

    def steps(self) -> ExchangeSteps:
        """Yield each step, and receive its result."""
        ...


@dataclass(slots=True)
class ModelExchange:
    """A request in progress, with the requests that continue its answer.

    When its steps are done, the reply is in `reply`, and in the conversation unless that is a copy for one
    request. `asked` is the conversation as it was when the exchange began. `healed` lists the facts that were
    changed on the way.
    """

    wire: ApiCodec
    target: Target
    retry: Retry
    bounds: ResponseLimits
    secrets: SecretRedactor
    conversation: Conversation = field(repr=False)
    asked: Conversation = field(repr=False)
    options: Options
    request: EncodedRequest
    continuations: int
    prewarming: Prewarming | None = None
    pending: Pending | None = None
    #: What answers the requests from batches, and the batches of the provider.
    deferral: tuple[Deferral, ProviderBatches] | None = None
    #: What stops the provider, where the exchange was given up while it makes an answer that nobody will fetch.
    cancelling: SendRequest | None = None
    healed: list[Healed] = field(default_factory=list[Healed])
    circuit: Circuit | None = None
    _has_recovered: bool = False
    #: The prompt that others may wait for, until its answer begins.
    _opening: Opening | None = field(default=None, repr=False)
    #: The headers of the last response.
    _headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    #: The prompt of the last answered request.
    _prompt: Prompt | None = field(default=None, repr=False)
    _reply: Reply | None = field(default=None, repr=False)
    #: Where sent and received content is logged, if it is.
    _log: Logger | None = field(default=None, repr=False)

    @property
    def reply(self) -> Reply:
        """The reply, once it is complete."""
        if self._reply is None:
            raise NotReadyError("the reply is not complete; read the stream to its end first")
        return self._reply

    def steps(self) -> ExchangeSteps:
        """Request the answer and continue it until it has ended or no more steps are allowed."""
        # Importing `logging` takes longer than encoding a request; a program that uses it has imported it.
        if "logging" in sys.modules and (log := _get_logger()).isEnabledFor(_DEBUG):
            self._log = log
        conversation = self.conversation
        try:
            reply = yield from self._request_answer()
            reply.healed = tuple(self.healed)
            reply.state.save_to(conversation.state, self.target.origin)
            if conversation.request_heads is None:
                self._add_reply(reply)
            if (answered := self._prompt) is not None:
                first = self.request.prompt or answered
                add_prompt_reports(reply, conversation, self.target, self.options, first, answered)
            reply.conversation = conversation
            self._reply = reply
        except ProviderError:
            if self._prompt is None and self.request.prompt is not None:
                store_unanswered_prompt(self.conversation, self.target, self.request.prompt)
            raise
        finally:
            if self._opening is not None:
                self._let_others_go()

    def _request_answer(self) -> Generator[ExchangeStep, ExchangeEvent, Reply]:
        """Return the answer, with the steps that continue it."""
        if self.prewarming is not None and self.deferral is None:
            yield from self._wait_for_cache(self.prewarming)
        whole = None if self.pending is None else (yield from self._fetch_pending(self.pending))
        if whole is None:
            whole = yield from self._ask(self.asked, self.options, self.request)
        while whole.stop == "pause" and (hop := plan_continuation(whole, self.target, self.options)) is not None:
            whole = yield from self._continue_answer(whole, hop)
        return whole

    def _wait_for_cache(self, prewarming: Prewarming) -> Generator[ExchangeStep, ExchangeEvent, None]:
        """Wait while the beginning of a conversation's first prompt is on its way into the cache."""
        if get_last_prompt(self.conversation, self.target) is not None:
            return
        opening, began = make_opening(self.request.prompt, self.target), time.monotonic()
        while opening is not None and (first := prewarming.enter(opening, self.target)) is not None:
            while not first.is_sent:
                if time.monotonic() - began > PATIENCE:
                    return
                yield WaitStep(INTERVAL)
        self._opening = opening

    def _let_others_go(self) -> None:
        if self.prewarming is not None and self._opening is not None:
            self.prewarming.leave(self._opening)
            self._opening = None

    def _continue_answer(self, whole: Reply, hop: ContinuationStep) -> Generator[ExchangeStep, ExchangeEvent, Reply]:
        """Request the next step of an answer and return it joined with the steps before."""
        if whole.hops > self.continuations:
            raise make_step_limit_error(whole, self.target.provider, self.continuations)
        _get_logger().info("%s: step %d of the answer (%s)", self.target.model, whole.hops + 1, whole.stop_reason)
        asked = self.asked
        if hop.kind == "resend":
            asked = asked.fork_for_request()
            asked.add_reply(whole.parts)
        whole.state.save_to(asked.state, self.target.origin)
        options = replace(self.options, **hop.changes)
        try:
            request = self.wire.encode(asked, self.target, options)
            step = yield from self._ask(asked, options, request, calls=len(whole.tool_calls))
        except ProviderError as error:
            raise make_step_error(whole, error, self.target.provider, hop.kind) from error
        return join_replies(whole, step, hop.kind)

    def _poll_background(self, reply: Reply, calls: int) -> Generator[ExchangeStep, ExchangeEvent, Reply]:
        """Fetch a background response until it is finished."""
        from urllib.parse import quote

        began, wait, most = time.monotonic(), self.retry.first_wait, self.bounds.seconds
        place = f"{self.wire.path(self.target, False)}/{quote(reply.id, safe='')}"
        send = SendRequest(b"", get=place)
        if self.pending is not None:
            self.pending.note(reply.id)
        while is_background_response(reply, self.target):
            if most is not None and time.monotonic() - began + wait > most:
                raise make_wait_error(reply, self.target.provider, most)
            asked = parse_retry_after(self._headers)
            try:
                yield WaitStep(wait if asked is None else asked)
                reply, _ = yield from self._send_with_retries(send, calls)
            except GeneratorExit:
                # A run of a journal fetches it when it is gone on with.
                self.cancelling = SendRequest(b"", post=f"{place}/cancel") if self.pending is None else None
                raise
            except ProviderError as error:
                raise make_fetch_error(reply, error, self.target.provider) from error
            wait = min(wait * 1.5, self.retry.longest_wait)
        return reply

    def _fetch_pending(self, pending: Pending) -> Generator[ExchangeStep, ExchangeEvent, Reply | None]:
        """Fetch the response that an earlier run was waiting for; nothing where there is none any more."""
        if not pending.id:
            return None
        begun = Reply((), stop="pause", stop_reason="queued", id=pending.id)
        try:
            reply = yield from self._poll_background(begun, 0)
        except ContinuationFailed as error:
            if not isinstance(error.__cause__, StatusError) or error.__cause__.status != 404:
                raise
            pending.note("")
            return None
        reply.parts, self._prompt = self.request.bind(reply.parts), self.request.prompt
        return reply

    def _ask(
        self, asked: Conversation, options: Options, request: EncodedRequest, *, calls: int = 0
    ) -> Generator[ExchangeStep, ExchangeEvent, Reply]:
        """Request one step of an answer. Recover once from a rejection that has a known fix.

        `calls` counts those of earlier steps. A malformed answer is requested again, at most twice.
        """
        spent: Usage | None = None
        tries = 0
        while True:
            try:
                reply, is_seen = (None if self.deferral is None else self._take_deferred(request)), False
                if reply is None:
                    send = SendRequest(request.body, request.headers)
                    reply, is_seen = yield from self._send_with_retries(send, calls)
            except ProviderError as error:
                request = self._recover(error, request, asked, options)
                continue
            # Most APIs have no such responses.
            is_background = bool(self.wire.SPEC.background_statuses) and is_background_response(reply, self.target)
            if is_background:
                reply = yield from self._poll_background(reply, calls)
            reply.parts, self._prompt = request.bind(reply.parts), request.prompt
            if is_background:
                return reply
            if spent is not None:
                reply.usage = spent.plus(reply.usage)
            tries += 1
            if reply.stop != "malformed" or is_seen or tries >= min(_MAX_MALFORMED, self.retry.attempts):
                return reply
            spent = reply.usage

    def _take_deferred(self, request: EncodedRequest) -> Reply | None:
        """Return the reply from a batch, or None to send the request. Raise Suspended if there is none yet."""
        if self.deferral is None:
            return None
        deferral, batches = self.deferral
        content = deferral.take(request, batches)
        if content is None:
            return None
        reply = self._decoded(content)
        deferral.count(reply.usage)
        return reply

    def _send_with_retries(
        self, send: SendRequest, calls: int
    ) -> Generator[ExchangeStep, ExchangeEvent, tuple[Reply, bool]]:
        """Send until there is a reply or no attempt is left. Return it, and whether any of it was emitted."""
        began = time.monotonic()
        attempt = 0
        while True:
            attempt += 1
            if self._log is not None:
                self._write_log(self._log, "sent", send.body)
            meter = ResponseMeter(self.bounds, self.target.provider)
            if self.circuit is not None:
                self.circuit.check()
            try:
                answer = yield send
                received = yield from self._receive_reply(answer, meter, calls)
                if self.circuit is not None:
                    self.circuit.record(None)
                return received
            except _AttemptFailed as failure:
                self._let_others_go()
                error, emitted = self._redact_error(failure.error), failure.emitted
            # Never retry after a delta was emitted.
            error.is_seen = emitted
            if self.circuit is not None:
                self.circuit.record(error)
            is_last = emitted or (self.circuit is not None and self.circuit.is_open)
            wait = None if is_last else self.retry.wait(attempt, error, time.monotonic() - began)
            if wait is None:
                raise error
            _get_logger().info("%s: try %d failed (%s); the next in %.1f s", self.target.model, attempt, error, wait)
            if self.options.stream:
                yield EmitDelta(RetryDelta(attempt + 1, self.retry.attempts, wait, str(error)))
            yield WaitStep(wait)

    def _recover(
        self, error: ProviderError, request: EncodedRequest, asked: Conversation, options: Options
    ) -> EncodedRequest:
        """Return the changed request to send after a rejection. Raise the rejection if there is no fix."""
        if error.is_seen or not isinstance(error, StatusError):
            raise error
        # Imported here because few programs see a rejection.
        from antiphon.providers.rejection_recovery import (
            apply_learned_fact,
            find_rejected_option,
            log_correction,
            make_option_error,
            parse_rejection,
        )

        lesson = parse_rejection(error, self.target, request)
        if self._has_recovered:
            changed = ", ".join(f"`{each.fact}` = {each.now!r}" for each in self.healed)
            error.args = (f"{error}; it was sent once more with {changed}, which did not help",)
        if lesson is None or self._has_recovered:
            raise error
        option = find_rejected_option(lesson, self.options, request)
        healed = apply_learned_fact(lesson, self.target, self.asked)
        if option:
            raise make_option_error(option, lesson, self.target.provider) from error
        try:
            again = self.wire.encode(asked, self.target, options)
        except OptionError as refused:
            message = f"{refused} ({self.target.provider} says: {lesson.said})"
            raise OptionRefused(message, fact=lesson.fact, now=lesson.value, said=lesson.said) from error
        if healed is None or again == request:
            raise error
        self._has_recovered = True
        self.healed.append(healed)
        log_correction(healed)
        return again

    def _receive_reply(
        self, answer: ExchangeEvent, meter: ResponseMeter, calls: int
    ) -> Generator[ExchangeStep, ExchangeEvent, tuple[Reply, bool]]:
        if isinstance(answer, ProviderError):
            raise _AttemptFailed(meter.map_timeout(answer))
        assert isinstance(answer, ResponseHead)
        self._headers, request_id = answer.headers, get_request_id(answer.headers)
        if answer.status >= 300:
            reply = yield from self._refusal(answer)
            reply.request_id = request_id
            return reply, False
        emitted = False
        stream = self.options.stream
        try:
            chunk = (yield from self._head(meter)) if stream else b""
            if stream and self._is_event_stream(chunk, answer.headers):
                decoder = self.wire.Decoder(self.target.origin)
                while chunk is not None:
                    for delta in decoder.feed(chunk):
                        emitted = True
                        yield EmitDelta(_shift_call_index(delta, calls))
                    chunk = yield from self._read(meter)
                reply = self._whole(decoder, meter.broken)
            else:
                content = bytearray()
                while chunk is not None:
                    content += chunk
                    chunk = yield from self._read(meter)
                if meter.broken:
                    raise meter.broken
                reply = self._decoded(bytes(content))
                is_told = stream and not is_background_response(reply, self.target)
                for delta in _iter_deltas(reply) if is_told else ():
                    emitted = True
                    yield EmitDelta(_shift_call_index(delta, calls))
        except ProviderError as error:
            raise _AttemptFailed(error, emitted) from None
        reply.request_id = request_id
        return reply, emitted

    def _read(self, meter: ResponseMeter) -> Generator[ExchangeStep, ExchangeEvent, bytes | None]:
        """Return the next bytes, or None at the end. After an early end, `meter.error` says why."""
        chunk = None if meter.broken else (yield ReadChunk())
        if self._opening is not None:
            self._let_others_go()
        if isinstance(chunk, bytes):
            if self._log is not None:
                self._write_log(self._log, "received", chunk)
            return chunk if meter.add(len(chunk)) else None
        if isinstance(chunk, ProviderError):
            meter.broken = meter.map_timeout(chunk)
        return None

    def _head(self, meter: ResponseMeter) -> Generator[ExchangeStep, ExchangeEvent, bytes]:
        """Return the first bytes after white space, enough to recognise a stream."""
        head = b""
        while len(head) < _SSE_START_LENGTH and (chunk := (yield from self._read(meter))) is not None:
            head = (head + chunk).lstrip()
        return head

    def _refusal(self, answer: ResponseHead) -> Generator[ExchangeStep, ExchangeEvent, Reply]:
        """Raise the error of a status, with the server's message. Return the reply if the body holds one."""
        meter = ResponseMeter(ResponseLimits(ERROR_BYTES, ERROR_SECONDS), self.target.provider)
        content = bytearray()
        while (chunk := (yield from self._read(meter))) is not None:
            content += chunk
        if reply := parse_rejected_reply(self.wire, bytes(content)):
            return reply
        raise _AttemptFailed(
            make_status_error(self.wire, self.target, answer.status, answer.headers, bytes(content), self.secrets)
        )

    def _is_event_stream(self, head: bytes, headers: Mapping[str, str]) -> bool:
        """Return whether the response is the requested stream.

        Gateways and simple servers answer with something else, and some label it wrongly.
        """
        head = head.removeprefix(b"\xef\xbb\xbf")
        if head.startswith(b"["):
            # Gemini sends this if `alt=sse` was dropped on the way.
            return self.wire.SPEC.http.streams_arrays
        if head.startswith((b"{", b"<")):
            return False
        return not head or bool(_SSE_START.match(head)) or "event-stream" in headers.get("content-type", "")

    def _decoded(self, content: bytes) -> Reply:
        provider = self.target.provider
        try:
            return self.wire.decode(load_json(content, "the answer"), self.target.origin)
        except MalformedJSONError as error:
            # Redact before truncating: half a key would not be recognised.
            said = extract_message(self.secrets.hide(content.decode("utf-8", "replace")).encode())
            what = "a web page, and no reply; check the base URL" if is_markup(content) else f"200, but {error}"
            raise BadReply(
                f"{provider} answered {what}{f' (it says: {said[:300]})' if said else ''}", provider=provider
            ) from None

    def _whole(self, decoder: Decoder, broken: ProviderError | None) -> Reply:
        """Return the reply, even if the connection broke after its end. Else raise with the partial text."""
        try:
            return decoder.reply()
        except StreamCut as cut:
            if broken is None:
                raise
            if not isinstance(broken, ConnectionFailed):
                raise broken from None
            raise StreamCut(str(broken), provider=broken.provider, partial=cut.partial) from None

    def _redact_error(self, error: ProviderError) -> ProviderError:
        """Return the error without secrets, because servers echo what they were sent."""
        error.args = (self.secrets.hide(str(error)),)
        if isinstance(error, StatusError):
            error.text = self.secrets.hide(error.text)
        return error

    def _add_reply(self, reply: Reply) -> None:
        try:
            # The conversation may change the ids of calls.
            reply.parts = self.conversation.add_reply(reply.parts, seen=self.asked.turns).parts
        except NotReadyError as error:
            error.reply = reply
            raise

    def _write_log(self, log: Logger, direction: str, content: bytes) -> None:
        text = self.secrets.hide(content.decode("utf-8", "replace"))
        log.debug("%s/%s %s %s", self.target.provider, self.target.model, direction, text)


@cache
def _get_logger() -> Logger:
    import logging

    return logging.getLogger("antiphon.providers")


def _iter_deltas(reply: Reply) -> Iterator[ReplyDelta]:
    """Yield the deltas of a reply that was not streamed."""
    for part in reply.parts:
        if isinstance(part, Reasoning) and part.text:
            yield ReasoningDelta(part.text)
        elif isinstance(part, Text) and part.text:
            yield TextDelta(part.text)
    for index, call in enumerate(reply.tool_calls):
        yield CallDelta(index, call.name, call.arguments_json)


def _shift_call_index(delta: ReplyDelta, calls: int) -> ReplyDelta:
    """Return a delta of a later step, with its call index counted after the calls of earlier steps."""
    return replace(delta, index=delta.index + calls) if calls and isinstance(delta, CallDelta) else delta


class _AttemptFailed(Exception):
    """Raised when an attempt fails, with the error and whether any delta was emitted."""

    def __init__(self, error: ProviderError, emitted: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.emitted = emitted
