"""One session with an MCP server, from connecting to closing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from antiphon._base.optional_deps import describe_missing_extra
from antiphon.errors import ConfigurationError
from antiphon.tools.mcp.active_call import ActiveCall
from antiphon.tools.mcp.config import McpServer
from antiphon.tools.mcp.oauth import ShowAddress, describe_login
from antiphon.tools.mcp.sampling import answer_sampling, make_refusal
from antiphon.tools.mcp.server_requests import answer_elicitation, list_roots
from antiphon.tools.mcp.transport import ServerDiagnostics, make_endpoint
from antiphon.tools.tool import ToolFailure

if TYPE_CHECKING:
    from mcp import Client, MCPError
    from mcp.client import ClientRequestContext
    from mcp.client.session import IncomingMessage
    from mcp_types import (
        CreateMessageRequestParams,
        CreateMessageResult,
        ElicitRequestParams,
        ElicitResult,
        ErrorData,
        ListRootsResult,
    )

_log = logging.getLogger(__name__)
#: How long a server may take to answer a probe after a call timed out, in seconds.
_PROBE_SECONDS = 5.0
#: How long a person may take to log in, in seconds.
_LOGIN_SECONDS = 900.0
_SILENT = logging.NullHandler()


class McpServerUnreachable(ToolFailure):
    """No connection to a server could be made.

    `full_message` also holds what the server wrote to stderr: for the person who configured it, not for the
    model.
    """

    def __init__(self, message: str, last_words: str = "") -> None:
        super().__init__(message)
        self.full_message = f"{message}; it wrote: {last_words}" if last_words else message


def require_mcp_library() -> None:
    """Import the `mcp` library. Raise a ConfigurationError that says how to install it if it is missing."""
    try:
        import mcp  # pyright: ignore[reportUnusedImport]  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(describe_missing_extra("MCP needs", "mcp", error)) from None
    # Without a logging handler, the library's tracebacks would be mixed into the program's output.
    logging.getLogger("mcp").addHandler(_SILENT)


class McpSession:
    """A connected MCP client.

    Its own task enters and leaves the client, because anyio's cancel scopes must be left by the task that
    entered them. Calls run in other tasks, and may be cancelled without harm to the session.
    """

    def __init__(self, server: McpServer, show: ShowAddress | None = None) -> None:
        self.server = server
        self._show = show
        #: Whether a call timed out: the server is slow, or gone.
        self.suspect = False
        #: Whether the server said that its tools changed.
        self.has_changed = False
        self._calls: list[ActiveCall] = []
        self._error_text = ""
        self._diagnostics = ServerDiagnostics(server.name)
        self._client: Client | None = None
        self._opened = asyncio.Event()
        self._end = asyncio.Event()
        self.task = asyncio.create_task(self._run(), name=f"MCP server {server.name}")
        self.task.add_done_callback(self._over)

    @property
    def ended(self) -> bool:
        """Return whether no further call is possible."""
        return self._end.is_set()

    def end(self) -> None:
        """Ask the session to close, without waiting."""
        self._end.set()

    async def close(self) -> None:
        """Close the session and wait until it is closed."""
        self.end()
        if not self._opened.is_set():
            self.task.cancel()
        await asyncio.wait([self.task])

    @property
    def needs_login(self) -> bool:
        """Return whether the server refused the last request for lack of a login."""
        return self._diagnostics.is_unauthorized and not self.server.headers

    @contextmanager
    def serving(self, call: ActiveCall) -> Generator[None]:
        """Let the server ask questions for a call while it runs."""
        self._calls.append(call)
        try:
            yield
        finally:
            self._calls.remove(call)

    async def client(self) -> Client:
        """Return the client once it is connected. Raise `McpServerUnreachable` if that fails."""
        await self._opened.wait()
        if self._client is None:
            problem = self._error_text or "the connection has been closed"
            raise McpServerUnreachable(
                f"MCP server `{self.server.name}` cannot be reached: {problem}", self._diagnostics.text
            )
        return self._client

    async def answers(self) -> bool:
        """Return whether the server still answers."""
        from mcp import MCPError

        try:
            # The waiting call must have time left for a new session and for itself.
            async with asyncio.timeout(min(_PROBE_SECONDS, self.server.timeout / 4)):
                await (await self.client()).list_tools(cache_mode="bypass")
        except MCPError as error:
            self.suspect = is_connection_closed(error)
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
                    target = make_endpoint(self.server, self._diagnostics, self.end, self._show)
                    self._client = await stack.enter_async_context(
                        Client(
                            target,
                            message_handler=self._note_change,
                            elicitation_callback=self._elicit,
                            sampling_callback=self._sample if self.server.sampling else None,
                            list_roots_callback=self._list_roots if self.server.roots else None,
                        )
                    )
                self._opened.set()
                await self._wait_for_end(self._client)
        except Exception as error:
            self._error_text = self._explain_error(error)
            _log.debug("MCP server %s: %s", self.server.name, self._error_text)
            await asyncio.to_thread(self._diagnostics.wait)

    async def _note_change(self, message: IncomingMessage) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self.has_changed = True

    async def _elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        """Answer a question that came on its own, as in older protocols. It does not say for which call it is."""
        from mcp_types import ElicitResult

        del context
        call = self._find_asking_call()
        return ElicitResult(action="decline") if call is None else await answer_elicitation(params, call)

    async def _sample(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        del context
        call = self._find_asking_call()
        return make_refusal("no call is running") if call is None else await answer_sampling(params, call)

    async def _list_roots(self, context: ClientRequestContext) -> ListRootsResult:
        del context
        return list_roots(self.server)

    def _find_asking_call(self) -> ActiveCall | None:
        """Return the call for which the server asks; None if it may be of several people."""
        calls = self._calls
        is_clear = calls and all(each.host.owner is calls[0].host.owner for each in calls)
        return calls[0] if is_clear else None

    async def _wait_for_end(self, client: Client) -> None:
        """Wait for the end of the session. Servers of the newer protocol tell changes only to those who listen."""
        tools = client.server_capabilities.tools
        listening = asyncio.create_task(self._listen(client)) if tools is not None and tools.list_changed else None
        try:
            await self._end.wait()
        finally:
            if listening is not None:
                listening.cancel()
                await asyncio.wait([listening])

    async def _listen(self, client: Client) -> None:
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        with suppress(ListenNotSupportedError, SubscriptionLost, TimeoutError, MCPError):
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self.has_changed = True

    def _over(self, _task: asyncio.Task[None]) -> None:
        self._client = None
        self._end.set()
        self._opened.set()

    def _explain_error(self, error: Exception) -> str:
        from mcp import MCPError

        while isinstance(error, ExceptionGroup):
            error = cast("ExceptionGroup[Exception]", error).exceptions[0]
        status = self._diagnostics.status
        if isinstance(error, ConfigurationError):
            return str(error)
        if self.needs_login:
            return f"{format_first_line(error)} (HTTP {status}); {describe_login(self.server)}"
        match error:
            case TimeoutError():
                return f"it was not ready within {self.server.timeout:g} seconds"
            case FileNotFoundError() | PermissionError() | NotADirectoryError():
                return f"{error.strerror}: {error.filename!r}"
            case MCPError() if is_connection_closed(error):
                return "it ended before it was ready"
            case _:
                return f"{format_first_line(error)} (HTTP {status})" if status else format_first_line(error)


def is_connection_closed(error: MCPError) -> bool:
    """Return whether the library reports that the connection is closed."""
    from mcp_types import CONNECTION_CLOSED

    # Servers use the same error code for their own failures.
    return error.code == CONNECTION_CLOSED and error.message == "Connection closed"


def format_first_line(error: Exception) -> str:
    """Return the first line of an error's message: the rest is schemas and URLs."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:500]


async def log_in(server: McpServer, show: ShowAddress) -> bool:
    """Let a person log in at a server, and store the credentials. `show` shows them the address to open.

    Return False if the server needs no login. Raise a ConfigurationError if it cannot be reached, or the login fails.
    """
    require_mcp_library()
    if not server.url or server.credentials is None:
        raise ConfigurationError(f"MCP server `{server.name}` has no `url` and `credentials`, which a login needs")
    shown: list[str] = []

    def show_once(address: str) -> None:
        shown.append(address)
        show(address)

    link = McpSession(replace(server, timeout=_LOGIN_SECONDS), show_once)
    try:
        await link.client()
    except McpServerUnreachable as error:
        raise ConfigurationError(error.full_message) from None
    finally:
        await link.close()
    return bool(shown)
