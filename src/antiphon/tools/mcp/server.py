"""An MCP server for any list of our tools."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from antiphon.conversation import Conversation, ToolCall, ToolResult
from antiphon.tools.canonical_call import canonicalize
from antiphon.tools.execution import execute_call, make_error_result
from antiphon.tools.mcp.results import to_mcp_result
from antiphon.tools.mcp.served_call import ServedCall, find_response, is_accepted, make_input_request, read_answer
from antiphon.tools.mcp.session import require_mcp_library
from antiphon.tools.tool import FinishRun, NeedsHumanInput, Tool, as_tools

if TYPE_CHECKING:
    import mcp_types
    from mcp.server import Server
    from mcp_types import InputRequiredResult


async def serve(tools: Iterable[Callable[..., Any] | Tool], name: str = "antiphon", version: str = "") -> None:
    """Serve the tools on standard input and output until the client closes them."""
    server = make_mcp_server(tools, name, version)
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def make_mcp_server(
    tools: Iterable[Callable[..., Any] | Tool], name: str = "antiphon", version: str = ""
) -> Server[Any]:
    """Return an MCP server of these tools for any transport; `serve` uses standard input and output.

    No approval is asked here: that is up to the client's user, who sees the hints on what a tool does. The questions
    of tools, and whether a secret may be read, are put to that user if the client can ask (elicitation). Progress that
    a tool reports to `ToolContext.host` is sent to the client.
    """
    require_mcp_library()
    from mcp.server import Server
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

    # A truncated result is paged through its conversation, which a client does not have; clients truncate themselves.
    offered = {tool.name: replace(tool, output_limit=sys.maxsize) for tool in as_tools(tools)}
    listed = [_describe_tool(tool) for tool in offered.values()]
    numbers = count(1)

    async def list_tools(_context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        call = ToolCall.read(f"mcp-{next(numbers)}", params.name, params.arguments or {})
        host = ServedCall(context)
        try:
            done = await _run_call(offered.get(params.name), call, host, find_response(params.input_responses))
        finally:
            await host.finish()
        return to_mcp_result(done) if isinstance(done, ToolResult) else done

    return Server(name, version=version, on_list_tools=list_tools, on_call_tool=call_tool)


async def _run_call(
    tool: Tool | None, call: ToolCall, host: ServedCall, response: Any
) -> ToolResult | InputRequiredResult:
    """Return the result of a call, or what the client is to ask its user; then `response` is the answer."""
    if tool is None or call.problem:
        return make_error_result(call, call.problem or f"there is no tool named {call.name!r}")
    canonical = canonicalize(tool, call)
    if tool.read_only and not canonical.problem and tool.asks(canonical.values):
        text = f"This looks like a secret. {canonical.question}"
        if host.can_ask and host.asks_later and response is None:
            return make_input_request(text, is_question=False)
        if not (is_accepted(response) if host.asks_later else await host.confirm("secret", text)):
            why = "the user did not allow it" if host.can_ask else "nobody can be asked here whether it may be read"
            return make_error_result(call, f"this looks like a secret, and {why}")
    elif host.asks_later and response is not None:
        # The call asked before. It is not run again, because it may have done something already.
        return _make_answer_result(call, read_answer(response))
    try:
        return (await execute_call(canonical, Conversation(), host=host)).result
    except NeedsHumanInput as question:
        if not host.can_ask:
            return make_error_result(call, f"nobody can be asked here, and the tool needs an answer to: {question}")
        if host.asks_later:
            return make_input_request(str(question), is_question=True)
        return _make_answer_result(call, await host.ask("question", str(question)))
    except FinishRun as end:
        return ToolResult(call.id, end.text)


def _make_answer_result(call: ToolCall, answer: str | None) -> ToolResult:
    if answer is None:
        return make_error_result(call, "the user declined to answer")
    return ToolResult(call.id, f"The user answered: {answer}")


def _describe_tool(tool: Tool) -> mcp_types.Tool:
    from mcp_types import Tool as Described
    from mcp_types import ToolAnnotations

    hints = ToolAnnotations(
        read_only_hint=tool.read_only,
        destructive_hint=(tool.destructive or tool.needs_approval) and not tool.read_only,
    )
    schema = {"type": "object", **tool.spec.parameters}
    return Described(
        name=tool.name,
        description=tool.spec.description,
        input_schema=schema,
        output_schema=None if tool.output_schema is None else dict(tool.output_schema),
        annotations=hints,
    )
