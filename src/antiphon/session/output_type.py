"""The output type that a model must return: its schema and the strict validation of answers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from inspect import isroutine
from typing import TYPE_CHECKING, Any, cast

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_object
from antiphon.errors import ContentError, OptionError
from antiphon.tools.function_schema import strip_schema_titles
from antiphon.tools.type_annotations import check_core_schema, make_readable_annotation

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

    from antiphon.session.citations import CitableCalls

_TYPE_WORDS = {
    "string": "text",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
    "object": "object",
}
#: The expected type by pydantic's error type, where the message does not need more.
_EXPECTED_WORDS = {
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
_VALUE_WORDS: dict[type, str] = {
    str: "text",
    bool: "boolean",
    int: "number",
    float: "number",
    list: "list",
    dict: "object",
}
_UNKNOWN_FIELD_ERRORS = ("extra_forbidden", "unexpected_keyword_argument")

_STRING = re.compile(r'"(?:[^"\\]|\\[\s\S])*(?:"|\\?\Z)')
#: Matches no integers, because Python keeps all of their digits.
_NUMBER = re.compile(r"-?(?<!\d)\d+(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+)")

#: A field and the description of its fault; the field is "" for a fault of the entire object.
Fault = tuple[str, str]
Faults = list[Fault]


@dataclass(frozen=True, slots=True)
class OutputType:
    """An output type as the fields of an object. A single value is the field `value`."""

    schema: dict[str, Any]
    single: bool
    #: Validates the fields; None if the JSON Schema itself does.
    _adapter: TypeAdapter[Any] | None
    #: External names by internal names. A pydantic model accepts either.
    _aliases: Mapping[str, str]

    @property
    def is_json_schema(self) -> bool:
        """True if a JSON Schema describes the type, so that unknown fields are part of the value."""
        return self._adapter is None

    @property
    def has_converters(self) -> bool:
        """True if functions of the type convert values before they are validated.

        Then the schema does not describe which values are accepted.
        """
        return self._adapter is not None and _has_converter(cast(Any, self._adapter.core_schema), set())

    def find_inexact_numbers(self, said: str) -> list[str]:
        """Return the numbers of a JSON text that lose digits as floats, if the type could keep them.

        `Decimal` is such a type.
        """
        numbers = _NUMBER.findall(_STRING.sub("", said))
        lost = [each for each in numbers if Decimal(each) != Decimal(repr(float(each)))]
        return lost if lost and _accepts_number_or_text(self.schema) else []

    def resolve_field_name(self, name: str) -> str:
        """Return the external name of a field that is given by its external or internal name."""
        return self._aliases.get(name, name)

    def read(self, given: Mapping[str, Any], calls: CitableCalls | None = None) -> tuple[list[Any], Faults]:
        """Return the value of these fields in a list; otherwise an empty list and the faults.

        `calls` are those that values may cite.
        """
        from pydantic import ValidationError

        try:
            value = self._read(given, calls)
            faults = [*_iter_bool_number_faults(dict(given), self.schema, self.schema.get("$defs", {}))]
            return ([] if faults else [value]), faults
        except ValidationError as error:
            if not any(_is_integral_fault(fault) for fault in error.errors(include_url=False, include_context=False)):
                return [], _collect_faults(error)
        except Exception as error:
            # A custom validator of the type raised, perhaps because other fields are missing.
            return [], [("", f"{type(error).__name__}: {error}")]
        # In JSON, 3.0 is an integer.
        return self.read(_convert_integral_floats(given), calls)

    def _read(self, given: Mapping[str, Any], calls: CitableCalls | None) -> Any:
        # An unknown field may be a misspelled optional one; ignoring it would lose its value.
        extra: Any = "forbid" if _has_optional_field(self.schema) and not _has_open_object(self.schema) else None
        assert self._adapter is not None
        value = self._adapter.validate_json(
            dump_json(given), strict=True, extra=extra, context=calls, by_alias=True, by_name=True
        )
        return value["value"] if self.single else value


def make_output_type(asked: Any) -> OutputType:
    """Return the output type for a type, a dict of field names and types, or a JSON Schema."""
    from antiphon.session.json_schema import JsonSchema

    if isinstance(asked, JsonSchema):
        return asked.wanted()
    from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

    try:
        type_ = _resolve_type(asked)
        adapter: TypeAdapter[Any] = TypeAdapter(type_)
        check_core_schema(adapter.core_schema)
        schema = _build_schema(adapter, type_)
        single = "properties" not in schema
        if single:
            adapter = TypeAdapter(_make_object_type({"value": type_}))
            schema = _build_schema(adapter, None)
    except PydanticSchemaGenerationError:
        raise OptionError(
            f"`returns` cannot be {asked!r}: its fields are unknown; use a dataclass, a TypedDict or a pydantic model"
        ) from None
    except (PydanticUserError, TypeError, NameError, SyntaxError) as error:
        raise OptionError(f"`returns` cannot be {asked!r}: {str(error).splitlines()[0]}") from None
    return OutputType(schema, single, adapter, _collect_aliases(type_))


def _has_converter(node: Any, seen: set[int]) -> bool:
    """Return whether a core schema contains a function that gets unvalidated values."""
    key = id(node)
    if key in seen or not isinstance(node, dict | list | tuple):
        return False
    seen.add(key)
    if isinstance(node, dict):
        fields = cast("dict[str, Any]", node)
        if fields.get("type") in ("function-before", "function-wrap", "function-plain"):
            return True
        others = ("metadata", "default", "serialization")
        return any(_has_converter(each, seen) for key, each in fields.items() if key not in others)
    return any(_has_converter(each, seen) for each in cast("list[Any]", node))


def _accepts_number_or_text(schema: object) -> bool:
    """Return whether anything in the schema accepts both a number and a text, as decimals do."""
    if isinstance(schema, list):
        return any(map(_accepts_number_or_text, cast(list[object], schema)))
    if not isinstance(schema, dict):
        return False
    inside = cast(dict[str, Any], schema)
    kinds = {as_object(each).get("type") for each in as_array(inside.get("anyOf"))}
    return kinds >= {"number", "string"} or any(map(_accepts_number_or_text, inside.values()))


def describe_schema(schema: Mapping[str, Any]) -> str:
    """Describe the values of a schema in plain words."""
    if "enum" in schema:
        return " or ".join(map(dump_json, schema["enum"]))
    if "const" in schema:
        return dump_json(schema["const"])
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(map(describe_schema, options)))
    if schema.get("type") == "array":
        inner = describe_schema(schema.get("items", {}))
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if "$ref" in schema:
        return "object"
    return _TYPE_WORDS.get(str(schema.get("type")), "json")


# Schemas


def _resolve_type(asked: Any) -> Any:
    if isinstance(asked, Mapping):
        return _make_object_type(cast(Mapping[Any, Any], asked))
    if isroutine(asked):
        # Pydantic would call the function and use its return value.
        raise TypeError("a function is no type")
    return make_readable_annotation(asked)


def _make_object_type(types: Mapping[Any, Any]) -> Any:
    """Return a `TypedDict` with these fields."""
    from typing_extensions import TypedDict

    if not types or not all(isinstance(name, str) and name for name in types):
        raise OptionError("`returns` as a dict names at least one field: {'name': str, 'age': int}")
    return cast(Any, TypedDict)("Answer", {name: _resolve_type(type_) for name, type_ in types.items()})


def _build_schema(adapter: TypeAdapter[Any], type_: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type, without fields that cannot be set."""
    schema: dict[str, Any] = strip_schema_titles(adapter.json_schema())
    defs = schema.get("$defs", {})
    if "$ref" in schema:
        # A recursive type.
        schema = {**defs[schema["$ref"].rpartition("/")[2]], "$defs": defs}
    if not schema.get("properties"):
        return {key: value for key, value in schema.items() if key != "properties"}
    unset = {f.name for f in dataclasses.fields(type_) if not f.init} if dataclasses.is_dataclass(type_) else set[str]()
    properties = {name: value for name, value in schema["properties"].items() if name not in unset}
    return {"additionalProperties": False, **schema, "properties": properties}


