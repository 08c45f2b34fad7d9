"""JSON form of views: camel case names, default values omitted, `type` where there is a choice.

Encoding, decoding and the schema all derive from the fields of the classes in `types`.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from antiphon.errors import FormatError
from antiphon.views.types import View

_JSON_TYPE_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def view_json(view: View) -> dict[str, Any]:
    """Convert a view to JSON data."""
    return _encode(view)


def view_from_json(data: object) -> View:
    """Convert JSON data to a view. Raise a FormatError if it is invalid."""
    return _decode(View, data, "the view")


def _encode(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_encode(each) for each in cast(tuple[Any, ...], value)]
    if not is_dataclass(value):
        return value
    pairs = (
        (name, field, getattr(value, field.name)) for name, (field, _) in _fields_by_json_name(type(value)).items()
    )
    return {name: _encode(given) for name, field, given in pairs if not field.init or given != field.default}


@cache
def _fields_by_json_name(kind: Any) -> dict[str, tuple[Field[Any], Any]]:
    """Return the fields of a class by their JSON names, each with its type."""
    hints = get_type_hints(kind)
    return {_to_camel_case(field.name): (field, hints[field.name]) for field in fields(kind)}


def _to_camel_case(name: str) -> str:
    first, *more = name.split("_")
    return first + "".join(word.capitalize() for word in more)


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType)


# Reading


def _decode(hint: Any, data: Any, where: str) -> Any:
    if _is_union(hint):
        return _decode_union(get_args(hint), data, where)
    if get_origin(hint) is tuple:
        if not isinstance(data, list):
            raise FormatError(f"{where} must be a list, not {_describe_value(data)}")
        given = enumerate(cast(list[Any], data))
        return tuple(_decode(get_args(hint)[0], each, f"{where}[{number}]") for number, each in given)
    if is_dataclass(hint):
        return _decode_object(hint, data, where)
    if not _matches_type(hint, data):
        wanted = " or ".join(map(repr, get_args(hint))) or _JSON_TYPE_NAMES[hint]
        raise FormatError(f"{where} must be {wanted}, not {_describe_value(data)}")
    return data


def _decode_union(hints: tuple[Any, ...], data: Any, where: str) -> Any:
    """Decode a value that may have several types: an object names its type in `type`."""
    if isinstance(data, dict):
        name = cast(dict[str, Any], data).get("type")
        objects: dict[Any, Any] = {
            _fields_by_json_name(hint)["type"][0].default: hint for hint in hints if is_dataclass(hint)
        }
        if not isinstance(name, str) or name not in objects:
            raise FormatError(f"{where} must have a `type` of {', '.join(objects) or 'nothing'}, not {name!r:.40}")
        return _decode(objects[name], data, where)
    if not any(_matches_type(hint, data) for hint in hints):
        raise FormatError(f"{where} cannot be {_describe_value(data)}")
    return data


def _decode_object(hint: Any, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise FormatError(f"{where} must be an object, not {_describe_value(data)}")
    given = cast(dict[str, Any], data)
    values: dict[str, Any] = {}
    for name, (field, kind) in _fields_by_json_name(hint).items():
        if name in given:
            read = _decode(kind, given[name], f"{where}.{name}")
            values |= {field.name: read} if field.init else {}
        elif field.init and field.default is MISSING:
            raise FormatError(f"{where} has no `{name}`")
    make: Callable[..., Any] = hint
    return make(**values)


def _matches_type(hint: Any, data: Any) -> bool:
    if get_origin(hint) is Literal:
        return data in get_args(hint) and isinstance(data, str)
    if hint not in _JSON_TYPE_NAMES or (isinstance(data, bool) and hint is not bool):
        return False
    return isinstance(data, int | float if hint is float else hint)


def _describe_value(data: object) -> str:
    return "null" if data is None else f"{type(data).__name__} {data!r:.40}"


# The schema


@cache
def view_schema() -> dict[str, Any]:
    """Return the JSON Schema of views."""
    found: dict[str, Any] = {}
    _describe_type(View, found)
    own = found.pop("View")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Antiphon view",
        **own,
        "$defs": dict(sorted(found.items())),
    }


def _describe_type(hint: Any, found: dict[str, Any]) -> dict[str, Any]:
    if _is_union(hint):
        return {"anyOf": [_describe_type(each, found) for each in get_args(hint)]}
    if get_origin(hint) is Literal:
        values = list(get_args(hint))
        return {"const": values[0]} if len(values) == 1 else {"enum": values}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _describe_type(get_args(hint)[0], found)}
    if not is_dataclass(hint):
        return {"type": _JSON_TYPE_NAMES[hint]}
    name = cast(type, hint).__name__
    if name not in found:
        found[name] = {}
        found[name] = _describe_object(hint, found)
    return {"$ref": "#" if name == "View" else f"#/$defs/{name}"}


def _describe_object(hint: Any, found: dict[str, Any]) -> dict[str, Any]:
    known = _fields_by_json_name(hint)
    needed = [name for name, (field, _) in known.items() if not field.init or field.default is MISSING]
    return {
        "type": "object",
        "description": " ".join((hint.__doc__ or "").split()),
        "required": needed,
        "properties": {name: _describe_type(kind, found) for name, (_, kind) in known.items()},
    }
