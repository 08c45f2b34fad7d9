"""Configuration files: `antiphon.toml`, `[tool.antiphon]`, the user's `config.toml`, and `.mcp.json`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from antiphon._suggestions import nearest as nearest_name
from antiphon.config.environment import dotenv, provider_keys
from antiphon.config.places import config_directory, read_text
from antiphon.config.trust import Project, find_project
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

        `${VAR}` in their texts is replaced from the environment, and in the project's also from its `.env`; but the
        key of a provider goes to no server that a project names.
        """
        own = environ if environ is not None else os.environ
        shared = environ if environ is not None else {**dotenv(self.cwd), **os.environ}
        entries: dict[str, tuple[Settings, object]] = {}
        for settings in (self.user, self.servers, self.project):
            entries.update({name: (settings, entry) for name, entry in settings.mcp.items()} if settings else {})
        servers: list[McpServer] = []
        for name, (settings, entry) in entries.items():
            if settings is self.user:
                servers += _server(settings.path, name, entry, own)
            else:
                servers += _server(settings.path, name, entry, shared, provider_keys())
        return servers


def _server(
    path: Path, name: str, entry: object, variables: Mapping[str, str], withheld: Collection[str] = ()
) -> list[McpServer]:
    """The server, or none if the entry says that it is disabled."""
    from antiphon.tools.mcp.config import McpServer

    try:
        return McpServer.from_config({"mcpServers": {name: entry}}, variables, withheld)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def load_config(cwd: Path | None = None) -> Config:
    """Read the configuration that holds in a directory; a file with a mistake in it is an error, not ignored.

    The files of a project that is not trusted are left out.
    """
    project = find_project(cwd)
    if project.state != "trusted":
        return Config(cwd, user=user_settings())
    return Config(cwd, _project_settings(project), _mcp_json(project), user_settings())


def project_settings(cwd: Path | None = None) -> Settings | None:
    """What a trusted project says of its own."""
    project = find_project(cwd)
    return _project_settings(project) if project.state == "trusted" else None


def _project_settings(project: Project) -> Settings | None:
    """The nearest `antiphon.toml`, or `pyproject.toml` with a `[tool.antiphon]`, going upwards."""
    for directory in project.directories:
        for name in ("antiphon.toml", "pyproject.toml"):
            path = directory / name
            is_there = path in project.contents or path.is_file()
            if is_there and (found := read_settings(path, project.text(path))) is not None:
                return found
    return None


def read_settings(path: Path, text: str) -> Settings | None:
    """What the text of a project's file says, whether it is trusted or not; nothing if it is not about us."""
    if path.suffix == ".json":
        return _json_settings(path, text)
    table = _toml(path, text)
    if path.name == "pyproject.toml":
        own = _table(path, table.get("tool", {}), "`tool`").get("antiphon")
        return None if own is None else _settings(path, _table(path, own, "`tool.antiphon`"))
    return _settings(path, table)


def user_settings() -> Settings | None:
    """The user's own `config.toml`."""
    path = config_directory() / "config.toml"
    return _settings(path, _toml(path, read_text(path))) if path.is_file() else None


def _toml(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
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
            near = nearest_name(key, allowed)
            hint = f"did you mean `{prefix}{near}`?" if near else f"there are {', '.join(allowed)}"
            raise ConfigurationError(f"{path}: there is no setting `{prefix}{key}`; {hint}")


def _mcp_json(project: Project) -> Settings | None:
    path = project.nearest(*_MCP_FILES)
    return None if path is None else _json_settings(path, project.text(path))


def _json_settings(path: Path, text: str) -> Settings:
    from antiphon._json import loads

    data = loads(text, str(path))
    servers = cast("dict[str, Any]", data).get("mcpServers", {}) if isinstance(data, dict) else data
    return Settings(path, mcp=_table(path, servers, "`mcpServers`"))
