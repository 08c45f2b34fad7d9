"""Output types from files: a JSON Schema, or a type in a Python or Vibe file."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from antiphon._base.did_you_mean import suggest_name
from antiphon._base.files import open_named_file
from antiphon.errors import ContentError, OptionError
from antiphon.session.json_schema import parse_json_schema

_MAX_SCHEMA_BYTES = 1_000_000
_ACCEPTED_FORMS = "`person.json` (JSON Schema), `models.py:Person` (pydantic, dataclass) or `types.vibe:Person`"


def load_output_type(named: str, *, runs_python: bool = True) -> Any:
    """Load the type from `person.json`, `models.py:Person` or `types.vibe:Person`. A Python file is executed."""
    path, name = _split_reference(named)
    if path.suffix in (".py", ".vibe") and not name:
        raise OptionError(f"`{named}` names no type in it: write `{named}:NAME`")
    if path.suffix == ".py" and not runs_python:
        raise OptionError(f"`{named}` would run Python; a project's template names JSON Schemas and Vibe types alone")
    if path.suffix == ".py":
        return _load_python_type(path, name)
    return _load_vibe_type(path, name) if path.suffix == ".vibe" else _load_json_schema(path)


def _split_reference(named: str) -> tuple[Path, str]:
    if named.lstrip().startswith(("{", "[", '"')):
        raise OptionError(f"`--schema` names a file: {_ACCEPTED_FORMS}; a type that is written out goes to `--returns`")
    path, colon, name = named.rpartition(":")
    if colon and path.endswith((".py", ".vibe")):
        return Path(path), name
    return Path(named), ""


def _load_json_schema(path: Path) -> Any:
    from antiphon._base.json import load_json

    try:
        with open_named_file(path) as file:
            data = file.read(_MAX_SCHEMA_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", "") or error
        raise OptionError(f"cannot read {str(path)!r}: {reason}; `--schema` takes {_ACCEPTED_FORMS}") from None
    if len(data) > _MAX_SCHEMA_BYTES:
        raise OptionError(f"{str(path)!r} is larger than {_MAX_SCHEMA_BYTES // 1_000_000} MB; that is no schema")
    try:
        return parse_json_schema(load_json(text, str(path)), str(path))
    except ContentError as error:
        raise OptionError(f"{error}; `--schema` takes {_ACCEPTED_FORMS}") from None


def _load_python_type(path: Path, name: str) -> Any:
    from antiphon.session.output_type import make_output_type
    from antiphon.tools.user_tools import load_python_file

    module = load_python_file(path)
    found = getattr(module, name, None)
    if found is None:
        own = [each for each, value in vars(module).items() if inspect.isclass(value)]
        own = [each for each in own if getattr(module, each).__module__ == module.__name__]
        raise OptionError(f"{path} has no `{name}`{_suggest_type(name, own)}")
    try:
        make_output_type(found)
    except OptionError:
        raise OptionError(f"`{name}` of {path} is no type that an answer can have") from None
    return found


def _load_vibe_type(path: Path, name: str) -> Any:
    from antiphon.lang.analysis import analyse
    from antiphon.lang.runtime.modules import ModuleLoader, read_program_source
    from antiphon.lang.runtime.tools_and_types import to_python_type
    from antiphon.lang.syntax.diagnostics import ProgramErrors

    # The program is checked but not run, so it may do more than declare types.
    source, modules = read_program_source(path), ModuleLoader()
    text = analyse(source, imports=lambda other: modules.exports(other, source))
    if not text.is_compilable:
        raise ProgramErrors((source, each) for each in text.diagnostics if each.severity == "error")
    types = {each: symbol.type for each, symbol in text.scope.names.items() if symbol.kind == "type"}
    if name not in types:
        raise OptionError(f"{path} has no type `{name}`{_suggest_type(name, list(types))}")
    return to_python_type(types[name])


def _suggest_type(name: str, there: list[str]) -> str:
    near = suggest_name(name, there)
    return f"; did you mean `{near}`?" if near else f"; it has {', '.join(there[:12])}" if there else "; it has none"
