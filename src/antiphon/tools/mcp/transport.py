"""Transports to an MCP server: a subprocess, HTTP, or a server object in this process."""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

from antiphon.tools.mcp.config import McpServer
from antiphon.tools.mcp.oauth import ShowAddress, check_address, open_authorization

if TYPE_CHECKING:
    import httpx2
    from mcp.client import Transport
    from mcp.shared._stream_protocols import ReadStream
    from mcp.shared.message import SessionMessage

    Message = SessionMessage | Exception

_log = logging.getLogger(__name__)


class ServerDiagnostics:
    """Diagnostics for a failure: the end of a process's stderr, and the last HTTP error status.

    All of stderr goes to the log. A thread reads the pipe, so that a server which writes much never blocks.
    """

    def __init__(self, name: str) -> None:
        self.status = ""
        #: Whether the last response was a refusal for lack of a login.
        self.is_unauthorized = False
        self._name = name
        self._lines: deque[str] = deque(maxlen=5)
        self._thread: threading.Thread | None = None

    @property
    def text(self) -> str:
        """The last lines of stderr."""
        return "\n".join(self._lines)

    def writer(self) -> IO[str]:
        """Return a file to be the stderr of a process. Close it when the process has ended."""
        reader, writer = os.pipe()
        self._thread = threading.Thread(target=self._read, args=(reader,), daemon=True, name=f"stderr of {self._name}")
        self._thread.start()
        return os.fdopen(writer, "w")

    def wait(self) -> None:
        """Wait a moment for the last lines of stderr."""
        if self._thread:
            self._thread.join(0.5)

    async def note(self, response: httpx2.Response) -> None:
        """Remember an HTTP error status that the library does not report."""
        self.is_unauthorized = response.status_code == 401
        if response.status_code >= 400:
            self.status = f"{response.status_code} {response.reason_phrase}".strip()

    def _read(self, descriptor: int) -> None:
        with os.fdopen(descriptor, encoding="utf-8", errors="replace") as stream:
            while line := stream.readline(2000):
                if line.strip():
                    self._lines.append(line.rstrip())
                    _log.debug("%s: %s", self._name, line.rstrip())


def make_endpoint(
    server: McpServer, last_words: ServerDiagnostics, ended: Callable[[], None], show: ShowAddress | None = None
) -> Any:
    """Return the endpoint for the library's client. `ended` is called when the server has closed the
    connection. With `show`, a person can log in.
    """
    if server.server is not None:
        return server.server
    return _watch_transport(
        _connect_http(server, last_words, show) if server.url else _connect_process(server, last_words), ended
    )


@asynccontextmanager
async def _connect_process(server: McpServer, last_words: ServerDiagnostics) -> AsyncGenerator[Any]:
    from mcp.client.stdio import StdioServerParameters, stdio_client

    parameters = StdioServerParameters(
        command=server.command,
        args=list(server.args),
        env=dict(server.env or {}),
        cwd=os.fspath(server.cwd) if server.cwd else None,
        # An invalid byte in one answer must not end the connection.
        encoding_error_handler="replace",
    )
    with last_words.writer() as stderr:
        async with stdio_client(parameters, errlog=stderr) as streams:  # pyright: ignore[reportArgumentType]
            yield streams


@asynccontextmanager
async def _connect_http(
    server: McpServer, last_words: ServerDiagnostics, show: ShowAddress | None
) -> AsyncGenerator[Any]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    # A server may be silent for as long as a call takes, or longer on its notification stream.
    timeout = httpx2.Timeout(30.0, read=max(300.0, server.timeout))

    own = (httpx2.URL(server.url).scheme, httpx2.URL(server.url).netloc)

    async def check(request: httpx2.Request) -> None:
        # The server names the other addresses, for its authorization.
        if (request.url.scheme, request.url.netloc) != own:
            check_address(server, str(request.url))

    hooks = {"request": [check], "response": [last_words.note]}
    headers = dict(server.headers or {})
    async with (
        open_authorization(server, show) as auth,
        httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks=hooks, auth=auth) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams


@asynccontextmanager
async def _watch_transport(transport: Transport, ended: Callable[[], None]) -> AsyncGenerator[Any]:
    async with transport as (read, write):
        yield _WatchedStream(read, ended), write


class _WatchedStream:
    """A stream that reports when it is closed: the library notices a dead process, but does not report it."""

    def __init__(self, stream: ReadStream[Message], ended: Callable[[], None]) -> None:
        self._stream = stream
        self._ended = ended

    async def receive(self) -> Message:
        return await self._stream.receive()

    async def aclose(self) -> None:
        self._ended()
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        return await self._stream.__anext__()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
