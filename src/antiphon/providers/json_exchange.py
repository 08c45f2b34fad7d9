"""An exchange of JSON with a provider that is no chat: a body is sent, and a body comes back."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from antiphon._base.json import load_json
from antiphon.errors import BadReply, MalformedJSONError, ProviderError
from antiphon.providers.circuit_breaker import Circuit
from antiphon.providers.error_mapping import make_status_error
from antiphon.providers.exchange import ExchangeEvent, ExchangeStep, ReadChunk, ResponseHead, SendRequest, WaitStep
from antiphon.providers.redaction import SecretRedactor
from antiphon.providers.response_limits import ERROR_BYTES, ERROR_SECONDS, ResponseLimits, ResponseMeter
from antiphon.providers.retry import Retry

if TYPE_CHECKING:
    from antiphon.wire import ApiCodec, Target


class JsonAnswer(NamedTuple):
    """The headers and the body of an answer. The body is None if it is empty."""

    headers: Mapping[str, str]
    body: Any


@dataclass(slots=True)
class JsonExchange:
    """A request that is sent until it is answered or no attempt is left. `result` is the body of the answer.

    With a `sink`, the body is written there and not parsed.
    """

    wire: ApiCodec
    target: Target
    retry: Retry
    bounds: ResponseLimits
    secrets: SecretRedactor
    request: SendRequest
    sink: IO[bytes] | None = None
    circuit: Circuit | None = None
    result: Any = None
    #: Nothing goes on at a server that has to be cancelled.
    cancelling: SendRequest | None = field(default=None, init=False)

    def steps(self) -> Generator[ExchangeStep, ExchangeEvent, None]:
        """Send the request."""
        self.result = (yield from self.fetch(self.request)).body

    def fetch(self, send: SendRequest) -> Generator[ExchangeStep, ExchangeEvent, JsonAnswer]:
        """Send a request, and again while the error is one that a retry may mend. Return its answer."""
        began, attempt = time.monotonic(), 0
        while True:
            attempt += 1
            if self.circuit is not None:
                self.circuit.check()
            try:
                answer = yield from self._send(send)
                if self.circuit is not None:
                    self.circuit.record(None)
                return answer
            except ProviderError as error:
                error.args = (self.secrets.hide(str(error)),)
                wait = self.retry.wait(attempt, error, time.monotonic() - began)
                if self.circuit is not None:
                    self.circuit.record(error)
                if wait is None or (self.circuit is not None and self.circuit.is_open):
                    raise
            yield WaitStep(wait)

    def _send(self, send: SendRequest) -> Generator[ExchangeStep, ExchangeEvent, JsonAnswer]:
        provider = self.target.provider
        answer = yield send
        meter = ResponseMeter(self.bounds, provider)
        if isinstance(answer, ProviderError):
            raise meter.map_timeout(answer)
        assert isinstance(answer, ResponseHead)
        if answer.status >= 300:
            meter = ResponseMeter(ResponseLimits(ERROR_BYTES, ERROR_SECONDS), provider)
            content = yield from self._read(meter)
            raise make_status_error(self.wire, self.target, answer.status, answer.headers, content, self.secrets)
        content = yield from self._read(meter, self.sink)
        if meter.broken is not None:
            raise meter.broken
        if self.sink is not None:
            return JsonAnswer(answer.headers, None)
        try:
            return JsonAnswer(answer.headers, load_json(content, "the answer") if content.strip() else None)
        except MalformedJSONError as error:
            raise BadReply(f"{provider} answered 200, but {error}", provider=provider) from None

    def _read(
        self, meter: ResponseMeter, sink: IO[bytes] | None = None
    ) -> Generator[ExchangeStep, ExchangeEvent, bytes]:
        """Return the body as far as it comes within the limits, or write it to the sink."""
        content = bytearray()
        start = 0 if sink is None else sink.tell()
        while True:
            chunk = yield ReadChunk()
            if isinstance(chunk, ProviderError):
                meter.broken = meter.map_timeout(chunk)
            if not isinstance(chunk, bytes) or not meter.add(len(chunk)):
                if sink is not None and meter.broken is not None:
                    # Another attempt begins anew.
                    sink.seek(start)
                    sink.truncate()
                return bytes(content)
            if sink is not None:
                sink.write(chunk)
            else:
                content += chunk
