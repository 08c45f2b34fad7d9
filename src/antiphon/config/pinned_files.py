"""Files that a project would run. Trust covers their content, and ends when it changes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from antiphon._base.json_access import as_array, as_object, as_string

#: Of a directory of the page, so many files are pinned beside its modules.
_MAX_FILES = 500
#: So many scripts are followed to what they name. What names more cannot be trusted: the rest could be anything.
MOST_PINS = 2_000
#: The hash of a file, and the line of a program, that starts more scripts than can be pinned.
UNPINNABLE = f"starts more than {MOST_PINS:,} scripts, which cannot all be pinned: it cannot be trusted"
#: How many bytes of a script are scanned for references to other scripts.
_MAX_SCRIPT_BYTES = 200_000
_SCRIPT_SUFFIXES = (".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh", ".bash", ".pl")
#: Words of commands, of options such as `--require=./x.js`, and of lists of paths.
_COMMAND_WORDS = re.compile(r"[^\s\"'=,:;|&<>()`\[\]{}$]+")
#: Manifest files in the working directory that decide what a program runs.
_PROGRAM_MANIFESTS = {
    **dict.fromkeys(("npm", "npx", "yarn", "pnpm", "bun", "bunx", "node"), ("package.json",)),
    **dict.fromkeys(("make", "gmake"), ("Makefile", "makefile", "GNUmakefile")),
    **dict.fromkeys(("uv", "uvx", "poetry", "pdm", "hatch", "tox"), ("pyproject.toml", "tox.ini")),
    **dict.fromkeys(("docker", "podman", "docker-compose"), ("Dockerfile", "compose.yaml", "docker-compose.yml")),
    "just": ("justfile", "Justfile"),
    "cargo": ("Cargo.toml", "build.rs"),
    "deno": ("deno.json",),
}
#: Entry points of a directory that is run as a Python or Node package.
_ENTRY_POINTS = ("__main__.py", "__init__.py", "package.json", "index.js", "index.mjs", "index.ts")


class TooManyPins(Exception):
    """A command reaches more scripts than can be pinned."""


def find_pinned_by_config(path: Path, data: bytes, variables: str = "") -> list[Path]:
    """Return the files that a configuration file would run: scripts of its MCP servers, and page modules.

    `variables` is the text of the project's `.env`, whose values may be substituted in commands.
    """
    table = _parse_table(path, data)
    found: list[Path] = []
    for server in as_object(table.get("mcp") or table.get("mcpServers") or table.get("servers")).values():
        entry = as_object(server)
        directories = [
            path.parent,
            *([path.parent / as_string(entry.get("cwd"))] if as_string(entry.get("cwd")) else []),
        ]
        texts = [*_iter_strings(entry)]
        found += find_pinned_by_command(
            [*texts, *([variables] if any("${" in each for each in texts) else [])], directories
        )
    if renderers := as_string(as_object(table.get("page")).get("renderers")):
        found += _list_files_below(path.parent / renderers)
    command = as_string(as_object(table.get("tests")).get("command")) if path.name == "team.toml" else ""
    # A team writes tests and scripts itself, so only files named in its command are pinned.
    return list(dict.fromkeys([*found, *_find_named_files([command], [path.parent])]))


def find_pinned_by_command(texts: Iterable[str], directories: Sequence[Path]) -> list[Path]:
    """Return the files of these directories that a command would run, as far as its words name them.

    This includes scripts that those refer to by path, recursively.
    """
    found = dict.fromkeys(_find_named_files(texts, directories))
    waiting = list(found)
    for path in waiting:
        if len(waiting) > MOST_PINS:
            raise TooManyPins
        new = [each for each in _find_referenced_scripts(path, directories) if each not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return list(found)


def _find_named_files(texts: Iterable[str], directories: Sequence[Path]) -> list[Path]:
    words = list(dict.fromkeys(word for text in texts for word in _COMMAND_WORDS.findall(text)))
    return list(
        dict.fromkeys(path for each in directories for word in words for path in _find_files_for_word(word, each))
    )


def _find_referenced_scripts(path: Path, directories: Sequence[Path]) -> Iterator[Path]:
    """Yield the scripts that a script names by path, relative to itself or to the start directory."""
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_SCRIPT_BYTES).decode(errors="replace")
    except OSError:
        return
    for word in dict.fromkeys(_COMMAND_WORDS.findall(text)):
        names = (
            [word]
            if word.endswith(_SCRIPT_SUFFIXES)
            else [word + each for each in _SCRIPT_SUFFIXES]
            if "./" in word
            else []
        )
        for place in dict.fromkeys([path.parent, *directories]) if names else ():
            for name in names:
                with suppress(OSError, ValueError):
                    yield from _list_if_file(Path(os.path.normpath(place / name)))


def _find_files_for_word(word: str, directory: Path) -> Iterator[Path]:
    for name in _PROGRAM_MANIFESTS.get(os.path.basename(word), ()):
        yield from _list_if_file(directory / name)
    path = directory / word
    try:
        if path.is_file():
            yield path
            # A script may import those of its type beside it.
            beside = path.parent.glob(f"*{path.suffix}") if path.suffix in _SCRIPT_SUFFIXES else ()
            yield from sorted(each for each in beside if each.is_file() and each != path)
        elif path.is_dir() and word.strip("./"):
            yield from (each for name in _ENTRY_POINTS for each in _list_if_file(path / name))
        elif re.fullmatch(r"\w+(\.\w+)*", word):
            yield from _list_if_file(directory / f"{word.replace('.', '/')}.py")
    except (OSError, ValueError):
        return


def _list_if_file(path: Path) -> list[Path]:
    return [path] if path.is_file() else []


def _list_files_below(directory: Path) -> list[Path]:
    found = (Path(place, name) for place, _, names in os.walk(directory) for name in sorted(names))
    # Every script runs, so scripts are listed beyond the limit.
    ordered = [path for number, path in enumerate(found) if number < _MAX_FILES or path.suffix in _SCRIPT_SUFFIXES]
    return [path for path in ordered if path.is_file()]


def _parse_table(path: Path, data: bytes) -> dict[str, Any]:
    """Return our table in a file; an empty one if it cannot be parsed."""
    import json
    import tomllib

    try:
        text = data.decode("utf-8-sig")
        table = as_object(json.loads(text)) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}
    return as_object(as_object(table.get("tool")).get("antiphon")) if path.name == "pyproject.toml" else table


def _iter_strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in [*as_array(value), *as_object(value).values()]:
        yield from _iter_strings(each)
