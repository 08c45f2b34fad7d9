"""Our tools for other programs: an MCP server made of any list of tools."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from antiphon.conversation import Conversation, ToolCall, ToolResult
from antiphon.tools.canonical import canonicalize
from antiphon.tools.execution import execute_call, failure
from antiphon.tools.mcp.content import sent
from antiphon.tools.mcp.link import required
from antiphon.tools.tool import Finish, Pause, Tool, as_tools

if TYPE_CHECKING:
    import mcp_types
    from mcp.server import Server


async def serve(tools: Iterable[Callable[..., Any] | Tool], name: str = "antiphon", version: str = "") -> None:
    """Serve the tools on standard input and output until the client closes them."""
    server = mcp_server(tools, name, version)
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def mcp_server(tools: Iterable[Callable[..., Any] | Tool], name: str = "antiphon", version: str = "") -> Server[Any]:
    """An MCP server of these tools, for whatever transport: `serve` is it on standard input and output.

    Nobody is asked here before a call is run: that is for the client's user, whom the hints tell what a tool does.
    """
    required()
    from mcp.server import Server
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

    # A cut result is read on through its conversation, which a client does not have; clients cut for themselves.
    offered = {tool.name: replace(tool, output_limit=sys.maxsize) for tool in as_tools(tools)}
    listed = [_described(tool) for tool in offered.values()]
    numbers = count(1)

    async def list_tools(_context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def call_tool(_context: Any, params: CallToolRequestParams) -> CallToolResult:
        call = ToolCall.read(f"mcp-{next(numbers)}", params.name, params.arguments or {})
        return sent(await _run(offered.get(params.name), call))

    return Server(name, version=version, on_list_tools=list_tools, on_call_tool=call_tool)


async def _run(tool: Tool | None, call: ToolCall) -> ToolResult:
    if tool is None or call.problem:
        return failure(call, call.problem or f"there is no tool named {call.name!r}")
    canonical = canonicalize(tool, call)
    if tool.read_only and not canonical.problem and tool.asks(canonical.values):
        return failure(call, "this looks like a secret, and nobody can be asked here whether it may be read")
    try:
        return (await execute_call(canonical, Conversation())).result
    except Pause as question:
        return failure(call, f"nobody can be asked here, and the tool needs an answer to: {question}")
    except Finish as end:
        return ToolResult(call.id, end.text)


def _described(tool: Tool) -> mcp_types.Tool:
    from mcp_types import Tool as Described
    from mcp_types import ToolAnnotations

    hints = ToolAnnotations(
        read_only_hint=tool.read_only,
        destructive_hint=(tool.destructive or tool.needs_approval) and not tool.read_only,
    )
    schema = {"type": "object", **tool.spec.parameters}
    return Described(name=tool.name, description=tool.spec.description, input_schema=schema, annotations=hints)
