"""Calls to one server: over a link that is made anew when it broke, with failures said in words."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from antiphon.tools.mcp.config import McpServer
from antiphon.tools.mcp.link import Link, first_line, is_closed
from antiphon.tools.tool import ToolFailure

if TYPE_CHECKING:
    import mcp_types
    from mcp import Client, MCPError

#: No server has this many pages; one that never ends must not hang us.
_PAGES = 1000


class Connection:
    """Calls to one server, over one link after the other. It lives on the event loop it was made on."""

    def __init__(self, server: McpServer) -> None:
        self.server = server
        self._loop = asyncio.get_running_loop()
        self._links: set[Link] = set()
        self._link: Link | None = None
        self._closed = False

    async def tools(self) -> list[mcp_types.Tool]:
        """What the server offers, all pages of it; ToolFailure says why it could not be asked."""
        from mcp import MCPError

        link, client = await self._connected()
        if client.server_capabilities.tools is None:
            return []
        found: list[mcp_types.Tool] = []
        cursor: str | None = None
        try:
            async with asyncio.timeout(self.server.timeout):
                for _ in range(_PAGES):
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
            raise ToolFailure(f"MCP server `{self.server.name}` did not list its tools: {first_line(error)}") from None
        return found

    async def call(self, tool: str, arguments: dict[str, Any]) -> mcp_types.CallToolResult:
        """Call a tool; ToolFailure says in words what went wrong on the way."""
        if asyncio.get_running_loop() is self._loop:
            return await self._bounded(tool, arguments)
        if not self._loop.is_running():
            raise ToolFailure(f"MCP server `{self.server.name}` was connected on an event loop that has ended")
        # A session of another thread: the link's streams belong to the loop they were made on.
        elsewhere = asyncio.run_coroutine_threadsafe(self._bounded(tool, arguments), self._loop)
        return await asyncio.wrap_future(elsewhere)

    async def close(self) -> None:
        """End the links and the processes behind them; later calls fail."""
        self._closed = True
        await asyncio.gather(*(link.close() for link in self._links))

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

        link, client = await self._connected()
        try:
            return await client.call_tool(tool, arguments)
        except MCPError as error:
            if link.ended or is_closed(error):
                link.end()
                # The call is not repeated: nobody knows how far the server had come with it.
                raise ToolFailure(
                    f"the connection to MCP server `{self.server.name}` broke during the call; whether it took effect "
                    "is not known. The next call connects again"
                ) from None
            if not (again and _is_forgotten(error)):
                raise ToolFailure(first_line(error)) from None
            link.end()
        except (RuntimeError, ValueError) as error:
            # The library's word for results that are not what the protocol or the tool's own schema promises.
            raise ToolFailure(f"MCP server `{self.server.name}` gave a wrong answer: {first_line(error)}") from None
        return await self._call(tool, arguments, again=False)

    async def _connected(self) -> tuple[Link, Client]:
        """A link that works. Calls that find the old one broken at the same time share one new link."""
        link = self._link
        if link and link.suspect and not link.ended and not await link.answers():
            link.end()
        if self._closed:
            raise ToolFailure(f"the connection to MCP server `{self.server.name}` has been closed")
        if self._link is None or self._link.ended:
            self._link = Link(self.server)
            self._links.add(self._link)
            self._link.task.add_done_callback(lambda _, link=self._link: self._links.discard(link))
        return self._link, await self._link.client()


def _is_forgotten(error: MCPError) -> bool:
    """Whether an HTTP server refused the call because it does not know our session, perhaps since it was restarted."""
    from mcp_types import INVALID_REQUEST

    return error.code == INVALID_REQUEST and error.message in ("Session terminated", "Session not found")
