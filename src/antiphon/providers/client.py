"""HTTP over httpx2, synchronous and asynchronous: performs the steps of an exchange.

Requests go straight to httpx2's transports. Its client adds redirects, cookies and merged settings,
which no model API needs and which cost more than encoding a turn. httpx2 is imported for the first
request, because it takes most of this package's start-up time.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from antiphon.errors import ProviderError
from antiphon.providers.decompression import ACCEPTED_ENCODINGS, is_event_stream_of_aws, make_unpacker
from antiphon.providers.error_mapping import make_transport_error
from antiphon.providers.exchange import (
    EmitDelta,
    Exchange,
    ExchangeEvent,
    ReadChunk,
    ResponseHead,
    SendRequest,
    WaitStep,
)
from antiphon.wire import ReplyDelta
from antiphon.wire.request import merge_headers

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx2

    from antiphon.providers.authorization import Authorizer, OutgoingRequest


@cache
def get_ssl_context() -> SSLContext:
    """Return the TLS context shared by all clients. Creating one takes tens of milliseconds."""
    import httpx2

    return httpx2.create_ssl_context()


@cache
def _get_transport_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that a failed request raises: those of httpx2 and of decompression."""
    import httpx2

    return httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, ProviderError


@lru_cache(maxsize=256)
def _parse_url(url: str) -> httpx2.URL:
    """Return a parsed URL, cached because parsing takes longer than encoding a turn."""
    import httpx2

    return httpx2.URL(url)


def find_proxy(url: str) -> str | None:
    """Return the proxy that the process's environment names for a URL, or None."""
    from urllib.request import getproxies, proxy_bypass

    parsed = _parse_url(url)
    proxies = getproxies()
    address = proxies.get(parsed.scheme) or proxies.get("all")
    if not address or proxy_bypass(parsed.host):
        return None
    return address if "://" in address else f"http://{address}"


