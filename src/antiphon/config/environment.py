"""`.env`: keys and a model for one project, never stronger than the real environment."""

from __future__ import annotations

import os
import re
from pathlib import Path

from antiphon.config import keys
from antiphon.config.trust import advice, find_project
from antiphon.errors import ConfigurationError
from antiphon.providers.registry import PROVIDERS

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", re.DOTALL)
_QUOTED = re.compile(r"""(?:'([^']*)'|"((?:[^"\\]|\\.)*)")\s*(?:#.*)?""")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def load_environment(cwd: Path | None = None) -> list[str]:
    """Take over the project's `.env` if it is trusted, and make stored keys known; returns what to tell the user.

    Of `.env`, only providers' keys and addresses and `ANTIPHON_MODEL` go into the environment, and only where the user
    has none: not in the environment, and not stored. An address is taken only with a key from the same file, or where
    there is no key at all.
    """
    keys.activate()
    notes = [note] if (note := keys.protect()) else []
    try:
        project = find_project(cwd)
        path = project.nearest(".env")
        if project.state != "trusted" or path is None:
            return [*notes, ignored] if (ignored := advice(project)) else notes
        values, bad = parse(project.text(path))
    except ConfigurationError as error:
        return [*notes, f"{error}; it is ignored"]
    notes += [f"line {number} of {path} is not NAME=value; it is ignored" for number in bad]
    own = {name for each in PROVIDERS.values() if keys.where(each) for name in each.key_env}
    _take(values, {"ANTIPHON_MODEL", *provider_keys()} - own, path)
    for name in dict.fromkeys(name for each in PROVIDERS.values() for name in each.url_env):
        if name in values and name not in os.environ and (elsewhere := key_from_elsewhere(name)):
            notes.append(
                f"{path} sets {name}, but the key that would be sent there ({elsewhere}) is not from that file; "
                "it is ignored: set it in the environment itself, or put the key into the file too"
            )
        else:
            _take(values, {name}, path)
    return notes


def provider_keys() -> frozenset[str]:
    """The variables that hold providers' keys."""
    return frozenset(name for each in PROVIDERS.values() for name in each.key_env)


def _take(values: dict[str, str], names: set[str], path: Path) -> None:
    for name in names & values.keys():
        if name not in os.environ:
            os.environ[name] = values[name]
            keys.read_from[name] = path


def key_from_elsewhere(url_name: str) -> str:
    """Where the user has a key of their own, which would be sent to the address in a variable."""
    for provider in PROVIDERS.values():
        place = keys.where(provider) if url_name in provider.url_env else ""
        if place and keys.in_environment(provider) not in keys.read_from:
            return place
    return ""


def dotenv(cwd: Path | None = None) -> dict[str, str]:
    """Everything the project's `.env` says, if it is trusted, for texts that name variables."""
    project = find_project(cwd)
    path = project.nearest(".env")
    return parse(project.text(path))[0] if path and project.state == "trusted" else {}


def parse(text: str) -> tuple[dict[str, str], list[int]]:
    """The variables of such a file, and the numbers of the lines that are none.

    Single quotes keep a value as it is, double quotes know backslashes, and ` #` begins a comment. Nothing is
    replaced inside of values.
    """
    values: dict[str, str] = {}
    bad: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        value = _value(match[2]) if match else None
        if match is None or value is None or "\0" in value:
            bad.append(number)
        else:
            values[match[1]] = value
    return values, bad


def _value(text: str) -> str | None:
    if text[:1] in ("'", '"'):
        quoted = _QUOTED.fullmatch(text)
        if quoted is None:
            return None
        if quoted[1] is not None:
            return quoted[1]
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), quoted[2])
    return re.split(r"(?:^|\s)#", text, maxsplit=1)[0].strip()
