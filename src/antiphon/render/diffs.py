"""Diffs: unified, or side by side where there is room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby, zip_longest

from rich.cells import cell_len
from rich.text import Text

from antiphon import views
from antiphon.render.context import Context
from antiphon.render.layout import Lines, Row, fold, hang
from antiphon.views import Hunk, Line, Piece

_STYLES = {"+": "green", "-": "red", "@": "dim"}
_SAME = {"unchanged": "unchanged", "line_ends": "only the ends of lines differ"}


def diff(view: views.Diff, context: Context) -> Lines:
    """The changed lines."""
    if view.change in _SAME:
        return Lines([Text(_SAME[view.change], "dim italic")])
    pairs = view.is_paired and context.side_by_side
    rows = chain.from_iterable((_side_by_side if pairs else _unified)(hunk, view, context) for hunk in view.hunks)
    seen = sum(_size(hunk, pairs) for hunk in view.hunks)
    notes: list[Row] = [] if view.is_complete else [Text("(the diff is not complete)", "dim italic")]
    more = view.more_rows if pairs else view.more
    return Lines(chain(rows, () if more else notes), seen + more + len(notes))


def _size(hunk: Hunk, pairs: bool) -> int:
    return bool(hunk.heading) + (sum(1 for _ in _pairs(hunk.lines)) if pairs else len(hunk.lines))


def _unified(hunk: Hunk, view: views.Diff, context: Context) -> Iterator[Row]:
    if hunk.heading:
        yield _heading(hunk, context) if view.is_paired else _signed("@", _behind(hunk.heading), context)
    for line in hunk.lines:
        yield _signed(line.mark, line.text, context)


def _heading(hunk: Hunk, context: Context) -> Row:
    return fold(context.text(hunk.heading, "dim"), context.width)


def _behind(heading: Piece) -> Piece:
    return views.Cut(heading.text[1:], heading.more) if isinstance(heading, views.Cut) else heading[1:]


def _signed(sign: str, line: Piece, context: Context) -> Row:
    style = _STYLES.get(sign, "")
    return hang(Text(sign, style), context.text(line, style), context.width)


def _side_by_side(hunk: Hunk, _: views.Diff, context: Context) -> Iterator[Row]:
    yield _heading(hunk, context)
    digits = len(str(max(number or 0 for line in hunk.lines for number in (line.old, line.new)))) if hunk.lines else 1
    half = (context.width - 3) // 2
    bar = Text(f" {context.sign('│', '|')} ", "dim")
    for old, new in _pairs(hunk.lines):
        left = [] if old is None else _half(old, old.old, digits, half, context)
        right = [] if new is None else _half(new, new.new, digits, half, context)
        yield [Text.assemble(_padded(a, half), bar, b) for a, b in zip_longest(left, right, fillvalue=Text())]


def _pairs(lines: Sequence[Line]) -> Iterator[tuple[Line | None, Line | None]]:
    """Lines that stand beside each other: those that stayed beside themselves, removed ones beside added ones."""
    for same, stretch in groupby(lines, lambda line: line.mark == " "):
        found = list(stretch)
        if same:
            yield from ((line, line) for line in found)
        else:
            old, new = ([line for line in found if line.mark == mark] for mark in "-+")
            yield from zip_longest(old, new)


def _half(line: Line, number: int | None, digits: int, width: int, context: Context) -> list[Text]:
    style = _STYLES.get(line.mark, "")
    gutter = Text.assemble((f"{number:>{digits}} ", "dim"), (line.mark, style))
    return hang(gutter, context.text(line.text, style), width)


def _padded(text: Text, width: int) -> Text:
    return Text.assemble(text, " " * max(width - cell_len(text.plain), 0))
