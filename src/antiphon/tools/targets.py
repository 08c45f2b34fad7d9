"""Which arguments of a tool are paths or commands, and where a path really leads."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from antiphon._shape import arr, obj, several, string

_LONGEST = 4096
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_PATHS = frozenset(
    ("path", "paths", "file", "files", "filename", "filenames", "filepath", "dir", "directory", "folder", "cwd")
)
_PATH_FORMATS = ("path", "file-path", "directory-path")
_COMMANDS = frozenset(("command", "commands", "cmd", "commandline", "script", "bash", "shell"))


@dataclass(frozen=True, slots=True)
class Target:
    """Where a path leads: `real` is absolute, and `shown` finds the same file in few words."""

    shown: str
    real: str
    is_link: bool = False


def locate(path: str) -> Target:
    """Return where a path leads from the current directory, with `..` and links resolved.

    A path that has neither is left as it is spelled: it may be something else than a file's.
    """
    if not _is_path(path):
        return Target(path, path)
    try:
        home = os.path.expanduser(path)
        real, lexical = os.path.realpath(home), os.path.abspath(home)
    except (OSError, ValueError):
        return Target(path, path)
    is_link = real != lexical
    if path.startswith("~") or not (is_link or _has_detours(path)):
        return Target(path, real, is_link)
    return Target(_relative(real) if not os.path.isabs(path) else real, real, is_link)


def normalize(path: str) -> Target:
    """Return a path without `.` and `..`, for a server whose files are not ours to look at."""
    shown = posixpath.normpath(path) if _is_path(path) and _has_detours(path) else path
    return Target(shown, locate(shown).real)


def path_parameters(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parameters that are paths: by their type, or by the last word of their name."""
    return tuple(name for name, each in _properties(schema) if _is_path_parameter(name, each))


def command_parameters(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parameters that are command lines, by the last word of their name."""
    return tuple(name for name, each in _properties(schema) if _last_word(name) in _COMMANDS and _texts(each))


def _is_path_parameter(name: str, described: Mapping[str, Any]) -> bool:
    texts = _texts(described)
    return any(string(each.get("format")) in _PATH_FORMATS for each in texts) or bool(
        texts and _last_word(name) in _PATHS
    )


def _properties(schema: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, described in obj(schema.get("properties")).items():
        yield name, obj(described)


def _texts(described: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the types of a parameter that are free text, those of a list among them."""
    kinds = [obj(described), *(obj(each) for each in arr(described.get("anyOf")))]
    kinds += [obj(each["items"]) for each in kinds if "items" in each]
    return [each for each in kinds if _is_text(each)]


def _is_text(described: Mapping[str, Any]) -> bool:
    if {"enum", "const", "anyOf", "$ref", "allOf", "oneOf"} & described.keys():
        return False
    return "string" in several(described.get("type", "string"))


def _last_word(name: str) -> str:
    words = _WORD.findall(name)
    return words[-1].lower() if words else ""


def _is_path(text: str) -> bool:
    return bool(text) and len(text) <= _LONGEST and "://" not in text and not ("\0" in text or "\n" in text)


def _has_detours(path: str) -> bool:
    steps = path.split("/")
    return "." in steps or ".." in steps or ("" in steps[1:-1] and os.path.lexists(path))


def _relative(real: str) -> str:
    here = os.path.realpath(".")
    return os.path.relpath(real, here) if real == here or real.startswith(os.path.join(here, "")) else real
