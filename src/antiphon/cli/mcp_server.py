"""A program as an MCP tool: its inputs are the parameters, and its return value is the result."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from antiphon import __version__
from antiphon._base.json import dump_json
from antiphon.lang.typecheck.types import JSON, Map, Object, strip_ai_result

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp_types import CallToolResult, Tool

    from antiphon.lang.runtime.program import Program, Report

_INVALID_NAME_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]+")
#: The key of a result that is no object: structured content of MCP is always an object.
_VALUE_KEY = "value"


async def serve_program(program: Program, file: str, settings: dict[str, Any]) -> None:
    """Serve a program on standard input and output until the client closes them."""
    server = make_program_server(program, file, settings)
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def make_program_server(program: Program, file: str, settings: dict[str, Any]) -> Server[Any]:
    """Return an MCP server with one tool, for any transport. Each call is a journal run."""
    from antiphon.tools.mcp.session import require_mcp_library

    require_mcp_library()
    from mcp.server import Server
    from mcp_types import CallToolRequestParams, ListToolsResult, PaginatedRequestParams

    tool = describe_program_tool(program)

    async def list_tools(_context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[tool])

    async def call_tool(_context: Any, params: CallToolRequestParams) -> CallToolResult:
        if params.name != tool.name:
            return _make_tool_error(f"there is no tool {params.name!r}; the only tool is {tool.name!r}")
        return await asyncio.to_thread(_call_program, program, file, settings, params.arguments or {})

    return Server(tool.name, version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


def describe_program_tool(program: Program) -> Tool:
    """Return the MCP tool description of a program."""
    from mcp_types import Tool

    from antiphon.lang.runtime.inputs import make_inputs_schema

    path = Path(program.source.name)
    name = _INVALID_NAME_CHARACTERS.sub("_", path.stem).strip("_")[:64] or "program"
    told = program.description or f"Runs the program {path.name}."
    return Tool(
        name=name,
        description=told,
        input_schema=make_inputs_schema(program.inputs),
        output_schema=_output_schema(program),
    )


def _output_schema(program: Program) -> dict[str, Any] | None:
    from antiphon.lang.runtime.inputs import make_type_schema

    returns = program.code.returns
    if returns is None or strip_ai_result(returns) == JSON:
        return None
    schema = make_type_schema(returns)
    if isinstance(strip_ai_result(returns), Object | Map):
        return {"type": "object", **schema}
    shared = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
    return {"type": "object", "properties": {_VALUE_KEY: schema}, "required": [_VALUE_KEY], **shared}


def _call_program(program: Program, file: str, settings: dict[str, Any], given: dict[str, Any]) -> CallToolResult:
    from antiphon.cli.execute import execute_headless, lazy_run
    from antiphon.errors import AntiphonError
    from antiphon.lang.runtime.inputs import InputError, check_inputs
    from antiphon.programs.launch_spec import LaunchSpec, collect_program_sources
    from antiphon.programs.row_sources import has_private_input

    try:
        inputs = check_inputs(program.code, given)
        begun = LaunchSpec(
            file, os.getcwd(), program.source.name, collect_program_sources(program), inputs=inputs, settings=settings
        )
        kept = lazy_run(begun, has_private_input(program, inputs))
        report = execute_headless(program, begun, kept)
    except InputError as error:
        return _make_tool_error(f"{error.message}\n{error.hint}".strip())
    except AntiphonError as error:
        return _make_tool_error(str(error))
    if report.error is not None and kept.id:
        return _make_tool_error(f"{report.error.render()}\n`antiphon show {kept.id}` shows its steps")
    return _make_tool_result(program, report)


def _make_tool_result(program: Program, report: Report) -> CallToolResult:
    from mcp_types import CallToolResult, TextContent

    if report.error is not None:
        return _make_tool_error(report.error.render())
    if report.outcome != "done":
        return _make_tool_error(report.outcome)
    value, returns = report.value, program.code.returns
    if returns is None and value is None:
        # The result of a program that returns nothing is its printed text.
        return CallToolResult(content=[TextContent(type="text", text="\n".join(report.prints))])
    text = value if isinstance(value, str) else dump_json(value)
    whole = cast(dict[str, Any], value) if isinstance(value, dict) else {_VALUE_KEY: value}
    is_structured = isinstance(value, dict) or _output_schema(program) is not None
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=whole if is_structured else None
    )


def _make_tool_error(text: str) -> CallToolResult:
    from mcp_types import CallToolResult, TextContent

    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
