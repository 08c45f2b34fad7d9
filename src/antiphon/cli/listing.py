"""Saved conversations as a list: a line each, in columns, and nothing in it that a terminal obeys."""

from __future__ import annotations

import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from antiphon._printable import printable

if TYPE_CHECKING:
    from antiphon.store import Entry

#: The widest name of a model, and the narrowest title: columns go before a title gets narrower.
_MODEL, _TITLE = 28, 12
_RIGHT = (False, False, False, True, True, True)


def print_entries(entries: Sequence[Entry], as_json: bool) -> None:
    """Print entries as lines that fit the terminal, or as JSON."""
    if as_json:
        # ASCII alone, and of that nothing a terminal would obey.
        click.echo(json.dumps([entry.to_json() for entry in entries], indent=2).replace("\x7f", "\\u007f"))
        return
    rows = [_columns(entry) for entry in entries]
    widths = [max(map(_cells, column)) for column in zip(*rows, strict=True)]
    room = _room()
    while len(widths) > 1 and sum(widths) + 2 * len(widths) + _TITLE > room:
        widths.pop()
    for entry, row in zip(entries, rows, strict=True):
        columns = [_padded(text, width, right) for text, width, right in zip(row, widths, _RIGHT, strict=False)]
        line = "  ".join(column for column in columns if column)
        title = one_line(entry.title) or "(no text)"
        _echo(f"{line}  {_cut(title, max(room - _cells(line) - 2, 2))}")
        if entry.excerpt:
            pieces = entry.excerpt.pieces()
            _echo("    " + "".join(click.style(printable(text), bold=found) for text, found in pieces if text))


def when(entry: Entry) -> str:
    """When it was last changed, in local time."""
    return entry.updated.astimezone().strftime("%Y-%m-%d %H:%M")


def one_line(text: str) -> str:
    """A text in one line that can be printed."""
    return printable(" ".join(text.split()))


def _room() -> int:
    """The columns of the terminal; a pipe has room for everything."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() or os.environ.get("COLUMNS") else 10**6


def _echo(line: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding))


def _columns(entry: Entry) -> tuple[str, ...]:
    model = entry.models[-1].rpartition("/")[2] if entry.models else ""
    more = f" +{len(entry.models) - 1}" if len(entry.models) > 1 else ""
    return (
        one_line(entry.id),
        when(entry),
        _cut(one_line(model), _MODEL) + more,
        f"{entry.turns} turn{'s' if entry.turns != 1 else ''}",
        "" if entry.tokens is None else f"{_short(entry.tokens)} tok",
        # Nothing is what models of this machine cost.
        f"${entry.cost:.4f}" if entry.cost else "",
    )


def _short(count: int) -> str:
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 999_950 else f"{count / 1_000_000:.1f}M"


def _cells(text: str) -> int:
    """The columns a text takes in a terminal."""
    return sum(_width(char) for char in text)


def _width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _padded(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - _cells(text))
    return blanks + text if right else text + blanks


def _cut(text: str, room: int) -> str:
    """The text, or as much of it as there is room for."""
    if _cells(text) <= room:
        return text
    used, end = 1, 0
    while (used := used + _width(text[end])) <= room:
        end += 1
    return text[:end] + "…"
