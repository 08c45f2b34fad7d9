"""Conversion of tool schemas to and from Gemini.

A function's parameters may be declared in `parameters`, a subset of OpenAPI in which one unknown
keyword fails the request (G11). Or they are in `parametersJsonSchema`, which takes JSON Schema with
`$defs`, recursion, alternatives and bounds. Nearly all recorded requests use the second, and so
does this package: no part of a schema is lost. Only what Google does not document is rewritten: a
`$ref` has no sibling fields and points into `$defs`, and `const` and `allOf` are expressed
differently.
"""

from __future__ import annotations

import re
from typing import Any

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.wire.gemini.field_names import is_json_object, to_camel_case

_MAX_DEPTH = 64
#: An inlined reference may hold more references; this bounds the expansion of a hostile schema.
_MAX_INLINED = 200
_SCHEMA_MAPS = ("properties", "$defs", "patternProperties", "dependentSchemas")
_SCHEMA_LISTS = ("anyOf", "oneOf", "prefixItems")
_SINGLE_SCHEMAS = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
#: Keywords that only Gemini's own schema format has.
_GEMINI_KEYWORDS = ("nullable", "propertyOrdering", "example")
#: Type names by their enum number.
_TYPES = (None, "string", "number", "integer", "boolean", "array", "object", "null")
_INTEGER_KEYWORDS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")


def prepare_parameters_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema in the form that `parametersJsonSchema` accepts."""
    return _SchemaRewriter({"type": "object"} | schema).root()


def prepare_answer_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema in the form that `responseJsonSchema` accepts. The answer need not be an object."""
    return _SchemaRewriter(schema).root()


