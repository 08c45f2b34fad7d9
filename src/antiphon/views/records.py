"""Rows of fields: tables, directories, and what git says of a working tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Any, cast

from antiphon.results import Result
from antiphon.results.face import objects
from antiphon.results.result import FIELD_TYPES
from antiphon.views.data import Align, Changed, Column, Entry, Files, FileState, FileType, Status, Table
from antiphon.views.fields import Unfit, count_of, list_of, object_of, text_of
from antiphon.views.part import Part, piece

#: Rows that speak for the rest: what fields there are, and whether they are numbers.
_FIRST = 100
#: Columns that a view has at most, and the fewest characters that one gets of a row.
_COLUMNS, _LEAST = 1000, 20
_ALIGNS: dict[str, Align] = {"left": "left", "center": "center", "right": "right"}
_STATES: tuple[FileState, ...] = ("staged", "modified", "conflicted", "untracked")
_TYPES: dict[str, FileType] = {"file": "file", "directory": "directory", "symlink": "symlink"}

Fields = dict[str, Any]


def table(result: Result, part: Part) -> Table:
    """A table with typed, aligned, sortable columns."""
    data = object_of(result.data, "a table")
    rows = _rows(list_of(data, "rows", "a table"))
    return _table(rows, _defined(data.get("columns")) or _found(rows), result.display.field_types, part)


def any_table(result: Result, part: Part) -> Table:
    """A list of objects as a table, or data that has the shape of a table."""
    if isinstance(result.data, dict):
        return table(result, part)
    if not is_tabular(result.data):
        raise Unfit("a table is a list of objects")
    rows = _rows(result.data)
    return _table(rows, _found(rows), result.display.field_types, part)


def is_tabular(data: object) -> bool:
    """Whether data is a list of objects; of long ones, the first rows speak for the rest."""
    rows = cast(list[Any], data) if isinstance(data, list) else []
    return bool(rows) and all(isinstance(row, dict) for row in rows[:_FIRST])


def _rows(rows: list[Any]) -> list[Fields]:
    if not all(isinstance(row, dict) for row in rows):
        raise Unfit("the rows of a table are objects")
    return rows


def _defined(given: object) -> list[Fields]:
    return [column for column in objects(given) if isinstance(column.get("key"), str)]


def _found(rows: list[Fields]) -> list[Fields]:
    return [{"key": key} for key in dict.fromkeys(key for row in rows[:_FIRST] for key in row)]


def _table(rows: list[Fields], defined: list[Fields], types: Mapping[str, str], part: Part) -> Table:
    if not defined:
        raise Unfit("a table has columns")
    kept = defined[:_COLUMNS]
    columns = tuple(_column(each, rows[:_FIRST], types) for each in kept)
    # The cells of a row share the characters that a row may have.
    each = replace(part, characters=max(part.characters // len(kept), min(part.characters, _LEAST)))
    cells = tuple(tuple(each.cell(row.get(column["key"])) for column in kept) for row in part.of(rows))
    return Table(columns, cells, len(defined) - len(kept), part.start, part.more(len(rows)))


def _column(definition: Fields, rows: list[Fields], types: Mapping[str, str]) -> Column:
    key = definition["key"]
    kind = text_of(definition, "type") or types.get(key, "")
    kind = kind if kind in FIELD_TYPES else ""
    values = [value for row in rows if (value := row.get(key)) is not None]
    numeric = bool(values) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    align = _ALIGNS.get(text_of(definition, "align"), "right" if numeric or kind == "number" else "left")
    return Column(piece(key), piece(text_of(definition, "label") or key), kind, align, numeric)


def file_list(result: Result, part: Part) -> Files:
    """The entries, directories first, with size and date."""
    data = object_of(result.data, "a directory")
    given = list_of(data, "entries", "a directory")
    first = (each for each in given if _is_directory(each))
    others = (each for each in given if not _is_directory(each))
    seen = islice(chain(first, others), part.start, part.start + part.rows)
    entries = tuple(_entry(each, part) for each in seen)
    path, whole = piece(text_of(data, "path")), not data.get("truncated")
    return Files(path, entries, whole, part.start, part.more(len(given)))


def _is_directory(entry: Any) -> bool:
    return isinstance(entry, dict) and cast(Fields, entry).get("type") == "directory"


def _entry(given: object, part: Part) -> Entry:
    if not isinstance(given, dict):
        return Entry(part.piece(str(given)))
    fields = cast(Fields, given)
    size = fields.get("size")
    counted = size if isinstance(size, int | float) and not isinstance(size, bool) else None
    kind = _TYPES.get(text_of(fields, "type"), "")
    return Entry(part.piece(text_of(fields, "name")), kind, counted, part.cell(fields.get("modified")))


def git_status(result: Result, part: Part) -> Status:
    """The branch with how far it is ahead and behind, then the files of each group."""
    data = object_of(result.data, "a git status")
    groups: dict[FileState, list[str]] = {state: _paths(data, state) for state in _STATES}
    # Files in conflict are among the modified ones, too.
    conflicted = set(groups["conflicted"])
    groups["modified"] = [path for path in groups["modified"] if path not in conflicted]
    files = (Changed(state, part.piece(path)) for state, paths in groups.items() for path in paths)
    return Status(
        piece(text_of(data, "branch")),
        count_of(data, "ahead"),
        count_of(data, "behind"),
        tuple(islice(files, part.start, part.start + part.rows)),
        not data.get("truncated"),
        part.start,
        part.more(sum(map(len, groups.values()))),
    )


def _paths(data: Fields, name: str) -> list[str]:
    paths: object = data.get(name)
    return [str(path) for path in cast(list[Any], paths)] if isinstance(paths, list) else []
