"""Rows of text laid out in a width and a height: only what is shown is looked at, the rest is counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.text import Text

#: A row still to be folded to the width, or one that its maker has laid out.
Row = Text | Sequence[Text]

#: Rows whose number nobody knows are counted no further than this.
COUNTED = 10_000


@dataclass(slots=True)
class Lines:
    """Something to show that consists of rows. The rows may be made lazily: those beyond the height are not asked for.

    `total` is how many rows there are, if that is known without making them; it may be more than are given, and with
    `at_least` more than it says. `tail` gives the last rows, the very last first: where it is given, the middle is left
    out instead of the end. `words` breaks lines between words.
    """

    rows: Iterable[Row]
    total: int | None = None
    noun: str = "line"
    tail: Iterable[Row] = ()
    words: bool = False
    at_least: bool = False

    def fit(self, console: Console, width: int, height: int) -> list[Text]:
        """As many lines as have room, and a note that says how many are left out."""
        rows = iter(self.rows)
        taken: list[list[Text]] = []
        used = 0
        for row in rows:
            taken.append(self._laid_out(row, console, width))
            used += len(taken[-1])
            if used > height:
                break
        if used <= height and (self.total is None or self.total <= len(taken)):
            return [line for lines in taken for line in lines]
        total = len(taken) + sum(1 for _ in islice(rows, COUNTED)) if self.total is None else self.total
        tail = iter(self.tail)
        last = next(tail, None)
        top, whole, cut = _first(taken, height if last is None else max(height // 3, 1))
        rest = total - whole - (cut > 0)
        bottom: list[Text] = []
        while last is not None and rest > 0 and len(bottom) < height - len(top):
            bottom[:0] = self._laid_out(last, console, width)[-(height - len(top) - len(bottom)) :]
            rest -= 1
            last = next(tail, None)
        uncounted = self.at_least or (self.total is None and total >= len(taken) + COUNTED)
        note = left_out(rest + cut, self.noun, uncounted)
        return [*top, *_cropped(note, width), *bottom]

    def _laid_out(self, row: Row, console: Console, width: int) -> list[Text]:
        if not isinstance(row, Text):
            return list(row) or [Text()]
        if self.words and cell_len(row.plain) > width:
            return list(row.wrap(console, width, overflow="fold")) or [Text()]
        return fold(row, width)


def _first(taken: list[list[Text]], room: int) -> tuple[list[Text], int, int]:
    """The lines that have room, of how many whole rows they are, and how many lines of the next row are cut."""
    top: list[Text] = []
    for whole, lines in enumerate(taken):
        if len(top) + len(lines) > room:
            cut = len(top) + len(lines) - room
            return [*top, *lines[: room - len(top)]], whole, cut if cut < len(lines) else 0
        top += lines
    return top, len(taken), 0


def left_out(count: int, noun: str, uncounted: bool = False) -> str:
    """The note for what is not shown."""
    return f"… {count:,}{'+' if uncounted else ''} more {noun}{'s' if count != 1 and noun else ''}"


def _cropped(note: str, width: int) -> list[Text]:
    return fold(Text(note, "dim italic"), width)[:1] if note else []


def fold(text: Text, width: int) -> list[Text]:
    """A line broken wherever the width ends; columns stay columns."""
    if cell_len(text.plain) <= width:
        return [text]
    offsets: list[int] = []
    for piece in chop_cells(text.plain, max(width, 1))[:-1]:
        offsets.append((offsets[-1] if offsets else 0) + len(piece))
    return list(text.divide([offset for offset in offsets if offset]))


def hang(gutter: Text, body: Text, width: int) -> list[Text]:
    """A folded body beside a gutter that stands at its first line only."""
    indent = cell_len(gutter.plain)
    if indent > width // 2:
        return fold(Text.assemble(gutter, body), width)
    blank = " " * indent
    return [Text.assemble(blank if number else gutter, line) for number, line in enumerate(fold(body, width - indent))]
