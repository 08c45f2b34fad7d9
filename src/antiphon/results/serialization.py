"""Results as JSON: one schema is written; its snake_case spelling and older flat shapes are read as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, cast

from antiphon.errors import ContentError, FormatError
from antiphon.results.nested import DataPath, iter_nested_results
from antiphon.results.plain_json import MAX_DEPTH, MAX_NESTED_LEVELS, to_plain_json
from antiphon.results.result import AUDIENCES, FIELD_TYPES, KIND, VIEWS, Display, Location, Result

_RESULT_FIELDS = ("kind", "data", "summary", "mime_type", "display", "title", "locations", "audience", "nested")
#: Names of two words, in JSON and in Python.
_CAMEL_TO_SNAKE = {
    "mimeType": "mime_type",
    "preferredView": "preferred_view",
    "maxHeight": "max_height",
    "fieldTypes": "field_types",
}
_SNAKE_TO_CAMEL = {ours: json for json, ours in _CAMEL_TO_SNAKE.items()}


def semantic_result_to_json(result: Result) -> dict[str, Any]:
    """Return the result as JSON data without empty fields."""
    hints = {f.name: getattr(result.display, f.name) for f in fields(Display)}
    locations = [{"path": at.path} | ({"line": at.line} if at.line is not None else {}) for at in result.locations]
    data: dict[str, Any] = {"kind": result.kind, "data": to_plain_json(result.data)}
    more = {
        "summary": result.summary,
        "mimeType": result.mime_type,
        "display": {
            _SNAKE_TO_CAMEL.get(name, name): hint for name, hint in hints.items() if hint not in (None, "", {})
        },
        "title": result.title,
        "locations": locations,
        "audience": list(result.audience),
        "nested": [_format_pointer(path) for path, _ in iter_nested_results(result.data)],
    }
    return data | {name: value for name, value in more.items() if value}


def semantic_result_from_json(given: object, levels: int = MAX_NESTED_LEVELS - 1) -> Result:
    """Read a result, with nested results up to `levels` deep. Raise a FormatError if it is invalid."""
    top = _require_object(given, "a result")
    top = {_CAMEL_TO_SNAKE.get(key, key): value for key, value in top.items()}
    kind = top.get("kind")
    if not isinstance(kind, str) or not KIND.match(kind):
        raise FormatError(f"a result has a `kind` such as 'table' or 'git.status', not {kind!r}")
    if "data" not in top:
        top = _lift_flat_fields(top, kind)
    places = {place for place in _get_list(top, "nested") if isinstance(place, str)} if levels else set[str]()
    try:
        return Result(
            "structured" if kind == "json" else kind,
            _revive_nested(top["data"], (), places, levels) if places else top["data"],
            _get_text(top, "summary"),
            _get_text(top, "mime_type"),
            _parse_display(top.get("display")),
            _get_text(top, "title"),
            tuple(_parse_location(item) for item in _get_list(top, "locations")),
            tuple(_get_list(top, "audience")),
        )
    except ContentError as error:
        raise FormatError(str(error)) from None


# Nested results. `nested` lists their positions, so that no other data is mistaken
# for one.


def _format_pointer(path: DataPath) -> str:
    """Return a path as a JSON Pointer (RFC 6901)."""
    return "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in path)


def _revive_nested(value: Any, path: DataPath, places: set[str], levels: int) -> Any:
    if _format_pointer(path) in places:
        return semantic_result_from_json(value, levels - 1)
    if isinstance(value, dict) and len(path) < MAX_DEPTH:
        pairs = cast(dict[str, Any], value).items()
        return {key: _revive_nested(inner, (*path, key), places, levels) for key, inner in pairs}
    if isinstance(value, list) and len(path) < MAX_DEPTH:
        return [
            _revive_nested(inner, (*path, place), places, levels) for place, inner in enumerate(cast(list[Any], value))
        ]
    return cast(Any, value)


# The older flat shapes had the fields of `data` next to `kind`. Only a kind that used this shape, with the fields
# it had, is converted; anything else with a `kind` is arbitrary user data.


def _lift_flat_fields(flat: dict[str, Any], kind: str) -> dict[str, Any]:
    own = {key: value for key, value in flat.items() if key in _RESULT_FIELDS}
    data = {key: value for key, value in flat.items() if key not in _RESULT_FIELDS}
    if not data and len(own) > 1:
        return own | {"data": None}
    wanted = _FLAT_FIELDS.get(kind, {})
    if not wanted or not all(name in data and isinstance(data[name], type_) for name, type_ in wanted.items()):
        raise FormatError(f"a result of kind {kind!r} has its fields in `data`; this one has no `data`")
    return own | {"data": _FLAT_CONVERTERS[kind](data) if kind in _FLAT_CONVERTERS else data}


def _convert_flat_file_list(data: dict[str, Any]) -> dict[str, Any]:
    """Convert a directory whose entries were only names, where a trailing slash marked a directory."""
    names = [str(name) for name in data.pop("files")]
    entries = [{"name": name} | ({"type": "directory"} if name.endswith("/") else {}) for name in names]
    for entry in entries:
        entry["name"] = entry["name"].rstrip("/") or "/"
    cut = isinstance(data.get("count"), int) and data["count"] > len(names)
    return data | {"entries": entries} | ({"truncated": True} if cut else {})


_FLAT_FIELDS: dict[str, dict[str, type]] = {
    "text": {"content": str},
    "diff": {"path": str, "modified": str},
    "file_content": {"path": str, "content": str},
    "file_list": {"path": str, "files": list},
    "json": {"value": object},
    "table": {"columns": list, "rows": list},
}
_FLAT_CONVERTERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "file_list": _convert_flat_file_list,
    "json": lambda data: data["value"],
}


def _require_object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{what} is an object, not {type(value).__name__}")
    return cast(dict[str, Any], value)


def _get_text(data: dict[str, Any], key: str) -> str:
    value = data.get(key) or ""
    if not isinstance(value, str):
        raise FormatError(f"`{key}` of a result is text, not {type(value).__name__}")
    return value


def _get_list(data: dict[str, Any], key: str) -> list[Any]:
    value: object = data.get(key) or []
    if not isinstance(value, list):
        raise FormatError(f"`{key}` of a result is a list, not {type(value).__name__}")
    return cast(list[Any], value)


def _parse_display(value: object) -> Display:
    if value is None:
        return Display()
    hints = {_CAMEL_TO_SNAKE.get(key, key): hint for key, hint in _require_object(value, "`display`").items()}
    if hints.pop("hidden", False) is True:
        hints["preferred_view"] = "hidden"
    known = {f.name for f in fields(Display)}
    # Ignore unknown hints: they are meant for other displays.
    hints = {key: hint for key, hint in hints.items() if key in known and hint is not None}
    if hints.get("preferred_view") not in (None, *VIEWS):
        del hints["preferred_view"]
    types = hints.get("field_types", {})
    if isinstance(types, dict):
        pairs = cast(dict[str, Any], types).items()
        hints["field_types"] = {name: kind for name, kind in pairs if kind in FIELD_TYPES}
    for name, kinds in (("language", str), ("collapsed", bool), ("priority", (int, float)), ("field_types", dict)):
        if name in hints and not isinstance(hints[name], kinds):
            raise FormatError(f"`display.{name}` is {hints[name]!r:.40}, which is of the wrong type")
    return Display(**hints)


def _parse_location(value: object) -> Location:
    data = _require_object(value, "a location")
    line = data.get("line")
    return Location(_get_text(data, "path"), line if isinstance(line, int) and not isinstance(line, bool) else None)


def _add_snake_case(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the properties, plus the deprecated snake_case spelling of each camelCase name, which is only read."""
    others = {
        _CAMEL_TO_SNAKE[name]: {**schema, "deprecated": True}
        for name, schema in properties.items()
        if name in _CAMEL_TO_SNAKE
    }
    return properties | others


SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Antiphon tool result",
    "description": "Names of two words are written as here; those with underscores (deprecated) are read as well.",
    "type": "object",
    "required": ["kind", "data"],
    "properties": _add_snake_case(
        {
            "kind": {"type": "string", "pattern": KIND.pattern.replace("\\Z", "$").join(("^", ""))},
            "data": {"description": "What was found; its structure depends on `kind`. Nothing in it is renamed."},
            "summary": {"type": "string", "description": "One line that every display can show."},
            "mimeType": {"type": "string"},
            "display": {
                "type": "object",
                "properties": _add_snake_case(
                    {
                        "preferredView": {"enum": list(VIEWS)},
                        "language": {"type": "string"},
                        "collapsed": {"type": "boolean"},
                        "maxHeight": {"type": "integer", "minimum": 1},
                        "priority": {"type": "number"},
                        "fieldTypes": {"type": "object", "additionalProperties": {"enum": list(FIELD_TYPES)}},
                    }
                ),
            },
            "title": {"type": "string"},
            "locations": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["path"],
                    "properties": {"path": {"type": "string"}, "line": {"type": "integer"}},
                },
            },
            "audience": {"type": "array", "items": {"enum": list(AUDIENCES)}},
            "nested": {
                "type": "array",
                "items": {"type": "string", "format": "json-pointer"},
                "description": "Where in `data` there are results, each in this same form.",
            },
        }
    ),
}
