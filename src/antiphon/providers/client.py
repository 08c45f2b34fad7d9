"""The I/O: HTTP over httpx2, ordinary and asynchronous, driving the same exchange.

httpx2 takes most of the time that this package takes to start, so it is imported for the first request.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from antiphon.errors import ProviderError
from antiphon.providers.decompression import ACCEPTED, unpacking
from antiphon.providers.exchange import Answer, Arrival, Emit, Exchange, Read, Send, Sleep
from antiphon.providers.failures import transport_error
from antiphon.wire import Delta
from antiphon.wire.request import merge_headers

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx2


@cache
def tls() -> SSLContext:
    """What every client of the process shares: making one takes tens of milliseconds."""
    import httpx2

    return httpx2.create_ssl_context()


@cache
def _failures() -> tuple[type[Exception], ...]:
    """What is raised when a request fails: by httpx2, and by unpacking."""
    import httpx2

    return httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, ProviderError


@lru_cache(maxsize=256)
def _parse_url(url: str) -> httpx2.URL:
    """Return a parsed URL; parsing one anew takes longer than encoding a turn."""
    import httpx2

    return httpx2.URL(url)


@dataclass(slots=True)
class Client:
    """Connections to one base URL."""

    provider: str
    url: str
    # Keys stand in the headers, and may stand in the proxy's address.
    headers: Mapping[str, str] = field(repr=False)
    timeout: float | None = 600.0
    proxy: str | None = field(default=None, repr=False)
    transport: Any = field(default=None, repr=False)
    _client: httpx2.Client | None = field(default=None, repr=False)
    # Connections belong to the event loop that opened them: a second `asyncio.run` must not meet the first one's.
    _async_clients: WeakKeyDictionary[Any, httpx2.AsyncClient] = field(
        default_factory=lambda: WeakKeyDictionary(), repr=False
    )

    def drive(self, exchange: Exchange, path: str) -> Generator[Delta, None, None]:
        """Do what the exchange says, and yield what it emits."""
        channel = _Channel(self, path)
        steps, outcome = exchange.steps(), None
        try:
            while True:
                step = steps.send(outcome)
                match step:
                    case Emit():
                        yield step.delta
                        outcome = None
                    case Sleep():
                        outcome = time.sleep(step.seconds)
                    case Send():
                        outcome = channel.send(step)
                    case Read():
                        outcome = channel.read()
        except StopIteration:
            return
        finally:
            channel.close()

    async def adrive(self, exchange: Exchange, path: str) -> AsyncGenerator[Delta, None]:
        """Do what the exchange says, and yield what it emits."""
        import asyncio

        channel = _AsyncChannel(self, path)
        steps, outcome = exchange.steps(), None
        try:
            while True:
                step = steps.send(outcome)
                match step:
                    case Emit():
                        yield step.delta
                        outcome = None
                    case Sleep():
                        outcome = await asyncio.sleep(step.seconds)
                    case Send():
                        outcome = await channel.send(step)
                    case Read():
                        outcome = await channel.read()
        except StopIteration:
            return
        finally:
            await channel.close()

    def http(self) -> httpx2.Client:
        """The ordinary client."""
        import httpx2

        if self._client is None:
            self._client = httpx2.Client(**self._options())
        return self._client

    def ahttp(self) -> httpx2.AsyncClient:
        """The asynchronous client of the running event loop."""
        import asyncio

        import httpx2

        loop = asyncio.get_running_loop()
        client = self._async_clients.get(loop)
        if client is None:
            client = self._async_clients[loop] = httpx2.AsyncClient(**self._options())
        return client

    def close(self) -> None:
        """Close the ordinary client's connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    async def aclose(self) -> None:
        """Close the connections that the running event loop opened."""
        import asyncio

        client = self._async_clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def parameters(self, step: Send, path: str) -> dict[str, Any]:
        """Return what the HTTP client needs to build the request of a step."""
        headers = merge_headers(self.headers, step.headers) if step.headers else self.headers
        if step.get:
            return {"method": "GET", "url": _parse_url(self.url + step.get), "headers": headers}
        return {"method": "POST", "url": _parse_url(self.url + path), "headers": headers, "content": step.body}

    def failed(self, error: Exception) -> ProviderError:
        """The error in our own words."""
        return error if isinstance(error, ProviderError) else transport_error(self.provider, self.url, error)

    def _options(self) -> dict[str, Any]:
        import httpx2

        connecting = 20.0 if self.timeout is None else min(self.timeout, 20.0)
        options: dict[str, Any] = {
            "verify": tls() if self.url.startswith("https:") else False,
            "timeout": httpx2.Timeout(self.timeout, connect=connecting, pool=None),
            "limits": httpx2.Limits(max_connections=None, max_keepalive_connections=100),
            "proxy": self.proxy,
            "headers": {"accept-encoding": ACCEPTED},
        }
        return options if self.transport is None else options | {"transport": self.transport}


class _Channel:
    """The response of one exchange while it is open."""

    def __init__(self, client: Client, path: str) -> None:
        self._client = client
        self._path = path
        self._response: httpx2.Response | None = None
        self._chunks: Iterator[bytes] = iter(())

    def send(self, step: Send) -> Arrival:
        self.close()
        client = self._client.http()
        try:
            request = client.build_request(**self._client.parameters(step, self._path))
            response = self._response = client.send(request, stream=True)
            self._chunks = self._unpacked(response)
            return Answer(response.status_code, response.headers)
        except _failures() as error:
            return self._client.failed(error)

    def read(self) -> Arrival:
        try:
            return next(self._chunks, None)
        except _failures() as error:
            return self._client.failed(error)

    def close(self) -> None:
        if self._response is not None:
            self._response.close()
            self._response = None

    def _unpacked(self, response: httpx2.Response) -> Iterator[bytes]:
        if response.is_stream_consumed:
            # A transport that has no stream hands over the whole, unpacked.
            yield response.content
            return
        unpack = unpacking(response.headers.get("content-encoding", ""), self._client.provider)
        for chunk in response.iter_raw():
            if unpack is None:
                yield chunk
            else:
                yield from unpack(chunk)


class _AsyncChannel:
    """The same, asynchronously."""

    def __init__(self, client: Client, path: str) -> None:
        self._client = client
        self._path = path
        self._response: httpx2.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None

    async def send(self, step: Send) -> Arrival:
        await self.close()
        client = self._client.ahttp()
        try:
            request = client.build_request(**self._client.parameters(step, self._path))
            response = self._response = await client.send(request, stream=True)
            self._chunks = self._unpacked(response)
            return Answer(response.status_code, response.headers)
        except _failures() as error:
            return self._client.failed(error)

    async def read(self) -> Arrival:
        assert self._chunks is not None
        try:
            return await anext(self._chunks, None)
        except _failures() as error:
            return self._client.failed(error)

    async def close(self) -> None:
        if self._response is not None:
            await self._response.aclose()
            self._response = None

    async def _unpacked(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        if response.is_stream_consumed:
            yield response.content
            return
        unpack = unpacking(response.headers.get("content-encoding", ""), self._client.provider)
        async for chunk in response.aiter_raw():
            if unpack is None:
                yield chunk
            else:
                for piece in unpack(chunk):
                    yield piece
