"""Detection of path and command parameters of a tool, and resolution of paths."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from antiphon._base.json_access import as_array, as_list, as_object, as_string

#: No system opens a longer path, but programs may normalize one before they open it.
_MAX_PATH_LENGTH = 4096
#: How deep nested objects are searched for path parameters.
_MAX_SCHEMA_DEPTH = 4
_URL_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_PATH_WORDS = frozenset(
    ("path", "paths", "file", "files", "filename", "filenames", "filepath", "dir", "directory", "folder", "cwd")
)
#: Directories with files that package managers, git and caches link to their stores.
_LINKED_DIRECTORIES = frozenset(
    (".git", "node_modules", "site-packages", ".venv", ".tox", "__pycache__", ".mypy_cache", ".ruff_cache", ".cache")
)
_PATH_FORMATS = ("path", "file-path", "directory-path")
_COMMAND_WORDS = frozenset(("command", "commands", "cmd", "commandline", "script", "bash", "shell"))


@dataclass(frozen=True, slots=True)
class PathTarget:
    """The file that a path refers to: `real` is absolute, and `shown` is a short path of the same file.

    `others` are files that the same text names for programs that read it differently: as a `file:` URL, or
    with spaces stripped. `is_known` is false if the file cannot be determined. `has_other_names` says that
    the file has further hard links, which may be anywhere.
    """

    shown: str
    real: str
    is_link: bool = False
    others: tuple[str, ...] = ()
    is_known: bool = True
    has_other_names: bool = False


def has_other_names(status: os.stat_result | None, parts: Sequence[str]) -> bool:
    """Return whether a file has further hard links, except in directories of package managers and caches."""
    if status is None or status.st_nlink < 2 or not stat.S_ISREG(status.st_mode):
        return False
    return not is_package_directory(parts)


def is_package_directory(parts: Sequence[str]) -> bool:
    """Return whether a path is in a directory whose files are usually links to a store."""
    return not _LINKED_DIRECTORIES.isdisjoint(parts)


def resolve_path_target(path: str) -> PathTarget:
    """Return the file that a path refers to from the current directory, with `..` and links resolved.

    A path without either keeps its spelling: it may be something other than a file's path.
    """
    if not path:
        return PathTarget(path, path)
    short = _strip_empty_steps(path)
    if len(short) > _MAX_PATH_LENGTH or "\0" in path:
        return PathTarget(path, path, is_known=False)
    others = tuple(os.path.realpath(each) for each in _iter_other_readings(path))
    if not _may_be_path(path):
        return PathTarget(path, path, others=others)
    try:
        home = os.path.expanduser(short)
        real, lexical = os.path.realpath(home), os.path.abspath(home)
    except (OSError, ValueError):
        return PathTarget(path, path, is_known=False)
    is_link, linked = real != lexical, has_other_names(_find_status(real), real.split(os.sep))
    if path.startswith("~") or not (is_link or _has_redundant_steps(path)):
        return PathTarget(path, real, is_link, others, True, linked)
    here = os.path.realpath(".")
    is_inside = real == here or real.startswith(os.path.join(here, ""))
    shown = os.path.relpath(real, here) if is_inside and not os.path.isabs(path) else real
    return PathTarget(shown, real, is_link, others, True, linked)


def _find_status(real: str) -> os.stat_result | None:
    try:
        return os.stat(real)
    except (OSError, ValueError):
        return None


def normalize_remote_path(path: str) -> PathTarget:
    """Return a path without `.` and `..`, for a server whose files we cannot see."""
    shown = posixpath.normpath(path) if _may_be_path(path) and _has_redundant_steps(path) else path
    found = resolve_path_target(shown)
    return PathTarget(shown, found.real, others=found.others, is_known=found.is_known)


def find_path_parameters(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parameters that are paths: by their type, or by the last word of their name.

    Fields of an object are qualified, as in `options.path`.
    """
    return tuple(_iter_path_parameters(schema, as_object(schema.get("$defs")), "", _MAX_SCHEMA_DEPTH))


def _iter_path_parameters(schema: Mapping[str, Any], known: Mapping[str, Any], above: str, depth: int) -> Iterator[str]:
    for name, each in _iter_properties(schema):
        texts = _list_text_types(each)
        is_path = any(as_string(text.get("format")) in _PATH_FORMATS for text in texts)
        if is_path or (texts and _last_word(name) in _PATH_WORDS):
            yield above + name
        for inner in _list_types(each) if depth else ():
            named = as_object(known.get(as_string(inner.get("$ref")).rpartition("/")[2])) or inner
            yield from _iter_path_parameters(named, known, f"{above}{name}.", depth - 1)


def find_command_parameters(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parameters that are command lines, by the last word of their name."""
    return tuple(
        name for name, each in _iter_properties(schema) if _last_word(name) in _COMMAND_WORDS and _list_text_types(each)
    )


def _iter_properties(schema: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, described in as_object(schema.get("properties")).items():
        yield name, as_object(described)


def _list_text_types(described: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the types of a parameter that are free text, including those of a list's items."""
    others = {"enum", "const", "anyOf", "$ref", "allOf", "oneOf"}
    found = (each for each in _list_types(described) if not others & each.keys())
    return [each for each in found if "string" in as_list(each.get("type", "string"))]


def _list_types(described: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the types that a parameter may have, including those of a list's items."""
    kinds = [as_object(described), *(as_object(each) for each in as_array(described.get("anyOf")))]
    return kinds + [as_object(each["items"]) for each in kinds if "items" in each]


def _last_word(name: str) -> str:
    words = _NAME_WORD.findall(name)
    return words[-1].lower() if words else ""


def _may_be_path(text: str) -> bool:
    """Return whether a text may be a path. A URL or several lines may be one only if such a file exists."""
    odd = max(text.rfind("\n"), (found.end() - 3) if (found := _URL_SCHEME.match(text)) else -1)
    if odd < 0:
        return bool(text)
    end = text.find("/", odd)
    return os.path.lexists(text[:end] if end > 0 else text)


def _iter_other_readings(text: str) -> Iterator[str]:
    """Yield the paths that a text also means to programs that strip it, or read a URL as a path."""
    bare = text.strip()
    if bare != text and bare:
        yield bare
    if bare[:5].lower() == "file:" and "\0" not in (path := unquote(urlsplit(bare[5:], allow_fragments=False).path)):
        yield path or "/"


def _strip_empty_steps(path: str) -> str:
    """Return a path without empty and `.` components, which have no effect."""
    if "//" not in path and "/." not in path:
        return path
    first, *steps = path.split("/")
    return "/".join([first, *(step for step in steps if step not in ("", "."))]) or "/"


def _has_redundant_steps(path: str) -> bool:
    steps = path.split("/")
    return "." in steps or ".." in steps or ("" in steps[1:-1] and os.path.lexists(path))
