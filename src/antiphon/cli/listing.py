"""Lists of sessions: aligned columns with a title, cut to the width of the terminal."""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import click

from antiphon._base.escape import escape_unprintable

#: The minimum width of a title, for which columns are dropped.
_MIN_TITLE_WIDTH = 12
#: The maximum width of a title; the title of a piped program may be its text.
_MAX_TITLE_WIDTH = 200
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


def align_rows(rows: Sequence[tuple[tuple[str, ...], str]], right: Sequence[bool]) -> list[str]:
    """Return rows of columns and a title as aligned lines; the last columns are dropped if titles get too narrow."""
    if not rows:
        return []
    widths = [max(map(_measure_text, column)) for column in zip(*(row for row, _ in rows), strict=True)]
    room, out = _get_line_width(), list[str]()
    while len(widths) > 1 and sum(widths) + 2 * len(widths) + _MIN_TITLE_WIDTH > room:
        widths.pop()
    for row, title in rows:
        columns = [_pad(text, width, at_right) for text, width, at_right in zip(row, widths, right, strict=False)]
        line = "  ".join(column for column in columns if column)
        out.append(f"{line}  {truncate_text(title, min(max(room - _measure_text(line) - 2, 2), _MAX_TITLE_WIDTH))}")
    return out


def one_line(text: str) -> str:
    """Return a text as one printable line."""
    return escape_unprintable(" ".join(text.split()))


def truncate_title(text: str) -> str:
    """Return a line, cut to the maximum width of a title."""
    return truncate_text(text, _MAX_TITLE_WIDTH)


def _get_line_width() -> int:
    """Return the width of the terminal; a pipe has no limit."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() or os.environ.get("COLUMNS") else 10**6


def print_encodable_line(line: str) -> None:
    """Print a line, with characters escaped that the encoding lacks."""
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding))


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
