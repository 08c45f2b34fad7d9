"""The tools a talk may use, by three names: none, read, all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from antiphon.errors import ConfigurationError

if TYPE_CHECKING:
    from antiphon.cli.talk.person import Person
    from antiphon.tools import Tool
    from antiphon.tools.mcp import McpServer

NAMES = ("none", "read", "all")


class Toolbox:
    """Gives tools by name. Servers are started when `all` is first wanted, and stopped when the `stack` is left.

    The `person` is asked before a server is started that the user's own configuration does not name; with
    `allow_all` it is started, and with nobody to ask it is not.
    """

    def __init__(self, stack: ExitStack, person: Person | None, allow_all: bool, tell: Callable[[str], None]) -> None:
        self._stack = stack
        self._person = person
        self._allow_all = allow_all
        self._tell = tell
        self._served: list[Tool] | None = None

    def tools(self, name: str) -> list[Tool]:
        """The tools of the current directory that this name stands for."""
        if name == "none":
            return []
        from antiphon.tools.builtin import all_tools, read_only_tools

        if name == "read":
            return read_only_tools()
        if self._served is None:
            self._served = self._serve()
        return [*all_tools(), *self._served]

    def _serve(self) -> list[Tool]:
        servers = self._wanted()
        if not servers:
            return []
        from antiphon.session import entered
        from antiphon.tools import requiring_approval
        from antiphon.tools.mcp import McpTools

        try:
            mcp = self._stack.enter_context(entered(McpTools(servers)))
        except ConfigurationError as error:
            self._tell(str(error))
            return []
        for reason in mcp.failures.values():
            self._tell(reason)
        return [tool if tool.read_only else requiring_approval([tool])[0] for tool in mcp.tools]

    def _wanted(self) -> list[McpServer]:
        from antiphon.config import load_config

        config = load_config()
        project = {name for each in (config.project, config.servers) if each for name in each.mcp}
        own = set(config.user.mcp if config.user else ()) - project
        wanted: list[McpServer] = []
        for server in config.mcp_servers():
            if server.name in own or self._allow_all or self._may_start(server):
                wanted.append(server)
            else:
                self._tell(f"MCP server `{server.name}` is not started")
        return wanted

    def _may_start(self, server: McpServer) -> bool:
        what = " ".join((server.command, *server.args)) if server.command else server.url
        return self._person is not None and self._person.agrees(f"Start the MCP server `{server.name}` ({what})?")
