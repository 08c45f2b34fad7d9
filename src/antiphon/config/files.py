"""Configuration files: `antiphon.toml`, `[tool.antiphon]`, the user's `config.toml`, and `.mcp.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from antiphon._suggestions import nearest as nearest_name
from antiphon.config.places import read_text, write_text
from antiphon.config.templates import Template, read_template
from antiphon.config.trust import Project
from antiphon.errors import ConfigurationError

if TYPE_CHECKING:
    from antiphon.tools.mcp.config import McpServer

_KEYS = ("model", "models", "mcp", "page")
#: What a project's file may have besides; the user's own templates are files of their own.
_PROJECT_KEYS = (*_KEYS, "templates")
_PAGE_KEYS = ("renderers",)
_SERVER_KEYS = ("command", "args", "env", "cwd", "url", "headers", "timeout", "type", "disabled")
_MCP_FILES = (".mcp.json", "mcp.json")
_MODEL = re.compile(r"""\s*(model|"model"|'model')\s*=""")


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """What one file says."""

    path: Path
    model: str = ""
    # Entries hold keys of servers; they are not for logs.
    mcp: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    #: A directory of modules that draw results on the page.
    renderers: Path | None = None
    #: Questions of a project, by name.
    templates: Mapping[str, Template] = field(default_factory=dict[str, Template])
    #: Facts about models by `provider/name` and dotted field.
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])


def mcp_servers(
    name: str, settings: ConfigFile, variables: Mapping[str, str], withheld: Collection[str]
) -> list[McpServer]:
    """The server of this name in a file, or none if the entry says that it is disabled."""
    from antiphon.tools.mcp.config import McpServer

    try:
        return McpServer.from_config({"mcpServers": {name: settings.mcp[name]}}, variables, withheld)
    except ConfigurationError as error:
        raise ConfigurationError(f"{settings.path}: {error}") from None


def project_settings(project: Project) -> ConfigFile | None:
    """The nearest `antiphon.toml`, or `pyproject.toml` with a `[tool.antiphon]`, going upwards."""
    for directory in project.directories:
        for name in ("antiphon.toml", "pyproject.toml"):
            path = directory / name
            is_there = path in project.contents or path.is_file()
            if is_there and (found := read_settings(path, project.text(path))) is not None:
                return found
    return None


def server_settings(project: Project) -> ConfigFile | None:
    """The nearest file of MCP servers in the shape of other programs."""
    path = project.nearest(*_MCP_FILES)
    return None if path is None else _json_settings(path, project.text(path))


def read_settings(path: Path, text: str) -> ConfigFile | None:
    """What the text of a project's file says, whether it is trusted or not; nothing if it is not about us."""
    if path.suffix == ".json":
        return _json_settings(path, text)
    table = _toml(path, text)
    if path.name == "pyproject.toml":
        own = _table(path, table.get("tool", {}), "`tool`").get("antiphon")
        return None if own is None else _settings(path, _table(path, own, "`tool.antiphon`"), _PROJECT_KEYS)
    return _settings(path, table, _PROJECT_KEYS)


def user_settings(path: Path) -> ConfigFile | None:
    """The user's own file."""
    return _settings(path, _toml(path, read_text(path))) if path.is_file() else None


def write_user_model(path: Path, model: str) -> None:
    """Set the model in the user's own file, or take it out where it is empty; all else in it stays as it is written."""
    import tomllib

    text = read_text(path) if path.is_file() else ""
    table = _toml(path, text)
    lines = text.splitlines(keepends=True)
    first_table = next((n for n, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    rest = [line for n, line in enumerate(lines) if n >= first_table or not _MODEL.match(line)]
    new = "".join([f"model = {json.dumps(model, ensure_ascii=False)}\n" if model else "", *rest])
    wanted = {**{key: value for key, value in table.items() if key != "model"}, **({"model": model} if model else {})}
    try:
        is_as_wanted = tomllib.loads(new) == wanted
    except tomllib.TOMLDecodeError:
        is_as_wanted = False
    if not is_as_wanted:
        raise ConfigurationError(f"{path} sets `model` in a way that only you can change; write it there yourself")
    write_text(path, new)


def _toml(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}") from None


def _settings(path: Path, table: dict[str, Any], keys: tuple[str, ...] = _KEYS) -> ConfigFile:
    _check_keys(path, table, keys, "")
    model = table.get("model", "")
    if not isinstance(model, str) or ("model" in table and not model.strip()):
        raise ConfigurationError(f"{path}: `model` is a name such as 'anthropic/claude-sonnet-5', not {model!r}")
    mcp = _table(path, table.get("mcp", {}), "`mcp`")
    for name, entry in mcp.items():
        _check_keys(path, _table(path, entry, f"`mcp.{name}`"), _SERVER_KEYS, f"mcp.{name}.")
    renderers = _renderers(path, _table(path, table.get("page", {}), "`page`"))
    models = _models(path, table["models"]) if "models" in table else {}
    return ConfigFile(path, model.strip(), mcp, renderers, _templates(path, table.get("templates", {})), models)


def _models(path: Path, given: object) -> dict[str, dict[str, Any]]:
    from antiphon.facts.own import read_statements

    return read_statements(_table(path, given, "`models`"), str(path))


def _templates(path: Path, given: object) -> dict[str, Template]:
    return {
        name: read_template(_table(path, each, f"`templates.{name}`"), path, f"templates.{name}.", is_projects=True)
        for name, each in _table(path, given, "`templates`").items()
    }


def _renderers(path: Path, page: dict[str, Any]) -> Path | None:
    """The directory that is named, as seen from the file that names it."""
    _check_keys(path, page, _PAGE_KEYS, "page.")
    named = page.get("renderers")
    if named is None:
        return None
    if not isinstance(named, str) or not named.strip():
        raise ConfigurationError(f"{path}: `page.renderers` is a directory such as 'page/renderers', not {named!r}")
    return path.parent / (Path(named).expanduser() if named.startswith("~/") else named)


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


def _json_settings(path: Path, text: str) -> ConfigFile:
    from antiphon._json import loads

    data = loads(text, str(path))
    servers = cast("dict[str, Any]", data).get("mcpServers", {}) if isinstance(data, dict) else data
    return ConfigFile(path, mcp=_table(path, servers, "`mcpServers`"))
