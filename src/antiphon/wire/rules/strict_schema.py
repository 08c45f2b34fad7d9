"""O10 and O12: what OpenAI demands of a function's JSON schema, most of it only in strict mode."""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.wire.rules.reading import MAX_NAME, MAX_SCHEMA_DEPTH, mapping, sequence

_NAMED = ("properties", "$defs", "definitions")
_LISTED = ("anyOf", "allOf", "oneOf", "prefixItems")

Context = tuple[str, ...]


def schema_faults(schema: object, *, strict: bool) -> Iterator[tuple[str, str]]:
    """Yield the rule code and OpenAI's words for every fault of a schema and of those inside it."""
    waiting: list[tuple[Context, object]] = [((), schema)]
    while waiting:
        context, node = waiting.pop()
        data = mapping(node)
        if "required" in data and data["required"] is None:
            yield "O12", "None is not of type 'array'."
        elif strict:
            yield from (("O10", fault) for fault in _strict_faults(data, context))
        if len(context) < MAX_SCHEMA_DEPTH:
            waiting.extend(reversed([(context + step, inner) for step, inner in _inner(data)]))


def _inner(data: dict[str, object]) -> Iterator[tuple[Context, object]]:
    for key in _NAMED:
        for name, inner in mapping(data.get(key)).items():
            yield (key, name[:MAX_NAME]), inner
    for key in _LISTED:
        for index, inner in enumerate(sequence(data.get(key))):
            yield (key, str(index)), inner
    yield ("items",), data.get("items")


def _strict_faults(data: dict[str, object], context: Context) -> Iterator[str]:
    type_ = data.get("type")
    if type_ != "object" and "object" not in sequence(type_):
        return
    where = f"In context={context!r}, "
    if data.get("additionalProperties") is not False:
        yield f"{where}'additionalProperties' is required to be supplied and to be false."
    properties = mapping(data.get("properties"))
    required = dict.fromkeys(name for name in sequence(data.get("required")) if isinstance(name, str))
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
