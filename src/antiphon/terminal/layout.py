"""Layout of text rows in a width and a height: only visible rows are processed, the rest is counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.text import Text

#: A row to be folded to the width, or one that is already laid out.
TextRow = Text | Sequence[Text]

#: Rows of unknown number are counted up to this limit.
MAX_COUNTED_LINES = 10_000


@dataclass(slots=True)
class Lines:
    """Rows to display. The rows may be lazy: those beyond the height are not requested.

    `total` is the number of rows, if known without making them; it may be more than are given, and with
    `at_least` it is a lower bound. `tail` yields the last rows in reverse order: if given, the middle is left
    out instead of the end. `words` wraps lines between words.
    """

    rows: Iterable[TextRow]
    total: int | None = None
    noun: str = "line"
    tail: Iterable[TextRow] = ()
    words: bool = False
    at_least: bool = False

    def fit(self, console: Console, width: int, height: int) -> list[Text]:
        """Return as many lines as fit, and a note on how many are left out."""
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
        total = len(taken) + sum(1 for _ in islice(rows, MAX_COUNTED_LINES)) if self.total is None else self.total
        tail = iter(self.tail)
        last = next(tail, None)
        top, whole, cut = _take_first_lines(taken, height if last is None else max(height // 3, 1))
        rest = total - whole - (cut > 0)
        bottom: list[Text] = []
        while last is not None and rest > 0 and len(bottom) < height - len(top):
            bottom[:0] = self._laid_out(last, console, width)[-(height - len(top) - len(bottom)) :]
            rest -= 1
            last = next(tail, None)
        uncounted = self.at_least or (self.total is None and total >= len(taken) + MAX_COUNTED_LINES)
        note = format_omitted_note(rest + cut, self.noun, uncounted)
        return [*top, *fold(Text(note, "dim italic"), width)[:1], *bottom]

    def _laid_out(self, row: TextRow, console: Console, width: int) -> list[Text]:
        if not isinstance(row, Text):
            return list(row) or [Text()]
        if self.words and cell_len(row.plain) > width:
            return list(row.wrap(console, width, overflow="fold")) or [Text()]
        return fold(row, width)


def _take_first_lines(taken: list[list[Text]], room: int) -> tuple[list[Text], int, int]:
    """Return the lines that fit, the number of complete rows, and the number of cut lines of the next row."""
    top: list[Text] = []
    for whole, lines in enumerate(taken):
        if len(top) + len(lines) > room:
            cut = len(top) + len(lines) - room
            return [*top, *lines[: room - len(top)]], whole, cut if cut < len(lines) else 0
        top += lines
    return top, len(taken), 0


def format_omitted_note(count: int, noun: str, uncounted: bool = False) -> str:
    """Return the note about omitted items."""
    return f"… {count:,}{'+' if uncounted else ''} more {noun}{'s' if count != 1 and noun else ''}"


def fold(text: Text, width: int) -> list[Text]:
    """Break a line at exactly the width, so that columns are preserved."""
    if cell_len(text.plain) <= width:
        return [text]
    offsets: list[int] = []
    for piece in chop_cells(text.plain, max(width, 1))[:-1]:
        offsets.append((offsets[-1] if offsets else 0) + len(piece))
    return list(text.divide([offset for offset in offsets if offset]))


def hang_indent(gutter: Text, body: Text, width: int) -> list[Text]:
    """Fold a body beside a gutter that appears in its first line only."""
    indent = cell_len(gutter.plain)
    if indent > width // 2:
        return fold(Text.assemble(gutter, body), width)
    blank = " " * indent
    return [Text.assemble(blank if number else gutter, line) for number, line in enumerate(fold(body, width - indent))]
