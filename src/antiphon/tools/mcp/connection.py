"""Calls to one MCP server, which reconnect after a failure and report errors as text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from antiphon.conversation import Conversation, MediaPart, Text
from antiphon.tools.call_host import NO_HOST, CallHost
from antiphon.tools.mcp.active_call import ActiveCall
from antiphon.tools.mcp.config import McpServer
from antiphon.tools.mcp.oauth import describe_login
from antiphon.tools.mcp.resources import (
    McpPrompt,
    McpResource,
    read_contents,
    read_listed_prompt,
    read_listed_resource,
    read_prompt,
)
from antiphon.tools.mcp.server_requests import answer_elicitation, answer_request
from antiphon.tools.mcp.session import McpSession, format_first_line, is_connection_closed
from antiphon.tools.tool import ToolFailure

if TYPE_CHECKING:
    import mcp_types
    from mcp import Client, MCPError
    from pydantic import TypeAdapter

T = TypeVar("T")
#: No real server has this many pages; one that never ends must not block us.
_MAX_PAGES = 1000
#: How many tools, resources or prompts of one server are listed.
_MAX_LISTED = 10_000
#: How often a server may ask for input before it gives the result of a call.
_MAX_ROUNDS = 20
#: Seconds before a call is made again whose server only asked to come back.
_RETURN_SECONDS = 0.25


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
        link, client = await self._connected()
        link.has_changed = False
        if client.server_capabilities.tools is None:
            return []
        return await self._list("tools", lambda cursor: client.list_tools(cursor=cursor, cache_mode="refresh"))

    async def resources(self) -> list[McpResource]:
        """Return the resources and templates of the server."""
        return await self._run_here(self._list_resources())

    async def _list_resources(self) -> list[McpResource]:
        _, client = await self._connected()
        if client.server_capabilities.resources is None:
            return []
        found: list[Any] = await self._list(
            "resources", lambda cursor: client.list_resources(cursor=cursor, cache_mode="refresh")
        )
        found += await self._list(
            "resource_templates", lambda cursor: client.list_resource_templates(cursor=cursor, cache_mode="refresh")
        )
        return [read_listed_resource(each) for each in found]

    async def read_resource(self, uri: str) -> tuple[Text | MediaPart, ...]:
        """Return the contents of a resource."""

        async def read() -> tuple[Text | MediaPart, ...]:
            _, client = await self._connected()
            got = await self._ask(f"read the resource {uri!r:.200}", client.read_resource(uri, cache_mode="refresh"))
            return read_contents(self.server.name, uri, got)

        return await self._run_here(read())

    async def prompts(self) -> list[McpPrompt]:
        """Return the prompts of the server."""

        async def read() -> list[McpPrompt]:
            _, client = await self._connected()
            if client.server_capabilities.prompts is None:
                return []
            found = await self._list("prompts", lambda cursor: client.list_prompts(cursor=cursor, cache_mode="refresh"))
            return [read_listed_prompt(each) for each in found]

        return await self._run_here(read())

    async def get_prompt(self, name: str, arguments: dict[str, str]) -> Conversation:
        """Return the messages of a prompt."""

        async def read() -> Conversation:
            _, client = await self._connected()
            got = await self._ask(f"give the prompt `{name}`", client.get_prompt(name, arguments))
            return read_prompt(self.server.name, name, got)

        return await self._run_here(read())

    @property
    def has_changed(self) -> bool:
        """Return whether the server said that its tools changed since they were listed."""
        return self._link is not None and self._link.has_changed

    async def _list(self, what: str, fetch: Callable[[str | None], Awaitable[Any]]) -> list[Any]:
        """Return the items of all pages."""

        async def read_pages() -> list[Any]:
            found: list[Any] = []
            cursor: str | None = None
            for _ in range(_MAX_PAGES):
                page = await fetch(cursor)
                found += getattr(page, what)
                if len(found) > _MAX_LISTED:
                    raise ValueError(f"it lists more than {_MAX_LISTED:,}")
                cursor = page.next_cursor
                if not cursor:
                    break
            return found

        return await self._ask(f"list its {what.replace('_', ' ')}", read_pages())

    async def _ask(self, what: str, work: Awaitable[T]) -> T:
        """Return the answer of the server. Raise a ToolFailure that says what it did not do, and why."""
        from mcp import MCPError

        try:
            async with asyncio.timeout(self.server.timeout):
                return await work
        except TimeoutError:
            if self._link is not None:
                self._link.end()
            raise ToolFailure(
                f"MCP server `{self.server.name}` did not {what} within {self.server.timeout:g} seconds"
            ) from None
        except (MCPError, RuntimeError, ValueError) as error:
            raise ToolFailure(f"MCP server `{self.server.name}` did not {what}: {format_first_line(error)}") from None

    async def call(self, tool: str, arguments: dict[str, Any], host: CallHost = NO_HOST) -> mcp_types.CallToolResult:
        """Call a tool. Raise a ToolFailure that says what went wrong. The server asks through the host."""
        call = ActiveCall(self.server, tool, host)
        return await self._run_here(self._bounded(call, arguments))

    async def _run_here(self, work: Coroutine[Any, Any, T]) -> T:
        """Run on the event loop of the connection: the streams belong to the loop on which they were made."""
        if asyncio.get_running_loop() is self._loop:
            return await work
        if not self._loop.is_running():
            work.close()
            raise ToolFailure(f"MCP server `{self.server.name}` was connected on an event loop that has ended")
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def close(self) -> None:
        """End the sessions and their processes; later calls fail."""
        self._closed = True
        await asyncio.gather(*(link.close() for link in self._sessions))

    async def _bounded(self, call: ActiveCall, arguments: dict[str, Any]) -> mcp_types.CallToolResult:
        try:
            async with call.limited():
                return await self._call(call, arguments)
        except TimeoutError:
            if self._link:
                self._link.suspect = True
            raise ToolFailure(
                f"MCP server `{self.server.name}` did not answer within {self.server.timeout:g} seconds"
            ) from None

    async def _call(self, call: ActiveCall, arguments: dict[str, Any], again: bool = True) -> mcp_types.CallToolResult:
        from mcp import MCPError

        link, client = await self._connected()
        try:
            with link.serving(call):
                return await self._exchange(client, call, arguments)
        except MCPError as error:
            if link.ended or is_connection_closed(error):
                link.end()
                # The call is not retried: it may already have taken effect.
                raise ToolFailure(
                    f"the connection to MCP server `{self.server.name}` broke during the call; whether it took effect "
                    "is not known. The next call connects again"
                ) from None
            if not (again and await self._is_repeatable(link, call, error)):
                hint = f"; {describe_login(self.server)}" if link.needs_login else ""
                raise ToolFailure(f"{format_first_line(error)}{hint}") from None
        except (RuntimeError, ValueError) as error:
            # The library raises these for results that violate the protocol.
            raise ToolFailure(
                f"MCP server `{self.server.name}` gave a wrong answer to `{call.tool}`: {format_first_line(error)}"
            ) from None
        return await self._call(call, arguments, again=False)

    async def _is_repeatable(self, link: McpSession, call: ActiveCall, error: MCPError) -> bool:
        """Return whether a refused call should be made again, after what the refusal asks for."""
        from mcp_types import HEADER_MISMATCH, INVALID_REQUEST, URL_ELICITATION_REQUIRED, ElicitationRequiredErrorData

        if error.code == URL_ELICITATION_REQUIRED:
            # The call was refused, so it can be made again later.
            call.can_wait = True
            links = ElicitationRequiredErrorData.model_validate(error.error.data).elicitations
            return bool(links) and all(
                [(await answer_elicitation(each, call)).action == "accept" for each in links[:_MAX_ROUNDS]]
            )
        if error.code == HEADER_MISMATCH:
            # A new session does not know which arguments are repeated in headers.
            await self.tools()
            return True
        # An HTTP server may not know our session any more.
        is_unknown = error.code == INVALID_REQUEST and error.message in ("Session terminated", "Session not found")
        if is_unknown:
            link.end()
        return is_unknown

    async def _exchange(self, client: Client, call: ActiveCall, arguments: dict[str, Any]) -> mcp_types.CallToolResult:
        """Make a call, and make it again with the answers if the server asks for input."""
        from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult

        responses: dict[str, Any] | None = None
        state: str | None = None
        rounds = 0
        while rounds < _MAX_ROUNDS:
            params = CallToolRequestParams(
                name=call.tool, arguments=arguments, input_responses=responses, request_state=state
            )
            # Not `call_tool`, which validates results with schemas that may take endless time.
            result = await client.session.send_request(
                CallToolRequest(params=params), _get_result_adapter(), progress_callback=call.show_progress
            )
            if isinstance(result, CallToolResult):
                return result
            state, responses = result.request_state, None
            if not result.input_requests:
                await asyncio.sleep(_RETURN_SECONDS)
                continue
            rounds += 1
            responses = await self._answer_all(result.input_requests, call)
        raise ToolFailure(f"`{call.tool}` of MCP server `{self.server.name}` asked for input {_MAX_ROUNDS} times")

    async def _answer_all(self, requests: mcp_types.InputRequests, call: ActiveCall) -> dict[str, Any]:
        from mcp_types import ErrorData

        answers: dict[str, Any] = {}
        # The server keeps nothing while it waits, so the call can be made again later.
        call.can_wait = True
        for key, request in requests.items():
            answer = await answer_request(request, call)
            if isinstance(answer, ErrorData):
                raise ToolFailure(
                    f"`{call.tool}` of MCP server `{self.server.name}` needs what was refused: {answer.message}"
                )
            answers[key] = answer
        return answers

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


@cache
def _get_result_adapter() -> TypeAdapter[mcp_types.CallToolResult | mcp_types.InputRequiredResult]:
    import mcp_types
    from pydantic import TypeAdapter

    return TypeAdapter(mcp_types.CallToolResult | mcp_types.InputRequiredResult)