def _collect_aliases(type_: Any) -> dict[str, str]:
    fields: dict[str, Any] = getattr(type_, "model_fields", {})
    return {n: info.validation_alias for n, info in fields.items() if isinstance(info.validation_alias, str)}


def _has_open_object(schema: Any) -> bool:
    """Return whether an object in the schema accepts additional fields."""
    return any(each.get("additionalProperties") is True for each in _iter_object_schemas(schema))


def _has_optional_field(schema: Any) -> bool:
    """Return whether an object in the schema has an optional field."""
    return any(len(each.get("required", ())) < len(each["properties"]) for each in _iter_object_schemas(schema))


def _iter_object_schemas(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas of objects with named fields, at any depth."""
    if isinstance(schema, list):
        for item in cast(list[Any], schema):
            yield from _iter_object_schemas(item)
    elif isinstance(schema, Mapping):
        data = cast(Mapping[str, Any], schema)
        if isinstance(data.get("properties"), Mapping) and data.get("type") == "object":
            yield data
        for key, value in data.items():
            if key not in ("default", "enum", "const", "examples"):
                yield from _iter_object_schemas(value)


# Faults


def _iter_bool_number_faults(
    given: Any, schema: Any, defs: Mapping[str, Any], place: tuple[str, ...] = ()
) -> Iterator[Fault]:
    """Yield a fault for each boolean given as a number or the reverse, because pydantic treats `True` as 1."""
    if isinstance(schema, Mapping) and "$ref" in schema:
        schema = defs.get(cast(str, schema["$ref"]).rpartition("/")[2])
    if not isinstance(schema, Mapping):
        return
    node = cast(Mapping[str, Any], schema)
    if options := node.get("anyOf") or node.get("oneOf"):
        found = [[*_iter_bool_number_faults(given, each, defs, place)] for each in options if _can_match(each, given)]
        yield from found[0] if found and all(found) else ()
    elif isinstance(given, bool | int):
        values = [each for each in node.get("enum", [node.get("const")]) if each == given]
        if values and not any(isinstance(each, bool) == isinstance(given, bool) for each in values):
            yield place[0], f"'{'.'.join(place)}' expected {describe_schema(node)}, got {describe_value(given)}"
    elif isinstance(given, dict | list):
        for name, value, inner in _iter_children(cast(dict[str, Any] | list[Any], given), node):
            yield from _iter_bool_number_faults(value, inner, defs, (*place, name))


def _iter_children(given: dict[str, Any] | list[Any], schema: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name or index of each child, with its value and its schema."""
    if isinstance(given, dict):
        fields, others = schema.get("properties", {}), schema.get("additionalProperties")
        yield from ((name, value, fields.get(name, others)) for name, value in given.items())
    else:
        first, others = schema.get("prefixItems", []), schema.get("items")
        yield from ((str(n), value, first[n] if n < len(first) else others) for n, value in enumerate(given))


def _can_match(schema: Mapping[str, Any], given: object) -> bool:
    """Return whether the schema's type allows the value."""
    if not isinstance(given, bool | int) or "enum" in schema or "const" in schema:
        return True
    return schema.get("type") in ((None, "boolean") if isinstance(given, bool) else (None, "integer", "number"))


def _collect_faults(error: ValidationError) -> Faults:
    out: Faults = []
    for fault in error.errors(include_url=False):
        steps = [str(step) for step in fault["loc"] if not str(step).startswith("function-")]
        out.append((steps[0] if steps else "", _format_fault(".".join(steps), cast(dict[str, Any], fault))))
    return out


def _format_fault(place: str, fault: dict[str, Any]) -> str:
    """Describe a fault so that a model can correct it: `'age' expected number, got text: "12"`."""
    kind, given = fault["type"], fault["input"]
    if kind == "missing":
        return f"'{place}' is missing"
    if kind in _UNKNOWN_FIELD_ERRORS:
        return f"there is no field '{place}'"
    where = f"'{place}' " if place else ""
    expected = _EXPECTED_WORDS.get(kind) or fault.get("ctx", {}).get("expected")
    if kind == "int_type" and type(given) is float:
        expected = "whole number"
    if expected:
        return f"{where}expected {expected}, got {describe_value(given)}"
    return f"{where}does not fit: {fault['msg'][:1].lower()}{fault['msg'][1:]}, got {describe_value(given)}"


def describe_value(value: object) -> str:
    """Describe a value with its type, for a message to a model."""
    try:
        text = dump_json(value)
    except ContentError:
        text = repr(value)
    short = text if len(text) <= 80 else f"{text[:80]}…"
    return short if value is None else f"{_VALUE_WORDS.get(type(value), type(value).__name__)}: {short}"


def _is_integral_fault(fault: Any) -> bool:
    given = fault["input"]
    return fault["type"] == "int_type" and _to_integer(given) is not given


def _to_integer(value: Any) -> Any:
    exact = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if exact else value


def _convert_integral_floats(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _convert_integral_floats(each) for key, each in cast(Mapping[str, Any], value).items()}
    if isinstance(value, list):
        return [_convert_integral_floats(each) for each in cast(list[Any], value)]
    return _to_integer(value)
