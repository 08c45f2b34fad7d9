"""Optional fields for small models: require them as nullable, and interpret the answers.

A small model fills in a field that it may omit, and writes the word "null" if it means null.
"""

from __future__ import annotations

from typing import Any

from antiphon._base.json_access import as_array, as_object, as_string

_NULL = {"type": "null"}
_NULL_WORD = "null"


def require_nullable_fields(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in which optional fields are required and nullable."""
    return _require_fields(schema, schema)


def _require_fields(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    changed = {**schema}
    for word in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if word in schema:
            changed[word] = [_require_fields(as_object(each), root) for each in as_array(schema[word])]
    for word in ("properties", "$defs"):
        if word in schema:
            changed[word] = {
                name: _require_fields(as_object(each), root) for name, each in as_object(schema[word]).items()
            }
    for word in ("items", "additionalProperties"):
        if as_object(schema.get(word)):
            changed[word] = _require_fields(as_object(schema[word]), root)
    needed, fields = as_array(schema.get("required")), as_object(changed.get("properties"))
    if fields and "allOf" not in schema:
        optional = {name for name in fields if name not in needed and not _is_nullable(as_object(fields[name]), root)}
        changed["properties"] = {
            name: {"anyOf": [each, _NULL]} if name in optional else each for name, each in fields.items()
        }
        changed["required"] = list(fields)
    return changed


def has_nullable_parts(schema: object) -> bool:
    """Return whether anything in a schema may be null."""
    data = as_object(schema)
    if data.get("type") == "null" or "null" in as_array(data.get("type")):
        return True
    return any(
        has_nullable_parts(each) for each in (*data.values(), *as_array(schema)) if as_object(each) or as_array(each)
    )


def restore_optional_fields(value: Any, schema: dict[str, Any]) -> Any:
    """Convert an answer to `require_nullable_fields(schema)` into one to `schema`: empty fields become
    null or are omitted.
    """
    return _restore_value(value, schema, schema)


def _restore_value(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> Any:
    schema = _resolve_reference(schema, root)
    if value == _NULL_WORD and _is_nullable(schema, root):
        return None
    options = [
        _resolve_reference(as_object(each), root)
        for each in as_array(schema.get("anyOf")) or as_array(schema.get("oneOf"))
    ]
    if given := as_object(value):
        fitting = [each for each in (schema, *options) if set(given) <= set(as_object(each.get("properties")))]
        return _restore_fields(given, fitting[0], root) if fitting else given
    if listed := as_array(value):
        items = [as_object(each.get("items")) for each in (schema, *options) if as_object(each.get("items"))]
        return [_restore_value(each, items[0], root) for each in listed] if items else listed
    return value


def _restore_fields(value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    needed, known = as_array(schema.get("required")), as_object(schema.get("properties"))
    read: dict[str, Any] = {}
    for name, each in value.items():
        inner = as_object(known[name])
        is_empty = each is None or each == _NULL_WORD
        if is_empty and name not in needed and not _is_nullable(inner, root):
            continue
        read[name] = _restore_value(each, inner, root)
    return read


def _is_nullable(schema: dict[str, Any], root: dict[str, Any], depth: int = 8) -> bool:
    schema = _resolve_reference(schema, root)
    if schema.get("type") == "null" or "null" in as_array(schema.get("type")) or None in as_array(schema.get("enum")):
        return True
    options = as_array(schema.get("anyOf")) or as_array(schema.get("oneOf"))
    return bool(depth) and any(_is_nullable(as_object(each), root, depth - 1) for each in options)


def _resolve_reference(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    name = as_string(schema.get("$ref")).removeprefix("#/$defs/")
    return as_object(as_object(root.get("$defs")).get(name)) if name else schema
