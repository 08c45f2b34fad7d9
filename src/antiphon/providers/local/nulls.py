"""Fields that may be empty: a small model is made to say so, and what it says is read as it is meant.

It fills in a field that it may leave out, and writes the word "null" where it means null.
"""

from __future__ import annotations

from typing import Any

from antiphon._shape import arr, obj, string

_NULL = {"type": "null"}
_WORD = "null"


def with_nulls(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in which fields that may be left out are asked for, and may be null."""
    return _asked(schema, schema)


def _asked(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    changed = {**schema}
    for word in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if word in schema:
            changed[word] = [_asked(obj(each), root) for each in arr(schema[word])]
    for word in ("properties", "$defs"):
        if word in schema:
            changed[word] = {name: _asked(obj(each), root) for name, each in obj(schema[word]).items()}
    for word in ("items", "additionalProperties"):
        if obj(schema.get(word)):
            changed[word] = _asked(obj(schema[word]), root)
    needed, fields = arr(schema.get("required")), obj(changed.get("properties"))
    if fields and "allOf" not in schema:
        optional = {name for name in fields if name not in needed and not _may_be_null(obj(fields[name]), root)}
        changed["properties"] = {
            name: {"anyOf": [each, _NULL]} if name in optional else each for name, each in fields.items()
        }
        changed["required"] = list(fields)
    return changed


def has_nulls(schema: object) -> bool:
    """Tell whether anything in a schema may be null."""
    data = obj(schema)
    if data.get("type") == "null" or "null" in arr(data.get("type")):
        return True
    return any(has_nulls(each) for each in (*data.values(), *arr(schema)) if obj(each) or arr(each))


def read_nulls(value: Any, schema: dict[str, Any]) -> Any:
    """Return an answer to `with_nulls(schema)` as one to `schema`: fields that are empty are null, or left out."""
    return _read(value, schema, schema)


def _read(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> Any:
    schema = _resolved(schema, root)
    if value == _WORD and _may_be_null(schema, root):
        return None
    options = [_resolved(obj(each), root) for each in arr(schema.get("anyOf")) or arr(schema.get("oneOf"))]
    if given := obj(value):
        fitting = [each for each in (schema, *options) if set(given) <= set(obj(each.get("properties")))]
        return _fields(given, fitting[0], root) if fitting else given
    if listed := arr(value):
        items = [obj(each.get("items")) for each in (schema, *options) if obj(each.get("items"))]
        return [_read(each, items[0], root) for each in listed] if items else listed
    return value


def _fields(value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    needed, known = arr(schema.get("required")), obj(schema.get("properties"))
    read: dict[str, Any] = {}
    for name, each in value.items():
        inner = obj(known[name])
        is_empty = each is None or each == _WORD
        if is_empty and name not in needed and not _may_be_null(inner, root):
            continue
        read[name] = _read(each, inner, root)
    return read


def _may_be_null(schema: dict[str, Any], root: dict[str, Any], depth: int = 8) -> bool:
    schema = _resolved(schema, root)
    if schema.get("type") == "null" or "null" in arr(schema.get("type")) or None in arr(schema.get("enum")):
        return True
    options = arr(schema.get("anyOf")) or arr(schema.get("oneOf"))
    return bool(depth) and any(_may_be_null(obj(each), root, depth - 1) for each in options)


def _resolved(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    name = string(schema.get("$ref")).removeprefix("#/$defs/")
    return obj(obj(root.get("$defs")).get(name)) if name else schema
