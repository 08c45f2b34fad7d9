"""Tables: columns that fit the terminal, aligned by what is in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from antiphon import views
from antiphon.render.context import Context
from antiphon.render.layout import Lines, Row, hang
from antiphon.render.style import ACCENT
from antiphon.render.values import formatted
from antiphon.views import Cell, Column

#: Between columns, the least a column needs, what it needs to be read when it is folded, and the longest number that
#: is never cut.
_GAP, _LEAST, _LEGIBLE, _NUMBER = 2, 6, 12, 20
#: Rows that are looked at to find out how wide a column is.
_MEASURED = 500


@dataclass(slots=True)
class _Column:
    """A column of a view with the room it gets."""

    place: int
    view: Column
    label: str
    width: int = 0
    least: int = 1
    #: Whether it is so narrow that its values cannot be read any more.
    cut: bool = False


def table(view: views.Table, context: Context) -> Lines:
    """The columns that have room, or when everything is wanted and there is none, every row as its fields."""
    columns = [_Column(place, column, context.line(column.label)) for place, column in enumerate(view.columns)]
    kept = _widths(columns, view, context)
    if context.full and (len(kept) < len(columns) or any(column.cut for column in kept)):
        records = list(_records(view, columns, context))
        return Lines(records, len(records) + view.more, at_least=view.more > 0)
    heading = _line([(column.label, "bold") for column in kept], kept, context)
    rule = Text(" " * _GAP).join(Text(context.sign("─", "-") * column.width, "dim") for column in kept)
    body = (_line([_cell(row, column, context) for column in kept], kept, context) for row in view.rows)
    note = _dropped(columns[len(kept) :], view.more_columns, context)
    heads: list[Row] = [note, heading, [rule]] if note else [heading, [rule]]
    # The heading does not count as rows of the table: the note is about those.
    return Lines(chain(heads, body), len(view.rows) + view.more + len(heads), "row")


def _dropped(columns: list[_Column], more: int, context: Context) -> list[Text]:
    if not columns and not more:
        return []
    names = ", ".join(column.label for column in columns[:20])
    note = Text(f"+{len(columns) + more:,} columns: {names}", "dim italic")
    return list(note.wrap(context.console, context.width, overflow="fold"))[:2]


def _cell(row: tuple[Cell, ...], column: _Column, context: Context) -> tuple[str, str]:
    return formatted(row[column.place], column.view.type, context)


def _widths(columns: list[_Column], view: views.Table, context: Context) -> list[_Column]:
    """The columns that have room, with their widths: the widest give way first, numbers stay whole."""
    possible = columns[: context.width // (_GAP + 1) + 1]
    for column in possible:
        _measure(column, view.rows[: min(_MEASURED, context.height)], context)
    while len(possible) > 1 and sum(column.least + _GAP for column in possible) - _GAP > context.width:
        possible = possible[:-1]
    room = context.width - _GAP * (len(possible) - 1)
    limits = range(context.width, 0, -1)
    limit = next((limit for limit in limits if sum(_cut(column, limit) for column in possible) <= room), 1)
    for column in possible:
        column.cut = _cut(column, limit) < min(column.width, _LEGIBLE)
        column.width = min(_cut(column, limit), context.width)
    return possible


def _measure(column: _Column, rows: Sequence[tuple[Cell, ...]], context: Context) -> None:
    """How wide a column would like to be, and how narrow it may become."""
    widest = max((cell_len(_cell(row, column, context)[0]) for row in rows), default=0)
    column.width = max(1, cell_len(column.label), widest)
    column.least = max(min(column.width, _LEAST), widest if column.view.is_numeric and widest <= _NUMBER else 0)


def _cut(column: _Column, limit: int) -> int:
    return max(column.least, min(column.width, limit))


def _line(cells: Sequence[tuple[str, str]], columns: Sequence[_Column], context: Context) -> list[Text]:
    """A row: one line with long cells cut, or when everything is wanted, as many as the longest cell takes."""
    folded = [_folded(text, column.width, context) for (text, _), column in zip(cells, columns, strict=True)]
    lines: list[Text] = []
    for parts in zip_longest(*folded, fillvalue=""):
        line = Text()
        for number, (part, column) in enumerate(zip(parts, columns, strict=True)):
            line.append(" " * _GAP if number else "")
            line.append(_aligned(part, column), cells[number][1])
        line.rstrip()
        lines.append(line)
    return lines


def _folded(text: str, width: int, context: Context) -> list[str]:
    if cell_len(text) <= width:
        return [text]
    if context.full:
        return [line.plain.rstrip() for line in Text(text).wrap(context.console, width, overflow="fold")]
    return [set_cell_size(text, max(width - 1, 0)) + context.sign("…", "~")]


def _aligned(text: str, column: _Column) -> str:
    space = max(column.width - cell_len(text), 0)
    if column.view.align == "right":
        return " " * space + text
    return (
        " " * (space // 2) + text + " " * (space - space // 2) if column.view.align == "center" else text + " " * space
    )


def _records(view: views.Table, columns: list[_Column], context: Context) -> Iterator[Row]:
    """Every row as a list of its fields: for tables with more columns than the terminal has room for."""
    for number, row in enumerate(view.rows, view.start + 1):
        yield Text(f"{context.sign('─', '-')} {number:,}", "dim")
        for column in columns:
            if row[column.place] is not None:
                text, style = _cell(row, column, context)
                yield hang(Text(f"{column.label[: context.width // 3]}: ", ACCENT), Text(text, style), context.width)
