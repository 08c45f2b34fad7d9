"""Results as JSON: one schema out; in, also its spelling with underscores and the flat shapes of older tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, cast

from antiphon.errors import ContentError, FormatError
from antiphon.results.nested import Path, inside
from antiphon.results.plain import DEPTH, LEVELS, plain
from antiphon.results.result import AUDIENCES, FIELD_TYPES, KIND, VIEWS, Display, Location, Result

_OWN = ("kind", "data", "summary", "mime_type", "display", "title", "locations", "audience", "nested")
#: The names that have two words, in JSON and here.
_CAMEL = {
    "mimeType": "mime_type",
    "preferredView": "preferred_view",
    "maxHeight": "max_height",
    "fieldTypes": "field_types",
}
_WRITTEN = {ours: json for json, ours in _CAMEL.items()}


def to_json(result: Result) -> dict[str, Any]:
    """The result; fields that say nothing are left out."""
    hints = {f.name: getattr(result.display, f.name) for f in fields(Display)}
    locations = [{"path": at.path} | ({"line": at.line} if at.line is not None else {}) for at in result.locations]
    data: dict[str, Any] = {"kind": result.kind, "data": plain(result.data)}
    more = {
        "summary": result.summary,
        "mimeType": result.mime_type,
        "display": {_WRITTEN.get(name, name): hint for name, hint in hints.items() if hint not in (None, "", {})},
        "title": result.title,
        "locations": locations,
        "audience": list(result.audience),
        "nested": [_pointer(path) for path, _ in inside(result.data)],
    }
    return data | {name: value for name, value in more.items() if value}


def from_json(given: object, levels: int = LEVELS - 1) -> Result:
    """Read a result; FormatError says what is wrong with anything else. Those inside it are read `levels` deep."""
    top = _object(given, "a result")
    top = {_CAMEL.get(key, key): value for key, value in top.items()}
    kind = top.get("kind")
    if not isinstance(kind, str) or not KIND.match(kind):
        raise FormatError(f"a result has a `kind` such as 'table' or 'git.status', not {kind!r}")
    if "data" not in top:
        top = _lifted(top, kind)
    places = {place for place in _list(top, "nested") if isinstance(place, str)} if levels else set[str]()
    try:
        return Result(
            "structured" if kind == "json" else kind,
            _revived(top["data"], (), places, levels) if places else top["data"],
            _text(top, "summary"),
            _text(top, "mime_type"),
            _display(top.get("display")),
            _text(top, "title"),
            tuple(_location(item) for item in _list(top, "locations")),
            tuple(_list(top, "audience")),
        )
    except ContentError as error:
        raise FormatError(str(error)) from None


# Results inside results. The data names none of its own: `nested` says where they are, so that nothing else is taken
# for one.


def _pointer(path: Path) -> str:
    """The place as a JSON Pointer (RFC 6901)."""
    return "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in path)


def _revived(value: Any, path: Path, places: set[str], levels: int) -> Any:
    if _pointer(path) in places:
        return from_json(value, levels - 1)
    if isinstance(value, dict) and len(path) < DEPTH:
        pairs = cast(dict[str, Any], value).items()
        return {key: _revived(inner, (*path, key), places, levels) for key, inner in pairs}
    if isinstance(value, list) and len(path) < DEPTH:
        return [_revived(inner, (*path, place), places, levels) for place, inner in enumerate(cast(list[Any], value))]
    return cast(Any, value)


# The flat shapes: fields that now are in `data` stood beside `kind`. Only a kind that was written so, with the fields
# it had, is lifted; anything else with a `kind` is somebody's own data.


def _lifted(flat: dict[str, Any], kind: str) -> dict[str, Any]:
    own = {key: value for key, value in flat.items() if key in _OWN}
    data = {key: value for key, value in flat.items() if key not in _OWN}
    if not data and len(own) > 1:
        return own | {"data": None}
    wanted = _FLAT.get(kind, {})
    if not wanted or not all(name in data and isinstance(data[name], type_) for name, type_ in wanted.items()):
        raise FormatError(f"a result of kind {kind!r} has its fields in `data`; this one has no `data`")
    return own | {"data": _MENDED[kind](data) if kind in _MENDED else data}


def _listed(data: dict[str, Any]) -> dict[str, Any]:
    """A directory whose entries were names alone; whether one is a directory was said by a slash, or not at all."""
    names = [str(name) for name in data.pop("files")]
    entries = [{"name": name} | ({"type": "directory"} if name.endswith("/") else {}) for name in names]
    for entry in entries:
        entry["name"] = entry["name"].rstrip("/") or "/"
    cut = isinstance(data.get("count"), int) and data["count"] > len(names)
    return data | {"entries": entries} | ({"truncated": True} if cut else {})


_FLAT: dict[str, dict[str, type]] = {
    "text": {"content": str},
    "diff": {"path": str, "modified": str},
    "file_content": {"path": str, "content": str},
    "file_list": {"path": str, "files": list},
    "json": {"value": object},
    "table": {"columns": list, "rows": list},
}
_MENDED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "file_list": _listed,
    "json": lambda data: data["value"],
}


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


def _both(properties: dict[str, Any]) -> dict[str, Any]:
    """The properties, and for names of two words the other spelling, which is read and never written."""
    others = {_CAMEL[name]: {**schema, "deprecated": True} for name, schema in properties.items() if name in _CAMEL}
    return properties | others


SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Antiphon tool result",
    "description": "Names of two words are written as here; those with underscores (deprecated) are read as well.",
    "type": "object",
    "required": ["kind", "data"],
    "properties": _both(
        {
            "kind": {"type": "string", "pattern": KIND.pattern.replace("\\Z", "$").join(("^", ""))},
            "data": {"description": "What was found; its structure depends on `kind`. Nothing in it is renamed."},
            "summary": {"type": "string", "description": "One line that every display can show."},
            "mimeType": {"type": "string"},
            "display": {
                "type": "object",
                "properties": _both(
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
