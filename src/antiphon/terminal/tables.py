"""Rendering of tables: columns that fit the terminal, aligned by their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from antiphon import views
from antiphon.terminal.layout import Lines, TextRow, hang_indent
from antiphon.terminal.render_context import Context
from antiphon.terminal.theme import ACCENT
from antiphon.terminal.values import format_cell_value
from antiphon.views import CellValue, Column

#: The gap between columns, a column's minimum width, its minimum legible width, and the longest number that
#: is never cut.
_COLUMN_GAP, _MIN_WIDTH, _LEGIBLE_WIDTH, _MAX_NUMBER_WIDTH = 2, 6, 12, 20
#: How many rows are measured to determine a column's width.
_MEASURED_ROWS = 500


@dataclass(slots=True)
class _SizedColumn:
    """A column of a view with its width."""

    place: int
    view: Column
    label: str
    width: int = 0
    least: int = 1
    #: Whether it is too narrow for its values to be legible.
    cut: bool = False


def render_table(view: views.Table, context: Context) -> Lines:
    """Render the columns that fit; if everything is wanted and they do not fit, each row as its fields."""
    columns = [_SizedColumn(place, column, context.line(column.label)) for place, column in enumerate(view.columns)]
    kept = _fit_columns(columns, view, context)
    if context.full and (len(kept) < len(columns) or any(column.cut for column in kept)):
        records = list(_render_records(view, columns, context))
        return Lines(records, len(records) + view.more, at_least=view.more > 0)
    heading = _render_row([(column.label, "bold") for column in kept], kept, context)
    rule = Text(" " * _COLUMN_GAP).join(Text(context.sign("─", "-") * column.width, "dim") for column in kept)
    body = (_render_row([_format_cell(row, column, context) for column in kept], kept, context) for row in view.rows)
    note = _make_dropped_note(columns[len(kept) :], view.more_columns, context)
    heads: list[TextRow] = [note, heading, [rule]] if note else [heading, [rule]]
    # Heading lines are not rows of the table, but count for the total.
    return Lines(chain(heads, body), len(view.rows) + view.more + len(heads), "row")


def _make_dropped_note(columns: list[_SizedColumn], more: int, context: Context) -> list[Text]:
    if not columns and not more:
        return []
    names = ", ".join(column.label for column in columns[:20])
    note = Text(f"+{len(columns) + more:,} columns: {names}", "dim italic")
    return list(note.wrap(context.console, context.width, overflow="fold"))[:2]


def _format_cell(row: tuple[CellValue, ...], column: _SizedColumn, context: Context) -> tuple[str, str]:
    return format_cell_value(row[column.place], column.view.type, context)


def _fit_columns(columns: list[_SizedColumn], view: views.Table, context: Context) -> list[_SizedColumn]:
    """Return the columns that fit, with their widths: the widest shrink first, numbers are never cut."""
    possible = columns[: context.width // (_COLUMN_GAP + 1) + 1]
    for column in possible:
        _measure_column(column, view.rows[: min(_MEASURED_ROWS, context.height)], context)
    while len(possible) > 1 and sum(column.least + _COLUMN_GAP for column in possible) - _COLUMN_GAP > context.width:
        possible = possible[:-1]
    room = context.width - _COLUMN_GAP * (len(possible) - 1)
    limits = range(context.width, 0, -1)
    limit = next((limit for limit in limits if sum(_limit_width(column, limit) for column in possible) <= room), 1)
    for column in possible:
        column.cut = _limit_width(column, limit) < min(column.width, _LEGIBLE_WIDTH)
        column.width = min(_limit_width(column, limit), context.width)
    return possible


def _measure_column(column: _SizedColumn, rows: Sequence[tuple[CellValue, ...]], context: Context) -> None:
    """Set a column's preferred and minimum width."""
    widest = max((cell_len(_format_cell(row, column, context)[0]) for row in rows), default=0)
    column.width = max(1, cell_len(column.label), widest)
    column.least = max(
        min(column.width, _MIN_WIDTH), widest if column.view.is_numeric and widest <= _MAX_NUMBER_WIDTH else 0
    )


def _limit_width(column: _SizedColumn, limit: int) -> int:
    return max(column.least, min(column.width, limit))


def _render_row(cells: Sequence[tuple[str, str]], columns: Sequence[_SizedColumn], context: Context) -> list[Text]:
    """Render a row: one line with long cells cut, or all lines of its cells if everything is wanted."""
    folded = [_fold_cell(text, column.width, context) for (text, _), column in zip(cells, columns, strict=True)]
    lines: list[Text] = []
    for parts in zip_longest(*folded, fillvalue=""):
        line = Text()
        for number, (part, column) in enumerate(zip(parts, columns, strict=True)):
            line.append(" " * _COLUMN_GAP if number else "")
            line.append(_align_cell(part, column), cells[number][1])
        line.rstrip()
        lines.append(line)
    return lines


def _fold_cell(text: str, width: int, context: Context) -> list[str]:
    if cell_len(text) <= width:
        return [text]
    if context.full:
        return [line.plain.rstrip() for line in Text(text).wrap(context.console, width, overflow="fold")]
    return [set_cell_size(text, max(width - 1, 0)) + context.sign("…", "~")]


def _align_cell(text: str, column: _SizedColumn) -> str:
    space = max(column.width - cell_len(text), 0)
    before = {"right": space, "center": space // 2}.get(column.view.align, 0)
    return " " * before + text + " " * (space - before)


def _render_records(view: views.Table, columns: list[_SizedColumn], context: Context) -> Iterator[TextRow]:
    """Yield each row as a list of its fields, for tables with too many columns for the terminal."""
    for number, row in enumerate(view.rows, view.start + 1):
        yield Text(f"{context.sign('─', '-')} {number:,}", "dim")
        for column in columns:
            if row[column.place] is not None:
                text, style = _format_cell(row, column, context)
                yield hang_indent(
                    Text(f"{column.label[: context.width // 3]}: ", ACCENT), Text(text, style), context.width
                )
