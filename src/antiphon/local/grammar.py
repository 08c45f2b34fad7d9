"""Grammars from JSON Schemas: whatever a model writes under one is JSON that matches, and ends.

The runtime silently ignores a schema that it does not understand. So a schema is rebuilt here from
keywords that it is known to follow, and everything unbounded gets a bound.

A grammar may also require that texts and numbers occur in a source text: a text is a sequence of its words,
a number one that it has in digits. Choices, booleans, dates and other formatted texts are free, because
sources seldom write them in that form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.errors import OptionError

#: Maximum text, list and number if the schema sets no bound.
MAX_TEXT = 2000
MAX_ITEMS = 50
MAX_NUMBER = 10**15
_MAX_DEPTH = 40

JSON_LAYOUT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
_DATE = (
    r"(?:[12]\d{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    r"|02-(?:0[1-9]|1\d|2[0-8]))|(?:[12]\d(?:0[48]|[2468][048]|[13579][26])|(?:1[26]|2[048])00)-02-29)"
)
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
_LABEL = r"[A-Za-z0-9]{1,20}(?:-[A-Za-z0-9]{1,20}){0,2}"
#: The runtime's own versions are unbounded, or accept what validators reject.
_FORMAT_PATTERNS = {
    "date": rf"^{_DATE}$",
    "time": rf"^{_TIME}$",
    "date-time": rf"^{_DATE}T{_TIME}(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d)$",
    "duration": r"^P(?:\d{1,4}D|T\d{1,3}H(?:\d{1,2}M)?|T\d{1,4}M|T\d{1,4}S)$",
    "email": rf"^{_LABEL}(?:[._+]{_LABEL}){{0,3}}@{_LABEL}(?:\.{_LABEL}){{0,2}}\.[a-z]{{2,12}}$",
    # The last label has only letters: a number would make it an IP address.
    "uri": rf"^https?://(?:{_LABEL}\.){{0,4}}[A-Za-z]{{2,20}}(?:/[A-Za-z0-9._~%/?#=&+:@-]{{0,200}})?$",
}
_KEY_PATTERN = "^.{1,60}$"
_NATIVE_FORMATS = ("uuid", "ipv4")
#: The schema that pydantic generates for a decimal, although it does not accept any text for one.
_DECIMAL = [{"type": "number"}, {"type": "string"}]
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def build_grammar(schema: Mapping[str, Any]) -> str:
    """Return the grammar that restricts a model to a schema."""
    return "%llguidance {}\nstart: %json " + dump_json({"x-guidance": JSON_LAYOUT, **bound_schema(schema)})


def bound_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of the same or a narrower meaning, in known keywords and with bounds everywhere.

    What it cannot express (a look-ahead in a pattern, unique items) is left to the validation of the
    answer.
    """
    plain = _SchemaBounder(schema).value(dict(schema), _MAX_DEPTH)
    defs = {
        name: _SchemaBounder(schema).value(as_object(value), _MAX_DEPTH)
        for name, value in as_object(schema.get("$defs")).items()
    }
    return plain | ({"$defs": defs} if defs else {})


