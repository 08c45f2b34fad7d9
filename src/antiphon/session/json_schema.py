"""JSON Schema as an output type: values are validated against every supported keyword.

Keywords without effect on validity, such as `$comment`, are dropped. An unsupported keyword that would
affect it is an error when the schema is parsed, so that no value is accepted without validation.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon._base.patterns import compile_pattern
from antiphon.errors import OptionError
from antiphon.session.output_type import Fault, Faults, OutputType, describe_schema, describe_value

if TYPE_CHECKING:
    from antiphon.session.citations import CitableCalls

_MAX_DEPTH = 100
#: Schemas that refer to one another can take time that doubles with each of them.
_MAX_STEPS = 50_000
_TYPE_CHECKS: dict[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: not isinstance(value, bool) and (isinstance(value, int) or _is_integral_float(value)),
}
#: Keywords that contain schemas: a map, a list, or a single one.
_SCHEMA_MAPS = ("properties", "patternProperties", "$defs")
_SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE_SCHEMAS = ("items", "additionalProperties", "propertyNames", "contains", "not")
#: Keywords with a bound: the checked types, the test for a violation, and its description.
_BOUNDS: dict[str, tuple[type | tuple[type, ...], Callable[[Any, Any], bool], str]] = {
    "minimum": ((int, float), lambda value, bound: value < bound, "at least {}"),
    "maximum": ((int, float), lambda value, bound: value > bound, "at most {}"),
    "exclusiveMinimum": ((int, float), lambda value, bound: value <= bound, "more than {}"),
    "exclusiveMaximum": ((int, float), lambda value, bound: value >= bound, "less than {}"),
    "multipleOf": ((int, float), lambda value, bound: not _is_multiple(value, bound), "a multiple of {}"),
    "minLength": (str, lambda value, bound: len(value) < bound, "at least {} characters"),
    "maxLength": (str, lambda value, bound: len(value) > bound, "at most {} characters"),
    "pattern": (str, lambda value, bound: not compile_pattern(bound)(value), "text like {}"),
    "minItems": (list, lambda value, bound: len(value) < bound, "at least {} items"),
    "maxItems": (list, lambda value, bound: len(value) > bound, "at most {} items"),
    "minProperties": (dict, lambda value, bound: len(value) < bound, "at least {} fields"),
    "maxProperties": (dict, lambda value, bound: len(value) > bound, "at most {} fields"),
}
_OTHER_KEYWORDS = (
    "type",
    "enum",
    "const",
    "required",
    "uniqueItems",
    "$ref",
    "description",
    "title",
    "format",
    "default",
)
_SUPPORTED_KEYWORDS = {*_SCHEMA_MAPS, *_SCHEMA_LISTS, *_SINGLE_SCHEMAS, *_BOUNDS, *_OTHER_KEYWORDS}
#: Unsupported keywords that would affect which values are valid.
_UNSUPPORTED_KEYWORDS = (
    *("if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies", "minContains", "maxContains"),
    *("unevaluatedProperties", "unevaluatedItems", "additionalItems", "$dynamicRef", "$recursiveRef", "nullable"),
)


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """A type that is described by a JSON Schema, as parsed by `parse_json_schema`."""

    schema: Mapping[str, Any]

    def wanted(self) -> OutputType:
        """Return the output type: the fields of an object, or a single value."""
        root = dict(self.schema)
        if root.get("type", "object") == "object" and as_object(root.get("properties")):
            return _SchemaOutputType({"type": "object", **root}, False, None, {})
        defs = root.pop("$defs", None)
        whole = {"type": "object", "properties": {"value": root}, "required": ["value"], "additionalProperties": False}
        return _SchemaOutputType(whole | ({"$defs": defs} if defs else {}), True, None, {})


@dataclass(frozen=True, slots=True)
class _SchemaOutputType(OutputType):
    """An output type that is validated by its JSON Schema."""

    def read(self, given: Mapping[str, Any], calls: CitableCalls | None = None) -> tuple[list[Any], Faults]:  # noqa: ARG002
        """Return the value of these fields, unconverted, in a list; otherwise an empty list and the faults."""
        try:
            faults = list(_SchemaValidator(as_object(self.schema.get("$defs"))).value(dict(given), self.schema, ()))
        except _TooManySteps:
            return [], [("", f"the schema takes more than {_MAX_STEPS:,} steps to check")]
        if faults:
            return [], faults
        return [given["value"] if self.single else dict(given)], []


def parse_json_schema(data: object, name: str) -> JsonSchema:
    """Parse a JSON Schema and normalize it for models. Raise an OptionError with the reason if it is invalid."""
    if not isinstance(data, dict):
        raise OptionError(f'{name} is no JSON Schema: that is an object such as {{"type": "object", …}}')
    given = cast("dict[str, Any]", data)
    if not {*given} & {*_SUPPORTED_KEYWORDS, *_UNSUPPORTED_KEYWORDS, "definitions"} - {
        "title",
        "description",
        "default",
    }:
        raise OptionError(f"{name} is no JSON Schema: it has no `type`, `properties`, `enum` or the like")
    return JsonSchema(_SchemaNormalizer(given, name).root())


def is_valid_value(value: object, schema: Mapping[str, Any], defs: Mapping[str, Any]) -> bool:
    """Return whether a value fits a schema, with everything in it."""
    try:
        return next(_SchemaValidator(defs).value(value, schema, ()), None) is None
    except _TooManySteps:
        return False


def is_valid_container(value: dict[str, Any] | list[Any], schema: Mapping[str, Any]) -> bool:
    """Return whether an object or an array fits a schema, if everything in it does."""
    named: tuple[str, ...] = tuple(schema.get("required", ())) if isinstance(value, dict) else ()
    return all(name in value for name in named) and next(_iter_own_faults(value, schema, ()), None) is None


class _SchemaNormalizer:
    """Normalizes a schema: only supported keywords, `$defs` at the top, and no references except to those."""

    def __init__(self, given: dict[str, Any], name: str) -> None:
        self._given = given
        self._name = name
        self._defs = {**as_object(given.get("definitions")), **as_object(given.get("$defs"))}
        self._is_recursive = False

    def root(self) -> dict[str, Any]:
        top = {key: value for key, value in self._given.items() if key not in ("$defs", "definitions")}
        root = self._schema(top, "#", _MAX_DEPTH)
        defs = {name: self._schema(each, f"#/$defs/{name}", _MAX_DEPTH) for name, each in self._defs.items()}
        if self._is_recursive:
            defs["__root"] = root
        seen: set[str] = set()
        while set(root) - {"description", "title"} == {"$ref"}:
            # Resolve a root that is only a reference, so that its fields are visible.
            name = as_string(root["$ref"]).removeprefix("#/$defs/")
            if name in seen:
                raise self._error("#", "refers to nothing but itself")
            seen.add(name)
            root = {**defs[name], **{key: value for key, value in root.items() if key != "$ref"}}
        return root | ({"$defs": defs} if defs else {})

    def _schema(self, data: object, place: str, depth: int) -> dict[str, Any]:
        if isinstance(data, bool):
            return {} if data else {"not": {}}
        if not isinstance(data, dict) or not depth:
            raise self._error(place, "is no schema" if depth else "is nested too deeply")
        node = cast("dict[str, Any]", data)
        if strange := next((key for key in _UNSUPPORTED_KEYWORDS if key in node), ""):
            raise self._error(
                place, f"has `{strange}`, which is not understood; say it in other words, or leave it out"
            )
        out = {
            key: self._normalize_keyword(key, value, place, depth - 1)
            for key, value in node.items()
            if key in _SUPPORTED_KEYWORDS
        }
        self._check(out, place)
        return out

    def _normalize_keyword(self, key: str, value: Any, place: str, depth: int) -> Any:
        inside = f"{place}/{key}"
        if key in _SCHEMA_MAPS:
            return {name: self._schema(each, f"{inside}/{name}", depth) for name, each in as_object(value).items()}
        if key in _SCHEMA_LISTS:
            return [self._schema(each, f"{inside}/{n}", depth) for n, each in enumerate(as_array(value))]
        if key == "additionalProperties" and isinstance(value, bool):
            return value
        if key in _SINGLE_SCHEMAS:
            return self._schema(value, inside, depth)
        return self._reference(as_string(value), place) if key == "$ref" else value

    def _reference(self, target: str, place: str) -> str:
        if target == "#":
            self._is_recursive = True
            return "#/$defs/__root"
        name = target.removeprefix("#/definitions/").removeprefix("#/$defs/")
        if not target.startswith(("#/$defs/", "#/definitions/")) or name not in self._defs:
            raise self._error(place, f"refers to {target!r:.80}, which is not among its `$defs`")
        return f"#/$defs/{name}"

    def _check(self, node: dict[str, Any], place: str) -> None:
        kinds = node.get("type", [])
        for kind in [kinds] if isinstance(kinds, str) else as_array(kinds) or ([kinds] if kinds else []):
            if kind not in _TYPE_CHECKS:
                raise self._error(place, f"has the type {kind!r:.40}; there are {', '.join(_TYPE_CHECKS)}")
        for key in _BOUNDS.keys() & node.keys():
            wanted = str if key == "pattern" else (int, float)
            if not isinstance(node[key], wanted) or isinstance(node[key], bool):
                raise self._error(place, f"has {node[key]!r:.40} for `{key}`")
        for key, kind in (("enum", list), ("required", list), ("description", str)):
            if key in node and not isinstance(node[key], kind):
                raise self._error(place, f"has {node[key]!r:.40} for `{key}`")
        for pattern in (*[node[key] for key in ("pattern",) if key in node], *node.get("patternProperties", ())):
            try:
                compile_pattern(pattern)
            except ValueError as error:
                raise self._error(place, f"has a pattern that cannot be read: {error}") from None

    def _error(self, place: str, what: str) -> OptionError:
        return OptionError(f"{self._name}: {place} {what}")


class _TooManySteps(Exception):
    """Raised when a value takes too many steps to check."""


class _SchemaValidator:
    """Finds the faults of a value. `place` is the path of names and numbers to the value."""

    def __init__(self, defs: Mapping[str, Any]) -> None:
        self._defs = defs
        self._steps = 0

    def value(
        self, value: Any, schema: Mapping[str, Any], place: tuple[str, ...], depth: int = _MAX_DEPTH
    ) -> Iterator[Fault]:
        """Yield each violation of the schema."""
        if not depth:
            yield _make_fault(place, "is nested too deeply")
            return
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise _TooManySteps
        yield from _iter_own_faults(value, schema, place)
        yield from self._joined(value, schema, place, depth - 1)
        if isinstance(value, dict):
            yield from self._fields(cast("dict[str, Any]", value), schema, place, depth - 1)
        elif isinstance(value, list):
            yield from self._items(cast("list[Any]", value), schema, place, depth - 1)

    def _is_valid(self, value: Any, schema: Mapping[str, Any], depth: int) -> bool:
        return next(self.value(value, schema, (), depth), None) is None

    def _joined(self, value: Any, schema: Mapping[str, Any], place: tuple[str, ...], depth: int) -> Iterator[Fault]:
        if "$ref" in schema:
            yield from self.value(value, self._defs[schema["$ref"].removeprefix("#/$defs/")], place, depth)
        for each in schema.get("allOf", ()):
            yield from self.value(value, each, place, depth)
        if options := schema.get("anyOf"):
            found = [list(self.value(value, each, place, depth)) for each in options]
            if all(found):
                yield from found[0] if len(found) == 1 else [_make_type_fault(value, schema, place)]
        if options := schema.get("oneOf"):
            count = sum(self._is_valid(value, each, depth) for each in options)
            if count != 1:
                yield (
                    _make_type_fault(value, schema, place)
                    if not count
                    else _make_fault(place, f"fits {count} of what only one may be")
                )
        if "not" in schema and self._is_valid(value, schema["not"], depth):
            yield _make_fault(place, f"may not be {describe_value(value)}")

    def _fields(
        self, value: dict[str, Any], schema: Mapping[str, Any], place: tuple[str, ...], depth: int
    ) -> Iterator[Fault]:
        fields, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        others = schema.get("additionalProperties", True)
        yield from (
            _make_fault((*place, name), "is missing") for name in schema.get("required", ()) if name not in value
        )
        for name, each in value.items():
            inside = (*place, name)
            known = [fields[name]] if name in fields else []
            known += [inner for pattern, inner in patterns.items() if compile_pattern(pattern)(name)]
            if not known and others is False:
                yield (inside[0], f"there is no field '{'.'.join(inside)}'")
            for inner in known or ([others] if isinstance(others, dict) else []):
                yield from self.value(each, inner, inside, depth)
            if "propertyNames" in schema and not self._is_valid(name, schema["propertyNames"], depth):
                yield (inside[0], f"there is no field '{'.'.join(inside)}'")

    def _items(
        self, value: list[Any], schema: Mapping[str, Any], place: tuple[str, ...], depth: int
    ) -> Iterator[Fault]:
        first, others = schema.get("prefixItems", []), schema.get("items", {})
        for number, each in enumerate(value):
            inner = first[number] if number < len(first) else others
            yield from self.value(each, inner, (*place, str(number)), depth)
        if "contains" in schema and not any(self._is_valid(each, schema["contains"], depth) for each in value):
            yield _make_fault(place, f"has no {describe_schema(schema['contains'])} in it")


def _iter_own_faults(value: Any, schema: Mapping[str, Any], place: tuple[str, ...]) -> Iterator[Fault]:
    """Yield the faults of a value itself, without its fields and items."""
    kinds = schema.get("type")
    if kinds and not any(_TYPE_CHECKS[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        yield _make_type_fault(value, schema, place)
        return
    for allowed in ([schema["enum"]] if "enum" in schema else []) + ([[schema["const"]]] if "const" in schema else []):
        if not any(_is_same_json(value, each) for each in allowed):
            yield _make_fault(place, f"expected {describe_schema({'enum': allowed})}, got {describe_value(value)}")
    for key in _BOUNDS.keys() & schema.keys():
        what, is_wrong, told = _BOUNDS[key]
        if isinstance(value, what) and not isinstance(value, bool) and is_wrong(value, schema[key]):
            yield _make_fault(place, f"expected {told.format(schema[key])}, got {describe_value(value)}")
    if schema.get("uniqueItems") is True and isinstance(value, list):
        items = cast("list[Any]", value)
        if len({dump_json(_normalize_numbers(each)) for each in items}) < len(items):
            yield _make_fault(place, "has something in it twice")


def _make_type_fault(value: object, schema: Mapping[str, Any], place: tuple[str, ...]) -> Fault:
    kinds = as_array(schema.get("type"))
    wanted = (
        " or ".join(describe_schema({**schema, "type": kind}) for kind in kinds) if kinds else describe_schema(schema)
    )
    return _make_fault(place, f"expected {wanted}, got {describe_value(value)}")


def _make_fault(place: tuple[str, ...], told: str) -> Fault:
    return (place[0], f"'{'.'.join(place)}' {told}") if place else ("", told)


def _is_same_json(first: object, second: object) -> bool:
    """Return whether two values are equal as JSON: 1 equals 1.0, but not true."""
    return dump_json(_normalize_numbers(first)) == dump_json(_normalize_numbers(second))


def _normalize_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _normalize_numbers(each) for key, each in sorted(cast("dict[str, Any]", value).items())}
    if isinstance(value, list):
        return [_normalize_numbers(each) for each in cast("list[Any]", value)]
    return int(value) if _is_integral_float(value) else value


def _is_integral_float(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()


def _is_multiple(value: float, step: float) -> bool:
    if not step:
        return False
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return False
    whole = value / step
    return math.isfinite(whole) and math.isclose(whole, round(whole), rel_tol=1e-9, abs_tol=1e-9)
