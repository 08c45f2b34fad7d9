"""Scripted texts converted to the JSON schema that a request asks for."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_object

_MAX_DEPTH = 8
_CODE_FENCE = re.compile(r"\s*```(?:json)?\n(.*)\n```\s*", re.DOTALL)
_JSON_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def fill_schema(text: str, schema: dict[str, Any]) -> str:
    """Return JSON that matches a schema: the text itself if it is such JSON, else a value that contains it."""
    # No server that guarantees a schema puts the JSON into a code fence.
    bare = fenced[1] if (fenced := _CODE_FENCE.fullmatch(text)) else text
    value = _parse_or_text(bare)
    if _matches_schema(value, schema, schema):
        return bare
    return dump_json(_make_value(text, value, schema, schema, _MAX_DEPTH))


def _parse_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _resolve_schema(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """Return the effective schema: references followed, and the first of alternatives."""
    for _ in range(_MAX_DEPTH):
        if "$ref" in schema:
            target: object = root
            for step in str(schema["$ref"]).removeprefix("#").strip("/").split("/"):
                target = as_object(target).get(step) if step else target
            schema = as_object(target)
        elif as_array(schema.get("anyOf")):
            schema = as_object(schema["anyOf"][0])
        else:
            break
    return schema


def _schema_type(schema: dict[str, Any]) -> str:
    given = schema.get("type")
    kinds = [each for each in as_array(given) if each != "null"]
    return str(kinds[0] if kinds else given or ("object" if "properties" in schema else "string"))


def _matches_schema(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Return whether a value matches the schema, as far as types, names and enums tell."""
    if as_array(schema.get("anyOf")):
        return any(_matches_schema(value, as_object(each), root) for each in schema["anyOf"])
    schema = _resolve_schema(schema, root)
    if "enum" in schema:
        return value in as_array(schema["enum"])
    given = schema.get("type")
    kinds: list[str] = cast(list[str], given) if isinstance(given, list) else [_schema_type(schema)]
    if not any(isinstance(value, _JSON_TYPES.get(kind, object)) for kind in kinds):
        return False
    if isinstance(value, bool) and "boolean" not in kinds:
        return False
    properties, inside = as_object(schema.get("properties")), as_object(value)
    if any(name not in inside for name in as_array(schema.get("required"))):
        return False
    return all(
        _matches_schema(each, as_object(properties[name]), root) for name, each in inside.items() if name in properties
    )


def _make_value(text: str, value: Any, schema: dict[str, Any], root: dict[str, Any], depth: int) -> Any:
    """Return a value of the schema that contains the text wherever a string is allowed."""
    if _matches_schema(value, schema, root):
        return value
    schema = _resolve_schema(schema, root)
    if as_array(schema.get("enum")):
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    match _schema_type(schema):
        case "object" if depth:
            inner = as_object(schema.get("properties")).items()
            return {name: _make_value(text, value, as_object(each), root, depth - 1) for name, each in inner}
        case "array" if depth:
            return [_make_value(text, value, as_object(schema.get("items")), root, depth - 1)]
        case "integer" | "number":
            return 0
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return text
