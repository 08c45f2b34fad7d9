"""Lists of conversations and runs: aligned columns with a title, cut to the width of the terminal."""

from __future__ import annotations

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
from antiphon.cli.output import print_ascii_json
from antiphon.views.cost_format import format_cost

if TYPE_CHECKING:
    from antiphon.storage import ConversationEntry

#: The maximum width of a model name, and the minimum width of a title, for which columns are dropped.
_MAX_MODEL_WIDTH, _MIN_TITLE_WIDTH = 28, 12
#: The maximum width of a title; the title of a piped program may be its text.
_MAX_TITLE_WIDTH = 200
_RIGHT_ALIGNED = (False, False, False, True, True, True)
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def parse_time(text: str) -> datetime:
    """Return the time of an age such as `30d`, or of a date."""
    try:
        if found := re.fullmatch(r"([0-9]{1,6})([hdw])", text.strip()):
            return datetime.now(UTC) - timedelta(**{_UNITS[found[2]]: int(found[1])})
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        expected = "an age such as 30d (h, d, w) or a date such as 2026-01-31"
        raise click.BadParameter(f"expected {expected}, not {escape_unprintable(text)!r}") from None


class ListingGroup(click.Group):
    """A group whose default command is `list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `list` before options that the group does not have."""
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
        # Only printable ASCII.
        print_ascii_json([entry.to_json() for entry in entries])
        return
    lines = _align_columns(
        [(_format_columns(entry), one_line(entry.title) or "(no text)") for entry in entries], _RIGHT_ALIGNED
    )
    for entry, line in zip(entries, lines, strict=True):
        _echo(line)
        if entry.excerpt:
            pieces = entry.excerpt.split_pieces()
            _echo("    " + "".join(click.style(escape_unprintable(text), bold=found) for text, found in pieces if text))


def print_rows(rows: Sequence[tuple[tuple[str, ...], str]], right: Sequence[bool]) -> None:
    """Print rows, each of columns and a title, as lines that fit the terminal."""
    for line in _align_columns(rows, right):
        _echo(line)


def _align_columns(rows: Sequence[tuple[tuple[str, ...], str]], right: Sequence[bool]) -> list[str]:
    """Return aligned lines; the last columns are dropped if titles get too narrow."""
    widths = [max(map(_measure_text, column)) for column in zip(*(row for row, _ in rows), strict=True)]
    room, out = _get_line_width(), list[str]()
    while len(widths) > 1 and sum(widths) + 2 * len(widths) + _MIN_TITLE_WIDTH > room:
        widths.pop()
    for row, title in rows:
        columns = [_pad(text, width, at_right) for text, width, at_right in zip(row, widths, right, strict=False)]
        line = "  ".join(column for column in columns if column)
        out.append(f"{line}  {truncate_text(title, min(max(room - _measure_text(line) - 2, 2), _MAX_TITLE_WIDTH))}")
    return out


def format_updated(entry: ConversationEntry) -> str:
    """Return the local time of the last change."""
    return entry.updated.astimezone().strftime("%Y-%m-%d %H:%M")


def one_line(text: str) -> str:
    """Return a text as one printable line."""
    return escape_unprintable(" ".join(text.split()))


def truncate_title(text: str) -> str:
    """Return a line, cut to the maximum width of a title."""
    return truncate_text(text, _MAX_TITLE_WIDTH)


def _get_line_width() -> int:
    """Return the width of the terminal; a pipe has no limit."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() or os.environ.get("COLUMNS") else 10**6


def _echo(line: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding))


def _format_columns(entry: ConversationEntry) -> tuple[str, ...]:
    model = entry.models[-1].rpartition("/")[2] if entry.models else ""
    more = f" +{len(entry.models) - 1}" if len(entry.models) > 1 else ""
    return (
        one_line(entry.id),
        format_updated(entry),
        truncate_text(one_line(model), _MAX_MODEL_WIDTH) + more,
        f"{entry.turns} turn{'s' if entry.turns != 1 else ''}",
        "" if entry.tokens is None else f"{_abbreviate_number(entry.tokens)} tok",
        format_cost(entry.cost),
    )


def _abbreviate_number(count: int) -> str:
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 999_950 else f"{count / 1_000_000:.1f}M"


def _measure_text(text: str) -> int:
    """Return the width of a text in columns."""
    return sum(_measure_character(char) for char in text)


def _measure_character(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _pad(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - _measure_text(text))
    return blanks + text if right else text + blanks


def truncate_text(text: str, room: int) -> str:
    """Return as much of a text as fits."""
    if _measure_text(text) <= room:
        return text
    used, end = 1, 0
    while (used := used + _measure_character(text[end])) <= room:
        end += 1
    return text[:end] + "…"
