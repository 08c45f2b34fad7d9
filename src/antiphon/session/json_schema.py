"""JSON Schema as a type that is wanted back: what it says of a value is checked here, word for word.

Words that say nothing of a value, such as `$comment`, are left out. A word that would, and is not known here, is an
error when the schema is read: no value is said to fit that was not looked at.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from antiphon._json import dumps
from antiphon._shape import arr, obj, string
from antiphon.errors import OptionError
from antiphon.session.wanted import Fault, Faults, Wanted, shown, word

_DEPTH = 100
_TYPES: dict[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: not isinstance(value, bool) and (isinstance(value, int) or _is_whole(value)),
}
#: Words with schemas in them: by name, one after the other, or one.
_NAMED = ("properties", "patternProperties", "$defs")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_ONE = ("items", "additionalProperties", "propertyNames", "contains", "not")
#: Words that count or compare: what is looked at, when that is wrong, and how it is told.
_BOUNDS: dict[str, tuple[type | tuple[type, ...], Callable[[Any, Any], bool], str]] = {
    "minimum": ((int, float), lambda value, bound: value < bound, "at least {}"),
    "maximum": ((int, float), lambda value, bound: value > bound, "at most {}"),
    "exclusiveMinimum": ((int, float), lambda value, bound: value <= bound, "more than {}"),
    "exclusiveMaximum": ((int, float), lambda value, bound: value >= bound, "less than {}"),
    "multipleOf": ((int, float), lambda value, bound: not _is_multiple(value, bound), "a multiple of {}"),
    "minLength": (str, lambda value, bound: len(value) < bound, "at least {} characters"),
    "maxLength": (str, lambda value, bound: len(value) > bound, "at most {} characters"),
    "pattern": (str, lambda value, bound: re.search(bound, value) is None, "text like {}"),
    "minItems": (list, lambda value, bound: len(value) < bound, "at least {} items"),
    "maxItems": (list, lambda value, bound: len(value) > bound, "at most {} items"),
    "minProperties": (dict, lambda value, bound: len(value) < bound, "at least {} fields"),
    "maxProperties": (dict, lambda value, bound: len(value) > bound, "at most {} fields"),
}
_OTHERS = ("type", "enum", "const", "required", "uniqueItems", "$ref", "description", "title", "format", "default")
_KNOWN = {*_NAMED, *_LISTED, *_ONE, *_BOUNDS, *_OTHERS}
#: What JSON Schema has besides, and would change which values fit.
_UNKNOWN = (
    *("if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies", "minContains", "maxContains"),
    *("unevaluatedProperties", "unevaluatedItems", "additionalItems", "$dynamicRef", "$recursiveRef", "nullable"),
)


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """A type that is described by a JSON Schema, which `read_schema` has looked at."""

    schema: Mapping[str, Any]

    def wanted(self) -> Wanted:
        """What is asked for: the fields of an object, or one value."""
        root = dict(self.schema)
        if root.get("type", "object") == "object" and obj(root.get("properties")):
            return _Described({"type": "object", **root}, False, None, {})
        defs = root.pop("$defs", None)
        whole = {"type": "object", "properties": {"value": root}, "required": ["value"], "additionalProperties": False}
        return _Described(whole | ({"$defs": defs} if defs else {}), True, None, {})


@dataclass(frozen=True, slots=True)
class _Described(Wanted):
    """What a schema wants."""

    def read(self, given: Mapping[str, Any]) -> tuple[list[Any], Faults]:
        """The value that these fields make, as it came; or what is wrong with them."""
        faults = list(_Check(obj(self.schema.get("$defs"))).value(dict(given), self.schema, ()))
        if faults:
            return [], faults
        return [given["value"] if self.single else dict(given)], []


def read_schema(data: object, name: str) -> JsonSchema:
    """A JSON Schema in the form in which models are told of it; an OptionError says what is wrong with it."""
    if not isinstance(data, dict):
        raise OptionError(f'{name} is no JSON Schema: that is an object such as {{"type": "object", …}}')
    given = cast("dict[str, Any]", data)
    if not {*given} & {*_KNOWN, *_UNKNOWN, "definitions"} - {"title", "description", "default"}:
        raise OptionError(f"{name} is no JSON Schema: it has no `type`, `properties`, `enum` or the like")
    return JsonSchema(_Reader(given, name).root())


class _Reader:
    """Rewrites a schema: known words alone, `$defs` at the top, and no references but to those."""

    def __init__(self, given: dict[str, Any], name: str) -> None:
        self._given = given
        self._name = name
        self._defs = {**obj(given.get("definitions")), **obj(given.get("$defs"))}
        self._is_recursive = False

    def root(self) -> dict[str, Any]:
        top = {key: value for key, value in self._given.items() if key not in ("$defs", "definitions")}
        root = self._schema(top, "#", _DEPTH)
        defs = {name: self._schema(each, f"#/$defs/{name}", _DEPTH) for name, each in self._defs.items()}
        if self._is_recursive:
            defs["__root"] = root
        seen: set[str] = set()
        while set(root) - {"description", "title"} == {"$ref"}:
            # What is behind it is what is wanted; its fields are to be seen.
            name = string(root["$ref"]).removeprefix("#/$defs/")
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
        if strange := next((key for key in _UNKNOWN if key in node), ""):
            raise self._error(
                place, f"has `{strange}`, which is not understood; say it in other words, or leave it out"
            )
        out = {key: self._word(key, value, place, depth - 1) for key, value in node.items() if key in _KNOWN}
        self._check(out, place)
        return out

    def _word(self, key: str, value: Any, place: str, depth: int) -> Any:
        inside = f"{place}/{key}"
        if key in _NAMED:
            return {name: self._schema(each, f"{inside}/{name}", depth) for name, each in obj(value).items()}
        if key in _LISTED:
            return [self._schema(each, f"{inside}/{n}", depth) for n, each in enumerate(arr(value))]
        if key == "additionalProperties" and isinstance(value, bool):
            return value
        if key in _ONE:
            return self._schema(value, inside, depth)
        return self._reference(string(value), place) if key == "$ref" else value

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
        for kind in [kinds] if isinstance(kinds, str) else arr(kinds) or ([kinds] if kinds else []):
            if kind not in _TYPES:
                raise self._error(place, f"has the type {kind!r:.40}; there are {', '.join(_TYPES)}")
        for key in _BOUNDS.keys() & node.keys():
            wanted = str if key == "pattern" else (int, float)
            if not isinstance(node[key], wanted) or isinstance(node[key], bool):
                raise self._error(place, f"has {node[key]!r:.40} for `{key}`")
        for key, kind in (("enum", list), ("required", list), ("description", str)):
            if key in node and not isinstance(node[key], kind):
                raise self._error(place, f"has {node[key]!r:.40} for `{key}`")
        for pattern in (*[node[key] for key in ("pattern",) if key in node], *node.get("patternProperties", ())):
            try:
                re.compile(pattern)
            except re.error as error:
                raise self._error(place, f"has a pattern that cannot be read: {error}") from None

    def _error(self, place: str, what: str) -> OptionError:
        return OptionError(f"{self._name}: {place} {what}")


class _Check:
    """Finds what is wrong with a value. `place` are the names and numbers that lead to it."""

    def __init__(self, defs: Mapping[str, Any]) -> None:
        self._defs = defs

    def value(
        self, value: Any, schema: Mapping[str, Any], place: tuple[str, ...], depth: int = _DEPTH
    ) -> Iterator[Fault]:
        """Each thing that the schema says and that is not so."""
        if not depth:
            yield _fault(place, "is nested too deeply")
            return
        yield from _own_faults(value, schema, place)
        yield from self._joined(value, schema, place, depth - 1)
        if isinstance(value, dict):
            yield from self._fields(cast("dict[str, Any]", value), schema, place, depth - 1)
        elif isinstance(value, list):
            yield from self._items(cast("list[Any]", value), schema, place, depth - 1)

    def _fits(self, value: Any, schema: Mapping[str, Any], depth: int) -> bool:
        return next(self.value(value, schema, (), depth), None) is None

    def _joined(self, value: Any, schema: Mapping[str, Any], place: tuple[str, ...], depth: int) -> Iterator[Fault]:
        if "$ref" in schema:
            yield from self.value(value, self._defs[schema["$ref"].removeprefix("#/$defs/")], place, depth)
        for each in schema.get("allOf", ()):
            yield from self.value(value, each, place, depth)
        if options := schema.get("anyOf"):
            found = [list(self.value(value, each, place, depth)) for each in options]
            if all(found):
                yield from found[0] if len(found) == 1 else [_expected(value, schema, place)]
        if options := schema.get("oneOf"):
            count = sum(self._fits(value, each, depth) for each in options)
            if count != 1:
                yield (
                    _expected(value, schema, place)
                    if not count
                    else _fault(place, f"fits {count} of what only one may be")
                )
        if "not" in schema and self._fits(value, schema["not"], depth):
            yield _fault(place, f"may not be {shown(value)}")

    def _fields(
        self, value: dict[str, Any], schema: Mapping[str, Any], place: tuple[str, ...], depth: int
    ) -> Iterator[Fault]:
        fields, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        others = schema.get("additionalProperties", True)
        yield from (_fault((*place, name), "is missing") for name in schema.get("required", ()) if name not in value)
        for name, each in value.items():
            inside = (*place, name)
            known = [fields[name]] if name in fields else []
            known += [inner for pattern, inner in patterns.items() if re.search(pattern, name)]
            if not known and others is False:
                yield (inside[0], f"there is no field '{'.'.join(inside)}'")
            for inner in known or ([others] if isinstance(others, dict) else []):
                yield from self.value(each, inner, inside, depth)
            if "propertyNames" in schema and not self._fits(name, schema["propertyNames"], depth):
                yield (inside[0], f"there is no field '{'.'.join(inside)}'")

    def _items(
        self, value: list[Any], schema: Mapping[str, Any], place: tuple[str, ...], depth: int
    ) -> Iterator[Fault]:
        first, others = schema.get("prefixItems", []), schema.get("items", {})
        for number, each in enumerate(value):
            inner = first[number] if number < len(first) else others
            yield from self.value(each, inner, (*place, str(number)), depth)
        if "contains" in schema and not any(self._fits(each, schema["contains"], depth) for each in value):
            yield _fault(place, f"has no {word(schema['contains'])} in it")


def _own_faults(value: Any, schema: Mapping[str, Any], place: tuple[str, ...]) -> Iterator[Fault]:
    """What is wrong with a value by itself."""
    kinds = schema.get("type")
    if kinds and not any(_TYPES[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        yield _expected(value, schema, place)
        return
    for allowed in ([schema["enum"]] if "enum" in schema else []) + ([[schema["const"]]] if "const" in schema else []):
        if not any(_same(value, each) for each in allowed):
            yield _fault(place, f"expected {word({'enum': allowed})}, got {shown(value)}")
    for key in _BOUNDS.keys() & schema.keys():
        what, is_wrong, told = _BOUNDS[key]
        if isinstance(value, what) and not isinstance(value, bool) and is_wrong(value, schema[key]):
            yield _fault(place, f"expected {told.format(schema[key])}, got {shown(value)}")
    if schema.get("uniqueItems") is True and isinstance(value, list):
        items = cast("list[Any]", value)
        if any(_same(each, other) for n, each in enumerate(items) for other in items[:n]):
            yield _fault(place, "has something in it twice")


def _expected(value: object, schema: Mapping[str, Any], place: tuple[str, ...]) -> Fault:
    kinds = arr(schema.get("type"))
    wanted = " or ".join(word({**schema, "type": kind}) for kind in kinds) if kinds else word(schema)
    return _fault(place, f"expected {wanted}, got {shown(value)}")


def _fault(place: tuple[str, ...], told: str) -> Fault:
    return (place[0], f"'{'.'.join(place)}' {told}") if place else ("", told)


def _same(first: object, second: object) -> bool:
    """Whether two values are the same JSON: 1 is 1.0, and not true."""
    return dumps(_plain(first)) == dumps(_plain(second))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in sorted(cast("dict[str, Any]", value).items())}
    if isinstance(value, list):
        return [_plain(each) for each in cast("list[Any]", value)]
    return int(value) if _is_whole(value) else value


def _is_whole(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()


def _is_multiple(value: float, step: float) -> bool:
    if not step:
        return False
    whole = value / step
    return math.isfinite(whole) and math.isclose(whole, round(whole), rel_tol=1e-9, abs_tol=1e-9)
