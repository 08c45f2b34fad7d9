"""O10 and O12: what OpenAI demands of a function's JSON schema, most of it only in strict mode."""

from __future__ import annotations

from collections.abc import Iterator

from antiphon._shape import arr, obj
from antiphon.facts import Facts
from antiphon.wire.rules.reading import MAX_NAME, MAX_SCHEMA_DEPTH, is_object

_NAMED = ("properties", "$defs", "definitions")
_LISTED = ("anyOf", "allOf", "oneOf", "prefixItems")

#: Words of JSON Schema that strict mode refuses.
_NOT_PERMITTED = frozenset(
    (
        *("allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"),
        *("prefixItems", "contains", "uniqueItems", "patternProperties", "propertyNames", "unevaluatedProperties"),
    )
)

Context = tuple[str, ...]


def schema_faults(schema: object, *, strict: bool, facts: Facts | None = None) -> Iterator[tuple[str, str]]:
    """Yield the rule code and OpenAI's words for every fault of a schema and of those inside it.

    With `facts`, a strict schema is also held to the words, formats and limits of the model.
    """
    waiting: list[tuple[Context, object]] = [((), schema)]
    if strict and facts is not None:
        yield from (("O10", fault) for fault in _limit_faults(schema, facts))
    if strict and is_object(schema) and schema.get("type") != "object":
        yield "O10", f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{schema.get('type')}\"'."
    while waiting:
        context, node = waiting.pop()
        data = obj(node)
        if "required" in data and data["required"] is None:
            yield "O12", "None is not of type 'array'."
        elif strict and is_object(node):
            yield from (("O10", fault) for fault in _strict_faults(data, context))
            if facts is not None:
                yield from (("O10", fault) for fault in _word_faults(data, context, facts))
        if len(context) < MAX_SCHEMA_DEPTH:
            waiting.extend(reversed([(context + step, inner) for step, inner in _inner(data)]))


def _word_faults(data: dict[str, object], context: Context, facts: Facts) -> Iterator[str]:
    where = f"In context={context!r}, "
    refused = frozenset(facts.schema_refuses or ()) - _NOT_PERMITTED
    yield from (f"{where}'{word}' is not permitted." for word in data if word in refused)
    form = data.get("format")
    if facts.schema_formats is not None and isinstance(form, str) and form not in facts.schema_formats:
        yield f"{where}'{form[:MAX_NAME]}' is not a valid format."


def _limit_faults(schema: object, facts: Facts) -> Iterator[str]:
    """Yield the limits that a whole schema exceeds: how deep its objects are, and how many properties it has."""
    limits = facts.schema_limits
    deepest = properties = 0
    waiting: list[tuple[int, int, object]] = [(0, 0, schema)]
    while waiting:
        level, steps, node = waiting.pop()
        data = obj(node)
        level += data.get("type") == "object"
        deepest, properties = max(deepest, level), properties + len(obj(data.get("properties")))
        if steps < MAX_SCHEMA_DEPTH:
            waiting.extend((level, steps + 1, inner) for _, inner in _inner(data))
    if limits.depth is not None and deepest > limits.depth:
        yield f"{deepest} levels of nesting exceeds limit of {limits.depth}."
    if limits.properties is not None and properties > limits.properties:
        yield f"{properties} properties exceeds limit of {limits.properties}."


def _inner(data: dict[str, object]) -> Iterator[tuple[Context, object]]:
    for key in _NAMED:
        for name, inner in obj(data.get(key)).items():
            yield (key, name[:MAX_NAME]), inner
    for key in _LISTED:
        for index, inner in enumerate(arr(data.get(key))):
            yield (key, str(index)), inner
    for key in ("items", "additionalProperties"):
        if is_object(data.get(key)):
            yield (key,), data[key]


def _unknown_words(data: dict[str, object], context: Context) -> Iterator[str]:
    """What strict mode has no words for, or too few words to know what is meant."""
    where = f"In context={context!r}, "
    yield from (f"{where}'{word}' is not permitted." for word in data if word in _NOT_PERMITTED)
    beside = sorted(key for key in data if key not in ("$ref", "$defs", "definitions"))
    if "$ref" in data and beside:
        yield f"{where}$ref cannot have keywords {{{', '.join(map(repr, beside))}}}."
    if data.keys().isdisjoint(("type", "$ref", "anyOf", "enum", "const", *_NOT_PERMITTED)):
        yield f"{where}schema must have a 'type' key."
    if data.get("type") == "array" and not is_object(data.get("items")):
        yield f"{where}array schema missing items."


def _strict_faults(data: dict[str, object], context: Context) -> Iterator[str]:
    yield from _unknown_words(data, context)
    type_ = data.get("type")
    if type_ != "object" and "object" not in arr(type_):
        return
    where = f"In context={context!r}, "
    if data.get("additionalProperties") is not False:
        yield f"{where}'additionalProperties' is required to be supplied and to be false."
    properties = obj(data.get("properties"))
    required = dict.fromkeys(name for name in arr(data.get("required")) if isinstance(name, str))
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
