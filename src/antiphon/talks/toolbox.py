"""The tools a talk may use, by three names: none, read, all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from antiphon.errors import ConfigurationError

if TYPE_CHECKING:
    from antiphon.config import Configuration
    from antiphon.tools import Tool

NAMES = ("none", "read", "all")


class Toolbox:
    """Gives tools by name. Servers are started when `all` is first wanted, and stopped when the `stack` is left.

    Those are the ones of the `configuration`: the user's own, and those of a project that is trusted.
    """

    def __init__(self, configuration: Configuration, stack: ExitStack, tell: Callable[[str], None]) -> None:
        self._configuration = configuration
        self._stack = stack
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
        servers = self._configuration.mcp_servers()
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
