"""JSON Schemas as grammars: whatever a model writes under one is JSON that fits, and comes to an end.

The runtime follows a schema it does not understand by following none, without a word. So a schema is rebuilt here from
the keywords that it is known to keep, and everything that could go on for ever is bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from antiphon._json import dumps
from antiphon._shape import arr, obj, string
from antiphon.errors import OptionError

#: The longest text, list and number where the schema sets no bound.
MAX_TEXT = 2000
MAX_ITEMS = 50
MAX_NUMBER = 10**15
_DEPTH = 40

LAYOUT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
_DATE = (
    r"(?:[12]\d{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    r"|02-(?:0[1-9]|1\d|2[0-8]))|(?:[12]\d(?:0[48]|[2468][048]|[13579][26])|(?:1[26]|2[048])00)-02-29)"
)
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
_LABEL = r"[A-Za-z0-9]{1,20}(?:-[A-Za-z0-9]{1,20}){0,2}"
#: The runtime's own idea of these has no end, or takes what validators refuse.
_FORMATS = {
    "date": rf"^{_DATE}$",
    "time": rf"^{_TIME}$",
    "date-time": rf"^{_DATE}T{_TIME}(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d)$",
    "duration": r"^P(?:\d{1,4}D|T\d{1,3}H(?:\d{1,2}M)?|T\d{1,4}M|T\d{1,4}S)$",
    "email": rf"^{_LABEL}(?:[._+]{_LABEL}){{0,3}}@{_LABEL}(?:\.{_LABEL}){{0,2}}\.[a-z]{{2,12}}$",
    # The last label has letters only: a number would make an address of it.
    "uri": rf"^https?://(?:{_LABEL}\.){{0,4}}[A-Za-z]{{2,20}}(?:/[A-Za-z0-9._~%/?#=&+:@-]{{0,200}})?$",
}
_NAME = "^.{1,60}$"
_KEPT_FORMATS = ("uuid", "ipv4")
#: What pydantic makes of a decimal, though it does not take just any text for one.
_DECIMAL = [{"type": "number"}, {"type": "string"}]
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def grammar(schema: Mapping[str, Any]) -> str:
    """The text by which the runtime holds a model to a schema."""
    return "%llguidance {}\nstart: %json " + dumps({"x-guidance": LAYOUT, **bounded(schema)})


def bounded(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of the same meaning or a narrower one, in known keywords and with an end to everything.

    What it cannot say (a look-ahead in a pattern, items that differ) is left to whoever validates the answer.
    """
    plain = _Plain(schema).value(dict(schema), _DEPTH)
    defs = {name: _Plain(schema).value(obj(value), _DEPTH) for name, value in obj(schema.get("$defs")).items()}
    return plain | ({"$defs": defs} if defs else {})


