"""Templates: questions that are asked again and again, with their model, tools and type, under a name.

The user's own are files of the configuration directory; those of a project are in its `antiphon.toml`, and count once
it is trusted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from string import Template as Form
from typing import TYPE_CHECKING, Any, cast

from antiphon._json import clean
from antiphon._suggestions import nearest
from antiphon.config.places import read_text, write_text
from antiphon.errors import ConfigurationError, OptionError

if TYPE_CHECKING:
    from antiphon.config.configuration import Configuration

INPUT = "input"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")
_TABLES = ("options", "defaults")
_TOOLS = ("none", "read", "all")


@dataclass(frozen=True, slots=True)
class Template:
    """What a template says; what is empty is left to whoever uses it.

    `$input` in its texts is what is asked then, `$name` what is given by that name, or its default; `$$` is a dollar.
    """

    prompt: str = ""
    system: str = ""
    model: str = ""
    tools: str = ""
    #: Python files, or functions of them, and servers; a project's template has none.
    tool: Sequence[str] = ()
    mcp: Sequence[str] = ()
    returns: str = ""
    schema: str = ""
    extract: bool = False
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    defaults: Mapping[str, str] = field(default_factory=dict[str, str])
    #: Where it is from, and whether a project brings it.
    path: Path = Path()
    is_projects: bool = False

    @property
    def placeholders(self) -> list[str]:
        """The names that its texts leave open."""
        return list(dict.fromkeys([*Form(self.prompt).get_identifiers(), *Form(self.system).get_identifiers()]))

    @property
    def needs_input(self) -> bool:
        """Whether there is no question without something that it is about."""
        return INPUT in self.placeholders

    def filled(self, name: str, asked: str, given: Mapping[str, str]) -> tuple[str, str]:
        """The prompt and the system text with what is asked and given; `name` is what the template is called."""
        filled = {**self._values(name, given), INPUT: asked}
        prompt, system = Form(self.prompt).substitute(filled), Form(self.system).substitute(filled)
        if not self.needs_input:
            prompt = "\n\n".join(each for each in (prompt, asked) if each.strip())
        return prompt, system

    def filled_system(self, name: str, given: Mapping[str, str]) -> str:
        """The system text with what is given, before anything is asked."""
        values = self._values(name, given)
        if INPUT in Form(self.system).get_identifiers():
            raise OptionError(
                f"template `{name}` has `${INPUT}` in its system text, which a chat has before anything is said:"
                f" `antiphon ask -t {name}`"
            )
        return Form(self.system).substitute(values)

    def _values(self, name: str, given: Mapping[str, str]) -> dict[str, str]:
        """What stands for each name that is left open; one that is not there, or missing, is told."""
        open_names = [each for each in self.placeholders if each != INPUT]
        for each in given:
            if each not in open_names:
                near = nearest(each, open_names)
                there = f"it has {', '.join(f'${other}' for other in open_names)}" if open_names else "it has none"
                raise OptionError(
                    f"template `{name}` has no `${each}`; " + (f"did you mean `{near}`?" if near else there)
                )
        values = {**self.defaults, **given}
        if missing := [each for each in open_names if each not in values]:
            raise OptionError(
                f"template `{name}` needs {', '.join(f'`-p {each}=…`' for each in missing)}"
                " (`antiphon templates show` prints it)"
            )
        return values

    def schema_place(self) -> str:
        """The file of its schema: paths are seen from where the template is. That of a project is in the project."""
        if not self.schema:
            return ""
        place = self.path.parent / Path(self.schema).expanduser()
        if self.is_projects and not place.resolve().is_relative_to(_project_of(self.path)):
            raise OptionError(f"{self.path}: the schema {self.schema!r} of a project's template is outside the project")
        return str(place)

    def to_toml(self) -> str:
        """The template as a file."""
        said = {
            each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("path", "is_projects")
        }
        lines = [f"{name} = {_value(value)}" for name, value in said.items() if value and name not in _TABLES]
        for name in _TABLES:
            if said[name]:
                lines += ["", f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in said[name].items())]
        return "\n".join(lines) + "\n"


def _project_of(path: Path) -> Path:
    """Return the repository that a file is in, or its directory where there is none."""
    here = path.resolve().parent
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


def read_template(table: Mapping[str, Any], path: Path, where: str = "", *, is_projects: bool = False) -> Template:
    """A template from its table; `where` says which one of a file."""
    kinds: dict[str, type] = {"extract": bool, "options": dict, "defaults": dict, "tool": list, "mcp": list}
    names = [each.name for each in fields(Template) if each.name not in ("path", "is_projects")]
    for name, value in table.items():
        if name not in names:
            near = nearest(name, names)
            hint = f"did you mean `{near}`?" if near else f"there are {', '.join(names)}"
            raise ConfigurationError(f"{path}: a template has no `{where}{name}`; {hint}")
        if not isinstance(value, kinds.get(name, str)):
            raise ConfigurationError(f"{path}: `{where}{name}` is {_kind(kinds.get(name, str))}, not {value!r:.60}")
    template = Template(**dict(table), path=path, is_projects=is_projects)
    try:
        check_template(template)
    except OptionError as error:
        raise ConfigurationError(f"{path}: {where.rstrip('.')}{': ' if where else ''}{error}") from None
    return template


def check_template(template: Template) -> None:
    """Tell of what could never be used."""
    for name in ("prompt", "system"):
        text = getattr(template, name)
        if not Form(text).is_valid():
            place = next(found.start() for found in Form.pattern.finditer(text) if found["invalid"] is not None)
            raise OptionError(
                f"`{text[place : place + 10]}` is no placeholder: write `$$` for a dollar, `$name` for one"
            )
    if template.tools and template.tools not in _TOOLS:
        raise OptionError(f"`tools` is one of {', '.join(_TOOLS)}, not {template.tools!r:.40}")
    if not all(isinstance(each, str) for each in (*template.tool, *template.mcp)):
        raise OptionError("`tool` and `mcp` are lists of texts")
    if template.is_projects and (template.tool or template.mcp):
        raise OptionError("a project's template runs no files and starts no servers; its servers are in `[mcp]`")
    if template.returns and template.schema:
        raise OptionError("`returns` and `schema` both say of which type the answer is; keep one of them")
    if not all(isinstance(value, str) for value in template.defaults.values()):
        raise OptionError("`defaults` are texts")


def templates(configuration: Configuration) -> dict[str, Template]:
    """All templates that can be used here, by name: the project's, then the user's own."""
    own = dict(_own(_directory(configuration)))
    project = configuration.project_settings()
    return {**own, **(project.templates if project is not None else {})}


def template_names(configuration: Configuration) -> list[str]:
    """The names alone, whatever is wrong with one of them."""
    project = configuration.project_settings()
    there = [each.stem for each in _files(_directory(configuration))]
    return sorted({*there, *(project.templates if project is not None else ())})


def find_template(configuration: Configuration, name: str) -> Template:
    """The template of this name: the project's, or else the user's own."""
    project = configuration.project_settings()
    if project is not None and name in project.templates:
        return project.templates[name]
    path = template_file(configuration, name)
    if not path.is_file():
        names = template_names(configuration)
        near = nearest(name, names)
        there = f"there are {', '.join(names[:12])}" if names else f"`antiphon ask … --save {name}` makes one"
        raise ConfigurationError(f"there is no template `{name}`; " + (f"did you mean `{near}`?" if near else there))
    return _read(path)


def template_file(configuration: Configuration, name: str) -> Path:
    """Where the user's own template of this name is, or would be."""
    if not _NAME.match(name):
        raise OptionError(f"a template is called by letters, digits, `_` and `-`, such as `review`, not {name!r:.60}")
    return _directory(configuration) / f"{name}.toml"


