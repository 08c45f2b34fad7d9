"""Configuration files: `antiphon.toml`, `[tool.antiphon]`, the user's `config.toml`, and `.mcp.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from antiphon._base.did_you_mean import suggest_name as nearest_name
from antiphon.config.paths import parse_toml, read_config_text, write_private_text
from antiphon.config.templates import PromptTemplate, parse_template
from antiphon.config.trust import Project
from antiphon.errors import ConfigurationError

if TYPE_CHECKING:
    from antiphon.tools.mcp.config import McpServer

_SETTING_KEYS = ("model", "models", "mcp", "page")
#: Additional keys of a project's file; the user's own templates are separate files.
_PROJECT_KEYS = (*_SETTING_KEYS, "templates")
_PAGE_KEYS = ("renderers",)
_SERVER_KEYS = (
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "timeout",
    "type",
    "disabled",
    "roots",
    "sampling",
    "oauth",
)
_MCP_FILES = (".mcp.json", "mcp.json")
_MODEL_LINE = re.compile(r"""\s*(model|"model"|'model')\s*=""")


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The settings of one file."""

    path: Path
    model: str = ""
    # Entries may hold API keys, so they are kept out of logs.
    mcp: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    #: A directory of modules that render results on the page.
    renderers: Path | None = None
    #: Prompt templates of a project, by name.
    templates: Mapping[str, PromptTemplate] = field(default_factory=dict[str, PromptTemplate])
    #: Facts about models by `provider/name` and dotted field.
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])


def make_mcp_servers(
    name: str, settings: ConfigFile, variables: Mapping[str, str], withheld: Collection[str]
) -> list[McpServer]:
    """Return the server of this name in a file as a list; empty if the entry is disabled."""
    from antiphon.tools.mcp.config import McpServer

    try:
        return McpServer.from_config({"mcpServers": {name: settings.mcp[name]}}, variables, withheld)
    except ConfigurationError as error:
        raise ConfigurationError(f"{settings.path}: {error}") from None


def read_project_settings(project: Project) -> ConfigFile | None:
    """Return the settings of the nearest `antiphon.toml`, or `pyproject.toml` with `[tool.antiphon]`."""
    for directory in project.directories:
        for name in ("antiphon.toml", "pyproject.toml"):
            path = directory / name
            if project.has(path) and (found := parse_settings(path, project.text(path))) is not None:
                return found
    return None


def read_mcp_settings(project: Project) -> ConfigFile | None:
    """Return the settings of the nearest `mcp.json`, in the format of other programs."""
    path = project.nearest(*_MCP_FILES)
    return None if path is None else _parse_json_settings(path, project.text(path))


def parse_settings(path: Path, text: str) -> ConfigFile | None:
    """Parse the text of a project's file, trusted or not; `None` if it has no settings of ours."""
    if path.suffix == ".json":
        return _parse_json_settings(path, text)
    table = parse_toml(path, text)
    if path.name == "pyproject.toml":
        own = _require_table(path, table.get("tool", {}), "`tool`").get("antiphon")
        return (
            None if own is None else _build_settings(path, _require_table(path, own, "`tool.antiphon`"), _PROJECT_KEYS)
        )
    return _build_settings(path, table, _PROJECT_KEYS)


def read_user_settings(path: Path) -> ConfigFile | None:
    """Return the settings of the user's own file."""
    return _build_settings(path, parse_toml(path, read_config_text(path))) if path.is_file() else None


def write_user_model(path: Path, model: str) -> None:
    """Set the model in the user's own file, or remove it if empty; all other text is preserved."""
    import tomllib

    text = read_config_text(path) if path.is_file() else ""
    table = parse_toml(path, text)
    lines = text.splitlines(keepends=True)
    first_table = next((n for n, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    rest = [line for n, line in enumerate(lines) if n >= first_table or not _MODEL_LINE.match(line)]
    new = "".join([f"model = {json.dumps(model, ensure_ascii=False)}\n" if model else "", *rest])
    wanted = {**{key: value for key, value in table.items() if key != "model"}, **({"model": model} if model else {})}
    try:
        is_as_wanted = tomllib.loads(new) == wanted
    except tomllib.TOMLDecodeError:
        is_as_wanted = False
    if not is_as_wanted:
        raise ConfigurationError(f"{path} sets `model` in a form that cannot be changed automatically; edit the file")
    write_private_text(path, new)


def _build_settings(path: Path, table: dict[str, Any], keys: tuple[str, ...] = _SETTING_KEYS) -> ConfigFile:
    _check_keys(path, table, keys, "")
    model = table.get("model", "")
    if not isinstance(model, str) or ("model" in table and not model.strip()):
        raise ConfigurationError(f"{path}: `model` is a name such as 'anthropic/claude-sonnet-5', not {model!r}")
    mcp = _require_table(path, table.get("mcp", {}), "`mcp`")
    for name, entry in mcp.items():
        _check_keys(path, _require_table(path, entry, f"`mcp.{name}`"), _SERVER_KEYS, f"mcp.{name}.")
    renderers = _read_renderers(path, _require_table(path, table.get("page", {}), "`page`"))
    models: dict[str, dict[str, Any]] = {}
    if "models" in table:
        from antiphon.facts.validation import read_user_facts

        models = read_user_facts(_require_table(path, table["models"], "`models`"), str(path))
    templates: dict[str, PromptTemplate] = {}
    for name, given in _require_table(path, table.get("templates", {}), "`templates`").items():
        where = f"templates.{name}"
        templates[name] = parse_template(_require_table(path, given, f"`{where}`"), path, f"{where}.", is_projects=True)
    return ConfigFile(path, model.strip(), mcp, renderers, templates, models)


def _read_renderers(path: Path, page: dict[str, Any]) -> Path | None:
    """Return the directory of renderers, relative to the file that names it."""
    _check_keys(path, page, _PAGE_KEYS, "page.")
    named = page.get("renderers")
    if named is None:
        return None
    if not isinstance(named, str) or not named.strip():
        raise ConfigurationError(f"{path}: `page.renderers` is a directory such as 'page/renderers', not {named!r}")
    return path.parent / (Path(named).expanduser() if named.startswith("~/") else named)


def _require_table(path: Path, value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigurationError(f"{path}: {name} is a table, not {type(value).__name__}")
    return cast("dict[str, Any]", value)


def _check_keys(path: Path, table: Iterable[str], allowed: tuple[str, ...], prefix: str) -> None:
    for key in table:
        if key not in allowed:
            near = nearest_name(key, allowed)
            hint = f"did you mean `{prefix}{near}`?" if near else f"there are {', '.join(allowed)}"
            raise ConfigurationError(f"{path}: there is no setting `{prefix}{key}`; {hint}")


def _parse_json_settings(path: Path, text: str) -> ConfigFile:
    from antiphon._base.json import load_json

    data = load_json(text, str(path))
    servers = cast("dict[str, Any]", data).get("mcpServers", {}) if isinstance(data, dict) else data
    return ConfigFile(path, mcp=_require_table(path, servers, "`mcpServers`"))
