"""Tabular views: tables, directories, and git status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Any, cast

from antiphon.results import Result
from antiphon.results.model_text import filter_objects
from antiphon.results.result import FIELD_TYPES
from antiphon.views.data_window import Window, truncate_text
from antiphon.views.types import Changed, Column, ColumnAlign, Entry, Files, FileState, FileType, Status, Table
from antiphon.views.validated_fields import InvalidField, find_text, read_count, require_list, require_object_data

#: How many rows are sampled to find the fields, and whether they are numbers.
_SAMPLE_ROWS = 100
#: Maximum columns of a view, and minimum characters of a cell.
_MAX_COLUMNS, _MIN_CELL_CHARACTERS = 1000, 20
_ALIGNS: dict[str, ColumnAlign] = {"left": "left", "center": "center", "right": "right"}
_FILE_STATES: tuple[FileState, ...] = ("staged", "modified", "conflicted", "untracked")
_FILE_TYPES: dict[str, FileType] = {"file": "file", "directory": "directory", "symlink": "symlink"}

RowFields = dict[str, Any]


def build_table_body(result: Result, part: Window) -> Table:
    """A table with typed, aligned, sortable columns."""
    data = require_object_data(result.data, "a table")
    rows = _check_rows(require_list(data, "rows", "a table"))
    defined = [column for column in filter_objects(data.get("columns")) if isinstance(column.get("key"), str)]
    return _build_table(rows, defined or _infer_columns(rows), result.display.field_types, part)


def build_any_table_body(result: Result, part: Window) -> Table:
    """Build a table from a list of objects, or from data in the form of a table."""
    if isinstance(result.data, dict):
        return build_table_body(result, part)
    if not is_tabular(result.data):
        raise InvalidField("a table is a list of objects")
    rows = _check_rows(result.data)
    return _build_table(rows, _infer_columns(rows), result.display.field_types, part)


def is_tabular(data: object) -> bool:
    """Return whether data is a list of objects; of a long list only the first rows are checked."""
    rows = cast(list[Any], data) if isinstance(data, list) else []
    return bool(rows) and all(isinstance(row, dict) for row in rows[:_SAMPLE_ROWS])


def _check_rows(rows: list[Any]) -> list[RowFields]:
    if not all(isinstance(row, dict) for row in rows):
        raise InvalidField("the rows of a table are objects")
    return rows


def _infer_columns(rows: list[RowFields]) -> list[RowFields]:
    return [{"key": key} for key in dict.fromkeys(key for row in rows[:_SAMPLE_ROWS] for key in row)]


def _build_table(rows: list[RowFields], defined: list[RowFields], types: Mapping[str, str], part: Window) -> Table:
    if not defined:
        raise InvalidField("a table has columns")
    kept = defined[:_MAX_COLUMNS]
    columns = tuple(_build_column(each, rows[:_SAMPLE_ROWS], types) for each in kept)
    # The cells of a row share the characters that a row may have.
    each = replace(part, characters=max(part.characters // len(kept), min(part.characters, _MIN_CELL_CHARACTERS)))
    cells = tuple(tuple(each.cell(row.get(column["key"])) for column in kept) for row in part.of(rows))
    return Table(columns, cells, len(defined) - len(kept), part.start, part.more(len(rows)))


def _build_column(definition: RowFields, rows: list[RowFields], types: Mapping[str, str]) -> Column:
    key = definition["key"]
    kind = find_text(definition, "type") or types.get(key, "")
    kind = kind if kind in FIELD_TYPES else ""
    values = [value for row in rows if (value := row.get(key)) is not None]
    numeric = bool(values) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    align = _ALIGNS.get(find_text(definition, "align"), "right" if numeric or kind == "number" else "left")
    return Column(truncate_text(key), truncate_text(find_text(definition, "label") or key), kind, align, numeric)


def build_file_list_body(result: Result, part: Window) -> Files:
    """The entries, directories first, with size and date."""
    data = require_object_data(result.data, "a directory")
    given = require_list(data, "entries", "a directory")
    first = (each for each in given if _is_directory(each))
    others = (each for each in given if not _is_directory(each))
    seen = islice(chain(first, others), part.start, part.start + part.rows)
    entries = tuple(_build_entry(each, part) for each in seen)
    path, whole = truncate_text(find_text(data, "path")), not data.get("truncated")
    return Files(path, entries, whole, part.start, part.more(len(given)))


def _is_directory(entry: Any) -> bool:
    return isinstance(entry, dict) and cast(RowFields, entry).get("type") == "directory"


def _build_entry(given: object, part: Window) -> Entry:
    if not isinstance(given, dict):
        return Entry(part.piece(str(given)))
    fields = cast(RowFields, given)
    size = fields.get("size")
    counted = size if isinstance(size, int | float) and not isinstance(size, bool) else None
    kind = _FILE_TYPES.get(find_text(fields, "type"), "")
    return Entry(part.piece(find_text(fields, "name")), kind, counted, part.cell(fields.get("modified")))


def build_git_status_body(result: Result, part: Window) -> Status:
    """The branch with how far it is ahead and behind, then the files of each group."""
    data = require_object_data(result.data, "a git status")
    groups: dict[FileState, list[str]] = {state: _read_paths(data, state) for state in _FILE_STATES}
    # Files in conflict are among the modified ones, too.
    conflicted = set(groups["conflicted"])
    groups["modified"] = [path for path in groups["modified"] if path not in conflicted]
    files = (Changed(state, part.piece(path)) for state, paths in groups.items() for path in paths)
    return Status(
        truncate_text(find_text(data, "branch")),
        read_count(data, "ahead"),
        read_count(data, "behind"),
        tuple(islice(files, part.start, part.start + part.rows)),
        not data.get("truncated"),
        part.start,
        part.more(sum(map(len, groups.values()))),
    )


def _read_paths(data: RowFields, name: str) -> list[str]:
    paths: object = data.get(name)
    return [str(path) for path in cast(list[Any], paths)] if isinstance(paths, list) else []
