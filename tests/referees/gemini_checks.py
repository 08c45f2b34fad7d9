"""Checks of generateContent requests; the rules G1 to G15."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from google.genai import types
from pydantic import ValidationError

from tests.referees.gemini_tables import BUILT_IN, FIELDS, MODES, REFUSED_WORDS, SCHEMA_WORDS, find_model
from tests.referees.refusal import Refusal, refuse_unless


def name_fields(value: Any) -> Any:
    """Return a content with field names in camel case: the API takes those in snake case too."""
    if isinstance(value, list):
        return [name_fields(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    named = {re.sub(r"_([a-z])", lambda found: found[1].upper(), key): each for key, each in value.items()}
    return {key: each if key in ("args", "response") else name_fields(each) for key, each in named.items()}


def check_request(name: str, body: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Raise a Refusal for what the documentation refuses; return the model."""
    found = find_model(name)
    if found is None:
        raise Refusal(f"models/{name} is not found for API version v1beta.", status=404, kind="NOT_FOUND")
    for each in body:
        words = f'Invalid JSON payload received. Unknown name "{each}": Cannot find field.'
        refuse_unless(each in FIELDS, words)
    model = found[1]
    _check_config(body, model)
    names = _check_tools(body, model)
    _check_tool_config(body.get("toolConfig") or {}, names)
    if body.get("cachedContent"):
        refuse_unless(model["explicit_cache"], "Explicit context caching is not supported on this model.")
        clash = {"tools", "toolConfig", "systemInstruction"} & set(body)
        refuse_unless(not clash, "CachedContent can not be used with system_instruction, tools or tool_config.")
    _check_contents(name_fields(body.get("contents")), model)
    return found


def check_types(body: Mapping[str, Any]) -> None:
    """Raise a Refusal unless the SDK's types accept the parts of the body."""
    single: dict[str, Any] = {
        "systemInstruction": types.Content,
        "toolConfig": types.ToolConfig,
        "generationConfig": types.GenerationConfig,
    }
    several: dict[str, Any] = {"contents": types.Content, "tools": types.Tool, "safetySettings": types.SafetySetting}
    for key, value in body.items():
        for each in value if key in several else [value] if key in single else []:
            try:
                ({**single, **several})[key].model_validate_json(json.dumps(each))
            except ValidationError as error:
                worst = error.errors(include_url=False)[0]
                raise Refusal(f"{key}.{'.'.join(map(str, worst['loc']))}: {worst['msg']} (SDK types)") from error


def _check_config(body: Mapping[str, Any], model: Mapping[str, Any]) -> None:
    config = body.get("generationConfig") or {}
    size = config.get("maxOutputTokens")
    top = model["max_output"] + 1
    words = f"maxOutputTokens is {size} but the supported range is from 1 (inclusive) to {top} (exclusive)."
    refuse_unless(size is None or 1 <= size < top, words)
    _check_thinking(config.get("thinkingConfig") or {}, model)
    form = config.get("responseJsonSchema") or config.get("responseSchema")
    is_json = config.get("responseMimeType") == "application/json"
    enum = config.get("responseMimeType") == "text/x.enum"
    words = "responseMimeType must be 'application/json' when a response schema is set."
    refuse_unless(form is None or is_json or enum, words)
    clash = "responseJsonSchema" in config and "responseSchema" in config
    refuse_unless(not clash, "Only one of response_schema and response_json_schema can be set.")
    if "responseJsonSchema" in config:
        check_json_schema(config["responseJsonSchema"], "generation_config.response_json_schema")
    if "responseSchema" in config:
        _check_schema(config["responseSchema"], "generation_config.response_schema")
    functions = any("functionDeclarations" in tool for tool in body.get("tools") or ())
    words = "Function calling with a response mime type: 'application/json' is unsupported"
    refuse_unless(not (is_json and functions and model["generation"] < 3), words)


def _check_thinking(thinking: Mapping[str, Any], model: Mapping[str, Any]) -> None:
    level, budget = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    both = level is not None and budget is not None
    refuse_unless(not both, "You can only set only one of thinking budget and thinking level.")
    if level is not None:
        refuse_unless(model["levels"], "Thinking level is not supported for this model.")
        words = f"Thinking level {str(level).upper()} is not supported for this model."
        refuse_unless(str(level).lower() in model["levels"], words)
    if budget is not None:
        refuse_unless(model["budget"], "Thinking budget is not supported for this model. Use thinking level.")
        low, high = model["budget"]
        words = f"The thinking budget {budget} is invalid. Please choose a value between {low} and {high}."
        refuse_unless(budget == -1 or low <= budget <= high, words)