class _SchemaBounder:
    """Rebuilder of the parts of one schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def value(self, schema: object, depth: int) -> dict[str, Any]:
        if not depth:
            raise OptionError("a JSON Schema is nested too deeply for the local model")
        data = as_object(schema)
        if "$ref" in data:
            return self._reference(as_string(data["$ref"]))
        if "const" in data:
            return {"const": data["const"]}
        if "enum" in data:
            return {"enum": as_array(data["enum"])}
        for word in ("anyOf", "oneOf"):
            if word in data:
                return self._choice(as_array(data[word]), depth)
        if "allOf" in data:
            return self._joined(data, depth)
        kinds = as_array(data.get("type"))
        if kinds:
            return self._choice([data | {"type": kind} for kind in kinds], depth)
        return self._typed(data, depth)

    def _reference(self, name: str) -> dict[str, Any]:
        found = name.startswith("#/$defs/") and name.removeprefix("#/$defs/") in as_object(self._root.get("$defs"))
        if not found:
            raise OptionError(f"the JSON Schema refers to {name!r}, which is not among its `$defs`")
        return {"$ref": name}

    def _choice(self, options: list[Any], depth: int) -> dict[str, Any]:
        # Drop texts with an unsupported pattern if there are other options, as with decimals.
        good = [option for option in options if not _has_unsupported_pattern(option)] or options
        if good[:2] == _DECIMAL:
            good = [_DECIMAL[0], *good[2:]]
        return {"anyOf": [self.value(option, depth - 1) for option in good]}

    def _joined(self, data: dict[str, Any], depth: int) -> dict[str, Any]:
        """Merge `allOf` of one schema, which generators write, or of several objects."""
        rest = {key: value for key, value in data.items() if key != "allOf"}
        parts = [self._resolve_reference(part) for part in as_array(data["allOf"])]
        if len(parts) == 1:
            return self.value({**rest, **parts[0]}, depth - 1)
        merged: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
        for part in [*parts, rest]:
            merged["properties"] |= as_object(part.get("properties"))
            merged["required"] += as_array(part.get("required"))
        return self.value(merged, depth - 1)

    def _resolve_reference(self, part: object) -> dict[str, Any]:
        name = as_string(as_object(part).get("$ref"))
        return (
            as_object(as_object(self._root.get("$defs")).get(name.removeprefix("#/$defs/")))
            if name
            else as_object(part)
        )

    def _typed(self, data: dict[str, Any], depth: int) -> dict[str, Any]:
        kind = data.get("type") or ("object" if "properties" in data else "array" if "items" in data else None)
        match kind:
            case "object":
                return self._object(data, depth)
            case "array":
                return self._array(data, depth)
            case "string":
                return _bound_text(data)
            case "integer" | "number":
                return _bound_number(data, str(kind))
            case "boolean" | "null":
                return {"type": kind}
            case _:
                return _make_any_schema()

    def _object(self, data: dict[str, Any], depth: int) -> dict[str, Any]:
        given, more = as_object(data.get("properties")), data.get("additionalProperties", "properties" not in data)
        if names := as_array(self._resolve_reference(data.get("propertyNames")).get("enum")):
            # Enumerated names are equivalent to optional fields.
            given, more = {str(name): as_object(more) for name in names}, False
        fields = {name: self.value(value, depth - 1) for name, value in given.items()}
        required = [name for name in map(str, as_array(data.get("required"))) if name in fields]
        # Require nullable fields: a small model omits what it is not forced to write.
        required += [name for name in fields if name not in required and _is_nullable(fields[name])]
        out: dict[str, Any] = {"type": "object", "properties": fields, "required": required}
        if not more or (fields and more is True):
            return out | {"additionalProperties": False}
        values = self.value(as_object(more), depth - 1) if as_object(more) else _make_any_schema()
        least = _get_non_negative(data.get("minProperties"), 0)
        most = max(_get_non_negative(data.get("maxProperties"), MAX_ITEMS), len(fields), least)
        return out | _make_map_schema(values, least, most)

    def _array(self, data: dict[str, Any], depth: int) -> dict[str, Any]:
        first = [self.value(item, depth - 1) for item in as_array(data.get("prefixItems"))]
        least = _get_non_negative(data.get("minItems"), 0)
        most = max(_get_non_negative(data.get("maxItems"), len(first) if first else MAX_ITEMS), least)
        out: dict[str, Any] = {"type": "array", "minItems": least, "maxItems": most}
        if first:
            return out | {"prefixItems": first}
        items = as_object(data.get("items"))
        return out | {"items": self.value(items, depth - 1) if items else _make_any_schema()}


def _bound_text(data: dict[str, Any]) -> dict[str, Any]:
    least = _get_non_negative(data.get("minLength"), 0)
    most = max(_get_non_negative(data.get("maxLength"), MAX_TEXT), least)
    out: dict[str, Any] = {"type": "string"}
    if (form := data.get("format")) in _NATIVE_FORMATS:
        return out | {"format": form}
    if form in _FORMAT_PATTERNS:
        return out | {"pattern": _FORMAT_PATTERNS[form]}
    if "pattern" in data and not _has_unsupported_pattern(data):
        out["pattern"] = data["pattern"]
    return out | ({"minLength": least} if least else {}) | {"maxLength": most}


def _bound_number(data: dict[str, Any], kind: str) -> dict[str, Any]:
    out: dict[str, Any] = {"type": kind} | {key: data[key] for key in _BOUNDS if isinstance(data.get(key), int | float)}
    if "minimum" not in out and "exclusiveMinimum" not in out:
        out["minimum"] = min(-MAX_NUMBER, out.get("maximum", 0) * 2)
    if "maximum" not in out and "exclusiveMaximum" not in out:
        out["maximum"] = max(MAX_NUMBER, out.get("minimum", 0) * 2)
    step = data.get("multipleOf", 1e-6 if kind == "number" else None)
    return out | ({"multipleOf": step} if step else {})


def _make_any_schema() -> dict[str, Any]:
    """Return the schema of a value of any type, two levels deep."""
    flat = [_bound_text({}), _bound_number({}, "number"), {"type": "boolean"}, {"type": "null"}]
    listed = {"type": "array", "items": {"anyOf": flat}, "maxItems": MAX_ITEMS}
    return {"anyOf": [*flat, listed, {"type": "object"} | _make_map_schema({"anyOf": [*flat, listed]}, 0, MAX_ITEMS)]}


def _make_map_schema(values: dict[str, Any], least: int, most: int) -> dict[str, Any]:
    """Return a bounded mapping with names that the model chooses."""
    bounds = {"minProperties": least, "maxProperties": most}
    return {"patternProperties": {_KEY_PATTERN: values}, "additionalProperties": False, **bounds}


def _has_unsupported_pattern(option: object) -> bool:
    """Return whether a pattern uses look-around, back-references or word boundaries, which the runtime
    lacks.
    """
    pattern = as_string(as_object(option).get("pattern"))
    return any(sign in pattern for sign in ("(?=", "(?!", "(?<", r"\b", r"\B", *(rf"\{n}" for n in range(1, 10))))


def _is_nullable(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "null" or any(map(_is_nullable, as_array(schema.get("anyOf"))))


def _get_non_negative(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise


_NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:[.,]\d{1,6})*")
_GROUPED_DIGITS = re.compile(r"(\d)[,'\u2019](?=\d{3}(?!\d))")
#: Characters that JSON escapes: a sequence of words could begin or end inside an escape.
_ESCAPED_CHARACTERS = re.compile(r'[\s"\\\x00-\x1f\x7f]+')


def build_source_grammar(schema: dict[str, Any], source: str) -> str:
    """Return the grammar that restricts a model to a schema, and its values to a source."""
    return _GrammarRules(bound_schema(schema), source).text()


class _GrammarRules:
    """Builder of a rule for each part of a schema that has copied values."""

    def __init__(self, schema: dict[str, Any], source: str) -> None:
        self._schema = schema
        self._numbers = extract_numbers(source)
        self._words = " ".join(_ESCAPED_CHARACTERS.split(source)).strip()
        self._lines: dict[str, str] = {}

    def text(self) -> str:
        start = self._build_rule(self._schema)
        for name, each in as_object(self._schema.get("$defs")).items():
            self._lines[_make_rule_name(name)] = self._build_rule(as_object(each))
        copied = f"COPIED: %regex {dump_json({'substring_words': self._words})}" if self._words else "COPIED: /[ ]?/"
        rules = [f"{name}: {rule}" for name, rule in self._lines.items()]
        return "\n".join([f"%llguidance {{}}\nstart: {start}", *rules, copied])

    def _build_rule(self, schema: dict[str, Any]) -> str:
        """Return the expression for a schema in a rule."""
        if name := as_string(schema.get("$ref")).removeprefix("#/$defs/"):
            return _make_rule_name(name)
        if options := as_array(schema.get("anyOf")):
            return f"({' | '.join(self._build_rule(as_object(each)) for each in options)})"
        match schema.get("type"):
            case "string" if "pattern" not in schema and "format" not in schema:
                return r'"\"" COPIED "\""'
            case "integer" | "number" as kind:
                return self._number(schema, kind == "integer")
            case "array" if as_object(schema.get("items")):
                return self._array(schema)
            case "object" if as_object(schema.get("properties")) and "patternProperties" not in schema:
                return self._object(schema)
            case _:
                return self._free(schema)

    def _free(self, schema: dict[str, Any]) -> str:
        defs = as_object(self._schema.get("$defs"))
        whole = {**schema, "$defs": defs} if defs and "$ref" in dump_json(schema) else schema
        return f"%json {dump_json({'x-guidance': JSON_LAYOUT, **whole})}"

    def _number(self, schema: dict[str, Any], is_whole: bool) -> str:
        known = [each for each in self._numbers if not is_whole or each == int(each)]
        # The source may spell a number in words, and some answer must be possible.
        return f"%json {dump_json({'enum': known})}" if known else self._free(schema)

    def _array(self, schema: dict[str, Any]) -> str:
        item, least, most = self._build_rule(as_object(schema["items"])), schema.get("minItems", 0), schema["maxItems"]
        if not most:
            return '"[]"'
        several = f'{item} (", " {item}){{{max(least - 1, 0)},{most - 1}}}'
        return f'"[" {several} "]"' if least else f'"[" ({several})? "]"'

    def _object(self, schema: dict[str, Any]) -> str:
        needed, parts = as_array(schema.get("required")), list[str]()
        for name, each in as_object(schema["properties"]).items():
            key = dump_json(f"{', ' if parts else ''}{dump_json(name)}: ")
            part = f"{key} {self._build_rule(as_object(each))}"
            if name not in needed and not parts:
                return self._free(schema)
            parts.append(part if name in needed else f"({part})?")
        rule = f"object_{len(self._lines)}"
        self._lines[rule] = f'"{{" {" ".join(parts)} "}}"'
        return rule


def extract_numbers(source: str) -> list[int | float]:
    """Return the numbers in a text, in order. `1,200` and `1'200` are 1200, and `3,5` is also 3.5."""
    plain = _GROUPED_DIGITS.sub(r"\1", source)
    found: dict[int | float, None] = {}
    for text in _NUMBER.findall(source) + _NUMBER.findall(plain):
        for written in (text, text.replace(",", "."), text.replace(".", ""), text.replace(",", "")):
            if re.fullmatch(r"-?\d+(?:\.\d+)?", written):
                value = float(written)
                found[int(value) if value == int(value) else value] = None
    return list(found)


def _make_rule_name(name: str) -> str:
    return f"def_{name.encode().hex()}"
