"""Results as JSON: one schema out; in, also the camelCase spelling and the flat shapes that older tools write."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, cast

from antiphon.errors import ContentError, FormatError
from antiphon.results.result import AUDIENCES, FIELD_TYPES, KIND, VIEWS, Display, Location, Result

_OWN = ("kind", "data", "summary", "mime_type", "display", "title", "locations", "audience")
_CAMEL = {
    "mimeType": "mime_type",
    "preferredView": "preferred_view",
    "maxHeight": "max_height",
    "fieldTypes": "field_types",
}
#: The kinds whose fields once stood beside `kind`, and what they are called now.
_FLAT = {"json": "structured"}


def to_json(result: Result) -> dict[str, Any]:
    """The result; fields that say nothing are left out."""
    display = {
        f.name: value for f in fields(Display) if (value := getattr(result.display, f.name)) not in (None, "", {})
    }
    locations = [{"path": at.path} | ({"line": at.line} if at.line is not None else {}) for at in result.locations]
    data: dict[str, Any] = {"kind": result.kind, "data": result.data}
    more = {
        "summary": result.summary,
        "mime_type": result.mime_type,
        "display": display,
        "title": result.title,
        "locations": locations,
        "audience": list(result.audience),
    }
    return data | {name: value for name, value in more.items() if value}


def from_json(given: object) -> Result:
    """Read a result; FormatError says what is wrong with anything else."""
    top = _object(given, "a result")
    top = {_CAMEL.get(key, key): value for key, value in top.items()}
    kind = top.get("kind")
    if not isinstance(kind, str) or not KIND.match(kind):
        raise FormatError(f"a result has a `kind` such as 'table' or 'git.status', not {kind!r}")
    if "data" not in top:
        top = _lifted(top)
    try:
        return Result(
            _FLAT.get(kind, kind),
            top["data"],
            _text(top, "summary"),
            _text(top, "mime_type"),
            _display(top.get("display")),
            _text(top, "title"),
            tuple(_location(item) for item in _list(top, "locations")),
            tuple(_list(top, "audience")),
        )
    except ContentError as error:
        raise FormatError(str(error)) from None


def _lifted(flat: dict[str, Any]) -> dict[str, Any]:
    """The flat shape of old, with the fields that belong to the kind moved into `data`."""
    data = {key: value for key, value in flat.items() if key not in _OWN}
    if flat["kind"] == "json":
        data = data.get("value", data.get("json", data))
    return {key: value for key, value in flat.items() if key in _OWN} | {"data": data}


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{what} is an object, not {type(value).__name__}")
    return cast(dict[str, Any], value)


def _text(data: dict[str, Any], key: str) -> str:
    value = data.get(key) or ""
    if not isinstance(value, str):
        raise FormatError(f"`{key}` of a result is text, not {type(value).__name__}")
    return value


def _list(data: dict[str, Any], key: str) -> list[Any]:
    value: object = data.get(key) or []
    if not isinstance(value, list):
        raise FormatError(f"`{key}` of a result is a list, not {type(value).__name__}")
    return cast(list[Any], value)


def _display(value: object) -> Display:
    if value is None:
        return Display()
    hints = {_CAMEL.get(key, key): hint for key, hint in _object(value, "`display`").items()}
    if hints.pop("hidden", False) is True:
        hints["preferred_view"] = "hidden"
    known = {f.name for f in fields(Display)}
    # Hints are hints: those we do not know are for somebody else.
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


def _location(value: object) -> Location:
    data = _object(value, "a location")
    line = data.get("line")
    return Location(_text(data, "path"), line if isinstance(line, int) and not isinstance(line, bool) else None)


SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Antiphon tool result",
    "type": "object",
    "required": ["kind", "data"],
    "properties": {
        "kind": {"type": "string", "pattern": KIND.pattern.replace("\\Z", "$").join(("^", ""))},
        "data": {"description": "What was found; its structure depends on `kind`."},
        "summary": {"type": "string", "description": "One line that every display can show."},
        "mime_type": {"type": "string"},
        "display": {
            "type": "object",
            "properties": {
                "preferred_view": {"enum": list(VIEWS)},
                "language": {"type": "string"},
                "collapsed": {"type": "boolean"},
                "max_height": {"type": "integer", "minimum": 1},
                "priority": {"type": "number"},
                "field_types": {"type": "object", "additionalProperties": {"enum": list(FIELD_TYPES)}},
            },
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
    },
}
