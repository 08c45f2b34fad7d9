"""Files of a project that would be run: trust holds for what they say, and ends when they say something else."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from antiphon._shape import arr, obj, string

#: Of a directory of the page, so many files are pinned beside its modules.
_MOST = 500
#: So many scripts are followed to what they name. What names more cannot be trusted: the rest could be anything.
MOST_PINS = 2_000
#: The hash of a file, and the line of a program, that starts more scripts than can be pinned.
UNPINNABLE = f"starts more than {MOST_PINS:,} scripts, which cannot all be pinned: it cannot be trusted"
#: So much of a script is looked at for the scripts that it names.
_READ = 200_000
_SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh", ".bash", ".pl")
#: Words of commands, of options such as `--require=./x.js`, and of lists of paths.
_WORDS = re.compile(r"[^\s\"'=,:;|&<>()`\[\]{}$]+")
#: What programs run that are named in a file of the directory they are started in.
_MANIFESTS = {
    **dict.fromkeys(("npm", "npx", "yarn", "pnpm", "bun", "bunx", "node"), ("package.json",)),
    **dict.fromkeys(("make", "gmake"), ("Makefile", "makefile", "GNUmakefile")),
    **dict.fromkeys(("uv", "uvx", "poetry", "pdm", "hatch", "tox"), ("pyproject.toml", "tox.ini")),
    **dict.fromkeys(("docker", "podman", "docker-compose"), ("Dockerfile", "compose.yaml", "docker-compose.yml")),
    "just": ("justfile", "Justfile"),
    "cargo": ("Cargo.toml", "build.rs"),
    "deno": ("deno.json",),
}
#: A directory that is run, as a package of Python or of Node is, is begun here.
_ENTRIES = ("__main__.py", "__init__.py", "package.json", "index.js", "index.mjs", "index.ts")


class TooManyPins(Exception):
    """A command reaches more scripts than can be pinned."""


def pinned_by_config(path: Path, data: bytes, variables: str = "") -> list[Path]:
    """Return the files that a configuration file would run: scripts of its MCP servers, and modules of the page.

    `variables` is what the project's `.env` says, which may be put into what is started.
    """
    table = _table(path, data)
    found: list[Path] = []
    for server in obj(table.get("mcp") or table.get("mcpServers") or table.get("servers")).values():
        entry = obj(server)
        directories = [path.parent, *([path.parent / string(entry.get("cwd"))] if string(entry.get("cwd")) else [])]
        texts = [*_strings(entry)]
        found += pinned_by_command([*texts, *([variables] if any("${" in each for each in texts) else [])], directories)
    if renderers := string(obj(table.get("page")).get("renderers")):
        found += _below(path.parent / renderers)
    command = string(obj(table.get("tests")).get("command")) if path.name == "team.toml" else ""
    # A team writes tests and scripts itself: of its command only what it names is pinned.
    return list(dict.fromkeys([*found, *_named_by([command], [path.parent])]))


def pinned_by_command(texts: Iterable[str], directories: Sequence[Path]) -> list[Path]:
    """Return the files of these directories that a command would run, as far as its words name them.

    Scripts that those name by path are among them, and what these name in turn. Raise TooManyPins where no end is seen.
    """
    found = dict.fromkeys(_named_by(texts, directories))
    waiting = list(found)
    for path in waiting:
        if len(waiting) > MOST_PINS:
            raise TooManyPins
        new = [each for each in _referenced(path, directories) if each not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return list(found)


def _named_by(texts: Iterable[str], directories: Sequence[Path]) -> list[Path]:
    words = list(dict.fromkeys(word for text in texts for word in _WORDS.findall(text)))
    return list(dict.fromkeys(path for each in directories for word in words for path in _named(word, each)))


def _referenced(path: Path, directories: Sequence[Path]) -> Iterator[Path]:
    """Yield the scripts that a script names by path: from where it is, or from where it is started."""
    try:
        with path.open("rb") as file:
            text = file.read(_READ).decode(errors="replace")
    except OSError:
        return
    for word in dict.fromkeys(_WORDS.findall(text)):
        names = [word] if word.endswith(_SCRIPTS) else [word + each for each in _SCRIPTS] if "./" in word else []
        for place in dict.fromkeys([path.parent, *directories]) if names else ():
            for name in names:
                with suppress(OSError, ValueError):
                    yield from _if_file(Path(os.path.normpath(place / name)))


def _named(word: str, directory: Path) -> Iterator[Path]:
    for name in _MANIFESTS.get(os.path.basename(word), ()):
        yield from _if_file(directory / name)
    path = directory / word
    try:
        if path.is_file():
            yield from _with_its_like(path)
        elif path.is_dir() and word.strip("./"):
            yield from (each for name in _ENTRIES for each in _if_file(path / name))
        elif re.fullmatch(r"\w+(\.\w+)*", word):
            yield from _if_file(directory / f"{word.replace('.', '/')}.py")
    except (OSError, ValueError):
        return


def _with_its_like(path: Path) -> Iterator[Path]:
    """A script, and the files of its kind beside it, which it may import."""
    yield path
    if path.suffix in _SCRIPTS:
        yield from sorted(each for each in path.parent.glob(f"*{path.suffix}") if each.is_file() and each != path)


def _if_file(path: Path) -> list[Path]:
    return [path] if path.is_file() else []


def _below(directory: Path) -> list[Path]:
    found = (Path(place, name) for place, _, names in os.walk(directory) for name in sorted(names))
    # Each module runs, however many other files are there.
    ordered = [path for number, path in enumerate(found) if number < _MOST or path.suffix in _SCRIPTS]
    return [path for path in ordered if path.is_file()]


def _table(path: Path, data: bytes) -> dict[str, Any]:
    """Return the table that is ours in a file; an empty one where it cannot be read."""
    import json
    import tomllib

    try:
        text = data.decode("utf-8-sig")
        table = obj(json.loads(text)) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}
    return obj(obj(table.get("tool")).get("antiphon")) if path.name == "pyproject.toml" else table


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in [*arr(value), *obj(value).values()]:
        yield from _strings(each)
