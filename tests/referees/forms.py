"""Values in the form that a request asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema

#: Tools by which a model returns a value; docs/typed-answers.md names them.
RETURN_PREFIX = "__vibe_return_"
RETURN_NAMES = ("answer", "final_answer", "final_result")


def is_valid(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return True if the value fits the JSON schema."""
    try:
        jsonschema.validate(value, dict(schema))
    except jsonschema.ValidationError:
        return False
    return True


def fit_value(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return the value, or an object around it, whichever fits the schema."""
    if is_valid(value, schema):
        return value
    for name in schema.get("properties", {}):
        if is_valid({name: value}, schema):
            return {name: value}
    return _fill_nulls(value, schema)


def _fill_nulls(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return the value with null for required properties that it lacks: strict schemas require all of them."""
    if isinstance(value, Mapping):
        filled = {**dict.fromkeys(schema.get("required", ())), **value}
        if is_valid(filled, schema):
            return filled
    return value


def find_schemas(text: str) -> list[Mapping[str, Any]]:
    """Return the JSON schemas that stand in a text, the last one first; a form may be named without one."""
    kinds = ("object", "array", "string", "integer", "number", "boolean")
    return [each for each in _find_objects(text) if "properties" in each or each.get("type") in kinds][::-1]


def _find_objects(text: str) -> Iterator[Mapping[str, Any]]:
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


def choose_form(
    value: Any, native: Mapping[str, Any] | None, tools: Mapping[str, Mapping[str, Any]], words: str
) -> tuple[str, list[tuple[str, Mapping[str, Any]]]]:
    """Return the text and the calls by which a model gives a value.

    A native schema goes first, then tools that return values, then the form that the words ask for.
    """
    if native is not None:
        return json.dumps(fit_value(value, native), ensure_ascii=False), []
    if calls := _return_calls(value, tools):
        return "", calls
    fitted = ((fit_value(value, schema), schema) for schema in find_schemas(words))
    shaped = next((found for found, schema in fitted if is_valid(found, schema)), value)
    return shaped if isinstance(shaped, str) else json.dumps(shaped, ensure_ascii=False), []


def _return_calls(value: Any, tools: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    single = [
        name for name in tools if name in RETURN_NAMES or name in (RETURN_PREFIX + "object", RETURN_PREFIX + "value")
    ]
    if single:
        shaped = fit_value(value, tools[single[0]])
        return [(single[0], shaped if isinstance(shaped, Mapping) else {"value": value})]
    fields = [name for name in tools if name.startswith(RETURN_PREFIX)]
    if fields and isinstance(value, Mapping):
        return [(name, fit_value_of(value[name.removeprefix(RETURN_PREFIX)], tools[name])) for name in fields]
    return []


def fit_value_of(value: Any, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a tool that takes one value."""
    names = list(schema.get("properties", {})) or ["value"]
    return {names[0]: value}
