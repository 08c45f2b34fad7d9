"""Saved conversations as a list: a line each, in columns, and nothing in it that a terminal obeys."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from antiphon._base.escape import escape_unprintable
from antiphon.cli.style import echo_json
from antiphon.views.cost_format import format_cost

if TYPE_CHECKING:
    from antiphon.storage import ConversationEntry

#: The widest name of a model, and the narrowest title: columns go before a title gets narrower.
_MODEL, _TITLE = 28, 12
#: The longest title where there is room for everything; a program that came through a pipe may be its own title.
_LONGEST = 200
_RIGHT = (False, False, False, True, True, True)
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def moment(text: str) -> datetime:
    """When `30d` ago was, or the beginning of a day."""
    try:
        if found := re.fullmatch(r"([0-9]{1,6})([hdw])", text.strip()):
            return datetime.now(UTC) - timedelta(**{_UNITS[found[2]]: int(found[1])})
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        known = "an age such as 30d (h, d, w) nor a date such as 2026-01-31"
        raise click.BadParameter(f"{escape_unprintable(text)!r} is neither {known}") from None


class ListingGroup(click.Group):
    """A group that lists where no command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `list` before options that are not the group's own."""
        own = {name for each in self.params for name in each.opts}
        place = 0
        while place < len(args) and args[place].partition("=")[0] in own:
            place += 1 if "=" in args[place] else 2
        rest = args[place:]
        if not rest or (rest[0].startswith("-") and rest[0] not in ctx.help_option_names):
            args = [*args[:place], "list", *rest]
        return super().parse_args(ctx, args)


def print_entries(entries: Sequence[ConversationEntry], as_json: bool) -> None:
    """Print entries as lines that fit the terminal, or as JSON."""
    if as_json:
        # ASCII alone, and of that nothing a terminal would obey.
        echo_json(json.dumps([entry.to_json() for entry in entries], indent=2).replace("\x7f", "\\u007f"))
        return
    lines = columned([(_columns(entry), one_line(entry.title) or "(no text)") for entry in entries], _RIGHT)
    for entry, line in zip(entries, lines, strict=True):
        _echo(line)
        if entry.excerpt:
            pieces = entry.excerpt.split_pieces()
            _echo("    " + "".join(click.style(escape_unprintable(text), bold=found) for text, found in pieces if text))


def print_rows(rows: Sequence[tuple[tuple[str, ...], str]], right: Sequence[bool]) -> None:
    """Print rows of columns, each with a title behind them, as lines that fit the terminal."""
    for line in columned(rows, right):
        _echo(line)


def columned(rows: Sequence[tuple[tuple[str, ...], str]], right: Sequence[bool]) -> list[str]:
    """The lines: columns go before a title gets too narrow."""
    widths = [max(map(_cells, column)) for column in zip(*(row for row, _ in rows), strict=True)]
    room, out = _room(), list[str]()
    while len(widths) > 1 and sum(widths) + 2 * len(widths) + _TITLE > room:
        widths.pop()
    for row, title in rows:
        columns = [_padded(text, width, at_right) for text, width, at_right in zip(row, widths, right, strict=False)]
        line = "  ".join(column for column in columns if column)
        out.append(f"{line}  {_cut(title, min(max(room - _cells(line) - 2, 2), _LONGEST))}")
    return out


def when(entry: ConversationEntry) -> str:
    """When it was last changed, in local time."""
    return entry.updated.astimezone().strftime("%Y-%m-%d %H:%M")


def one_line(text: str) -> str:
    """A text in one line that can be printed."""
    return escape_unprintable(" ".join(text.split()))


def shortened(text: str) -> str:
    """A text of one line that is no longer than a title may be."""
    return _cut(text, _LONGEST)


def _room() -> int:
    """The columns of the terminal; a pipe has room for everything."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() or os.environ.get("COLUMNS") else 10**6


def _echo(line: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding))


def _columns(entry: ConversationEntry) -> tuple[str, ...]:
    model = entry.models[-1].rpartition("/")[2] if entry.models else ""
    more = f" +{len(entry.models) - 1}" if len(entry.models) > 1 else ""
    return (
        one_line(entry.id),
        when(entry),
        _cut(one_line(model), _MODEL) + more,
        f"{entry.turns} turn{'s' if entry.turns != 1 else ''}",
        "" if entry.tokens is None else f"{_short(entry.tokens)} tok",
        format_cost(entry.cost),
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