def save_template(configuration: Configuration, name: str, template: Template) -> Path:
    """Write a template to the user's own; one of this name is replaced."""
    path = template_file(configuration, name)
    check_template(template)
    write_text(path, template.to_toml())
    return path


def _own(directory: Path) -> Iterator[tuple[str, Template]]:
    for path in _files(directory):
        yield path.stem, _read(path)


def _files(directory: Path) -> list[Path]:
    return sorted(each for each in directory.glob("*.toml") if _NAME.match(each.stem))


def _read(path: Path) -> Template:
    import tomllib

    try:
        return read_template(tomllib.loads(read_text(path)), path)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}") from None


def _directory(configuration: Configuration) -> Path:
    return configuration.user_file.parent / "templates"


def _kind(kind: type) -> str:
    return {str: "a text", bool: "true or false", dict: "a table", list: "a list"}[kind]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _value(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        inner = cast("Mapping[str, Any]", value).items()
        return "{" + ", ".join(f"{_key(name)} = {_value(each)}" for name, each in inner) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, cast("list[Any]", value))) + "]"
    if value is None:
        raise OptionError("a template has no place for `null`")
    return json.dumps(value)


def _text(text: str) -> str:
    """A text of several lines is written in several lines."""
    lines = text.split("\n")
    return _quoted(text) if len(lines) == 1 else '"""\n' + "\n".join(_quoted(line)[1:-1] for line in lines) + '"""'


def _quoted(text: str) -> str:
    return json.dumps(clean(text), ensure_ascii=False).replace("\x7f", "\\u007f")
