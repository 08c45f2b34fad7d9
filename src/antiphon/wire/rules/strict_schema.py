"""Rules O10 and O12: OpenAI's requirements on a function's JSON schema, most of them only in strict
mode.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon._base.json_access import as_array, as_object
from antiphon.facts import Facts
from antiphon.wire.rules.json_access import MAX_PATH_NAME, MAX_SCHEMA_DEPTH, is_json_dict

_SCHEMA_MAPS = ("properties", "$defs", "definitions")
_SCHEMA_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")

#: JSON Schema keywords that strict mode rejects.
_NOT_PERMITTED = frozenset(
    (
        *("allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"),
        *("prefixItems", "contains", "uniqueItems", "patternProperties", "propertyNames", "unevaluatedProperties"),
    )
)

SchemaPath = tuple[str, ...]


def find_strict_schema_faults(schema: object, *, strict: bool, facts: Facts | None = None) -> Iterator[tuple[str, str]]:
    """Yield the rule code and OpenAI's message for every fault of a schema and its inner schemas.

    With `facts`, a strict schema is also checked against the keywords, formats and limits of the model.
    """
    waiting: list[tuple[SchemaPath, object]] = [((), schema)]
    if strict and facts is not None:
        yield from (("O10", fault) for fault in _find_limit_faults(schema, facts))
    if strict and is_json_dict(schema) and schema.get("type") != "object":
        yield "O10", f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{schema.get('type')}\"'."
    while waiting:
        context, node = waiting.pop()
        data = as_object(node)
        if "required" in data and data["required"] is None:
            yield "O12", "None is not of type 'array'."
        elif strict and is_json_dict(node):
            yield from (("O10", fault) for fault in _find_strict_faults(data, context))
            if facts is not None:
                yield from (("O10", fault) for fault in _find_keyword_faults(data, context, facts))
        if len(context) < MAX_SCHEMA_DEPTH:
            waiting.extend(reversed([(context + step, inner) for step, inner in _iter_inner_schemas(data)]))


def _find_keyword_faults(data: dict[str, object], context: SchemaPath, facts: Facts) -> Iterator[str]:
    where = f"In context={context!r}, "
    refused = frozenset(facts.schema_refuses or ()) - _NOT_PERMITTED
    yield from (f"{where}'{word}' is not permitted." for word in data if word in refused)
    form = data.get("format")
    if facts.schema_formats is not None and isinstance(form, str) and form not in facts.schema_formats:
        yield f"{where}'{form[:MAX_PATH_NAME]}' is not a valid format."


def _find_limit_faults(schema: object, facts: Facts) -> Iterator[str]:
    """Yield the limits that a complete schema exceeds: nesting of objects and number of properties."""
    limits = facts.schema_limits
    deepest = properties = 0
    waiting: list[tuple[int, int, object]] = [(0, 0, schema)]
    while waiting:
        level, steps, node = waiting.pop()
        data = as_object(node)
        level += data.get("type") == "object"
        deepest, properties = max(deepest, level), properties + len(as_object(data.get("properties")))
        if steps < MAX_SCHEMA_DEPTH:
            waiting.extend((level, steps + 1, inner) for _, inner in _iter_inner_schemas(data))
    if limits.depth is not None and deepest > limits.depth:
        yield f"{deepest} levels of nesting exceeds limit of {limits.depth}."
    if limits.properties is not None and properties > limits.properties:
        yield f"{properties} properties exceeds limit of {limits.properties}."


def _iter_inner_schemas(data: dict[str, object]) -> Iterator[tuple[SchemaPath, object]]:
    for key in _SCHEMA_MAPS:
        for name, inner in as_object(data.get(key)).items():
            yield (key, name[:MAX_PATH_NAME]), inner
    for key in _SCHEMA_LISTS:
        for index, inner in enumerate(as_array(data.get(key))):
            yield (key, str(index)), inner
    for key in ("items", "additionalProperties"):
        if is_json_dict(data.get(key)):
            yield (key,), data[key]


def _find_unknown_keywords(data: dict[str, object], context: SchemaPath) -> Iterator[str]:
    """Yield a message for keywords that strict mode does not have, and for schemas that lack a type."""
    where = f"In context={context!r}, "
    yield from (f"{where}'{word}' is not permitted." for word in data if word in _NOT_PERMITTED)
    beside = sorted(key for key in data if key not in ("$ref", "$defs", "definitions"))
    if "$ref" in data and beside:
        yield f"{where}$ref cannot have keywords {{{', '.join(map(repr, beside))}}}."
    if data.keys().isdisjoint(("type", "$ref", "anyOf", "enum", "const", *_NOT_PERMITTED)):
        yield f"{where}schema must have a 'type' key."
    if data.get("type") == "array" and not is_json_dict(data.get("items")):
        yield f"{where}array schema missing items."


def _find_strict_faults(data: dict[str, object], context: SchemaPath) -> Iterator[str]:
    yield from _find_unknown_keywords(data, context)
    type_ = data.get("type")
    if type_ != "object" and "object" not in as_array(type_):
        return
    where = f"In context={context!r}, "
    if data.get("additionalProperties") is not False:
        yield f"{where}'additionalProperties' is required to be supplied and to be false."
    properties = as_object(data.get("properties"))
    required = dict.fromkeys(name for name in as_array(data.get("required")) if isinstance(name, str))
    absent = next((name for name in properties if name not in required), None)
    if absent is not None:
        yield (
            f"{where}'required' is required to be supplied and to be an array including every key in properties. "
            f"Missing '{absent}'."
        )
    extra = next((name for name in required if name not in properties), None)
    if extra is not None:
        yield (
            f"{where}'required' must be an array that includes every key in `properties`. "
            f"Extra required key '{extra}' supplied."
        )