class _SchemaRewriter:
    def __init__(self, schema: dict[str, Any]) -> None:
        self._document = schema
        self._definitions = as_object(schema.get("definitions")) | as_object(schema.get("$defs"))
        self._definitions.pop("", None)
        self._inlined = 0

    def root(self) -> dict[str, Any]:
        done = self._rewrite_schema(_drop_definitions(self._document), 0, ())
        if self._definitions:
            done["$defs"] = {
                name: self._rewrite_schema(as_object(inner), 1, ()) for name, inner in self._definitions.items()
            }
        return done

    def _rewrite_schema(self, schema: dict[str, Any], depth: int, within: tuple[str, ...]) -> dict[str, Any]:
        if depth > _MAX_DEPTH:
            return {"type": "object"}
        if "allOf" in schema:
            schema = self._merge_all_of(schema)
        if "$ref" in schema:
            return self._reference(schema, depth, within)
        done: dict[str, Any] = {}
        for name, inner in schema.items():
            if name in _SCHEMA_MAPS and is_json_object(inner):
                done[name] = {key: self._rewrite_inner(value, depth, within) for key, value in inner.items()}
            elif name in _SCHEMA_LISTS and isinstance(inner, list):
                done[name] = [self._rewrite_inner(value, depth, within) for value in as_array(schema[name])]
            elif name in _SINGLE_SCHEMAS:
                done[name] = self._rewrite_inner(inner, depth, within)
            elif name != "$schema":
                done[name] = inner
        if isinstance(done.get("const"), str | int | float) and not isinstance(done["const"], bool):
            done["enum"] = [done.pop("const")]
        return done

    def _rewrite_inner(self, value: Any, depth: int, within: tuple[str, ...]) -> Any:
        return self._rewrite_schema(value, depth + 1, within) if is_json_object(value) else value

    def _reference(self, schema: dict[str, Any], depth: int, within: tuple[str, ...]) -> dict[str, Any]:
        pointer = as_string(schema["$ref"])
        beside = {k: v for k, v in schema.items() if not k.startswith("$")}
        name = _parse_definition_name(pointer)
        bare = {"$ref": f"#/$defs/{_escape_pointer(name)}"} if name in self._definitions else None
        if bare and not beside:
            return bare
        target = self._find(pointer)
        if target is None:
            return self._rewrite_schema(beside, depth, within)
        self._inlined += 1
        if pointer in within or self._inlined > _MAX_INLINED:
            return bare or {"type": "object"}
        return self._rewrite_schema(target | beside, depth + 1, (*within, pointer))

    def _find(self, pointer: str) -> dict[str, Any] | None:
        """Return the schema that a pointer into the document refers to, or None if it points elsewhere."""
        if (name := _parse_definition_name(pointer)) in self._definitions:
            return as_object(self._definitions[name])
        if not pointer.startswith("#"):
            return None
        found: Any = self._document
        for step in pointer[1:].split("/")[1:]:
            place = int(step) if re.fullmatch("[0-9]{1,4}", step) else -1
            found = (
                as_array(found)[place]
                if 0 <= place < len(as_array(found))
                else as_object(found).get(_unescape_pointer(step))
            )
        return _drop_definitions(found) if is_json_object(found) else None

    def _merge_all_of(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return one schema with the fields and requirements of all members of `allOf`."""
        merged = {k: v for k, v in schema.items() if k != "allOf"}
        waiting = [as_object(member) for member in reversed(as_array(schema["allOf"]))]
        if len(waiting) == 1 and "allOf" not in waiting[0] and "$ref" not in merged:
            # Older generators write a reference with a description this way; the reference can stay.
            return waiting[0] | merged
        while waiting and self._inlined <= _MAX_INLINED:
            member = waiting.pop()
            self._inlined += 1
            if "$ref" in member:
                waiting.append(self._find(as_string(member["$ref"])) or {})
            waiting.extend(as_object(more) for more in reversed(as_array(member.get("allOf"))))
            _merge_schema(merged, {k: v for k, v in member.items() if k not in ("allOf", "$ref")})
        return merged


def _drop_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in schema.items() if k not in ("definitions", "$defs")}


def _merge_schema(schema: dict[str, Any], more: dict[str, Any]) -> None:
    for name, value in more.items():
        if name == "properties":
            schema[name] = as_object(value) | as_object(schema.get(name))
        elif name == "required":
            schema[name] = list(dict.fromkeys(map(str, [*as_array(schema.get(name)), *as_array(value)])))
        else:
            schema.setdefault(name, value)


def _parse_definition_name(pointer: str) -> str:
    found = re.fullmatch(r"#/(?:\$defs|definitions)/([^/]+)", pointer)
    return _unescape_pointer(found[1]) if found else ""


def _escape_pointer(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


def _unescape_pointer(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def to_json_schema(schema: object, depth: int = 0) -> dict[str, Any]:
    """Convert a schema of Gemini's own format, with types in capitals or numbers, to JSON Schema."""
    if depth > _MAX_DEPTH:
        return {}
    given = {to_camel_case(name.rstrip("_")): value for name, value in as_object(schema).items()}
    done = {name: _convert_keyword(name, value, depth) for name, value in given.items() if name not in _GEMINI_KEYWORDS}
    if done.get("type", "") is None:
        del done["type"]
    return _allow_null(done) if given.get("nullable") is True else done


def _convert_keyword(name: str, value: Any, depth: int) -> Any:
    if name in _SCHEMA_MAPS or name == "defs":
        return {key: to_json_schema(inner, depth + 1) for key, inner in as_object(value).items()}
    if name in _SCHEMA_LISTS:
        return [to_json_schema(inner, depth + 1) for inner in as_array(value)]
    if name in _SINGLE_SCHEMAS and is_json_object(value):
        return to_json_schema(value, depth + 1)
    if name == "type":
        return [_convert_type(each) for each in as_array(value)] or _convert_type(value)
    if name in _INTEGER_KEYWORDS and isinstance(value, str) and re.fullmatch("[0-9]{1,9}", value):
        return int(value)  # 64-bit numbers are text in Google's JSON
    return value


def _convert_type(value: Any) -> Any:
    """Return the type's name in lower case, or None. Google's libraries also write its enum number."""
    if isinstance(value, int) and 0 <= value < len(_TYPES):
        return _TYPES[value]
    name = value.lower() if isinstance(value, str) else value
    return None if name == "type_unspecified" else name


def _allow_null(schema: dict[str, Any]) -> dict[str, Any]:
    kinds = schema.get("type")
    if isinstance(kinds, str):
        schema["type"] = [kinds, "null"] if kinds != "null" else kinds
    elif isinstance(schema.get("anyOf"), list):
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return schema
