"""Team settings, as read from `team.toml`: coders, models, limits and tests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast

from antiphon._base.did_you_mean import suggest_name
from antiphon._base.files import read_named_file
from antiphon.errors import ConfigurationError

TEAM_FILE = "team.toml"
_SIZE_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*(KB|MB|GB)?", re.IGNORECASE)
_SIZE_UNITS = {"": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """Settings of one role: its model and additional instructions."""

    model: str = ""
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class TeamSettings:
    """Settings of a team.

    `cost` and `task_cost` are in US dollars and apply where model prices are known; `requests` always
    applies. After `rounds` reviews that request changes, or `tries` failed test runs, the human is asked.
    `command` is the shell command that runs the tests; without one it is detected. `memory` is in bytes.
    With `sandbox`, tests have no network and cannot write elsewhere.
    """

    coders: int = 1
    solo: bool = False
    model: str = ""
    cost: float | None = 5.0
    task_cost: float | None = 2.0
    requests: int | None = 400
    rounds: int = 3
    tries: int = 5
    command: str = ""
    seconds: float = 600.0
    memory: int = 4 << 30
    sandbox: bool = True
    roles: Mapping[str, RoleSettings] = field(default_factory=dict[str, RoleSettings])

    def with_cost(self, cost: float | None) -> TeamSettings:
        """Return a copy with another total cost limit; the limit per task grows with it."""
        tasks = self.task_cost
        return replace(self, cost=cost, task_cost=None if cost is None or tasks is None else max(tasks, cost))


def settings_to_json(settings: TeamSettings) -> dict[str, Any]:
    """Convert settings to JSON data."""
    return asdict(settings)


def settings_from_json(data: Mapping[str, Any]) -> TeamSettings:
    """Convert JSON data of `settings_to_json` back; unknown keys are ignored."""
    known = {each.name for each in fields(TeamSettings)}
    given = {name: each for name, each in data.items() if name in known}
    given["roles"] = {name: RoleSettings(**each) for name, each in given.get("roles", {}).items()}
    return TeamSettings(**given)


# The file

#: The tables of the file: each key with the kind of its value.
_TOML_TABLES = {
    "team": {"coders": "count", "model": "text"},
    "limits": {"cost": "dollars", "task_cost": "dollars", "requests": "count", "rounds": "count", "tries": "count"},
    "tests": {"command": "command", "seconds": "number", "memory": "size"},
}
_ROLE_KEYS = {"model": "text", "instructions": "text"}


def read_team_file(path: Path, text: str | None = None) -> TeamSettings:
    """Read a `team.toml`, or its `text`; raise `ConfigurationError` if it has a mistake."""
    import tomllib

    try:
        given = tomllib.loads(read_named_file(path).decode() if text is None else text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from None
    changes: dict[str, Any] = {}
    for table, inside in given.items():
        if table == "roles":
            changes["roles"] = _parse_roles(path, inside)
        elif table in _TOML_TABLES:
            changes |= _parse_table(path, inside, table, _TOML_TABLES[table])
        else:
            raise _unknown_key_error(path, f"[{table}]", table, [*_TOML_TABLES, "roles"])
    return TeamSettings(**changes)


def _parse_roles(path: Path, given: object) -> dict[str, RoleSettings]:
    # The roles need the session, which most readers of settings do not.
    from antiphon.team.roles import ROLES

    roles: dict[str, RoleSettings] = {}
    for name, inside in _require_table(path, given, "roles").items():
        if name not in ROLES:
            raise _unknown_key_error(path, f"[roles.{name}]", name, ROLES)
        roles[name] = RoleSettings(**_parse_table(path, inside, f"roles.{name}", _ROLE_KEYS))
    return roles


def _parse_table(path: Path, given: object, table: str, kinds: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in _require_table(path, given, table).items():
        where = f"`{key}` in [{table}]"
        if key not in kinds:
            raise _unknown_key_error(path, where, key, kinds)
        found[key] = _parse_value(path, where, value, kinds[key])
    return found


def _require_table(path: Path, value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigurationError(f"{path}: `{name}` is a table: write `[{name}]`")
    return cast(dict[str, Any], value)


def _parse_value(path: Path, where: str, value: object, what: str) -> Any:
    match what, value:
        case "text", str():
            return value
        case "count", int() if not isinstance(value, bool) and value > 0:
            return value
        case "number" | "dollars", int() | float() if not isinstance(value, bool) and value > 0:
            return float(value)
        case "command", str() if value.strip():
            return value
        case "size", str() if found := _SIZE_PATTERN.fullmatch(value.strip()):
            return int(float(found[1]) * _SIZE_UNITS[(found[2] or "").lower()])
        case _:
            raise ConfigurationError(f"{path}: {where} is {_VALUE_DESCRIPTIONS[what]}, not {value!r}")


_VALUE_DESCRIPTIONS = {
    "text": "text",
    "count": "a whole number above 0",
    "number": "a number above 0",
    "dollars": "an amount of US dollars above 0",
    "command": 'a command as text, such as "make test"',
    "size": 'a size as text, such as "2GB"',
}


def _unknown_key_error(path: Path, where: str, name: str, known: Any) -> ConfigurationError:
    near = suggest_name(name, known)
    hint = f"did you mean `{near}`?" if near else f"there are: {', '.join(known)}"
    return ConfigurationError(f"{path}: {where} is not known; {hint}")


TEAM_FILE_TEMPLATE = """\
# How `antiphon team` works in this repository. Everything may be left out; what stands here is what holds without it.

[team]
# How many coders work side by side, each on a task of its own.
coders = 1
# The model of all roles; without one it is the one that `antiphon setup models --why` names.
# model = "anthropic/claude-sonnet-5"

[limits]
# US dollars, looked at before each request; when they are spent the team waits for you. They hold where the price of
# a model is known.
cost = 5.00
task_cost = 2.00
# Requests to models, whatever they cost.
requests = 400
# After so many reviews that want changes, and so many test runs that fail, you are asked.
rounds = 3
tries = 5

[tests]
# What is run, without network, in a copy of the task's own. Without a command it is found: `make test`, pytest, npm.
# command = "make test"
seconds = 600
memory = "4GB"

# For each role, another model and what it is told besides: pm, architect, coder.
# [roles.architect]
# model = "openai/gpt-5"
# instructions = "We never add a dependency without asking."
"""
