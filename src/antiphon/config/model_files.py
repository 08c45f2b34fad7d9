"""The user's files of model facts, written by `antiphon setup models learn` and `antiphon setup models refresh`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, cast

from antiphon.config.paths import (
    format_toml_value,
    parse_toml,
    read_config_text,
    read_own_json,
    write_private_json,
    write_private_text,
)
from antiphon.errors import ConfigurationError
from antiphon.facts.statements import state_refreshed_facts, state_user_facts
from antiphon.facts.validation import check_facts, read_user_facts

LEARNED_FILE_NAME = "models.toml"
REFRESHED_FILE_NAME = "models-refreshed.json"


def apply_fact_files(directory: Path) -> None:
    """Register the facts of both files in the user's directory."""
    for name, facts in read_facts_file(directory / LEARNED_FILE_NAME).items():
        state_user_facts(name, facts, str(directory / LEARNED_FILE_NAME))
    for name, entry in read_refreshed_facts(directory).items():
        state_refreshed_facts(name, entry["facts"], date.fromisoformat(entry["on"]))


def read_facts_file(path: Path) -> dict[str, dict[str, Any]]:
    """Return the facts of a TOML file by `provider/name`, inside `models` or at the top; empty without a file."""
    if not path.is_file():
        return {}
    tables = parse_toml(path, read_config_text(path))
    inner: object = tables.pop("models", {})
    if not isinstance(inner, dict):
        raise ConfigurationError(f"{path}: `models` is a table, not {type(inner).__name__}")
    return read_user_facts({**tables, **cast("dict[str, Any]", inner)}, str(path))


def merge_facts_file(directory: Path, added: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, Any, Any]]:
    """Add facts to the user's file. Return the changes as (model, field, old value, new value)."""
    path = directory / LEARNED_FILE_NAME
    known = read_facts_file(path)
    changes = [
        (name, field, known.get(name, {}).get(field), value)
        for name, facts in added.items()
        for field, value in facts.items()
        if field not in known.get(name, {}) or known[name][field] != value
    ]
    merged = {**known, **{name: {**known.get(name, {}), **facts} for name, facts in added.items()}}
    if changes:
        lines = ["# Facts about models that `antiphon setup models learn` was told. They come before the shipped ones."]
        for name, facts in merged.items():
            lines += ["", f"[models.{json.dumps(name, ensure_ascii=False)}]"]
            for field, value in facts.items():
                head, dot, tail = field.partition(".")
                lines.append(f"{head}{dot}{json.dumps(tail) if dot else ''} = {format_toml_value(value)}")
        write_private_text(path, "\n".join(lines) + "\n")
    return changes


def read_refreshed_facts(directory: Path) -> dict[str, dict[str, Any]]:
    """Return the facts that vendors reported, by `provider/name`: the day `on`, and `facts` by dotted field."""
    path = directory / REFRESHED_FILE_NAME
    found = read_own_json(path, _is_valid_entry, "`antiphon setup models refresh` wrote; delete it and run that again")
    for name, entry in found.items():
        check_facts(entry["facts"], f"{path}: {name}")
    return found


def write_refreshed_facts(directory: Path, added: Mapping[str, Mapping[str, Any]], on: date) -> None:
    """Store the facts that a vendor reported on a day; earlier ones of the same models are replaced."""
    entries = {name: {"on": on.isoformat(), "facts": dict(facts)} for name, facts in added.items()}
    write_private_json(directory / REFRESHED_FILE_NAME, {**read_refreshed_facts(directory), **entries})


def _is_valid_entry(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    fields = cast("dict[str, Any]", entry)
    try:
        date.fromisoformat(fields["on"])
    except (KeyError, TypeError, ValueError):
        return False
    return isinstance(fields.get("facts"), dict)
