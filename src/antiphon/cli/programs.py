"""What the commands of the language share: finding programs, reading them, and telling what is wrong with them."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from antiphon.cli.colours import is_coloured
from antiphon.lang.run.errors import VibeError
from antiphon.lang.syntax.diagnostics import Diagnostic, Paint
from antiphon.lang.syntax.source import Source

if TYPE_CHECKING:
    from antiphon.lang.run.modules import Compiled, Modules

#: The name of a program that comes through a pipe.
STDIN = "<stdin>"
_PIPED = "antiphon.piped"
_STYLES: dict[str, dict[str, Any]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "place": {"fg": "blue"},
    "caret": {"fg": "red"},
    "hint": {"fg": "cyan"},
}


def painter(stream: IO[str]) -> Paint:
    """Gives pieces of a message their colours, where the stream shows colours."""
    if not is_coloured(stream):
        return lambda _, text: text
    return lambda what, text: click.style(text, **_STYLES.get(what, {}))


def rendered(source: Source, diagnostic: Diagnostic, stream: IO[str]) -> str:
    """A diagnostic for a stream; files of this directory are called what people here call them."""
    return diagnostic.render(_near(source), painter(stream))


def rendered_error(error: VibeError, stream: IO[str]) -> str:
    """The same of an error of a running program."""
    error.frames = tuple(dataclasses.replace(each, source=_near(each.source)) for each in error.frames)
    return error.render(painter(stream))


# A source counts its lines when it is made: once for all that is told of it.
@lru_cache(maxsize=16)
def _near(source: Source) -> Source:
    name = near(source.name)
    return source if name == source.name else Source(name, source.text)


def near(path: str) -> str:
    """A path as seen from the current directory, if it is in there."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return path


def unplaced(error: VibeError, file: str) -> dict[str, Any]:
    """An error that has no place in a program, as a diagnostic in JSON: the file itself is at fault."""
    return error.to_json() | {"file": file}


def files(paths: Iterable[str]) -> Iterator[str]:
    """The files that are meant: each as it is named, and of directories all programs in them, in order."""
    from antiphon.runs.found import programs_below

    for path in paths:
        if path != "-" and Path(path).is_dir():
            yield from programs_below(path)
        else:
            yield path


def directory(path: str) -> str:
    """The directory a program is in, by the name it was given."""
    return os.path.realpath(os.path.dirname(path) or ".")


def read(path: str) -> Source:
    """The text of a file, or of standard input for `-`; a `VibeError` says why there is none."""
    from antiphon.lang.run.modules import read_source, source_of

    return source_of(_piped(), STDIN) if path == "-" else read_source(path)


def _piped() -> bytes:
    """What came by standard input; the command remembers it, as it can be read once."""
    from antiphon.lang.run.modules import MOST_BYTES

    context = click.get_current_context(silent=True)
    known: dict[str, Any] = context.meta if context is not None else {}
    if _PIPED not in known:
        known[_PIPED] = sys.stdin.buffer.read(MOST_BYTES + 1)
    return known[_PIPED]


def module(modules: Modules, path: str) -> Compiled:
    """The module in a file, or on standard input."""
    return modules.add(read(path)) if path == "-" else modules.load(path)


def count(number: int, noun: str) -> str:
    """So many of something."""
    return f"{number} {noun}{'s' * (number != 1)}"