@dataclass(slots=True)
class HttpClient:
    """Connections to one base URL."""

    provider: str
    url: str
    # Headers hold keys, and the proxy's URL may hold one.
    headers: Mapping[str, str] = field(repr=False)
    timeout: float | None = 600.0
    proxy: str | None = field(default=None, repr=False)
    transport: Any = field(default=None, repr=False)
    #: What proves who sends a request, if that is not one of the headers.
    authorizer: Authorizer[Any] | None = None
    _sync_transport: httpx2.BaseTransport | None = field(default=None, repr=False)
    # Connections belong to the event loop that opened them: a second `asyncio.run` must not reuse the first one's.
    _async_transports: WeakKeyDictionary[Any, httpx2.AsyncBaseTransport] = field(
        default_factory=lambda: WeakKeyDictionary(), repr=False
    )
    #: Headers and timeouts of every request in httpx2's form, created for the first request.
    _prepared: tuple[httpx2.Headers, dict[str, Any]] | None = field(default=None, repr=False)

    def drive(self, exchange: Exchange, path: str) -> Generator[ReplyDelta, None, None]:
        """Perform the steps of an exchange and yield its deltas."""
        channel = _ResponseChannel(self, path)
        steps, outcome = exchange.steps(), None
        try:
            while True:
                step = steps.send(outcome)
                match step:
                    case EmitDelta():
                        yield step.delta
                        outcome = None
                    case WaitStep():
                        outcome = time.sleep(step.seconds)
                    case SendRequest():
                        outcome = channel.send(step)
                    case ReadChunk():
                        outcome = channel.read()
        except StopIteration:
            return
        finally:
            steps.close()
            if exchange.cancelling is not None:
                channel.send(exchange.cancelling)
            channel.close()

    async def arun_exchange(self, exchange: Exchange, path: str) -> AsyncGenerator[ReplyDelta, None]:
        """Perform the steps of an exchange asynchronously and yield its deltas."""
        import asyncio

        channel = _AsyncResponseChannel(self, path)
        steps, outcome = exchange.steps(), None
        try:
            while True:
                step = steps.send(outcome)
                match step:
                    case EmitDelta():
                        yield step.delta
                        outcome = None
                    case WaitStep():
                        outcome = await asyncio.sleep(step.seconds)
                    case SendRequest():
                        outcome = await channel.send(step)
                    case ReadChunk():
                        outcome = await channel.read()
        except StopIteration:
            return
        finally:
            steps.close()
            if exchange.cancelling is not None:
                await channel.send(exchange.cancelling)
            await channel.close()

    def open_transport(self) -> httpx2.BaseTransport:
        """Return the transport of synchronous requests."""
        import httpx2

        transport = self._sync_transport
        if transport is None:
            transport = self.transport or httpx2.HTTPTransport(**self._connection_options())
            self._sync_transport = transport
        return transport

    def open_async_transport(self) -> httpx2.AsyncBaseTransport:
        """Return the transport of the running event loop."""
        import asyncio

        import httpx2

        loop = asyncio.get_running_loop()
        transport = self._async_transports.get(loop)
        if transport is None:
            transport = self.transport or httpx2.AsyncHTTPTransport(**self._connection_options())
            self._async_transports[loop] = transport
        return transport

    def close(self) -> None:
        """Close the connections of synchronous requests."""
        if self._sync_transport is not None:
            self._sync_transport.close()
            self._sync_transport = None

    async def aclose(self) -> None:
        """Close the connections that the running event loop opened."""
        import asyncio

        transport = self._async_transports.pop(asyncio.get_running_loop(), None)
        if transport is not None:
            await transport.aclose()

    def build_request(self, step: SendRequest, path: str) -> httpx2.Request:
        """Return the HTTP request of a step."""
        import httpx2

        if self._prepared is None:
            self._prepared = self._prepare()
        headers, timeouts = self._prepared
        if step.headers:
            headers = httpx2.Headers(merge_headers(headers, step.headers))
        if step.get or step.post:
            method, place = ("GET", step.get) if step.get else ("POST", step.post)
            # Whoever stops does not wait for long.
            waiting = timeouts if step.get else {"timeout": httpx2.Timeout(5.0).as_dict()}
            return httpx2.Request(method, _parse_url(self.url + place), headers=headers, extensions=waiting)
        request = httpx2.Request(
            "POST",
            _parse_url(self.url + (step.path or path)),
            headers=headers,
            stream=httpx2.ByteStream(step.body),
            extensions=timeouts,
        )
        request.headers["content-length"] = str(len(step.body))
        if self.transport is not None:
            # Custom transports may read `request.content`.
            request.read()
        return request

    def failed(self, error: Exception) -> ProviderError:
        """Return the error as one of ours."""
        return error if isinstance(error, ProviderError) else make_transport_error(self.provider, self.url, error)

    def _prepare(self) -> tuple[httpx2.Headers, dict[str, Any]]:
        import httpx2

        url = _parse_url(self.url)
        agent = f"antiphon python-httpx2/{httpx2.__version__}"
        headers = {"host": url.netloc.decode("ascii"), "accept-encoding": ACCEPTED_ENCODINGS, "user-agent": agent}
        connecting = 20.0 if self.timeout is None else min(self.timeout, 20.0)
        timeouts = httpx2.Timeout(self.timeout, connect=connecting, pool=None).as_dict()
        own = {name.lower(): value for name, value in self.headers.items()}
        return httpx2.Headers(headers | own), {"timeout": timeouts}

    def _connection_options(self) -> dict[str, Any]:
        import httpx2

        return {
            "verify": get_ssl_context() if self.url.startswith("https:") else False,
            "limits": httpx2.Limits(max_connections=None, max_keepalive_connections=100),
            "proxy": self.proxy or find_proxy(self.url),
        }


