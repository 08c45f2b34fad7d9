"""Checks that both of OpenAI's APIs share: efforts, sampling, strict schemas, tools, cache options."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from tests.referees.openai_tables import FORMATS, REFUSED_WORDS, SAMPLING
from tests.referees.refusal import Refusal, refuse_unless


def check_fields(body: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise a Refusal for a field that the API does not have."""
    for each in body:
        refuse_unless(each in known, f"Unknown parameter: '{each}'.", param=each, code="unknown_parameter")


def check_effort(effort: Any, name: str, efforts: Collection[str], param: str) -> None:
    """Raise a Refusal for an effort that the model does not take."""
    if effort is None:
        return
    words = f"Unsupported parameter: '{param}' is not supported with this model."
    refuse_unless(efforts, words, param=param, code="unsupported_parameter")
    values = ", ".join(f"'{each}'" for each in efforts)
    words = f"Unsupported value: '{effort}' is not supported with the '{name}' model. Supported values are: {values}."
    refuse_unless(effort in efforts, words, param=param, code="unsupported_value")


def check_sampling(body: Mapping[str, Any], is_reasoning: bool) -> None:
    """Raise a Refusal for sampling parameters beside reasoning."""
    for each in SAMPLING:
        if is_reasoning and body.get(each) is not None:
            words = f"Unsupported parameter: '{each}' is not supported with this model."
            raise Refusal(words, param=each, code="unsupported_parameter")


def check_cache(body: Mapping[str, Any], generation: float, *, is_chat: bool) -> None:
    """Raise a Refusal for cache options that do not go together or that the model does not have."""
    options = body.get("prompt_cache_options")
    if options is None:
        return
    words = "'prompt_cache_retention' cannot be used with 'prompt_cache_options'."
    refuse_unless("prompt_cache_retention" not in body, words, param="prompt_cache_options")
    words = "Unsupported parameter: 'prompt_cache_options' is not supported with this model."
    refuse_unless(generation >= 5.6, words, param="prompt_cache_options", code="unsupported_parameter")
    ttls = ("30m",) if is_chat else ("30m", "12h")
    ttl = options.get("ttl", "30m")
    refuse_unless(ttl in ttls, f"Invalid value: '{ttl}'.", param="prompt_cache_options.ttl", code="invalid_value")
    compared = options.get("comparison_response_id")
    words = (
        f"Invalid 'prompt_cache_options.comparison_response_id': '{compared}'. Expected an ID that begins with 'resp'."
    )
    refuse_unless(compared is None or str(compared).startswith("resp"), words)


def check_function(where: str, function: Mapping[str, Any]) -> None:
    """Raise a Refusal for a function whose name or schema is refused."""
    name = str(function.get("name", ""))
    words = f"Invalid '{where}.name': string does not match pattern '^[a-zA-Z0-9_-]+$'."
    refuse_unless(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name), words, param=f"{where}.name", code="invalid_value")
    schema = function.get("parameters")
    if schema is None:
        return
    try:
        kind = schema.get("type")
        refuse_unless(kind == "object", f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'.")
        refuse_unless(not isinstance(schema.get("required", []), type(None)), "None is not of type 'array'.")
        if function.get("strict"):
            check_strict(schema)
    except Refusal as refusal:
        words = f"Invalid schema for function '{name}': {refusal.message}"
        raise Refusal(words, param=f"{where}.parameters", code="invalid_function_parameters") from refusal


def check_format(where: str, form: Mapping[str, Any]) -> None:
    """Raise a Refusal for a response format that is refused."""
    name = str(form.get("name", ""))
    words = f"Invalid '{where}.name': string does not match pattern '^[a-zA-Z0-9_-]+$'."
    refuse_unless(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name), words, param=f"{where}.name")
    refuse_unless(isinstance(form.get("schema"), Mapping), f"Missing required parameter: '{where}.schema'.")
    if not form.get("strict"):
        return
    try:
        check_strict(form["schema"])
    except Refusal as refusal:
        words = f"Invalid schema for response_format '{name}': {refusal.message}"
        raise Refusal(words, param=f"{where}.schema", code="invalid_json_schema") from refusal


def check_strict(schema: Mapping[str, Any]) -> None:
    """Raise a Refusal for a schema outside the strict subset."""
    refuse_unless(schema.get("type") == "object", "schema must be a JSON Schema of 'type: \"object\"'.")
    refuse_unless("anyOf" not in schema, "schema must not have 'anyOf' at the top level.")
    count = _check_node(schema, (), 1)
    refuse_unless(count <= 5000, f"{count} properties, the limit is 5000.")


def _check_node(schema: Any, context: tuple[str, ...], depth: int) -> int:
    at = f"In context={context}, "
    refuse_unless(isinstance(schema, Mapping), f"{at}a schema must be an object.")
    refuse_unless(depth <= 10, f"{at}the schema is nested deeper than 10 levels.")
    for word in schema:
        refuse_unless(word not in REFUSED_WORDS, f"{at}'{word}' is not permitted.")
    form = schema.get("format")
    refuse_unless(form is None or form in FORMATS, f"{at}'{form}' is not a valid format.")
    pattern = str(schema.get("pattern", ""))
    refuse_unless(not re.search(r"\(\?[=!<]", pattern), f"{at}look-around is not supported in 'pattern'.")
    ref = schema.get("$ref")
    known = ref is None or ref == "#" or re.fullmatch(r"#/(\$defs|definitions)/[^/]+", str(ref))
    refuse_unless(known, f"{at}reference '{ref}' must be '#' or point to a top-level definition.")
    properties = schema.get("properties") or {}
    if schema.get("type") == "object" or "properties" in schema:
        words = "'additionalProperties' is required to be supplied and to be false."
        refuse_unless(schema.get("additionalProperties") is False, at + words)
        required = schema.get("required")
        missing = [name for name in properties if name not in (required or ())]
        words = "'required' is required to be supplied and to be an array including every key in properties."
        refuse_unless(not missing, f"{at}{words} Missing '{missing[0] if missing else ''}'.")
        extra = [name for name in required or () if name not in properties]
        refuse_unless(not extra, f"{at}'required' has a key that is not in properties: {extra}.")
    count = len(properties)
    for name, inner in properties.items():
        count += _check_node(inner, (*context, "properties", name), depth + 1)
    for key in ("$defs", "definitions"):
        for name, inner in (schema.get(key) or {}).items():
            count += _check_node(inner, (*context, key, name), depth)
    for number, inner in enumerate(schema.get("anyOf") or ()):
        count += _check_node(inner, (*context, "anyOf", str(number)), depth)
    if "items" in schema:
        count += _check_node(schema["items"], (*context, "items"), depth + 1)
    return count
