"""A type that is wanted back from a model: its schema, its words, and the strict reading of what came."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from inspect import isroutine
from typing import TYPE_CHECKING, Any, cast

from antiphon._json import dumps
from antiphon._shape import arr, obj
from antiphon.errors import ContentError, OptionError
from antiphon.tools.annotations import check_core_schema, readable
from antiphon.tools.signature import without_titles

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

_WORDS = {
    "string": "text",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
    "object": "object",
}
#: What was expected, where pydantic's own word for the fault says it by the kind alone.
_EXPECTED = {
    "string_type": "text",
    "int_type": "number",
    "float_type": "number",
    "number": "number",
    "bool_type": "boolean",
    "boolean": "boolean",
    "list_type": "list",
    "tuple_type": "list",
    "set_type": "list",
    "dict_type": "object",
    "model_type": "object",
    "dataclass_type": "object",
    "none_required": "null",
}
_KINDS: dict[type, str] = {str: "text", bool: "boolean", int: "number", float: "number", list: "list", dict: "object"}
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")

_STRING = re.compile(r'"(?:[^"\\]|\\[\s\S])*(?:"|\\?\Z)')
#: Of whole numbers, Python keeps every digit.
_NUMBER = re.compile(r"-?(?<!\d)\d+(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+)")

#: What is wrong, by the field it is wrong with; "" where it is with all of them together.
Fault = tuple[str, str]
Faults = list[Fault]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted, as the fields of an object; a `single` value is the field `value`."""

    schema: dict[str, Any]
    single: bool
    #: Reads it; nothing where the schema itself does.
    _adapter: TypeAdapter[Any] | None
    #: The names outside by those inside: a model of pydantic may be told by either.
    _aliases: Mapping[str, str]

    def inexact(self, said: str) -> list[str]:
        """Numbers of a JSON text that lose digits on the way, where the type would keep them: a `Decimal` does."""
        numbers = _NUMBER.findall(_STRING.sub("", said))
        lost = [each for each in numbers if Decimal(each) != Decimal(repr(float(each)))]
        return lost if lost and _takes_either(self.schema) else []

    def field_named(self, name: str) -> str:
        """A field by its name outside, or inside."""
        return self._aliases.get(name, name)

    def read(self, given: Mapping[str, Any]) -> tuple[list[Any], Faults]:
        """The value that these fields make, in a list; or an empty one, and what is wrong with them."""
        from pydantic import ValidationError

        try:
            value = self._read(given)
            faults = [*_confused(dict(given), self.schema, self.schema.get("$defs", {}))]
            return ([] if faults else [value]), faults
        except ValidationError as error:
            if not any(_is_whole(fault) for fault in error.errors(include_url=False, include_context=False)):
                return [], _faults(error)
        except Exception as error:
            # A validator of the type's own that broke: for want of other fields, perhaps.
            return [], [("", f"{type(error).__name__}: {error}")]
        # To JSON, 3.0 is a whole number.
        return self.read(_with_whole_numbers(given))

    def _read(self, given: Mapping[str, Any]) -> Any:
        # A field that nobody knows may be one that is optional, misspelt: taken for absent, it would be lost.
        extra: Any = "forbid" if _has_optional(self.schema) and not _is_open(self.schema) else None
        assert self._adapter is not None
        value = self._adapter.validate_json(dumps(given), strict=True, extra=extra, by_alias=True, by_name=True)
        return value["value"] if self.single else value


def wanted(asked: Any) -> Wanted:
    """What is asked for: a type, a dict of field names and their types, or a JSON Schema."""
    from antiphon.session.json_schema import JsonSchema

    if isinstance(asked, JsonSchema):
        return asked.wanted()
    from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

    try:
        type_ = _type(asked)
        adapter: TypeAdapter[Any] = TypeAdapter(type_)
        check_core_schema(adapter.core_schema)
        schema = _schema(adapter, type_)
        single = "properties" not in schema
        if single:
            adapter = TypeAdapter(_object({"value": type_}))
            schema = _schema(adapter, None)
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError, NameError) as error:
        raise OptionError(f"`returns` cannot be {asked!r}: {str(error).splitlines()[0]}") from None
    return Wanted(schema, single, adapter, _aliases(type_))


