"""Which servers there are and how each is reached, in code or in the `mcpServers` shape that other programs use."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from antiphon.errors import ConfigurationError

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]{0,1000}))?\}")
_HTTP = ("http", "streamable-http", "streamableHttp", "streamable_http")


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server: a `command` to start, the `url` of one that runs, or a server object of this very process.

    A started process gets the few variables every program needs (PATH, HOME and the like) and what `env` adds, nothing
    else of our environment. `timeout` bounds connecting and each call, in seconds.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    # Keys are told to servers in these two; they are not for logs.
    env: Mapping[str, str] | None = field(default=None, repr=False)
    cwd: str | os.PathLike[str] | None = None
    url: str = ""
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    timeout: float = 60
    server: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.name or not isinstance(self.name, str):
            raise ConfigurationError(f"an MCP server needs a name, not {self.name!r}")
        ways = [way for way in (self.command, self.url, self.server) if way]
        if len(ways) != 1:
            raise ConfigurationError(
                f"MCP server `{self.name}` has {'more than one' if ways else 'none'} of `command`, `url` and `server`; "
                "give one"
            )
        if self.url and not self.url.startswith(("http://", "https://")):
            raise ConfigurationError(f"the `url` of MCP server `{self.name}` starts with http:// or https://")
        if isinstance(self.args, str):
            raise ConfigurationError(f"the `args` of MCP server `{self.name}` are a list of texts, not one text")
        object.__setattr__(self, "args", tuple(self.args))
        if isinstance(self.timeout, bool) or not isinstance(self.timeout, int | float) or not self.timeout > 0:
            raise ConfigurationError(
                f"the `timeout` of MCP server `{self.name}` is a number of seconds above 0, not {self.timeout!r}"
            )

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], environ: Mapping[str, str] | None = None, withheld: Collection[str] = ()
    ) -> list[McpServer]:
        """The servers of a configuration, given whole or as the object under its `mcpServers` key.

        `${VAR}` and `${VAR:-default}` in its texts are replaced from the environment; to name one that is `withheld` is
        an error. Servers marked `disabled` are left out; keys that only other programs know are ignored.
        """
        servers = config.get("mcpServers", config)
        if not isinstance(servers, Mapping):
            raise ConfigurationError(f"`mcpServers` is an object of servers by name, not {_kind(servers)}")
        environ = os.environ if environ is None else environ
        entries = {
            str(name): _Entry(str(name), entry, environ, withheld) for name, entry in _items(cast(object, servers))
        }
        return [entry.server() for entry in entries.values() if entry.fields.get("disabled") is not True]


class _Entry:
    """The object that describes one server."""

    def __init__(self, name: str, fields: object, environ: Mapping[str, str], withheld: Collection[str]) -> None:
        self.name = name
        self.environ = environ
        self.withheld = withheld
        if not isinstance(fields, Mapping):
            raise ConfigurationError(
                f"MCP server `{name}` is an object with a `command` or a `url`, not {_kind(fields)}"
            )
        self.fields = dict(_items(cast(object, fields)))

    def server(self) -> McpServer:
        self._check_type()
        if not self.fields.get("command") and not self.fields.get("url"):
            found = ", ".join(f"`{key}`" for key in self.fields) or "nothing"
            raise ConfigurationError(f"MCP server `{self.name}` has neither `command` nor `url`; it has {found}")
        return McpServer(
            self.name,
            command=self._text("command"),
            args=self._texts("args"),
            env=self._table("env"),
            cwd=self._text("cwd") or None,
            url=self._text("url"),
            headers=self._table("headers"),
            timeout=cast(float, self.fields.get("timeout", 60)),
        )

    def _check_type(self) -> None:
        kind = self.fields.get("type", self.fields.get("transport"))
        needed = "command" if kind == "stdio" else "url"
        if kind not in (None, "stdio", *_HTTP):
            raise ConfigurationError(
                f"MCP server `{self.name}` is of type {kind!r}; here are 'stdio' and 'http' (streamable HTTP)"
            )
        if kind is not None and not self.fields.get(needed):
            raise ConfigurationError(f"MCP server `{self.name}` is of type {kind!r}, which needs a `{needed}`")

    def _text(self, key: str) -> str:
        return self._expanded(self.fields.get(key) or "", f"`{key}`")

    def _texts(self, key: str) -> tuple[str, ...]:
        values = self.fields.get(key) or ()
        if not isinstance(values, list | tuple):
            raise ConfigurationError(f"`{key}` of MCP server `{self.name}` is a list of texts, not {_kind(values)}")
        return tuple(
            self._expanded(value, f"`{key}[{i}]`") for i, value in enumerate(cast("tuple[object, ...]", values))
        )

    def _table(self, key: str) -> dict[str, str] | None:
        values = self.fields.get(key)
        if values is None:
            return None
        if not isinstance(values, Mapping):
            raise ConfigurationError(f"`{key}` of MCP server `{self.name}` is an object of texts, not {_kind(values)}")
        return {str(name): self._expanded(value, f"`{key}.{name}`") for name, value in _items(cast(object, values))}

    def _expanded(self, value: object, place: str) -> str:
        if not isinstance(value, str):
            raise ConfigurationError(f"{place} of MCP server `{self.name}` is text, not {_kind(value)}")

        def replacement(found: re.Match[str]) -> str:
            variable, default = found[1], found[2]
            if variable in self.withheld:
                raise ConfigurationError(
                    f"{place} of MCP server `{self.name}` uses ${{{variable}}}, the key of a provider, which a "
                    "project's file does not get; it needs a variable of its own, or belongs into your configuration"
                )
            if self.environ.get(variable) or (default is None and variable in self.environ):
                return self.environ[variable]
            if default is not None:
                return default
            raise ConfigurationError(
                f"{place} of MCP server `{self.name}` uses ${{{variable}}}, which is not set in the environment; "
                f"set it, or write ${{{variable}:-default}}"
            )

        return _VARIABLE.sub(replacement, value)


def _items(mapping: object) -> list[tuple[object, object]]:
    return list(cast("Mapping[object, object]", mapping).items())


def _kind(value: object) -> str:
    names: dict[type, str] = {str: "text", bool: "a boolean", int: "a number", float: "a number", list: "a list"}
    names |= {dict: "an object", type(None): "null"}
    return names.get(type(value), type(value).__name__)