def _read_headers(response: httpx2.Response) -> dict[str, str]:
    """Return the headers with names in lower case. If a name is repeated, the last value wins."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers.raw}


def _describe_outgoing(request: httpx2.Request, body: bytes) -> OutgoingRequest:
    """Return what a signature of a request covers."""
    from antiphon.providers.authorization import OutgoingRequest

    return OutgoingRequest(request.method, str(request.url), dict(request.headers), body)


class _ResponseChannel:
    """The open response of one exchange."""

    def __init__(self, client: HttpClient, path: str) -> None:
        self._client = client
        self._path = path
        self._response: httpx2.Response | None = None
        self._chunks: Iterator[bytes] = iter(())

    def send(self, step: SendRequest) -> ExchangeEvent:
        self.close()
        try:
            authorizer = self._client.authorizer
            if authorizer is None:
                return self._send_request(self._client.build_request(step, self._path))
            head = ResponseHead(401, {})
            for _ in range(2):
                self.close()
                request = self._client.build_request(step, self._path)
                headers, held = authorizer.authorize(_describe_outgoing(request, step.body))
                request.headers.update(headers)
                head = self._send_request(request)
                if not authorizer.means_expired(head.status, head.headers):
                    break
                # Once more with a new one.
                authorizer.discard(held)
            return head
        except _get_transport_errors() as error:
            return self._client.failed(error)

    def _send_request(self, request: httpx2.Request) -> ResponseHead:
        response = self._response = self._client.open_transport().handle_request(request)
        headers = _read_headers(response)
        self._chunks = self._read_chunks(response, headers)
        return ResponseHead(response.status_code, headers)

    def read(self) -> ExchangeEvent:
        try:
            return next(self._chunks, None)
        except _get_transport_errors() as error:
            return self._client.failed(error)

    def close(self) -> None:
        if self._response is not None:
            cast("httpx2.SyncByteStream", self._response.stream).close()
            self._response = None

    def _read_chunks(self, response: httpx2.Response, headers: Mapping[str, str]) -> Iterator[bytes]:
        if response.is_stream_consumed:
            # A transport without streaming returns the complete, decompressed body.
            return iter((response.content,))
        stream = cast("httpx2.SyncByteStream", response.stream)
        unpack = make_unpacker(headers, self._client.provider)
        return iter(stream) if unpack is None else (piece for chunk in stream for piece in unpack(chunk))


class _AsyncResponseChannel:
    """Asynchronous counterpart of `_ResponseChannel`."""

    def __init__(self, client: HttpClient, path: str) -> None:
        self._client = client
        self._path = path
        self._response: httpx2.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None

    async def send(self, step: SendRequest) -> ExchangeEvent:
        if self._response is not None:
            await self.close()
        try:
            authorizer = self._client.authorizer
            if authorizer is None:
                return await self._send_request(self._client.build_request(step, self._path))
            head = ResponseHead(401, {})
            for _ in range(2):
                await self.close()
                request = self._client.build_request(step, self._path)
                headers, held = await authorizer.aauthorize(_describe_outgoing(request, step.body))
                request.headers.update(headers)
                head = await self._send_request(request)
                if not authorizer.means_expired(head.status, head.headers):
                    break
                authorizer.discard(held)
            return head
        except _get_transport_errors() as error:
            return self._client.failed(error)

    async def _send_request(self, request: httpx2.Request) -> ResponseHead:
        response = self._response = await self._client.open_async_transport().handle_async_request(request)
        headers = _read_headers(response)
        if headers.get("content-encoding") or response.is_stream_consumed or is_event_stream_of_aws(headers):
            self._chunks = self._read_chunks(response, headers)
        else:
            self._chunks = aiter(cast("httpx2.AsyncByteStream", response.stream))
        return ResponseHead(response.status_code, headers)

    async def read(self) -> ExchangeEvent:
        assert self._chunks is not None
        try:
            return await anext(self._chunks, None)
        except _get_transport_errors() as error:
            return self._client.failed(error)

    async def close(self) -> None:
        if self._response is not None:
            await cast("httpx2.AsyncByteStream", self._response.stream).aclose()
            self._response = None

    async def _read_chunks(self, response: httpx2.Response, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
        if response.is_stream_consumed:
            yield response.content
            return
        unpack = make_unpacker(headers, self._client.provider)
        async for chunk in cast("httpx2.AsyncByteStream", response.stream):
            if unpack is None:
                yield chunk
            else:
                for piece in unpack(chunk):
                    yield piece
