"""Find and read programs, and render their diagnostics, for the commands of the language."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from antiphon.cli.style import supports_colour
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.syntax.diagnostics import Diagnostic, ProgramErrors, StyleText
from antiphon.lang.syntax.source import Source

if TYPE_CHECKING:
    from antiphon.lang.runtime.modules import CheckedModule, ModuleLoader

#: The name of a program that comes through a pipe.
STDIN_NAME = "<stdin>"
_OTHER_ENDINGS: dict[str, Callable[[str], str]] = {
    ".py": lambda path: f"`python {path}` runs it",
    **dict.fromkeys((".csv", ".tsv", ".jsonl"), lambda path: f"`antiphon run PROGRAM.vibe --rows {path}` reads rows"),
    **dict.fromkeys(
        (".md", ".txt", ".rst", ".html", ".json", ".yaml", ".yml", ".toml", ".pdf", ".png", ".jpg", ".docx"),
        lambda path: f"`antiphon ask -a {path} …` sends it to a model",
    ),
}
_PIPED_KEY = "antiphon.piped"
_DIAGNOSTIC_STYLES: dict[str, dict[str, Any]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "place": {"fg": "blue"},
    "caret": {"fg": "red"},
    "hint": {"fg": "cyan"},
}


def make_painter(stream: IO[str]) -> StyleText:
    """Return a function that colours parts of a message, if the stream shows colours."""
    if not supports_colour(stream):
        return lambda _, text: text
    return lambda what, text: click.style(text, **_DIAGNOSTIC_STYLES.get(what, {}))


def render_diagnostic(source: Source, diagnostic: Diagnostic, stream: IO[str]) -> str:
    """Render a diagnostic for a stream, with paths relative to the current directory."""
    return diagnostic.render(_with_relative_name(source), make_painter(stream))


def render_program_error(error: VibeError, stream: IO[str]) -> str:
    """Render an error of a running program for a stream."""
    error.frames = tuple(dataclasses.replace(each, source=_with_relative_name(each.source)) for each in error.frames)
    return error.render(make_painter(stream))


def print_program_error(error: ProgramErrors | VibeError) -> None:
    """Print all errors of a program on standard error."""
    if isinstance(error, VibeError):
        click.echo(render_program_error(error, sys.stderr), err=True)
        return
    for source, each in error.found:
        click.echo(render_diagnostic(source, each, sys.stderr), err=True)


def print_warnings(source: Source, warnings: Iterable[Diagnostic]) -> None:
    """Print the warnings of a program on standard error."""
    for each in warnings:
        click.echo(render_diagnostic(source, each, sys.stderr), err=True)


# Creating a source indexes its lines: do it once for all diagnostics.
@lru_cache(maxsize=16)
def _with_relative_name(source: Source) -> Source:
    name = relative_path(source.name)
    return source if name == source.name else Source(name, source.text)


def relative_path(path: str) -> str:
    """Return a path relative to the current directory, if it is inside."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return path


def file_error_json(error: VibeError, file: str) -> dict[str, Any]:
    """Return an error without a position as a JSON diagnostic of the file."""
    return error.to_json() | {"file": file}


def iter_program_files(paths: Iterable[str]) -> Iterator[str]:
    """Yield the given files, and all programs in the given directories, in order."""
    from antiphon.programs.discovery import find_programs

    for path in paths:
        if path != "-" and Path(path).is_dir():
            yield from find_programs(path)
        else:
            yield path


def refuse_other_file(path: str) -> None:
    """Raise a `VibeError` for a file whose name says that it is no program, such as `notes.md`."""
    ending = Path(path).suffix.lower()
    if ending not in _OTHER_ENDINGS or not Path(path).is_file():
        return
    raise VibeError(
        "V0601", f"{path} is not a program: the names of programs end with `.vibe`", _OTHER_ENDINGS[ending](path)
    )


def program_directory(path: str) -> str:
    """Return the directory of a program."""
    return os.path.realpath(os.path.dirname(path) or ".")


def read_source_or_stdin(path: str) -> Source:
    """Read a program from a file, or from standard input for `-`; raise `VibeError` if that fails."""
    from antiphon.lang.runtime.modules import decode_source, read_program_source

    return decode_source(_read_stdin_once(), STDIN_NAME) if path == "-" else read_program_source(path)


def _read_stdin_once() -> bytes:
    """Return standard input, cached in the click context, because it can be read only once."""
    from antiphon.lang.runtime.modules import MAX_PROGRAM_BYTES

    context = click.get_current_context(silent=True)
    known: dict[str, Any] = context.meta if context is not None else {}
    if _PIPED_KEY not in known:
        known[_PIPED_KEY] = sys.stdin.buffer.read(MAX_PROGRAM_BYTES + 1)
    return known[_PIPED_KEY]


def load_program_module(modules: ModuleLoader, path: str) -> CheckedModule:
    """Load the module in a file, or on standard input for `-`."""
    return modules.add(read_source_or_stdin(path)) if path == "-" else modules.load(path)