def _check_tools(body: Mapping[str, Any], model: Mapping[str, Any]) -> set[str]:
    names: set[str] = set()
    built_in = False
    for at, tool in enumerate(body.get("tools") or ()):
        for key in tool:
            known = key == "functionDeclarations" or key in BUILT_IN
            refuse_unless(
                known, f"Invalid JSON payload received. Unknown name \"{key}\" at 'tools[{at}]': Cannot find field."
            )
            built_in = built_in or key in BUILT_IN
        for number, function in enumerate(tool.get("functionDeclarations") or ()):
            where = f"tools[{at}].function_declarations[{number}]"
            name = str(function.get("name", ""))
            refuse_unless(
                re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}", name), f"{where}.name: Invalid function name '{name}'."
            )
            refuse_unless(name not in names, f"Duplicate function declaration found: {name}")
            names.add(name)
            clash = "parameters" in function and "parametersJsonSchema" in function
            refuse_unless(not clash, f"{where}: only one of parameters and parameters_json_schema can be set.")
            if "parameters" in function:
                _check_schema(function["parameters"], f"{where}.parameters")
            if "parametersJsonSchema" in function:
                check_json_schema(function["parametersJsonSchema"], f"{where}.parameters_json_schema")
    words = "Built-in tools and Function Calling cannot be combined in the same request."
    refuse_unless(not (built_in and names and model["generation"] < 3), words)
    return names


def _check_tool_config(config: Mapping[str, Any], names: set[str]) -> None:
    calling = config.get("functionCallingConfig") or {}
    mode = calling.get("mode", "AUTO")
    refuse_unless(mode in MODES, f"Invalid value at 'tool_config.function_calling_config.mode': \"{mode}\"")
    allowed = calling.get("allowedFunctionNames")
    if allowed:
        words = "Allowed function names should only be set when function calling mode is ANY or VALIDATED."
        refuse_unless(mode in ("ANY", "VALIDATED"), words)
        unknown = [each for each in allowed if each not in names]
        refuse_unless(not unknown, f"allowed_function_names holds names that are not declared: {unknown}")
    words = "Function calling config is set without function_declarations."
    refuse_unless(mode not in ("ANY", "VALIDATED") or names, words)


def check_json_schema(schema: Any, where: str) -> None:
    """Raise a Refusal for words that a JSON schema may not hold."""
    if isinstance(schema, list):
        for each in schema:
            check_json_schema(each, where)
    if not isinstance(schema, Mapping):
        return
    for word in REFUSED_WORDS & set(schema):
        raise Refusal(f"Invalid JSON payload received. Unknown name \"{word}\" at '{where}': Cannot find field.")
    for key, inner in schema.items():
        if key in ("properties", "$defs", "definitions"):
            for each in inner.values():
                check_json_schema(each, f"{where}.{key}")
        elif key not in ("enum", "default", "required"):
            check_json_schema(inner, f"{where}.{key}")


def _check_schema(schema: Any, where: str) -> None:
    """Raise a Refusal for a schema outside the older Schema object."""
    for word in schema:
        words = f"Invalid JSON payload received. Unknown name \"{word}\" at '{where}': Cannot find field."
        refuse_unless(word in SCHEMA_WORDS, words)
    kind = schema.get("type")
    words = f"Unknown name \"type\" at '{where}': Proto field is not repeating, cannot start list."
    refuse_unless(not isinstance(kind, list), words)
    values = [each for each in schema.get("enum") or () if not isinstance(each, str)]
    refuse_unless(not values, f"Invalid value at '{where}.enum' (TYPE_STRING)")
    for name, inner in (schema.get("properties") or {}).items():
        _check_schema(inner, f"{where}.properties.{name}")
    for inner in schema.get("anyOf") or ():
        _check_schema(inner, f"{where}.any_of")
    if "items" in schema:
        _check_schema(schema["items"], f"{where}.items")