def _takes_either(schema: object) -> bool:
    """Whether something in it may be a number or a text, as decimals may."""
    if isinstance(schema, list):
        return any(map(_takes_either, cast(list[object], schema)))
    if not isinstance(schema, dict):
        return False
    inside = cast(dict[str, Any], schema)
    kinds = {obj(each).get("type") for each in arr(inside.get("anyOf"))}
    return kinds >= {"number", "string"} or any(map(_takes_either, inside.values()))


def word(schema: Mapping[str, Any]) -> str:
    """The values of a schema in the word a person would use."""
    if "enum" in schema:
        return " or ".join(map(dumps, schema["enum"]))
    if "const" in schema:
        return dumps(schema["const"])
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(map(word, options)))
    if schema.get("type") == "array":
        inner = word(schema.get("items", {}))
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if "$ref" in schema:
        return "object"
    return _WORDS.get(str(schema.get("type")), "json")


# Schemas


def _type(asked: Any) -> Any:
    if isinstance(asked, Mapping):
        return _object(cast(Mapping[Any, Any], asked))
    if isroutine(asked):
        # For pydantic it would be a type whose values are what it returns: it would be called.
        raise TypeError("a function is no type")
    return readable(asked)


def _object(types: Mapping[Any, Any]) -> Any:
    """A type of dicts with these fields."""
    from typing_extensions import TypedDict

    if not types or not all(isinstance(name, str) and name for name in types):
        raise OptionError("`returns` as a dict names at least one field: {'name': str, 'age': int}")
    return cast(Any, TypedDict)("Answer", {name: _type(type_) for name, type_ in types.items()})


def _schema(adapter: TypeAdapter[Any], type_: Any) -> dict[str, Any]:
    """The JSON Schema, that of an object without the fields that nobody may set."""
    schema: dict[str, Any] = without_titles(adapter.json_schema())
    defs = schema.get("$defs", {})
    if "$ref" in schema:
        # A type that holds itself.
        schema = {**defs[schema["$ref"].rpartition("/")[2]], "$defs": defs}
    if not schema.get("properties"):
        return {key: value for key, value in schema.items() if key != "properties"}
    unset = {f.name for f in dataclasses.fields(type_) if not f.init} if dataclasses.is_dataclass(type_) else set[str]()
    properties = {name: value for name, value in schema["properties"].items() if name not in unset}
    return {"additionalProperties": False, **schema, "properties": properties}


def _aliases(type_: Any) -> dict[str, str]:
    fields: dict[str, Any] = getattr(type_, "model_fields", {})
    return {n: info.validation_alias for n, info in fields.items() if isinstance(info.validation_alias, str)}


def _is_open(schema: Any) -> bool:
    """Whether a type in it keeps fields that it does not name."""
    return any(each.get("additionalProperties") is True for each in _objects(schema))


def _has_optional(schema: Any) -> bool:
    """Whether a type in it has a field that may be left out."""
    return any(len(each.get("required", ())) < len(each["properties"]) for each in _objects(schema))


def _objects(schema: Any) -> Iterator[Mapping[str, Any]]:
    """The schemas of objects with fields of their own, at any depth."""
    if isinstance(schema, list):
        for item in cast(list[Any], schema):
            yield from _objects(item)
    elif isinstance(schema, Mapping):
        data = cast(Mapping[str, Any], schema)
        if isinstance(data.get("properties"), Mapping) and data.get("type") == "object":
            yield data
        for key, value in data.items():
            if key not in ("default", "enum", "const", "examples"):
                yield from _objects(value)


