"""Rendering of diffs: unified, or side by side if there is room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby, zip_longest

from rich.cells import cell_len
from rich.text import Text

from antiphon import views
from antiphon.terminal.layout import Lines, TextRow, fold, hang_indent
from antiphon.terminal.render_context import Context
from antiphon.views import Hunk, Line
from antiphon.views.line_diff import find_changed_words, pair_changed_lines

_CHANGED_STYLE = "reverse"
_MARK_STYLES = {"+": "green", "-": "red", "@": "dim"}
_UNCHANGED_NOTES = {"unchanged": "unchanged", "line_ends": "only the ends of lines differ"}


def render_diff(view: views.Diff, context: Context) -> Lines:
    """Render the changed lines."""
    if view.change in _UNCHANGED_NOTES:
        return Lines([Text(_UNCHANGED_NOTES[view.change], "dim italic")])
    pairs = view.is_paired and context.side_by_side
    rows = chain.from_iterable(
        (_render_side_by_side if pairs else _render_unified)(hunk, view, context) for hunk in view.hunks
    )
    seen = sum(_count_rows(hunk, pairs) for hunk in view.hunks)
    notes: list[TextRow] = [] if view.is_complete else [Text("(the diff is not complete)", "dim italic")]
    more = view.more_rows if pairs else view.more
    return Lines(chain(rows, () if more else notes), seen + more + len(notes))


def _count_rows(hunk: Hunk, pairs: bool) -> int:
    return bool(hunk.heading) + (sum(1 for _ in _pair_lines(hunk.lines)) if pairs else len(hunk.lines))


def _render_unified(hunk: Hunk, view: views.Diff, context: Context) -> Iterator[TextRow]:
    if hunk.heading:
        if view.is_paired:
            yield _render_heading(hunk, context)
        else:
            given = hunk.heading
            rest = views.Cut(given.text[1:], given.more) if isinstance(given, views.Cut) else given[1:]
            style = _MARK_STYLES["@"]
            yield hang_indent(Text("@", style), context.text(rest, style), context.width)
    rows = [(line.mark, context.text(line.text, _MARK_STYLES.get(line.mark, ""))) for line in hunk.lines]
    mark_changed_words(rows)
    for mark, row in rows:
        yield hang_indent(Text(mark, _MARK_STYLES.get(mark, "")), row, context.width)


def mark_changed_words(rows: Sequence[tuple[str, Text]], lead: int = 0) -> None:
    """Style the words that differ in removed and added lines that replace each other.

    `lead` is the length of what precedes each line.
    """
    for removed, added in pair_changed_lines([mark for mark, _ in rows]):
        old, new = rows[removed][1], rows[added][1]
        for row, spans in zip((old, new), find_changed_words(old.plain[lead:], new.plain[lead:]), strict=True):
            for start, end in spans:
                row.stylize(_CHANGED_STYLE, start + lead, end + lead)


def _render_heading(hunk: Hunk, context: Context) -> TextRow:
    return fold(context.text(hunk.heading, "dim"), context.width)


def _render_side_by_side(hunk: Hunk, _: views.Diff, context: Context) -> Iterator[TextRow]:
    yield _render_heading(hunk, context)
    digits = len(str(max(number or 0 for line in hunk.lines for number in (line.old, line.new)))) if hunk.lines else 1
    half = (context.width - 3) // 2
    bar = Text(f" {context.sign('│', '|')} ", "dim")
    for old, new in _pair_lines(hunk.lines):
        left = [] if old is None else _render_half(old, old.old, digits, half, context)
        right = [] if new is None else _render_half(new, new.new, digits, half, context)
        yield [Text.assemble(_pad(a, half), bar, b) for a, b in zip_longest(left, right, fillvalue=Text())]


def _pair_lines(lines: Sequence[Line]) -> Iterator[tuple[Line | None, Line | None]]:
    """Yield lines side by side: unchanged lines with themselves, removed ones with added ones."""
    for same, stretch in groupby(lines, lambda line: line.mark == " "):
        found = list(stretch)
        if same:
            yield from ((line, line) for line in found)
        else:
            old, new = ([line for line in found if line.mark == mark] for mark in "-+")
            yield from zip_longest(old, new)


def _render_half(line: Line, number: int | None, digits: int, width: int, context: Context) -> list[Text]:
    style = _MARK_STYLES.get(line.mark, "")
    gutter = Text.assemble((f"{number:>{digits}} ", "dim"), (line.mark, style))
    return hang_indent(gutter, context.text(line.text, style), width)


def _pad(text: Text, width: int) -> Text:
    return Text.assemble(text, " " * max(width - cell_len(text.plain), 0))
