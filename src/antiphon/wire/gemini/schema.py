"""Schemas of tool parameters, to and from Gemini.

A function's parameters may be declared in `parameters`, a subset of OpenAPI in which one unknown keyword fails the
whole request (G11), or in `parametersJsonSchema`, which takes JSON Schema with `$defs`, recursion, alternatives and
bounds. Nearly all recorded requests, to Gemini 2.5 and 3 and on Vertex, use the second, and so does this package:
nothing of a schema is lost. What is still changed is what Google does not document there: a `$ref` has no fields
beside it and leads into `$defs`, and `const` and `allOf` are said in other words.
"""

from __future__ import annotations

import re
from typing import Any

from antiphon._shape import arr, obj, string
from antiphon.wire.gemini.keys import camel, is_object

_MAX_DEPTH = 64
#: Each reference put in place of itself may hold more of them; this bounds what a hostile schema can make of that.
_MAX_INLINED = 200
_MAPS = ("properties", "$defs", "patternProperties", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
#: Words that only Gemini's own kind of schema has.
_OWN_WORDS = ("nullable", "propertyOrdering", "example")
#: The types by their numbers.
_TYPES = (None, "string", "number", "integer", "boolean", "array", "object", "null")
_INTEGERS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")


def prepared(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as `parametersJsonSchema` takes it; the same one where nothing is to be changed."""
    return _Preparation({"type": "object"} | schema).root()


def prepared_answer(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as `responseJsonSchema` takes it, where the answer need not be an object."""
    return _Preparation(schema).root()


class _Preparation:
    def __init__(self, schema: dict[str, Any]) -> None:
        self._document = schema
        self._definitions = obj(schema.get("definitions")) | obj(schema.get("$defs"))
        self._definitions.pop("", None)
        self._inlined = 0

    def root(self) -> dict[str, Any]:
        done = self._walk(_without_definitions(self._document), 0, ())
        if self._definitions:
            done["$defs"] = {name: self._walk(obj(inner), 1, ()) for name, inner in self._definitions.items()}
        return done

    def _walk(self, schema: dict[str, Any], depth: int, within: tuple[str, ...]) -> dict[str, Any]:
        if depth > _MAX_DEPTH:
            return {"type": "object"}
        if "allOf" in schema:
            schema = self._all_of(schema)
        if "$ref" in schema:
            return self._reference(schema, depth, within)
        done: dict[str, Any] = {}
        for name, inner in schema.items():
            if name in _MAPS and is_object(inner):
                done[name] = {key: self._inner(value, depth, within) for key, value in inner.items()}
            elif name in _LISTS and isinstance(inner, list):
                done[name] = [self._inner(value, depth, within) for value in arr(schema[name])]
            elif name in _SINGLE:
                done[name] = self._inner(inner, depth, within)
            elif name != "$schema":
                done[name] = inner
        if isinstance(done.get("const"), str | int | float) and not isinstance(done["const"], bool):
            done["enum"] = [done.pop("const")]
        return done

    def _inner(self, value: Any, depth: int, within: tuple[str, ...]) -> Any:
        return self._walk(value, depth + 1, within) if is_object(value) else value

    def _reference(self, schema: dict[str, Any], depth: int, within: tuple[str, ...]) -> dict[str, Any]:
        pointer = string(schema["$ref"])
        beside = {k: v for k, v in schema.items() if not k.startswith("$")}
        name = _definition_name(pointer)
        bare = {"$ref": f"#/$defs/{_escaped(name)}"} if name in self._definitions else None
        if bare and not beside:
            return bare
        target = self._find(pointer)
        if target is None:
            return self._walk(beside, depth, within)
        self._inlined += 1
        if pointer in within or self._inlined > _MAX_INLINED:
            return bare or {"type": "object"}
        return self._walk(target | beside, depth + 1, (*within, pointer))

    def _find(self, pointer: str) -> dict[str, Any] | None:
        """What a pointer into the document leads to; nothing where it leads out of it."""
        if (name := _definition_name(pointer)) in self._definitions:
            return obj(self._definitions[name])
        if not pointer.startswith("#"):
            return None
        found: Any = self._document
        for step in pointer[1:].split("/")[1:]:
            place = int(step) if re.fullmatch("[0-9]{1,4}", step) else -1
            found = arr(found)[place] if 0 <= place < len(arr(found)) else obj(found).get(_unescaped(step))
        return _without_definitions(found) if is_object(found) else None

    def _all_of(self, schema: dict[str, Any]) -> dict[str, Any]:
        """One schema that says what all of them say, as far as fields and what is required go."""
        merged = {k: v for k, v in schema.items() if k != "allOf"}
        waiting = [obj(member) for member in reversed(arr(schema["allOf"]))]
        if len(waiting) == 1 and "allOf" not in waiting[0] and "$ref" not in merged:
            # So older generators write a reference with a description: the reference itself can stay.
            return waiting[0] | merged
        while waiting and self._inlined <= _MAX_INLINED:
            member = waiting.pop()
            self._inlined += 1
            if "$ref" in member:
                waiting.append(self._find(string(member["$ref"])) or {})
            waiting.extend(obj(more) for more in reversed(arr(member.get("allOf"))))
            _merge(merged, {k: v for k, v in member.items() if k not in ("allOf", "$ref")})
        return merged


def _without_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in schema.items() if k not in ("definitions", "$defs")}


def _merge(schema: dict[str, Any], more: dict[str, Any]) -> None:
    for name, value in more.items():
        if name == "properties":
            schema[name] = obj(value) | obj(schema.get(name))
        elif name == "required":
            schema[name] = list(dict.fromkeys(map(str, [*arr(schema.get(name)), *arr(value)])))
        else:
            schema.setdefault(name, value)


def _definition_name(pointer: str) -> str:
    found = re.fullmatch(r"#/(?:\$defs|definitions)/([^/]+)", pointer)
    return _unescaped(found[1]) if found else ""


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def to_json_schema(schema: object, depth: int = 0) -> dict[str, Any]:
    """A schema of Gemini's own kind, its types in capitals or numbers, as JSON Schema for everybody else."""
    if depth > _MAX_DEPTH:
        return {}
    given = {camel(name.rstrip("_")): value for name, value in obj(schema).items()}
    done = {name: _field(name, value, depth) for name, value in given.items() if name not in _OWN_WORDS}
    if done.get("type", "") is None:
        del done["type"]
    return _with_null(done) if given.get("nullable") is True else done


def _field(name: str, value: Any, depth: int) -> Any:
    if name in _MAPS or name == "defs":
        return {key: to_json_schema(inner, depth + 1) for key, inner in obj(value).items()}
    if name in _LISTS:
        return [to_json_schema(inner, depth + 1) for inner in arr(value)]
    if name in _SINGLE and is_object(value):
        return to_json_schema(value, depth + 1)
    if name == "type":
        return [_type(each) for each in arr(value)] or _type(value)
    if name in _INTEGERS and isinstance(value, str) and re.fullmatch("[0-9]{1,9}", value):
        return int(value)  # 64-bit numbers are text in Google's JSON
    return value


def _type(value: Any) -> Any:
    """The type's name; Google's libraries write the number of it too, and a word for none."""
    if isinstance(value, int) and 0 <= value < len(_TYPES):
        return _TYPES[value]
    name = value.lower() if isinstance(value, str) else value
    return None if name == "type_unspecified" else name


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    kinds = schema.get("type")
    if isinstance(kinds, str):
        schema["type"] = [kinds, "null"] if kinds != "null" else kinds
    elif isinstance(schema.get("anyOf"), list):
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return schema