# Faults


def _confused(given: Any, schema: Any, defs: Mapping[str, Any], place: tuple[str, ...] = ()) -> Iterator[Fault]:
    """Where a boolean came for a number among given values, or the other way round: to pydantic, `True` is 1."""
    if isinstance(schema, Mapping) and "$ref" in schema:
        schema = defs.get(cast(str, schema["$ref"]).rpartition("/")[2])
    if not isinstance(schema, Mapping):
        return
    node = cast(Mapping[str, Any], schema)
    if options := node.get("anyOf") or node.get("oneOf"):
        found = [[*_confused(given, each, defs, place)] for each in options if _may_hold(each, given)]
        yield from found[0] if found and all(found) else ()
    elif isinstance(given, bool | int):
        values = [each for each in node.get("enum", [node.get("const")]) if each == given]
        if values and not any(isinstance(each, bool) == isinstance(given, bool) for each in values):
            yield place[0], f"'{'.'.join(place)}' expected {word(node)}, got {shown(given)}"
    elif isinstance(given, dict | list):
        for name, value, inner in _inside(cast(dict[str, Any] | list[Any], given), node):
            yield from _confused(value, inner, defs, (*place, name))


def _inside(given: dict[str, Any] | list[Any], schema: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The names or numbers of what is inside, with the values and their schemas."""
    if isinstance(given, dict):
        fields, others = schema.get("properties", {}), schema.get("additionalProperties")
        yield from ((name, value, fields.get(name, others)) for name, value in given.items())
    else:
        first, others = schema.get("prefixItems", []), schema.get("items")
        yield from ((str(n), value, first[n] if n < len(first) else others) for n, value in enumerate(given))


def _may_hold(schema: Mapping[str, Any], given: object) -> bool:
    """Whether a value may have been read by this schema, for all that its type says."""
    if not isinstance(given, bool | int) or "enum" in schema or "const" in schema:
        return True
    return schema.get("type") in ((None, "boolean") if isinstance(given, bool) else (None, "integer", "number"))


def _faults(error: ValidationError) -> Faults:
    out: Faults = []
    for fault in error.errors(include_url=False):
        steps = [str(step) for step in fault["loc"] if not str(step).startswith("function-")]
        out.append((steps[0] if steps else "", _told(".".join(steps), cast(dict[str, Any], fault))))
    return out


def _told(place: str, fault: dict[str, Any]) -> str:
    """What is wrong, in words that a model can act on: `'age' expected number, got text: "12"`."""
    kind, given = fault["type"], fault["input"]
    if kind == "missing":
        return f"'{place}' is missing"
    if kind in _UNKNOWN:
        return f"there is no field '{place}'"
    where = f"'{place}' " if place else ""
    expected = _EXPECTED.get(kind) or fault.get("ctx", {}).get("expected")
    if kind == "int_type" and type(given) is float:
        expected = "whole number"
    if expected:
        return f"{where}expected {expected}, got {shown(given)}"
    return f"{where}does not fit: {fault['msg'][:1].lower()}{fault['msg'][1:]}, got {shown(given)}"


def shown(value: object) -> str:
    """A value as it is told to a model, with its kind."""
    try:
        text = dumps(value)
    except ContentError:
        text = repr(value)
    short = text if len(text) <= 80 else f"{text[:80]}…"
    return short if value is None else f"{_KINDS.get(type(value), type(value).__name__)}: {short}"


def _is_whole(fault: Any) -> bool:
    given = fault["input"]
    return fault["type"] == "int_type" and _as_whole(given) is not given


def _as_whole(value: Any) -> Any:
    exact = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if exact else value


def _with_whole_numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_whole_numbers(each) for key, each in cast(Mapping[str, Any], value).items()}
    if isinstance(value, list):
        return [_with_whole_numbers(each) for each in cast(list[Any], value)]
    return _as_whole(value)
