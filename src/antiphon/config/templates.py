"""Prompt templates: reusable prompts with their model, tools and type, under a name.

The user's own are files of the configuration directory. Those of a project are in its `antiphon.toml`, and
apply once it is trusted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from string import Template as Form
from typing import TYPE_CHECKING, Any

from antiphon._base.did_you_mean import suggest_name
from antiphon.config.paths import format_toml_key, format_toml_value, parse_toml, read_config_text, write_private_text
from antiphon.errors import ConfigurationError, OptionError

if TYPE_CHECKING:
    from antiphon.config.configuration import Configuration

INPUT_PLACEHOLDER = "input"
_TEMPLATE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")
_TABLE_FIELDS = ("options", "defaults")
_TOOL_SETS = ("none", "read", "all")


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A prompt template; empty fields are left to the caller.

    `$input` in its texts is the user's prompt, `$name` a given value or its default; `$$` is a dollar sign.
    """

    prompt: str = ""
    system: str = ""
    model: str = ""
    tools: str = ""
    #: Python files or functions of them, and MCP servers; a project's template has none.
    tool: Sequence[str] = ()
    mcp: Sequence[str] = ()
    returns: str = ""
    schema: str = ""
    extract: bool = False
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    defaults: Mapping[str, str] = field(default_factory=dict[str, str])
    #: Its file, and whether it belongs to a project.
    path: Path = Path()
    is_projects: bool = False

    @property
    def placeholders(self) -> list[str]:
        """The placeholder names in its texts."""
        return list(dict.fromkeys([*Form(self.prompt).get_identifiers(), *Form(self.system).get_identifiers()]))

    @property
    def needs_input(self) -> bool:
        """Return whether the template has the placeholder `$input`."""
        return INPUT_PLACEHOLDER in self.placeholders

    def fill(self, name: str, asked: str, given: Mapping[str, str]) -> tuple[str, str]:
        """Return the prompt and the system text with placeholders filled in; `name` is the template's name."""
        values = {**self._values(name, given), INPUT_PLACEHOLDER: asked}
        prompt, system = Form(self.prompt).substitute(values), Form(self.system).substitute(values)
        if not self.needs_input:
            prompt = "\n\n".join(each for each in (prompt, asked) if each.strip())
        return prompt, system

    def render_system(self, name: str, given: Mapping[str, str]) -> str:
        """Return the system text with the given values, before there is a prompt."""
        values = self._values(name, given)
        if INPUT_PLACEHOLDER in Form(self.system).get_identifiers():
            raise OptionError(
                f"template `{name}` uses `${INPUT_PLACEHOLDER}` in its system text, which a chat needs"
                f" before the first message; use `antiphon ask -t {name}`"
            )
        return Form(self.system).substitute(values)

    def _values(self, name: str, given: Mapping[str, str]) -> dict[str, str]:
        """Return the value of each placeholder. Raise an OptionError for unknown or missing ones."""
        open_names = [each for each in self.placeholders if each != INPUT_PLACEHOLDER]
        for each in given:
            if each not in open_names:
                near = suggest_name(each, open_names)
                there = f"it has {', '.join(f'${other}' for other in open_names)}" if open_names else "it has none"
                raise OptionError(
                    f"template `{name}` has no `${each}`; " + (f"did you mean `{near}`?" if near else there)
                )
        values = {**self.defaults, **given}
        if missing := [each for each in open_names if each not in values]:
            raise OptionError(
                f"template `{name}` needs {', '.join(f'`-p {each}=…`' for each in missing)}"
                " (`antiphon setup templates show` prints it)"
            )
        return values

    def find_schema_path(self) -> str:
        """Return the path of its schema; that of a project must be inside the project."""
        if not self.schema:
            return ""
        place = self.path.parent / Path(self.schema).expanduser()
        here = self.path.resolve().parent
        repository = next((each for each in (here, *here.parents) if (each / ".git").exists()), here)
        if self.is_projects and not place.resolve().is_relative_to(repository):
            raise OptionError(f"{self.path}: the schema {self.schema!r} of a project's template is outside the project")
        return str(place)

    def to_toml(self) -> str:
        """Return the template as the text of a TOML file."""
        said = {
            each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("path", "is_projects")
        }
        lines = [
            f"{name} = {format_toml_value(value)}"
            for name, value in said.items()
            if value and name not in _TABLE_FIELDS
        ]
        for name in _TABLE_FIELDS:
            if said[name]:
                lines += [
                    "",
                    f"[{name}]",
                    *(f"{format_toml_key(key)} = {format_toml_value(value)}" for key, value in said[name].items()),
                ]
        return "\n".join(lines) + "\n"


