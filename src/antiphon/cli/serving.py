"""A program as a tool of any MCP client: its inputs are the parameters, and what it returns is the result."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from antiphon import __version__
from antiphon._json import dumps
from antiphon.lang.check.types import JSON, Map, Object, plain

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp_types import CallToolResult, Tool

    from antiphon.lang.run.program import Program, Report

_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
#: What a result is called that is no object: MCP has structured content for objects alone.
_VALUE = "value"


async def serve_program(program: Program, file: str, settings: dict[str, Any]) -> None:
    """Serve a program on standard input and output until the client closes them."""
    server = program_server(program, file, settings)
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def program_server(program: Program, file: str, settings: dict[str, Any]) -> Server[Any]:
    """An MCP server with one tool, for whatever transport. Each call is a run of the journal."""
    from antiphon.tools.mcp.link import required

    required()
    from mcp.server import Server
    from mcp_types import CallToolRequestParams, ListToolsResult, PaginatedRequestParams

    tool = described(program)

    async def list_tools(_context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[tool])

    async def call_tool(_context: Any, params: CallToolRequestParams) -> CallToolResult:
        if params.name != tool.name:
            return _failure(f"there is no tool {params.name!r}; there is {tool.name!r}")
        return await asyncio.to_thread(_called, program, file, settings, params.arguments or {})

    return Server(tool.name, version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


def described(program: Program) -> Tool:
    """What clients are told of a program."""
    from mcp_types import Tool

    from antiphon.lang.run.inputs import schema_of

    path = Path(program.source.name)
    name = _UNFIT.sub("_", path.stem).strip("_")[:64] or "program"
    told = program.description or f"Runs the program {path.name}."
    return Tool(name=name, description=told, input_schema=schema_of(program.inputs), output_schema=_output(program))


def _output(program: Program) -> dict[str, Any] | None:
    from antiphon.lang.run.inputs import schema_of_type

    returns = program.code.returns
    if returns is None or plain(returns) == JSON:
        return None
    schema = schema_of_type(returns)
    if isinstance(plain(returns), Object | Map):
        return {"type": "object", **schema}
    shared = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
    return {"type": "object", "properties": {_VALUE: schema}, "required": [_VALUE], **shared}


def _called(program: Program, file: str, settings: dict[str, Any], given: dict[str, Any]) -> CallToolResult:
    from antiphon.cli.carrying import begun_late, carry_out_unseen
    from antiphon.errors import AntiphonError
    from antiphon.lang.run.inputs import InputError, checked
    from antiphon.runs.begun import Begun, sources_of
    from antiphon.runs.rows import has_private

    try:
        inputs = checked(program.code, given)
        begun = Begun(file, os.getcwd(), program.source.name, sources_of(program), inputs=inputs, settings=settings)
        kept = begun_late(begun, None, has_private(program, inputs))
        report = carry_out_unseen(program, begun, kept)
    except InputError as error:
        return _failure(f"{error.message}\n{error.hint}".strip())
    except AntiphonError as error:
        return _failure(str(error))
    if report.error is not None and kept.id:
        return _failure(f"{report.error.render()}\n`antiphon runs show {kept.id}` tells of this run")
    return _told(program, report)


def _told(program: Program, report: Report) -> CallToolResult:
    from mcp_types import CallToolResult, TextContent

    if report.error is not None:
        return _failure(report.error.render())
    if report.outcome != "done":
        return _failure(report.outcome)
    value, returns = report.value, program.code.returns
    if returns is None and value is None:
        # A program that only prints says what it found so.
        return CallToolResult(content=[TextContent(type="text", text="\n".join(report.prints))])
    text = value if isinstance(value, str) else dumps(value)
    whole = cast(dict[str, Any], value) if isinstance(value, dict) else {_VALUE: value}
    is_structured = isinstance(value, dict) or _output(program) is not None
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=whole if is_structured else None
    )


def _failure(text: str) -> CallToolResult:
    from mcp_types import CallToolResult, TextContent

    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