class _Plain:
    """Rebuilds the parts of one schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def value(self, schema: object, depth: int) -> dict[str, Any]:
        if not depth:
            raise OptionError("a JSON Schema is nested too deeply for the local model")
        data = obj(schema)
        if "$ref" in data:
            return self._reference(string(data["$ref"]))
        if "const" in data:
            return {"const": data["const"]}
        if "enum" in data:
            return {"enum": arr(data["enum"])}
        for word in ("anyOf", "oneOf"):
            if word in data:
                return self._choice(arr(data[word]), depth)
        if "allOf" in data:
            return self._joined(data, depth)
        kinds = arr(data.get("type"))
        if kinds:
            return self._choice([data | {"type": kind} for kind in kinds], depth)
        return self._typed(data, depth)

    def _reference(self, name: str) -> dict[str, Any]:
        found = name.startswith("#/$defs/") and name.removeprefix("#/$defs/") in obj(self._root.get("$defs"))
        if not found:
            raise OptionError(f"the JSON Schema refers to {name!r}, which is not among its `$defs`")
        return {"$ref": name}

    def _choice(self, options: list[Any], depth: int) -> dict[str, Any]:
        # A text under a pattern that cannot be followed is no option where there are others, as with decimals.
        good = [option for option in options if not _has_lost_pattern(option)] or options
        if good[:2] == _DECIMAL:
            good = [_DECIMAL[0], *good[2:]]
        return {"anyOf": [self.value(option, depth - 1) for option in good]}

    def _joined(self, data: dict[str, Any], depth: int) -> dict[str, Any]:
        """`allOf` of one, which is what generators write, or of objects whose fields are put together."""
        rest = {key: value for key, value in data.items() if key != "allOf"}
        parts = [self._resolved(part) for part in arr(data["allOf"])]
        if len(parts) == 1:
            return self.value({**rest, **parts[0]}, depth - 1)
        merged: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
        for part in [*parts, rest]:
            merged["properties"] |= obj(part.get("properties"))
            merged["required"] += arr(part.get("required"))
        return self.value(merged, depth - 1)

    def _resolved(self, part: object) -> dict[str, Any]:
        name = string(obj(part).get("$ref"))
        return obj(obj(self._root.get("$defs")).get(name.removeprefix("#/$defs/"))) if name else obj(part)

    def _typed(self, data: dict[str, Any], depth: int) -> dict[str, Any]:
        kind = data.get("type") or ("object" if "properties" in data else "array" if "items" in data else None)
        match kind:
            case "object":
                return self._object(data, depth)
            case "array":
                return self._array(data, depth)
            case "string":
                return _text(data)
            case "integer" | "number":
                return _number(data, str(kind))
            case "boolean" | "null":
                return {"type": kind}
            case _:
                return _anything()

    def _object(self, data: dict[str, Any], depth: int) -> dict[str, Any]:
        given, more = obj(data.get("properties")), data.get("additionalProperties", "properties" not in data)
        if names := arr(self._resolved(data.get("propertyNames")).get("enum")):
            # Names from a list are as good as fields that may be left out.
            given, more = {str(name): obj(more) for name in names}, False
        fields = {name: self.value(value, depth - 1) for name, value in given.items()}
        required = [name for name in map(str, arr(data.get("required"))) if name in fields]
        # What may be null is asked for: a small model leaves out what it is not made to say.
        required += [name for name in fields if name not in required and _may_be_null(fields[name])]
        out: dict[str, Any] = {"type": "object", "properties": fields, "required": required}
        if not more or (fields and more is True):
            return out | {"additionalProperties": False}
        values = self.value(obj(more), depth - 1) if obj(more) else _anything()
        least = _whole(data.get("minProperties"), 0)
        most = max(_whole(data.get("maxProperties"), MAX_ITEMS), len(fields), least)
        return out | _named(values, least, most)

    def _array(self, data: dict[str, Any], depth: int) -> dict[str, Any]:
        first = [self.value(item, depth - 1) for item in arr(data.get("prefixItems"))]
        least = _whole(data.get("minItems"), 0)
        most = max(_whole(data.get("maxItems"), len(first) if first else MAX_ITEMS), least)
        out: dict[str, Any] = {"type": "array", "minItems": least, "maxItems": most}
        if first:
            return out | {"prefixItems": first}
        items = obj(data.get("items"))
        return out | {"items": self.value(items, depth - 1) if items else _anything()}


def _text(data: dict[str, Any]) -> dict[str, Any]:
    least = _whole(data.get("minLength"), 0)
    most = max(_whole(data.get("maxLength"), MAX_TEXT), least)
    out: dict[str, Any] = {"type": "string"}
    if (form := data.get("format")) in _KEPT_FORMATS:
        return out | {"format": form}
    if form in _FORMATS:
        return out | {"pattern": _FORMATS[form]}
    if "pattern" in data and not _has_lost_pattern(data):
        out["pattern"] = data["pattern"]
    return out | ({"minLength": least} if least else {}) | {"maxLength": most}


def _number(data: dict[str, Any], kind: str) -> dict[str, Any]:
    out: dict[str, Any] = {"type": kind} | {key: data[key] for key in _BOUNDS if isinstance(data.get(key), int | float)}
    if "minimum" not in out and "exclusiveMinimum" not in out:
        out["minimum"] = min(-MAX_NUMBER, out.get("maximum", 0) * 2)
    if "maximum" not in out and "exclusiveMaximum" not in out:
        out["maximum"] = max(MAX_NUMBER, out.get("minimum", 0) * 2)
    step = data.get("multipleOf", 1e-6 if kind == "number" else None)
    return out | ({"multipleOf": step} if step else {})


def _anything() -> dict[str, Any]:
    """A value of any kind, two levels deep."""
    flat = [_text({}), _number({}, "number"), {"type": "boolean"}, {"type": "null"}]
    listed = {"type": "array", "items": {"anyOf": flat}, "maxItems": MAX_ITEMS}
    return {"anyOf": [*flat, listed, {"type": "object"} | _named({"anyOf": [*flat, listed]}, 0, MAX_ITEMS)]}


def _named(values: dict[str, Any], least: int, most: int) -> dict[str, Any]:
    """Values under names of the model's own making, which come to an end too."""
    bounds = {"minProperties": least, "maxProperties": most}
    return {"patternProperties": {_NAME: values}, "additionalProperties": False, **bounds}


def _has_lost_pattern(option: object) -> bool:
    """Whether a text's pattern has what the runtime's expressions lack: looking around, back, or at words."""
    pattern = string(obj(option).get("pattern"))
    return any(sign in pattern for sign in ("(?=", "(?!", "(?<", r"\b", r"\B", *(rf"\{n}" for n in range(1, 10))))


def _may_be_null(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "null" or any(map(_may_be_null, arr(schema.get("anyOf"))))


def _whole(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise
