"""Tools of a chat: a named bundle, files and MCP servers, and single tools switched on or off."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_array, as_string
from antiphon.chat.mcp_servers import resolve_mcp_server
from antiphon.errors import AntiphonError, ConfigurationError, OptionError

if TYPE_CHECKING:
    from antiphon.config import Configuration
    from antiphon.tools import Tool
    from antiphon.tools.mcp import McpServer

BUNDLE_NAMES = ("none", "read", "all")


@dataclass(frozen=True, slots=True)
class ToolSelection:
    """A selection of tools: `own` are files or their functions, `mcp` servers, `on` and `off` names of tools."""

    bundle: str = "none"
    own: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.bundle != "none" or bool(self.own or self.mcp or self.on)

    def __str__(self) -> str:
        files = (os.path.basename(each) for each in self.own)
        there = [*([self.bundle] if self.bundle != "none" or not self else []), *files, *self.mcp, *self.on]
        return ", ".join(there) + (f" without {', '.join(self.off)}" if self.off else "")

    def to_json(self) -> dict[str, Any]:
        """Return the selection as JSON data."""
        more = {"own": self.own, "mcp": self.mcp, "on": self.on, "off": self.off}
        return {"tools": self.bundle, **{name: list(given) for name, given in more.items()}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ToolSelection:
        """Return the selection from JSON data. Damaged or missing fields count as empty."""
        bundle = as_string(data.get("tools"))
        parts = [
            tuple(as_string(each) for each in as_array(data.get(name)) if as_string(each))
            for name in ("own", "mcp", "on", "off")
        ]
        return cls(bundle if bundle in BUNDLE_NAMES else "none", *parts)

    def add_sources(self, more: ToolSelection) -> ToolSelection:
        """Return a copy with the files and servers of another selection added."""
        own, mcp = dict.fromkeys((*self.own, *more.own)), dict.fromkeys((*self.mcp, *more.mcp))
        return replace(self, own=tuple(own), mcp=tuple(mcp))

    def switch(self, names: Iterable[str], on: bool) -> ToolSelection:
        """Return a copy with these tools switched on or off."""
        now = dict.fromkeys(names)
        rest = [tuple(name for name in each if name not in now) for each in (self.on, self.off)]
        rest[0 if on else 1] += tuple(now)
        return replace(self, on=rest[0], off=rest[1])


NO_TOOLS = ToolSelection()


class ToolRegistry:
    """Loads tools. Files are executed and servers started on first use; the `stack` stops the servers.

    The bundle `all` includes the servers of the `configuration`: those of the user and of a trusted project.
    """

    def __init__(self, configuration: Configuration, stack: ExitStack, tell: Callable[[str], None]) -> None:
        self._configuration = configuration
        self._stack = stack
        self.tell = tell
        self._file_tools: dict[str, list[Tool]] = {}
        self._server_tools: dict[str, list[Tool]] = {}

    def is_built_in(self, chosen: ToolSelection) -> bool:
        """Return whether a selection has only built-in tools, so that loading it runs and reports nothing."""
        return not (chosen.own or chosen.mcp or chosen.on or (chosen.bundle == "all" and self.configured_servers))

    def load_tools(self, chosen: ToolSelection) -> list[Tool]:
        """Return the selected tools; an unavailable named source is an error. Files override built-in tools."""
        from antiphon.tools.tool import as_tools

        if chosen.bundle == "all":
            self._start_configured()
        self._start_required({each: self._resolve_server(each) for each in chosen.mcp})
        # A named server may also be configured.
        servers = dict.fromkeys([*(self.configured_servers if chosen.bundle == "all" else ()), *chosen.mcp])
        brought = [tool for each in servers for tool in self._server_tools.get(each, [])]
        brought = as_tools([*brought, *(tool for each in chosen.own for tool in self._load_file(each))])
        single = [tool for tool in self.known_tools if tool.name in chosen.on] if chosen.on else []
        there = {tool.name: tool for tool in [*self._load_bundle(chosen.bundle), *single, *brought]}
        return [tool for name, tool in there.items() if name not in chosen.off]

    def keep_available(self, chosen: ToolSelection) -> ToolSelection:
        """Return the selection without unavailable files and servers, which are reported."""
        own = tuple(each for each in chosen.own if self._is_available(each, lambda each: self._load_file(each)))
        mcp = tuple(each for each in chosen.mcp if self._is_available(each, lambda each: self._start_server(each)))
        return replace(chosen, own=own, mcp=mcp)

    @property
    def known_tools(self) -> list[Tool]:
        """All tools that can be switched on: built-in ones and those of loaded files and servers."""
        from antiphon.tools.builtin import all_tools

        return [*all_tools(), *(tool for _, tools in self.list_sources() for tool in tools)]

    def list_sources(self) -> list[tuple[str, list[Tool]]]:
        """Return the loaded files and started servers with their tools."""
        return [*self._file_tools.items(), *self._server_tools.items()]

    @property
    def configured_servers(self) -> dict[str, McpServer]:
        """The servers of the configuration by name."""
        return {server.name: server for server in self._configuration.mcp_servers()}

    def find_tools(self, pattern: str) -> list[str]:
        """Return the names of the tools that match a name, a pattern or the name of a server."""
        if pattern in self.configured_servers:
            self._start_server(pattern)
        if pattern in self._server_tools:
            return [tool.name for tool in self._server_tools[pattern]]
        names = [tool.name for tool in self.known_tools]
        found = [name for name in names if fnmatchcase(name, pattern)]
        if not found:
            from antiphon._base.did_you_mean import suggest_name

            meant = suggest_name(pattern, [*names, *self.configured_servers])
            raise OptionError(
                f"there is no tool `{pattern}`; " + (f"did you mean `{meant}`?" if meant else "`/tools` lists them")
            )
        return found

    def _load_bundle(self, name: str) -> list[Tool]:
        if name == "none":
            return []
        from antiphon.tools.builtin import all_tools, read_only_tools

        return read_only_tools() if name == "read" else all_tools()

    def _load_file(self, named: str) -> list[Tool]:
        if named not in self._file_tools:
            from antiphon.tools.user_tools import load_user_tools

            self._file_tools[named] = load_user_tools(named)
        return self._file_tools[named]

    def _resolve_server(self, given: str) -> McpServer:
        return resolve_mcp_server(given, self.configured_servers)

    def _start_server(self, given: str) -> None:
        self._start_required({given: self._resolve_server(given)})

    def _start_configured(self) -> None:
        """Start the configured servers. Failures are only reported, because nobody named these servers."""
        wanted = {name: server for name, server in self.configured_servers.items() if name not in self._server_tools}
        try:
            failures = self._start(wanted)
        except ConfigurationError as error:
            failures = {"": str(error)}
            self._server_tools |= {name: [] for name in wanted}
        for reason in failures.values():
            self.tell(reason)

    def _start_required(self, wanted: Mapping[str, McpServer]) -> None:
        for reason in self._start(
            {key: each for key, each in wanted.items() if not self._server_tools.get(key)}
        ).values():
            raise ConfigurationError(reason)

    def _start(self, wanted: Mapping[str, McpServer]) -> dict[str, str]:
        """Start servers concurrently, and return the reasons of failures."""
        if not wanted:
            return {}
        from antiphon.session import entered
        from antiphon.tools.mcp import McpTools

        mcp = self._stack.enter_context(entered(McpTools(wanted.values())))
        for key, server in wanted.items():
            if server.name not in mcp.failures:
                self._server_tools[key] = mcp.of(server.name)
        return mcp.failures

    def _is_available(self, named: str, take: Callable[[str], object]) -> bool:
        try:
            take(named)
        except AntiphonError as error:
            self.tell(f"the tools of {named} are no longer available: {error}")
            return False
        return True
