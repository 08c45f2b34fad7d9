"""The tools of MCP servers as our tools."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from antiphon.conversation import Conversation, MediaPart, Text, ToolResult, ToolSpec
from antiphon.errors import ConfigurationError
from antiphon.tools.call_host import NO_HOST
from antiphon.tools.function_schema import FunctionSchema
from antiphon.tools.mcp.config import McpServer
from antiphon.tools.mcp.connection import McpConnection
from antiphon.tools.mcp.limited_schema import LimitedSchema
from antiphon.tools.mcp.names import make_legal_name
from antiphon.tools.mcp.resources import McpPrompt, McpResource
from antiphon.tools.mcp.results import check_result, from_mcp_result, unwrap_data
from antiphon.tools.mcp.session import McpServerUnreachable, require_mcp_library
from antiphon.tools.path_arguments import find_command_parameters, find_path_parameters, normalize_remote_path
from antiphon.tools.tool import Tool, ToolContext, ToolFailure

if TYPE_CHECKING:
    import mcp_types


#: The argument that receives the context. No server has a parameter of such a name.
_CONTEXT = "\0context"
#: Names of tools that run what they are given.
_SHELL_NAMES = re.compile(
    r"shell|bash|terminal|exec|eval|command|powershell|script|console|python|repl|ssh|subprocess|spawn|(?:^|[_-])run",
    re.IGNORECASE,
)


class McpTools:
    """Servers that are connected while the `async with` block runs.

    `tools` holds what they offer, each named after its server unless `prefix` is false. `failures` says for
    each server that could not be reached why. Only if none could be reached, entering raises a
    ConfigurationError.

        async with McpTools([McpServer("files", command="mcp-files")]) as mcp:
            session = Session(model, tools=[*mcp.tools, my_own_tool])
    """

    def __init__(self, servers: Iterable[McpServer], prefix: bool = True) -> None:
        self.tools: list[Tool] = []
        self.failures: dict[str, str] = {}
        self._servers = tuple(servers)
        self._prefix = prefix
        self._connections: list[McpConnection] = []
        self._tools_by_server: dict[str, list[Tool]] = {}
        names = [server.name for server in self._servers]
        for name in names:
            if names.count(name) > 1:
                raise ConfigurationError(f"two MCP servers are named `{name}`; give one another name")

    async def __aenter__(self) -> Self:
        require_mcp_library()
        self._connections = [McpConnection(server) for server in self._servers]
        try:
            await self.refresh()
            if self._servers and len(self.failures) == len(self._servers):
                raise ConfigurationError("; ".join(self.failures.values()))
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    async def refresh(self) -> None:
        """List the tools again, and retry the servers that had failed.

        A server's notice that its tools changed does not trigger this: changing the list in the middle of a
        conversation would invalidate the provider's cache.
        """
        listings = await asyncio.gather(*(self._list_server_tools(connection) for connection in self._connections))
        tools: dict[str, Tool] = {}
        self._tools_by_server = {server.name: [] for server in self._servers}
        for connection, listing in zip(self._connections, listings, strict=True):
            for described in listing:
                wanted = f"{connection.server.name}_{described.name}" if self._prefix else described.name
                name = make_legal_name(wanted, tools)
                tools[name] = _make_tool(connection, described, name)
                self._tools_by_server[connection.server.name].append(tools[name])
        self.tools = list(tools.values())

    def of(self, server: str) -> list[Tool]:
        """Return the tools of one server."""
        return self._tools_by_server[server]

    @property
    def changed(self) -> list[str]:
        """The servers that said that their tools changed since they were listed; `refresh` lists them again."""
        return [each.server.name for each in self._connections if each.has_changed]

    async def resources(self, server: str) -> list[McpResource]:
        """Return the resources and templates of a server."""
        return await self._find(server).resources()

    async def read_resource(self, server: str, uri: str) -> tuple[Text | MediaPart, ...]:
        """Return the contents of a resource as parts of a prompt."""
        return await self._find(server).read_resource(uri)

    async def prompts(self, server: str) -> list[McpPrompt]:
        """Return the prompts of a server."""
        return await self._find(server).prompts()

    async def get_prompt(self, server: str, name: str, **arguments: str) -> Conversation:
        """Return the messages of a prompt as a new conversation."""
        return await self._find(server).get_prompt(name, arguments)

    def _find(self, server: str) -> McpConnection:
        found = next((each for each in self._connections if each.server.name == server), None)
        if found is None:
            there = ", ".join(f"`{each.server.name}`" for each in self._connections) or "none"
            raise ConfigurationError(f"there is no MCP server `{server}` here; there are: {there}")
        return found

    async def _list_server_tools(self, connection: McpConnection) -> list[mcp_types.Tool]:
        name = connection.server.name
        self.failures.pop(name, None)
        try:
            # A name listed twice by one server means one tool: the server could not tell the calls apart either.
            return list({described.name: described for described in await connection.tools()}.values())
        except McpServerUnreachable as error:
            self.failures[name] = error.full_message
        except ToolFailure as error:
            self.failures[name] = str(error)
        return []

    async def _close(self) -> None:
        await asyncio.gather(*(connection.close() for connection in self._connections))


def _make_tool(connection: McpConnection, described: mcp_types.Tool, name: str) -> Tool:
    output = None if described.output_schema is None else LimitedSchema(described.output_schema)

    async def exchange(arguments: dict[str, Any]) -> mcp_types.CallToolResult:
        context: ToolContext | None = arguments.pop(_CONTEXT, None)
        result = await connection.call(described.name, arguments, context.host if context else NO_HOST)
        check_result(result, output, f"`{described.name}` of MCP server `{connection.server.name}`")
        return result

    async def call(**arguments: Any) -> ToolResult:
        return from_mcp_result(await exchange(arguments))

    async def get_data(**arguments: Any) -> Any:
        result = await exchange(arguments)
        if result.is_error:
            raise ToolFailure(from_mcp_result(result).text)
        return unwrap_data(result, described.output_schema or {})

    hints = described.annotations
    # No server declares that a tool runs command lines; its name and parameters tell.
    is_shell = bool(find_command_parameters(described.input_schema) or _SHELL_NAMES.search(described.name))
    # Do not trust the server's own hint: a tool that runs commands is not read-only.
    read_only = bool(hints and hints.read_only_hint) and not is_shell
    description = described.description or described.title or (hints and hints.title) or ""
    return Tool(
        ToolSpec(name, description, described.input_schema),
        call,
        FunctionSchema.passthrough(described.input_schema, description, _CONTEXT),
        read_only=read_only,
        is_cooperative=True,
        # As in MCP, a tool without hints counts as destructive.
        destructive=not read_only and (hints is None or hints.destructive_hint is not False),
        needs_approval=not read_only,
        paths=find_path_parameters(described.input_schema),
        locate=normalize_remote_path,
        is_shell=is_shell,
        output_schema=described.output_schema,
        data=None if output is None else get_data,
    )