def parse_template(
    table: Mapping[str, Any], path: Path, where: str = "", *, is_projects: bool = False
) -> PromptTemplate:
    """Build a template from its table; `where` is the key prefix for error messages."""
    kinds: dict[str, type] = {"extract": bool, "options": dict, "defaults": dict, "tool": list, "mcp": list}
    names = [each.name for each in fields(PromptTemplate) if each.name not in ("path", "is_projects")]
    for name, value in table.items():
        if name not in names:
            near = suggest_name(name, names)
            hint = f"did you mean `{near}`?" if near else f"there are {', '.join(names)}"
            raise ConfigurationError(f"{path}: a template has no `{where}{name}`; {hint}")
        if not isinstance(value, kinds.get(name, str)):
            raise ConfigurationError(
                f"{path}: `{where}{name}` is {_describe_type(kinds.get(name, str))}, not {value!r:.60}"
            )
    template = PromptTemplate(**dict(table), path=path, is_projects=is_projects)
    try:
        check_template(template)
    except OptionError as error:
        raise ConfigurationError(f"{path}: {where.rstrip('.')}{': ' if where else ''}{error}") from None
    return template


def check_template(template: PromptTemplate) -> None:
    """Raise an OptionError if a template could never be used."""
    for name in ("prompt", "system"):
        text = getattr(template, name)
        if not Form(text).is_valid():
            place = next(found.start() for found in Form.pattern.finditer(text) if found["invalid"] is not None)
            raise OptionError(
                f"`{text[place : place + 10]}` is not a placeholder: write `$$` for a dollar, `$name` for a placeholder"
            )
    if template.tools and template.tools not in _TOOL_SETS:
        raise OptionError(f"`tools` is one of {', '.join(_TOOL_SETS)}, not {template.tools!r:.40}")
    if not all(isinstance(each, str) for each in (*template.tool, *template.mcp)):
        raise OptionError("`tool` and `mcp` are lists of texts")
    if template.is_projects and (template.tool or template.mcp):
        raise OptionError("a project's template must not have `tool` or `mcp`; configure servers in `[mcp]`")
    if template.returns and template.schema:
        raise OptionError("`returns` and `schema` exclude each other; keep one of them")
    if not all(isinstance(value, str) for value in template.defaults.values()):
        raise OptionError("`defaults` are texts")


def load_templates(configuration: Configuration) -> dict[str, PromptTemplate]:
    """Return all available templates by name; the project's take precedence over the user's own."""
    files = _list_template_files(_get_template_directory(configuration))
    own = {path.stem: _load_template(path) for path in files}
    project = configuration.read_project_settings()
    return {**own, **(project.templates if project is not None else {})}


def list_template_names(configuration: Configuration) -> list[str]:
    """Return the names of all templates, even of invalid ones."""
    project = configuration.read_project_settings()
    there = [each.stem for each in _list_template_files(_get_template_directory(configuration))]
    return sorted({*there, *(project.templates if project is not None else ())})


def find_template(configuration: Configuration, name: str) -> PromptTemplate:
    """Return the template of this name: the project's, or else the user's own."""
    project = configuration.read_project_settings()
    if project is not None and name in project.templates:
        return project.templates[name]
    path = get_template_path(configuration, name)
    if not path.is_file():
        names = list_template_names(configuration)
        near = suggest_name(name, names)
        there = f"there are {', '.join(names[:12])}" if names else f"save one with `antiphon ask … --save {name}`"
        raise ConfigurationError(f"there is no template `{name}`; " + (f"did you mean `{near}`?" if near else there))
    return _load_template(path)


def get_template_path(configuration: Configuration, name: str) -> Path:
    """Return the path of the user's own template of this name, which need not exist."""
    if not _TEMPLATE_NAME.match(name):
        raise OptionError(f"a template name has letters, digits, `_` and `-`, such as `review`, not {name!r:.60}")
    return _get_template_directory(configuration) / f"{name}.toml"


def save_template(configuration: Configuration, name: str, template: PromptTemplate) -> Path:
    """Write a template to the user's own, replacing one of the same name."""
    path = get_template_path(configuration, name)
    check_template(template)
    write_private_text(path, template.to_toml())
    return path


def _list_template_files(directory: Path) -> list[Path]:
    return sorted(each for each in directory.glob("*.toml") if _TEMPLATE_NAME.match(each.stem))


def _load_template(path: Path) -> PromptTemplate:
    return parse_template(parse_toml(path, read_config_text(path)), path)


def _get_template_directory(configuration: Configuration) -> Path:
    return configuration.user_file.parent / "templates"


def _describe_type(kind: type) -> str:
    return {str: "a text", bool: "true or false", dict: "a table", list: "a list"}[kind]
