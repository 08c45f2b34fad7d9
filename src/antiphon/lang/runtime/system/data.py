"""`system/data`: parse and format CSV, JSON lines, YAML and TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any, cast

from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.inputs import InputMismatch, parse_text_input
from antiphon.lang.runtime.system import SystemFunction
from antiphon.lang.runtime.type_conversion import describe_mismatch
from antiphon.lang.runtime.values import from_python, get_kind_name, parse_json, to_json_text, to_text
from antiphon.lang.typecheck import types as t

# CSV


def _parse_csv(source: str, *rest: Any) -> list[Any]:
    *given, wanted = rest
    rows = _read_rows(source, given[0] if given else ",")
    row_type = wanted.item if isinstance(wanted := t.strip_ai_result(wanted), t.Array) else t.JSON
    if isinstance(row_type, t.Array):
        return [
            [_convert_cell(cell, str(at + 1), row_type.item, line) for at, cell in enumerate(row)] for line, row in rows
        ]
    if not rows:
        return []
    (_, names), *records = rows
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise VibeError("V0943", f"the CSV has two columns named {to_json_text(twice)}")
    return [_make_record(names, row, row_type, line) for line, row in records]


def _read_rows(source: str, separator: str) -> list[tuple[int, list[str]]]:
    """Return the rows with their line numbers, without empty lines."""
    import csv
    import io

    _check_separator(separator)
    csv.field_size_limit(1 << 31)
    text = io.StringIO(source.removeprefix("\ufeff"), newline="")
    reader = csv.reader(text, delimiter=separator, strict=True)
    try:
        return [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise VibeError("V0943", f"this is not CSV: line {reader.line_num}: {error}") from None


def _make_record(names: list[str], row: list[str], type_: t.Type, line: int) -> dict[str, Any]:
    if len(row) != len(names):
        hint = 'is the separator another one? `parseCsv(text, ";")`' if len(names) == 1 or len(row) == 1 else ""
        raise VibeError("V0943", f"line {line} of the CSV has {len(row)} cells, and its first {len(names)}", hint)
    pairs = zip(names, row, strict=True)
    if isinstance(type_, t.Map):
        return {name: _convert_cell(cell, name, type_.value, line) for name, cell in pairs}
    if not isinstance(type_, t.Object):
        return dict(pairs)
    fields = {name: (type_.fields.get(name), cell) for name, cell in pairs}
    out = {
        name: cell if each is None else _convert_cell(cell, name, each.type, line)
        for name, (each, cell) in fields.items()
        if each is None or not each.optional or cell
    }
    if fault := describe_mismatch(out, type_, ""):
        raise VibeError("V0943", f"line {line} of the CSV: {fault}", f"its columns are {', '.join(names[:12])}")
    return out


def _convert_cell(cell: str, name: str, wanted: t.Type, line: int) -> Any:
    if wanted in (t.TEXT, t.JSON):
        return cell
    try:
        return parse_text_input(name, wanted, cell)
    except InputMismatch as wrong:
        raise VibeError("V0943", f"line {line} of the CSV: {wrong}") from None


def _to_csv(rows: Any, separator: str = ",") -> str:
    _check_separator(separator)
    rows = _require_rows(rows, "toCsv")
    names = list(dict.fromkeys(name for row in rows if isinstance(row, dict) for name in cast(dict[str, Any], row)))
    lines: list[list[Any]] = [names] if names else []
    for row in rows:
        if not isinstance(row, list | dict) or (isinstance(row, list) and names):
            raise VibeError("V0943", "the rows of a CSV are all objects, or all arrays")
        lines.append(_list_cells(cast(Any, row), names))
    return "".join(f"{separator.join(_quote_cell(cell, separator, len(line)) for cell in line)}\n" for line in lines)


def _list_cells(row: dict[str, Any] | list[Any], names: list[str]) -> list[Any]:
    return [row.get(name) for name in names] if isinstance(row, dict) else row


def _quote_cell(value: Any, separator: str, cells: int) -> str:
    cell = "" if value is None else to_text(value)
    # An unquoted line of one empty cell would be read as no row.
    if any(sign in cell for sign in (separator, '"', "\r", "\n")) or (not cell and cells == 1):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _check_separator(separator: str) -> None:
    if len(separator) != 1 or separator in '"\r\n':
        raise VibeError("V0943", f"the separator of a CSV is one character, not {to_json_text(separator)}")


# JSON lines


def _parse_json_lines(source: str, wanted: t.Type) -> list[Any]:
    row_type = wanted.item if isinstance(wanted := t.strip_ai_result(wanted), t.Array) else t.JSON
    lines = enumerate(source.removeprefix("\ufeff").split("\n"), 1)
    return [_parse_json_line(line, number, row_type) for number, line in lines if line.strip()]


def _parse_json_line(line: str, number: int, wanted: t.Type) -> Any:
    try:
        value = parse_json(line)
    except VibeError as error:
        raise VibeError("V0943", f"line {number} of the JSON lines: {error.message}") from None
    if wanted != t.JSON and (fault := describe_mismatch(value, wanted, "")):
        raise VibeError("V0943", f"line {number} of the JSON lines: {fault}")
    return value


def _to_json_lines(rows: Any) -> str:
    return "".join(f"{to_json_text(row)}\n" for row in _require_rows(rows, "toJsonLines"))


def _require_rows(rows: Any, name: str) -> list[Any]:
    if not isinstance(rows, list):
        raise VibeError("V0902", f"`{name}` needs an array of rows, not {get_kind_name(rows)}")
    return cast(list[Any], rows)


# TOML and YAML


def _parse_toml(source: str, _: t.Type) -> Any:
    import tomllib

    try:
        return _normalize_value(tomllib.loads(source.removeprefix("\ufeff")))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise VibeError("V0943", f"this is not TOML: {error}") from None


def _parse_yaml(source: str, _: t.Type) -> Any:
    yaml = _import_yaml("parseYaml")
    try:
        return from_python(_normalize_value(yaml.load(source, Loader=_make_yaml_loader(yaml))), "the YAML")
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise VibeError("V0943", f"this is not YAML: {' '.join(str(error).split())}") from None


def _to_yaml(value: Any) -> str:
    # Through JSON, so that values without a YAML form are formatted as `toJson` does.
    return _import_yaml("toYaml").safe_dump(json.loads(to_json_text(value)), allow_unicode=True, sort_keys=False)


def _import_yaml(name: str) -> Any:
    try:
        import yaml
    except ImportError as error:
        from antiphon._base.optional_deps import describe_missing_extra

        raise VibeError("V0943", describe_missing_extra(f"`{name}` needs", "yaml", error)) from None
    return yaml


def _make_yaml_loader(yaml: Any) -> Any:
    """Return a loader that makes only plain values and rejects duplicate keys."""

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        pass

    def mapping(loader: Any, node: Any) -> Any:
        seen: set[str] = set()
        for key, _ in node.value:
            # Merged keys may be overridden.
            name = repr(loader.construct_object(key, deep=True)) if key.tag != "tag:yaml.org,2002:merge" else ""
            if name and name in seen:
                raise ValueError(f"the key {name} is there twice, in line {key.start_mark.line + 1}")
            seen.add(name)
        loader.flatten_mapping(node)
        return loader.construct_mapping(node, deep=True)

    Loader.add_constructor("tag:yaml.org,2002:map", mapping)
    return Loader


def _normalize_value(value: Any) -> Any:
    """Return a parsed value with dates and times as ISO 8601 text; reject infinity and NaN."""
    if isinstance(value, float) and value - value != 0:
        raise VibeError("V0943", f"`{value}` is not a number here")
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: _normalize_value(each) for key, each in cast(Mapping[Any, Any], value).items()}
    return [_normalize_value(each) for each in cast(list[Any], value)] if isinstance(value, list) else value


_TEXT = {"text": t.TEXT}
#: `json`, because a mutable array type accepts no other array type.
_ROWS = {"rows": t.JSON}
_SEPARATOR = {"separator": t.TEXT}
FUNCTIONS = {
    "parseCsv": SystemFunction(
        "The rows of a CSV by the names in its first line; cells are text, or of the declared type. "
        "Declared as `text[][]`, all lines are rows.",
        _parse_csv,
        {**_TEXT, **_SEPARATOR},
        t.Array(t.JSON),
        1,
        gives="wanted",
    ),
    "toCsv": SystemFunction(
        "Rows as CSV: objects with a line of names before them, or arrays.", _to_csv, {**_ROWS, **_SEPARATOR}, t.TEXT, 1
    ),
    "parseJsonLines": SystemFunction(
        "The values of a text with JSON in each line.", _parse_json_lines, _TEXT, t.Array(t.JSON), gives="wanted"
    ),
    "toJsonLines": SystemFunction("Values as JSON, one in each line.", _to_json_lines, _ROWS, t.TEXT),
    "parseYaml": SystemFunction(
        "The value of a YAML text; dates are text.", _parse_yaml, _TEXT, t.JSON, gives="wanted"
    ),
    "toYaml": SystemFunction("A value as YAML.", _to_yaml, {"value": t.JSON}, t.TEXT),
    "parseToml": SystemFunction(
        "The value of a TOML text; dates are text.", _parse_toml, _TEXT, t.JSON, gives="wanted"
    ),
}
