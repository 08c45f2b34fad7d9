"""Answers in the form that a request asks for, where the script says a plain text."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from antiphon._json import dumps
from antiphon._shape import arr, obj

_DEPTH = 8
_FENCE = re.compile(r"\s*```(?:json)?\n(.*)\n```\s*", re.DOTALL)
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def asked_schema(body: dict[str, Any], api: str) -> dict[str, Any]:
    """Return the schema that a request wants its answer in, or an empty one."""
    match api:
        case "anthropic":
            return obj(obj(obj(body.get("output_config")).get("format")).get("schema"))
        case "openai-chat":
            return obj(obj(obj(body.get("response_format")).get("json_schema")).get("schema"))
        case "openai-responses":
            updates = [obj(each) for each in arr(body.get("input")) if obj(each).get("type") == "configuration_update"]
            texts = [obj(body.get("text")), *[obj(each["text"]) for each in updates if "text" in each]]
            return obj(obj(texts[-1].get("format")).get("schema"))
        case _:
            config = obj(body.get("generationConfig") or body.get("generation_config"))
            return obj(config.get("responseJsonSchema") or config.get("response_json_schema"))


def fill_form(text: str, schema: dict[str, Any]) -> str:
    """Return JSON of a schema that says a text: the text itself where it is such JSON, else put where it fits."""
    # No server that guarantees a form puts it into a fence.
    bare = fenced[1] if (fenced := _FENCE.fullmatch(text)) else text
    value = _read(bare)
    if _is_of(value, schema, schema):
        return bare
    return dumps(_made(text, value, schema, schema, _DEPTH))


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _resolve(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """Return the schema that is meant: behind a reference, and the first of alternatives."""
    for _ in range(_DEPTH):
        if "$ref" in schema:
            target: object = root
            for step in str(schema["$ref"]).removeprefix("#").strip("/").split("/"):
                target = obj(target).get(step) if step else target
            schema = obj(target)
        elif arr(schema.get("anyOf")):
            schema = obj(schema["anyOf"][0])
        else:
            break
    return schema


def _type(schema: dict[str, Any]) -> str:
    given = schema.get("type")
    kinds = [each for each in arr(given) if each != "null"]
    return str(kinds[0] if kinds else given or ("object" if "properties" in schema else "string"))


def _is_of(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Return whether a value is of the schema, as far as types, names and choices tell."""
    if arr(schema.get("anyOf")):
        return any(_is_of(value, obj(each), root) for each in schema["anyOf"])
    schema = _resolve(schema, root)
    if "enum" in schema:
        return value in arr(schema["enum"])
    given = schema.get("type")
    kinds: list[str] = cast(list[str], given) if isinstance(given, list) else [_type(schema)]
    if not any(isinstance(value, _TYPES.get(kind, object)) for kind in kinds):
        return False
    if isinstance(value, bool) and "boolean" not in kinds:
        return False
    properties, inside = obj(schema.get("properties")), obj(value)
    if any(name not in inside for name in arr(schema.get("required"))):
        return False
    return all(_is_of(each, obj(properties[name]), root) for name, each in inside.items() if name in properties)


def _made(text: str, value: Any, schema: dict[str, Any], root: dict[str, Any], depth: int) -> Any:
    """Return a value of the schema that holds the text wherever a text may stand."""
    if _is_of(value, schema, root):
        return value
    schema = _resolve(schema, root)
    if arr(schema.get("enum")):
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    match _type(schema):
        case "object" if depth:
            inner = obj(schema.get("properties")).items()
            return {name: _made(text, value, obj(each), root, depth - 1) for name, each in inner}
        case "array" if depth:
            return [_made(text, value, obj(schema.get("items")), root, depth - 1)]
        case "integer" | "number":
            return 0
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return text
