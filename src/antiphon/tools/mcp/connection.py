"""Calls to one MCP server, which reconnect after a failure and report errors as text."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from antiphon.tools.mcp.config import McpServer
from antiphon.tools.mcp.session import McpSession, format_first_line, is_connection_closed
from antiphon.tools.tool import ToolFailure

if TYPE_CHECKING:
    import mcp_types
    from mcp import Client

#: No real server has this many pages; one that never ends must not block us.
_MAX_PAGES = 1000


class McpConnection:
    """Calls to one server, with a new session when the old one broke. It is bound to its event loop."""

    def __init__(self, server: McpServer) -> None:
        self.server = server
        self._loop = asyncio.get_running_loop()
        self._sessions: set[McpSession] = set()
        self._link: McpSession | None = None
        self._closed = False

    async def tools(self) -> list[mcp_types.Tool]:
        """Return the tools that the server offers, from all pages. Raise a ToolFailure if it cannot be
        asked.
        """
        from mcp import MCPError

        link, client = await self._connected()
        if client.server_capabilities.tools is None:
            return []
        found: list[mcp_types.Tool] = []
        cursor: str | None = None
        try:
            async with asyncio.timeout(self.server.timeout):
                for _ in range(_MAX_PAGES):
                    page = await client.list_tools(cursor=cursor, cache_mode="refresh")
                    found += page.tools
                    cursor = page.next_cursor
                    if not cursor:
                        break
        except TimeoutError:
            link.end()
            raise ToolFailure(
                f"MCP server `{self.server.name}` did not list its tools within {self.server.timeout:g} seconds"
            ) from None
        except (MCPError, RuntimeError, ValueError) as error:
            raise ToolFailure(
                f"MCP server `{self.server.name}` did not list its tools: {format_first_line(error)}"
            ) from None
        return found

    async def call(self, tool: str, arguments: dict[str, Any]) -> mcp_types.CallToolResult:
        """Call a tool. Raise a ToolFailure that says what went wrong."""
        if asyncio.get_running_loop() is self._loop:
            return await self._bounded(tool, arguments)
        if not self._loop.is_running():
            raise ToolFailure(f"MCP server `{self.server.name}` was connected on an event loop that has ended")
        # Called from another thread: the streams belong to the event loop on which they were made.
        elsewhere = asyncio.run_coroutine_threadsafe(self._bounded(tool, arguments), self._loop)
        return await asyncio.wrap_future(elsewhere)

    async def close(self) -> None:
        """End the sessions and their processes; later calls fail."""
        self._closed = True
        await asyncio.gather(*(link.close() for link in self._sessions))

    async def _bounded(self, tool: str, arguments: dict[str, Any]) -> mcp_types.CallToolResult:
        try:
            async with asyncio.timeout(self.server.timeout):
                return await self._call(tool, arguments)
        except TimeoutError:
            if self._link:
                self._link.suspect = True
            raise ToolFailure(
                f"MCP server `{self.server.name}` did not answer within {self.server.timeout:g} seconds"
            ) from None

    async def _call(self, tool: str, arguments: dict[str, Any], again: bool = True) -> mcp_types.CallToolResult:
        from mcp import MCPError
        from mcp_types import INVALID_REQUEST

        link, client = await self._connected()
        try:
            return await client.call_tool(tool, arguments)
        except MCPError as error:
            if link.ended or is_connection_closed(error):
                link.end()
                # The call is not retried: it may already have taken effect.
                raise ToolFailure(
                    f"the connection to MCP server `{self.server.name}` broke during the call; whether it took effect "
                    "is not known. The next call connects again"
                ) from None
            # An HTTP server may not know our session any more.
            is_unknown = error.code == INVALID_REQUEST and error.message in ("Session terminated", "Session not found")
            if not (again and is_unknown):
                raise ToolFailure(format_first_line(error)) from None
            link.end()
        except (RuntimeError, ValueError) as error:
            # The library raises these for results that violate the protocol or the tool's schema.
            raise ToolFailure(
                f"MCP server `{self.server.name}` gave a wrong answer: {format_first_line(error)}"
            ) from None
        return await self._call(tool, arguments, again=False)

    async def _connected(self) -> tuple[McpSession, Client]:
        """Return a working session and its client. Concurrent calls that find it broken share one new
        session.
        """
        link = self._link
        if link and link.suspect and not link.ended and not await link.answers():
            link.end()
        if self._closed:
            raise ToolFailure(f"the connection to MCP server `{self.server.name}` has been closed")
        if self._link is None or self._link.ended:
            self._link = McpSession(self.server)
            self._sessions.add(self._link)
            self._link.task.add_done_callback(lambda _, link=self._link: self._sessions.discard(link))
        return self._link, await self._link.client()
