"""One connection to a server, from its beginning to its end."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, cast

from antiphon._extras import lacking
from antiphon.errors import ConfigurationError
from antiphon.tools.mcp.config import McpServer
from antiphon.tools.mcp.transport import LastWords, endpoint
from antiphon.tools.tool import ToolFailure

if TYPE_CHECKING:
    from mcp import Client, MCPError

_log = logging.getLogger(__name__)
#: How long a server that let a call time out has to show that it is alive, in seconds.
_PROBE = 5.0
_SILENT = logging.NullHandler()


class Unreachable(ToolFailure):
    """A server with which no connection could be made.

    `explained` also holds what it wrote to stderr: for the person who configured it, not for the model.
    """

    def __init__(self, message: str, last_words: str = "") -> None:
        super().__init__(message)
        self.explained = f"{message}; it wrote: {last_words}" if last_words else message


def required() -> None:
    """Import the library, or say how to get it."""
    try:
        import mcp  # pyright: ignore[reportUnusedImport]  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(lacking("MCP needs", "mcp", error)) from None
    # Without a handler of the program's own, the library's tracebacks would land in the middle of its output.
    logging.getLogger("mcp").addHandler(_SILENT)


class Link:
    """A connected client.

    A task of its own enters and leaves the client, as anyio's cancel scopes must be left by the task that entered them;
    calls come and go in tasks of theirs, and may be cancelled without harm to the link.
    """

    def __init__(self, server: McpServer) -> None:
        self.server = server
        #: A call timed out: the server is slow, or gone.
        self.suspect = False
        self._problem = ""
        self._last_words = LastWords(server.name)
        self._client: Client | None = None
        self._opened = asyncio.Event()
        self._end = asyncio.Event()
        self.task = asyncio.create_task(self._run(), name=f"MCP server {server.name}")
        self.task.add_done_callback(self._over)

    @property
    def ended(self) -> bool:
        """Whether no further call can go this way."""
        return self._end.is_set()

    def end(self) -> None:
        """Have the link closed, in its own time."""
        self._end.set()

    async def close(self) -> None:
        """Close the link and see it gone."""
        self.end()
        if not self._opened.is_set():
            self.task.cancel()
        await asyncio.wait([self.task])

    async def client(self) -> Client:
        """The client, once connected; Unreachable if that fails."""
        await self._opened.wait()
        if self._client is None:
            problem = self._problem or "the connection has been closed"
            raise Unreachable(f"MCP server `{self.server.name}` cannot be reached: {problem}", self._last_words.text)
        return self._client

    async def answers(self) -> bool:
        """Whether the server still says something."""
        from mcp import MCPError

        try:
            # The call that asks must have time left for a new link and for itself.
            async with asyncio.timeout(min(_PROBE, self.server.timeout / 4)):
                await (await self.client()).list_tools(cache_mode="bypass")
        except MCPError as error:
            self.suspect = is_closed(error)
        except (TimeoutError, ToolFailure, RuntimeError, ValueError):
            return False
        else:
            self.suspect = False
        return not self.suspect

    async def _run(self) -> None:
        from mcp import Client

        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self.server.timeout):
                    target = endpoint(self.server, self._last_words, self.end)
                    self._client = await stack.enter_async_context(Client(target))
                self._opened.set()
                await self._end.wait()
        except Exception as error:
            self._problem = self._why(error)
            _log.debug("MCP server %s: %s", self.server.name, self._problem)
            await asyncio.to_thread(self._last_words.wait)

    def _over(self, _task: asyncio.Task[None]) -> None:
        self._client = None
        self._end.set()
        self._opened.set()

    def _why(self, error: Exception) -> str:
        from mcp import MCPError

        while isinstance(error, ExceptionGroup):
            error = cast("ExceptionGroup[Exception]", error).exceptions[0]
        status = self._last_words.status
        match error:
            case TimeoutError():
                return f"it was not ready within {self.server.timeout:g} seconds"
            case FileNotFoundError() | PermissionError() | NotADirectoryError():
                return f"{error.strerror}: {error.filename!r}"
            case MCPError() if is_closed(error):
                return "it ended before it was ready"
            case _:
                return f"{first_line(error)} (HTTP {status})" if status else first_line(error)


def is_closed(error: MCPError) -> bool:
    """Whether the library says that there is no connection any more."""
    from mcp_types import CONNECTION_CLOSED

    # Servers use the same number for failures of their own.
    return error.code == CONNECTION_CLOSED and error.message == "Connection closed"


def first_line(error: Exception) -> str:
    """The first line of what an error says: the rest is schemas and addresses."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:500]
