"""Configuration of MCP servers, in code or in the `mcpServers` format of other programs."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from antiphon.errors import ConfigurationError

if TYPE_CHECKING:
    from antiphon.tools.mcp.oauth import CredentialStore

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]{0,1000}))?\}")
_OAUTH_KEYS = ("client_id", "client_secret", "client_metadata_url", "scope")
_HTTP_TYPES = ("http", "streamable-http", "streamableHttp", "streamable_http")


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server: a `command` to start, the `url` of a running one, or a server object of this process.

    A started process gets only the variables that every program needs (PATH, HOME and the like) and those in
    `env`. `timeout` bounds connecting and each call, in seconds; progress of a call extends it up to tenfold.
    `roots` are the directories that the server is told to work in. With `sampling` it may request answers of the
    session's model; each prompt needs approval. `credentials` stores logins at servers over HTTP, such as
    `McpCredentials()`; `oauth` may have `client_id`, `client_secret`, `client_metadata_url` and `scope`.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    # These two may hold API keys, so they are kept out of logs.
    env: Mapping[str, str] | None = field(default=None, repr=False)
    cwd: str | os.PathLike[str] | None = None
    url: str = ""
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    timeout: float = 60
    server: Any = field(default=None, repr=False)
    roots: Sequence[Path] = ()
    sampling: bool = False
    oauth: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    credentials: CredentialStore | None = field(default=None, repr=False)

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
        if wrong := [each for each in self.oauth if each not in _OAUTH_KEYS]:
            raise ConfigurationError(
                f"`oauth` of MCP server `{self.name}` has no setting `{wrong[0]}`; there are {', '.join(_OAUTH_KEYS)}"
            )
        if not isinstance(self.sampling, bool):
            raise ConfigurationError(f"`sampling` of MCP server `{self.name}` is true or false, not {self.sampling!r}")
        object.__setattr__(self, "roots", _resolve_roots(self.name, self.roots))

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], environ: Mapping[str, str] | None = None, withheld: Collection[str] = ()
    ) -> list[McpServer]:
        """Return the servers of a configuration, given whole or as the object under its `mcpServers` key.

        `${VAR}` and `${VAR:-default}` in its texts are replaced from the environment; to name a variable that
        is `withheld` is an error. Servers marked `disabled` are left out; unknown keys are ignored.
        """
        servers = config.get("mcpServers", config)
        if not isinstance(servers, Mapping):
            raise ConfigurationError(f"`mcpServers` is an object of servers by name, not {_describe_type(servers)}")
        environ = os.environ if environ is None else environ
        entries = {
            str(name): _ServerEntry(str(name), entry, environ, withheld)
            for name, entry in _list_items(cast(object, servers))
        }
        return [entry.server() for entry in entries.values() if entry.fields.get("disabled") is not True]


class _ServerEntry:
    """The JSON object that describes one server."""

    def __init__(self, name: str, fields: object, environ: Mapping[str, str], withheld: Collection[str]) -> None:
        self.name = name
        self.environ = environ
        self.withheld = withheld
        if not isinstance(fields, Mapping):
            raise ConfigurationError(
                f"MCP server `{name}` is an object with a `command` or a `url`, not {_describe_type(fields)}"
            )
        self.fields = dict(_list_items(cast(object, fields)))

    def server(self) -> McpServer:
        self._check_type()
        if not self.fields.get("command") and not self.fields.get("url"):
            found = ", ".join(f"`{key}`" for key in self.fields) or "nothing"
            raise ConfigurationError(f"MCP server `{self.name}` has neither `command` nor `url`; it has {found}")
        return McpServer(
            self.name,
            command=self._text("command"),
            args=self._texts("args"),
            env=self._read_table("env"),
            cwd=self._text("cwd") or None,
            url=self._text("url"),
            headers=self._read_table("headers"),
            timeout=cast(float, self.fields.get("timeout", 60)),
            roots=tuple(Path(each) for each in self._texts("roots")),
            oauth=self._read_table("oauth") or {},
            sampling=cast(bool, self.fields.get("sampling", False)),
        )

    def _check_type(self) -> None:
        kind = self.fields.get("type", self.fields.get("transport"))
        needed = "command" if kind == "stdio" else "url"
        if kind not in (None, "stdio", *_HTTP_TYPES):
            raise ConfigurationError(
                f"MCP server `{self.name}` is of type {kind!r}; here are 'stdio' and 'http' (streamable HTTP)"
            )
        if kind is not None and not self.fields.get(needed):
            raise ConfigurationError(f"MCP server `{self.name}` is of type {kind!r}, which needs a `{needed}`")

    def _text(self, key: str) -> str:
        return self._expand_variables(self.fields.get(key) or "", f"`{key}`")

    def _texts(self, key: str) -> tuple[str, ...]:
        values = self.fields.get(key) or ()
        if not isinstance(values, list | tuple):
            raise ConfigurationError(
                f"`{key}` of MCP server `{self.name}` is a list of texts, not {_describe_type(values)}"
            )
        return tuple(
            self._expand_variables(value, f"`{key}[{i}]`") for i, value in enumerate(cast("tuple[object, ...]", values))
        )

    def _read_table(self, key: str) -> dict[str, str] | None:
        values = self.fields.get(key)
        if values is None:
            return None
        if not isinstance(values, Mapping):
            raise ConfigurationError(
                f"`{key}` of MCP server `{self.name}` is an object of texts, not {_describe_type(values)}"
            )
        return {
            str(name): self._expand_variables(value, f"`{key}.{name}`")
            for name, value in _list_items(cast(object, values))
        }

    def _expand_variables(self, value: object, place: str) -> str:
        if not isinstance(value, str):
            raise ConfigurationError(f"{place} of MCP server `{self.name}` is text, not {_describe_type(value)}")

        def replace_variable(found: re.Match[str]) -> str:
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

        return _VARIABLE.sub(replace_variable, value)


def _resolve_roots(name: str, roots: object) -> tuple[Path, ...]:
    if isinstance(roots, str) or not isinstance(roots, Sequence):
        raise ConfigurationError(f"the `roots` of MCP server `{name}` are a list of directories, not {roots!r}")
    found = tuple(
        Path(cast("str | os.PathLike[str]", each)).expanduser().resolve() for each in cast("Sequence[object]", roots)
    )
    for each in found:
        if not each.is_dir():
            raise ConfigurationError(f"a root of MCP server `{name}` is no directory: {each}")
    return found


def _list_items(mapping: object) -> list[tuple[object, object]]:
    return list(cast("Mapping[object, object]", mapping).items())


def _describe_type(value: object) -> str:
    names: dict[type, str] = {str: "text", bool: "a boolean", int: "a number", float: "a number", list: "a list"}
    names |= {dict: "an object", type(None): "null"}
    return names.get(type(value), type(value).__name__)
