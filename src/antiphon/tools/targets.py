"""Which arguments of a tool are paths or commands, and where a path really leads."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from antiphon._shape import arr, obj, several, string

#: No system opens a longer path, but programs may shorten one before they open it.
_LONGEST = 4096
#: How deep objects in arguments are looked through for paths.
_DEEPEST = 4
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_PATHS = frozenset(
    ("path", "paths", "file", "files", "filename", "filenames", "filepath", "dir", "directory", "folder", "cwd")
)
_PATH_FORMATS = ("path", "file-path", "directory-path")
_COMMANDS = frozenset(("command", "commands", "cmd", "commandline", "script", "bash", "shell"))


@dataclass(frozen=True, slots=True)
class Target:
    """Where a path leads: `real` is absolute, and `shown` finds the same file in few words.

    `others` are files that the same text names for programs that read it otherwise: as a `file:` URL, or without blanks
    around it. Nobody can tell where a text leads that is not `is_known`.
    """

    shown: str
    real: str
    is_link: bool = False
    others: tuple[str, ...] = ()
    is_known: bool = True


def locate(path: str) -> Target:
    """Return where a path leads from the current directory, with `..` and links resolved.

    A path that has neither is left as it is spelled: it may be something else than a file's.
    """
    if not path:
        return Target(path, path)
    short = _without_blank_steps(path)
    if len(short) > _LONGEST or "\0" in path:
        return Target(path, path, is_known=False)
    others = tuple(os.path.realpath(each) for each in _other_readings(path))
    if not _is_path(path):
        return Target(path, path, others=others)
    try:
        home = os.path.expanduser(short)
        real, lexical = os.path.realpath(home), os.path.abspath(home)
    except (OSError, ValueError):
        return Target(path, path, is_known=False)
    is_link = real != lexical
    if path.startswith("~") or not (is_link or _has_detours(path)):
        return Target(path, real, is_link, others)
    return Target(_relative(real) if not os.path.isabs(path) else real, real, is_link, others)


def normalize(path: str) -> Target:
    """Return a path without `.` and `..`, for a server whose files are not ours to look at."""
    shown = posixpath.normpath(path) if _is_path(path) and _has_detours(path) else path
    found = locate(shown)
    return Target(shown, found.real, others=found.others, is_known=found.is_known)


def path_parameters(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parameters that are paths: by their type, or by the last word of their name.

    Those of an object are named after it, as in `options.path`.
    """
    return tuple(_path_names(schema, obj(schema.get("$defs")), "", _DEEPEST))


def _path_names(schema: Mapping[str, Any], known: Mapping[str, Any], above: str, depth: int) -> Iterator[str]:
    for name, each in _properties(schema):
        if _is_path_parameter(name, each):
            yield above + name
        for inner in _alternatives(each) if depth else ():
            named = obj(known.get(string(inner.get("$ref")).rpartition("/")[2])) or inner
            yield from _path_names(named, known, f"{above}{name}.", depth - 1)


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
    return [each for each in _alternatives(described) if _is_text(each)]


def _alternatives(described: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the types that a parameter may have, those of a list's items among them."""
    kinds = [obj(described), *(obj(each) for each in arr(described.get("anyOf")))]
    return kinds + [obj(each["items"]) for each in kinds if "items" in each]


def _is_text(described: Mapping[str, Any]) -> bool:
    if {"enum", "const", "anyOf", "$ref", "allOf", "oneOf"} & described.keys():
        return False
    return "string" in several(described.get("type", "string"))


def _last_word(name: str) -> str:
    words = _WORD.findall(name)
    return words[-1].lower() if words else ""


def _is_path(text: str) -> bool:
    """Return whether a text may be a path: an address or several lines are, where a file of such a name exists."""
    odd = max(text.rfind("\n"), (found.end() - 3) if (found := _SCHEME.match(text)) else -1)
    if odd < 0:
        return bool(text)
    end = text.find("/", odd)
    return os.path.lexists(text[:end] if end > 0 else text)


def _other_readings(text: str) -> Iterator[str]:
    """Yield the paths that a text also means to programs that strip it, or take a URL for a path."""
    bare = text.strip()
    if bare != text and bare:
        yield bare
    if bare[:5].lower() == "file:" and "\0" not in (path := unquote(urlsplit(bare[5:], allow_fragments=False).path)):
        yield path or "/"


def _without_blank_steps(path: str) -> str:
    """Return a path without `.` and without empty steps, which lead nowhere."""
    if "//" not in path and "/." not in path:
        return path
    first, *steps = path.split("/")
    return "/".join([first, *(step for step in steps if step not in ("", "."))]) or "/"


def _has_detours(path: str) -> bool:
    steps = path.split("/")
    return "." in steps or ".." in steps or ("" in steps[1:-1] and os.path.lexists(path))


def _relative(real: str) -> str:
    here = os.path.realpath(".")
    return os.path.relpath(real, here) if real == here or real.startswith(os.path.join(here, "")) else real
