"""The tools of MCP servers, as tools of ours."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from antiphon.conversation import ToolResult, ToolSpec, short_id
from antiphon.errors import ConfigurationError
from antiphon.tools.mcp.config import McpServer
from antiphon.tools.mcp.connection import Connection
from antiphon.tools.mcp.content import answer_of
from antiphon.tools.mcp.link import Unreachable, required
from antiphon.tools.signature import Arguments
from antiphon.tools.targets import command_parameters, normalize, path_parameters
from antiphon.tools.tool import Tool, ToolFailure

if TYPE_CHECKING:
    import mcp_types


#: Names of tools that run what they are given.
_SHELLS = re.compile(
    r"shell|bash|terminal|exec|eval|command|powershell|script|console|python|repl|ssh|subprocess|spawn|(?:^|[_-])run",
    re.IGNORECASE,
)


class McpTools:
    """Servers, connected for as long as the `async with` block runs.

    `tools` holds what they offer, each named after its server unless `prefix` is false. `failures` says of each server
    that could not be reached why; only if none could, entering raises ConfigurationError.

        async with McpTools([McpServer("files", command="mcp-files")]) as mcp:
            session = Session(model, tools=[*mcp.tools, my_own_tool])
    """

    def __init__(self, servers: Iterable[McpServer], prefix: bool = True) -> None:
        self.tools: list[Tool] = []
        self.failures: dict[str, str] = {}
        self._servers = tuple(servers)
        self._prefix = prefix
        self._connections: list[Connection] = []
        self._of: dict[str, list[Tool]] = {}
        names = [server.name for server in self._servers]
        for name in names:
            if names.count(name) > 1:
                raise ConfigurationError(f"two MCP servers are named `{name}`; give one another name")

    async def __aenter__(self) -> Self:
        required()
        self._connections = [Connection(server) for server in self._servers]
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
        """List the tools again, and try again those servers that had failed.

        A server's notice that its tools changed does not do so by itself: a list that changes in the middle of a
        conversation throws away what the provider has cached of it.
        """
        listings = await asyncio.gather(*(self._listing(connection) for connection in self._connections))
        tools: dict[str, Tool] = {}
        self._of = {server.name: [] for server in self._servers}
        for connection, listing in zip(self._connections, listings, strict=True):
            for described in listing:
                wanted = f"{connection.server.name}_{described.name}" if self._prefix else described.name
                name = legal_name(wanted, tools)
                tools[name] = _tool(connection, described, name)
                self._of[connection.server.name].append(tools[name])
        self.tools = list(tools.values())

    def of(self, server: str) -> list[Tool]:
        """The tools of one server."""
        return self._of[server]

    async def _listing(self, connection: Connection) -> list[mcp_types.Tool]:
        name = connection.server.name
        self.failures.pop(name, None)
        try:
            # A name given twice by one server means one tool: it could not tell the calls apart either.
            return list({described.name: described for described in await connection.tools()}.values())
        except Unreachable as error:
            self.failures[name] = error.explained
        except ToolFailure as error:
            self.failures[name] = str(error)
        return []

    async def _close(self) -> None:
        await asyncio.gather(*(connection.close() for connection in self._connections))


def _tool(connection: Connection, described: mcp_types.Tool, name: str) -> Tool:
    async def call(**arguments: Any) -> ToolResult:
        return answer_of(await connection.call(described.name, arguments))

    hints = described.annotations
    is_shell = _is_shell(described)
    # A server may say of itself what it likes; what runs commands is not read-only.
    read_only = bool(hints and hints.read_only_hint) and not is_shell
    description = described.description or described.title or (hints and hints.title) or ""
    return Tool(
        ToolSpec(name, description, described.input_schema),
        call,
        Arguments.passthrough(described.input_schema, description),
        read_only=read_only,
        # MCP takes a tool without hints for destructive, and so do we.
        destructive=not read_only and (hints is None or hints.destructive_hint is not False),
        needs_approval=not read_only,
        paths=path_parameters(described.input_schema),
        locate=normalize,
        is_shell=is_shell,
    )


def _is_shell(described: mcp_types.Tool) -> bool:
    """Return whether a tool runs command lines, as far as its name and its parameters tell: no server declares it."""
    return bool(command_parameters(described.input_schema) or _SHELLS.search(described.name))


def legal_name(wanted: str, taken: Collection[str]) -> str:
    """A name every provider takes and that is not taken: the wanted one if it can be, else one that depends on it."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", wanted)
    if not re.match(r"[A-Za-z_]", plain):
        plain = f"_{plain}"
    if len(plain) <= 64 and plain not in taken:
        return plain
    mark = short_id(wanted)
    while f"{plain[:54]}_{mark}" in taken:
        mark = short_id(mark)
    return f"{plain[:54]}_{mark}"
