"""The user's files of facts about models: what `antiphon models learn` and `antiphon models refresh` keep."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, cast

from antiphon.config.places import read_own, read_text, write_private, write_text
from antiphon.errors import ConfigurationError
from antiphon.facts.checking import check_facts
from antiphon.facts.own import read_statements
from antiphon.facts.statements import state_facts, state_refreshed

LEARNED = "models.toml"
REFRESHED = "models-refreshed.json"


def state_files(directory: Path) -> None:
    """State what both files in the user's directory say."""
    for name, facts in read_facts_file(directory / LEARNED).items():
        state_facts(name, facts, str(directory / LEARNED))
    for name, entry in read_refreshed(directory).items():
        state_refreshed(name, entry["facts"], date.fromisoformat(entry["on"]))


def read_facts_file(path: Path) -> dict[str, dict[str, Any]]:
    """Return the facts of a TOML file: tables by `provider/name`, inside of `models` or at the top; none if no file."""
    import tomllib

    if not path.is_file():
        return {}
    try:
        tables = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}") from None
    inner: object = tables.pop("models", {})
    if not isinstance(inner, dict):
        raise ConfigurationError(f"{path}: `models` is a table, not {type(inner).__name__}")
    return read_statements({**tables, **cast("dict[str, Any]", inner)}, str(path))


def merge_facts_file(directory: Path, added: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, Any, Any]]:
    """Add facts to the user's file; return what changes as (model, field, old value, new value)."""
    path = directory / LEARNED
    known = read_facts_file(path)
    changes = [
        (name, field, known.get(name, {}).get(field), value)
        for name, facts in added.items()
        for field, value in facts.items()
        if field not in known.get(name, {}) or known[name][field] != value
    ]
    merged = {**known, **{name: {**known.get(name, {}), **facts} for name, facts in added.items()}}
    if changes:
        text = _format_toml(merged)
        write_text(path, text)
    return changes


def read_refreshed(directory: Path) -> dict[str, dict[str, Any]]:
    """Return what vendors answered, by `provider/name`: `on` is the day, `facts` are by dotted field."""
    path = directory / REFRESHED
    found = read_own(path, _is_entry, "`antiphon models refresh` wrote; delete it and run that again")
    for name, entry in found.items():
        check_facts(entry["facts"], f"{path}: {name}")
    return found


def write_refreshed(directory: Path, added: Mapping[str, Mapping[str, Any]], on: date) -> None:
    """Keep what a vendor answered on a day; what was kept of the same models is replaced."""
    entries = {name: {"on": on.isoformat(), "facts": dict(facts)} for name, facts in added.items()}
    write_private(directory / REFRESHED, {**read_refreshed(directory), **entries})


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    fields = cast("dict[str, Any]", entry)
    try:
        date.fromisoformat(fields["on"])
    except (KeyError, TypeError, ValueError):
        return False
    return isinstance(fields.get("facts"), dict)


def _format_toml(stated: Mapping[str, Mapping[str, Any]]) -> str:
    lines = ["# Facts about models that `antiphon models learn` was told. They come before the shipped ones."]
    for name, facts in stated.items():
        lines += ["", f"[models.{json.dumps(name, ensure_ascii=False)}]"]
        lines += [f"{_key(field)} = {_value(value)}" for field, value in facts.items()]
    return "\n".join(lines) + "\n"


def _key(field: str) -> str:
    head, dot, tail = field.partition(".")
    return f"{head}.{json.dumps(tail)}" if dot else head


def _value(value: Any) -> str:
    match value:
        case date():
            return value.isoformat()
        case dict():
            table = cast("dict[str, Any]", value)
            return "{ " + ", ".join(f"{json.dumps(key)} = {_value(each)}" for key, each in table.items()) + " }"
        case list():
            return "[" + ", ".join(_value(each) for each in cast("list[Any]", value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)
