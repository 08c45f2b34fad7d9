"""Tables: columns that fit the terminal, aligned by what is in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any, cast

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from antiphon.render.context import Context
from antiphon.render.layout import Lines, Row, hang
from antiphon.render.registry import Unfit, register_renderer
from antiphon.render.values import formatted, list_of, object_of, text_of
from antiphon.results import Result

#: Between columns, the least a column needs, what it needs to be read when it is folded, and the longest number that
#: is never cut.
_GAP, _LEAST, _LEGIBLE, _NUMBER = 2, 6, 12, 20
#: Rows that are looked at to find out how wide a column is.
_MEASURED = 500


@dataclass(slots=True)
class Column:
    """A column: where its values are, what it is called, how it is set."""

    key: str
    label: str
    type: str
    align: str
    width: int = 0
    least: int = 1
    #: Whether it is so narrow that its values cannot be read any more.
    cut: bool = False


@register_renderer("table", page="A table with typed, aligned, sortable columns.")
def show_table(result: Result, context: Context) -> Lines:
    """A `table` by its columns; without any, the fields of the first rows are the columns."""
    data = object_of(result.data, "a table")
    rows = _objects(list_of(data, "rows", "a table"))
    defined = _objects(data["columns"]) if isinstance(data.get("columns"), list) else []
    columns = [_column(definition, context) for definition in defined[:1000] if isinstance(definition.get("key"), str)]
    return _table(rows, columns or _found(rows, context), context)


def table(data: object, context: Context) -> Lines:
    """A list of objects as a table, or data that has the shape of a table."""
    if isinstance(data, dict):
        fields = cast(dict[str, Any], data)
        return show_table(Result("table", fields), context)
    if not is_tabular(data):
        raise Unfit("a table is a list of objects")
    rows = _objects(cast(list[Any], data))
    return _table(rows, _found(rows, context), context)


def is_tabular(data: object) -> bool:
    """Whether data is a list of objects; of long ones, the first rows speak for the rest."""
    rows = cast(list[Any], data) if isinstance(data, list) else []
    return bool(rows) and all(isinstance(row, dict) for row in rows[:100])


def _objects(values: object) -> list[dict[str, Any]]:
    return [cast(dict[str, Any], value) for value in cast(list[Any], values) if isinstance(value, dict)]


def _column(definition: dict[str, Any], context: Context) -> Column:
    key = definition["key"]
    kind = text_of(definition, "type") or context.field_types.get(key, "")
    label = context.line(text_of(definition, "label") or key, 200)
    return Column(key, label, kind, text_of(definition, "align"))


def _found(rows: list[dict[str, Any]], context: Context) -> list[Column]:
    keys = dict.fromkeys(key for row in rows[:100] for key in list(row)[:1000])
    return [_column({"key": key}, context) for key in keys]


def _table(rows: list[dict[str, Any]], columns: list[Column], context: Context) -> Lines:
    if not columns:
        raise Unfit("a table has columns")
    kept = _widths(columns, rows, context)
    if context.full and (len(kept) < len(columns) or any(column.cut for column in kept)):
        return Lines(_records(rows, columns, context))
    heading = _line([(column.label, "bold") for column in kept], kept, context)
    rule = Text(" " * _GAP).join(Text(context.sign("─", "-") * column.width, "dim") for column in kept)
    body = (_line([_cell(row, column, context) for column in kept], kept, context) for row in rows)
    dropped = columns[len(kept) :]
    names = ", ".join(column.label for column in dropped[:20])
    note = Text(f"+{len(dropped):,} columns: {names}", "dim italic")
    more = list(note.wrap(context.console, context.width, overflow="fold"))[:2] if dropped else []
    heads: list[Row] = [more, heading, [rule]] if more else [heading, [rule]]
    # The heading does not count as rows of the table: the note is about those.
    return Lines(chain(heads, body), len(rows) + len(heads), "row")


def _cell(row: dict[str, Any], column: Column, context: Context) -> tuple[str, str]:
    return formatted(row.get(column.key), column.type, context)


def _widths(columns: list[Column], rows: list[dict[str, Any]], context: Context) -> list[Column]:
    """The columns that have room, with their widths: the widest give way first, numbers stay whole."""
    possible = columns[: context.width // (_GAP + 1) + 1]
    for column in possible:
        _measure(column, [row.get(column.key) for row in rows[: min(_MEASURED, context.height)]], context)
    while len(possible) > 1 and sum(column.least + _GAP for column in possible) - _GAP > context.width:
        possible = possible[:-1]
    room = context.width - _GAP * (len(possible) - 1)
    limits = range(context.width, 0, -1)
    limit = next((limit for limit in limits if sum(_cut(column, limit) for column in possible) <= room), 1)
    for column in possible:
        column.cut = _cut(column, limit) < min(column.width, _LEGIBLE)
        column.width = min(_cut(column, limit), context.width)
    return possible


def _measure(column: Column, cells: list[Any], context: Context) -> None:
    """How wide a column would like to be, and how narrow it may become."""
    widest = max((cell_len(formatted(cell, column.type, context)[0]) for cell in cells), default=0)
    numbers = [cell for cell in cells if isinstance(cell, int | float) and not isinstance(cell, bool)]
    numeric = bool(numbers) and len(numbers) == sum(cell is not None for cell in cells)
    column.align = column.align or ("right" if numeric or column.type == "number" else "left")
    column.width = max(1, cell_len(column.label), widest)
    column.least = max(min(column.width, _LEAST), widest if numeric and widest <= _NUMBER else 0)


def _cut(column: Column, limit: int) -> int:
    return max(column.least, min(column.width, limit))


def _line(cells: Sequence[tuple[str, str]], columns: Sequence[Column], context: Context) -> list[Text]:
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


def _aligned(text: str, column: Column) -> str:
    space = max(column.width - cell_len(text), 0)
    if column.align == "right":
        return " " * space + text
    return " " * (space // 2) + text + " " * (space - space // 2) if column.align == "center" else text + " " * space


def _records(rows: list[dict[str, Any]], columns: list[Column], context: Context) -> Iterator[Row]:
    """Every row as a list of its fields: for tables with more columns than the terminal has room for."""
    for number, row in enumerate(rows, 1):
        yield Text(f"{context.sign('─', '-')} {number:,}", "dim")
        for column in columns:
            if row.get(column.key) is not None:
                text, style = _cell(row, column, context)
                yield hang(Text(f"{column.label[: context.width // 3]}: ", "bold"), Text(text, style), context.width)