def _check_contents(contents: Any, model: Mapping[str, Any]) -> None:
    refuse_unless(
        isinstance(contents, list) and contents, "* GenerateContentRequest.contents: contents is not specified"
    )
    for at, content in enumerate(contents):
        role = content.get("role", "user")
        refuse_unless(role in ("user", "model", "function"), "Please use a valid role: user, model.")
        words = f"* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty."
        refuse_unless(content.get("parts"), words)
        for number, part in enumerate(content["parts"]):
            _check_part(f"contents[{at}].parts[{number}]", part)
    _check_turns(contents)
    last = contents[-1]
    resumes = last.get("role") == "model" and any(
        "toolCall" in part or "toolResponse" in part for part in last["parts"]
    )
    words = "Please ensure that single turn requests end with a user role or the role field is empty."
    refuse_unless(last.get("role", "user") != "model" or resumes, words)
    if model["generation"] >= 3:
        _check_signatures(contents)


def _check_part(where: str, part: Mapping[str, Any]) -> None:
    data = set(part) - {"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"}
    signed_only = not data and "thoughtSignature" in part
    refuse_unless(
        len(data) == 1 or signed_only, f"* {where}.data: required oneof field 'data' must have one initialized field"
    )
    signature = part.get("thoughtSignature")
    if signature is not None:
        words = f"Invalid value at '{where}.thought_signature' (TYPE_BYTES), Base64 decoding failed"
        refuse_unless(is_base64(signature), words)
    call, response = part.get("functionCall"), part.get("functionResponse")
    if call is not None:
        refuse_unless(call.get("name"), f"{where}.function_call.name: [REQUIRED_FIELD]")
        words = f"Invalid value at '{where}.function_call.args' (type.googleapis.com/google.protobuf.Struct)"
        refuse_unless(isinstance(call.get("args", {}), Mapping), words)
    if response is not None:
        refuse_unless(response.get("name"), f"{where}.function_response.name: Name cannot be empty.")
        words = (
            f"Invalid JSON payload received. Unknown name \"response\" at '{where}.function_response': "
            "Proto field is not repeating, cannot start list."
        )
        refuse_unless(isinstance(response.get("response"), Mapping), words)


def is_base64(value: Any) -> bool:
    """Return True if a text is base64, in either alphabet."""
    try:
        base64.urlsafe_b64decode(str(value).replace("+", "-").replace("/", "_") + "==")
    except ValueError:
        return False
    return bool(re.fullmatch(r"[A-Za-z0-9+/_-]*={0,2}", str(value)))


def _check_turns(contents: list[Any]) -> None:
    """Refuse calls and responses that do not stand in turn (G1 to G3); neighbours of one role are one turn."""
    turns: list[tuple[str, list[Any]]] = []
    for content in contents:
        role = "model" if content.get("role") == "model" else "user"
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(content["parts"])
        else:
            turns.append((role, list(content["parts"])))
    for at, (role, parts) in enumerate(turns):
        calls = [part for part in parts if "functionCall" in part]
        responses = [part for part in parts if "functionResponse" in part]
        if role == "model" and calls:
            words = (
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )
            refuse_unless(at, words)
            after = turns[at + 1][1] if at + 1 < len(turns) else []
            answered = [part for part in after if "functionResponse" in part]
            words = (
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
            refuse_unless(len(answered) == len(calls), words)
        if role == "user" and responses:
            before = turns[at - 1][1] if at else []
            words = "Please ensure that function response turn comes immediately after a function call turn."
            refuse_unless(any("functionCall" in part for part in before), words)


def _check_signatures(contents: list[Any]) -> None:
    """Refuse a step of the current turn whose first call has no signature (G4, G5)."""
    start = 0
    for at, content in enumerate(contents):
        ordinary = any("functionResponse" not in part for part in content["parts"])
        if content.get("role") != "model" and ordinary:
            start = at
    for at in range(start, len(contents)):
        content = contents[at]
        calls = [part for part in content["parts"] if "functionCall" in part]
        if content.get("role") == "model" and calls and "thoughtSignature" not in calls[0]:
            name = calls[0]["functionCall"]["name"]
            raise Refusal(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                "work correctly, and missing thought_signature may lead to degraded model performance. Additional "
                f"data, function call `default_api:{name}` , position {at + 1}."
            )
