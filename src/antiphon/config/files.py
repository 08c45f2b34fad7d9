"""Configuration files: `antiphon.toml`, `[tool.antiphon]`, the user's `config.toml`, and `.mcp.json`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from antiphon.config.environment import dotenv
from antiphon.config.places import config_directory, nearest, project_directories, read_text
from antiphon.errors import ConfigurationError

if TYPE_CHECKING:
    from antiphon.tools.mcp.config import McpServer

_KEYS = ("model", "mcp")
_SERVER_KEYS = ("command", "args", "env", "cwd", "url", "headers", "timeout", "type", "disabled")
_MCP_FILES = (".mcp.json", "mcp.json")


@dataclass(frozen=True, slots=True)
class Settings:
    """What one file says."""

    path: Path
    model: str = ""
    # Entries hold keys of servers; they are not for logs.
    mcp: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)


@dataclass(frozen=True, slots=True)
class Config:
    """The files that hold for a directory: the project's own, the project's `mcp.json`, the user's."""

    cwd: Path | None
    project: Settings | None = None
    servers: Settings | None = None
    user: Settings | None = None

    @property
    def model(self) -> str:
        """The model of the project, else of the user, or nothing."""
        return next((each.model for each in (self.project, self.user) if each and each.model), "")

    def mcp_servers(self, environ: Mapping[str, str] | None = None) -> list[McpServer]:
        """All servers by name; the project's own file comes before its `mcp.json`, and that before the user's.

        `${VAR}` in their texts is replaced from the environment and from `.env`. A server is a program that somebody
        else may have named in a repository: ask before the first start.
        """
        variables = environ if environ is not None else {**dotenv(self.cwd), **os.environ}
        entries: dict[str, tuple[Path, object]] = {}
        for settings in (self.user, self.servers, self.project):
            entries.update({name: (settings.path, entry) for name, entry in settings.mcp.items()} if settings else {})
        return [server for name, (path, entry) in entries.items() for server in _server(path, name, entry, variables)]


def _server(path: Path, name: str, entry: object, variables: Mapping[str, str]) -> list[McpServer]:
    """The server, or none if the entry says that it is disabled."""
    from antiphon.tools.mcp.config import McpServer

    try:
        return McpServer.from_config({"mcpServers": {name: entry}}, variables)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def load_config(cwd: Path | None = None) -> Config:
    """Read the configuration that holds in a directory; a file with a mistake in it is an error, not ignored."""
    return Config(cwd, project_settings(cwd), _mcp_json(cwd), user_settings())


def project_settings(cwd: Path | None = None) -> Settings | None:
    """The nearest `antiphon.toml`, or `pyproject.toml` with a `[tool.antiphon]`, going upwards."""
    for directory in project_directories(cwd):
        if (path := directory / "antiphon.toml").is_file():
            return _settings(path, _toml(path))
        if (path := directory / "pyproject.toml").is_file():
            table = _table(path, _toml(path).get("tool", {}), "`tool`").get("antiphon")
            if table is not None:
                return _settings(path, _table(path, table, "`tool.antiphon`"))
    return None


def user_settings() -> Settings | None:
    """The user's own `config.toml`."""
    path = config_directory() / "config.toml"
    return _settings(path, _toml(path)) if path.is_file() else None


def _toml(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}") from None


def _settings(path: Path, table: dict[str, Any]) -> Settings:
    _check_keys(path, table, _KEYS, "")
    model = table.get("model", "")
    if not isinstance(model, str) or ("model" in table and not model.strip()):
        raise ConfigurationError(f"{path}: `model` is a name such as 'anthropic/claude-sonnet-5', not {model!r}")
    mcp = _table(path, table.get("mcp", {}), "`mcp`")
    for name, entry in mcp.items():
        _check_keys(path, _table(path, entry, f"`mcp.{name}`"), _SERVER_KEYS, f"mcp.{name}.")
    return Settings(path, model.strip(), mcp)


def _table(path: Path, value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigurationError(f"{path}: {name} is a table, not {type(value).__name__}")
    return cast("dict[str, Any]", value)


def _check_keys(path: Path, table: Iterable[str], allowed: tuple[str, ...], prefix: str) -> None:
    for key in table:
        if key not in allowed:
            from difflib import get_close_matches

            near = get_close_matches(key, allowed, 1)
            hint = f"did you mean `{prefix}{near[0]}`?" if near else f"there are {', '.join(allowed)}"
            raise ConfigurationError(f"{path}: there is no setting `{prefix}{key}`; {hint}")


def _mcp_json(cwd: Path | None) -> Settings | None:
    from antiphon._json import loads

    path = nearest(cwd, *_MCP_FILES)
    if path is None:
        return None
    data = loads(read_text(path), str(path))
    servers = cast("dict[str, Any]", data).get("mcpServers", {}) if isinstance(data, dict) else data
    return Settings(path, mcp=_table(path, servers, "`mcpServers`"))
