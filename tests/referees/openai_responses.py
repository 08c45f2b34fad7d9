"""Checks of Responses requests; the rules R1 to R15 and those of configuration updates and added tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.referees.openai_settings import (
    check_cache,
    check_effort,
    check_fields,
    check_format,
    check_function,
    check_sampling,
)
from tests.referees.openai_tables import RESPONSES_FIELDS, find_model
from tests.referees.refusal import Refusal, refuse_unless

INCLUDES = {
    "file_search_call.results", "web_search_call.results", "web_search_call.action.sources",
    "message.input_image.image_url", "computer_call_output.output.image_url", "code_interpreter_call.outputs",
    "reasoning.encrypted_content", "message.output_text.logprobs",
}  # fmt: skip
PREFIXES = {"function_call": "fc", "reasoning": "rs", "message": "msg", "function_call_output": "fc"}
CALLS = {
    "function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output", "local_shell_call": "local_shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}  # fmt: skip
OUTPUTS = set(CALLS.values())


def get_items(value: Any) -> list[Any]:
    """Return the input as a list of items; a string is one user message."""
    return [{"role": "user", "content": value}] if isinstance(value, str) else list(value or ())


def get_type(item: Mapping[str, Any]) -> str:
    """Return the type of an item; a message may leave it out."""
    return str(item.get("type") or ("message" if "role" in item else "item_reference"))


def check_responses(body: Mapping[str, Any], items: list[Any] | None = None) -> tuple[str, Mapping[str, Any]]:
    """Raise a Refusal for what the documentation refuses; `items` are those of the whole conversation."""
    found = find_model(body.get("model"))
    if found is None:
        words = f"The requested model '{body.get('model')}' does not exist."
        raise Refusal(words, code="model_not_found", param="model")
    name, model = found
    check_fields(body, RESPONSES_FIELDS)
    every = get_items(body.get("input")) if items is None else items
    _check_reasoning(body, name, model)
    check_cache(body, model["generation"], is_chat=False)
    size = body.get("max_output_tokens")
    words = "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16."
    refuse_unless(size is None or size >= 16, words, param="max_output_tokens", code="integer_below_min_value")
    words = f"Invalid 'max_output_tokens': {size} is above the maximum of {model['max_output']}."
    refuse_unless(size is None or size <= model["max_output"], words, param="max_output_tokens")
    form = (body.get("text") or {}).get("format") or {}
    if form.get("type") == "json_schema":
        check_format("text.format", form)
    for each in body.get("include") or ():
        refuse_unless(each in INCLUDES, f"Invalid value: '{each}'.", param="include")
        words = "Encrypted content is not supported with this model."
        refuse_unless(each != "reasoning.encrypted_content" or model["efforts"], words, param="include")
    words = "Background mode requires 'store' to be true."
    refuse_unless(not body.get("background") or body.get("store") is not False, words, param="background")
    has_input = body.get("input") or body.get("previous_response_id") or body.get("conversation") or body.get("prompt")
    refuse_unless(has_input, "One of 'input', 'previous_response_id', 'prompt' or 'conversation' must be provided.")
    _check_tools(body, every, model)
    _check_items(every, name, model, body)
    held = bool(body.get("conversation")) or (items is None and bool(body.get("previous_response_id")))
    _check_pairs(every, is_partial=held)
    return found


def _check_reasoning(body: Mapping[str, Any], name: str, model: Mapping[str, Any]) -> None:
    reasoning = body.get("reasoning") or {}
    effort = reasoning.get("effort")
    check_effort(effort, name, model["efforts"], "reasoning.effort")
    words = "Unsupported parameter: 'reasoning.summary' is not supported with this model."
    refuse_unless(model["efforts"] or not reasoning.get("summary"), words, code="unsupported_parameter")
    words = "Unsupported parameter: 'reasoning.mode' is not supported with this model."
    refuse_unless(reasoning.get("mode") in (None, "standard") or model["generation"] >= 5.6, words)
    is_reasoning = bool(model["efforts"]) and (effort or model["default"]) != "none"
    check_sampling(body, is_reasoning)


def _check_tools(body: Mapping[str, Any], items: list[Any], model: Mapping[str, Any]) -> None:
    tools = body.get("tools") or []
    refuse_unless(len(tools) <= 128, "Invalid 'tools': array too long. Expected an array with maximum length 128.")
    names: set[str] = set()
    for at, tool in enumerate(tools):
        names |= _check_tool(f"tools[{at}]", tool, model)
    added: set[str] = set()
    for at, item in enumerate(items):
        if get_type(item) == "additional_tools":
            words = f"Invalid value for 'input[{at}].role': expected 'developer'."
            refuse_unless(item.get("role") == "developer", words)
            for number, tool in enumerate(item.get("tools") or ()):
                added |= _check_tool(f"input[{at}].tools[{number}]", tool, model)
    if model["generation"] >= 5.6:
        names |= added
    _check_choice(body.get("tool_choice"), names, {str(tool.get("type")) for tool in tools})


def _check_tool(where: str, tool: Mapping[str, Any], model: Mapping[str, Any]) -> set[str]:
    kind = tool.get("type")
    refuse_unless(kind, f"Missing required parameter: '{where}.type'.", param=f"{where}.type")
    if kind == "function":
        refuse_unless("function" not in tool, f"Unknown parameter: '{where}.function'.", code="unknown_parameter")
        refuse_unless(
            tool.get("name"), f"Missing required parameter: '{where}.name'.", code="missing_required_parameter"
        )
        # Without `strict` the API tries to hold a function to its schema, and refuses nothing.
        check_function(where, tool)
        words = f"Unsupported parameter: '{where}.async' is not supported with this model."
        refuse_unless(not tool.get("async") or model["generation"] >= 6, words, code="unsupported_parameter")
    return {str(tool["name"])} if tool.get("name") else set()


def _check_choice(choice: Any, names: set[str], kinds: set[str]) -> None:
    if choice is None:
        return
    if isinstance(choice, str):
        refuse_unless(choice in ("none", "auto", "required"), f"Invalid value: '{choice}'.", param="tool_choice")
        words = "Tool choice 'required' must be specified with 'tools' parameter."
        refuse_unless(choice != "required" or names or kinds, words, param="tool_choice")
        return
    kind = choice.get("type")
    wanted: list[Any] = [choice] if kind in ("function", "custom") else []
    if kind == "allowed_tools":
        refuse_unless(choice.get("mode") in ("auto", "required"), "Invalid value for 'tool_choice.mode'.")
        wanted = [each for each in choice.get("tools") or () if each.get("type") == "function"]
    for each in wanted:
        words = f"Tool choice '{each.get('name')}' not found in 'tools' parameter."
        refuse_unless(each.get("name") in names, words, param="tool_choice")


def _check_items(items: list[Any], name: str, model: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    seen: set[str] = set()
    for at, item in enumerate(items):
        kind, identity = get_type(item), item.get("id")
        if identity is not None and kind != "item_reference":
            _check_id(at, kind, str(identity))
            refuse_unless(identity not in seen, f"Duplicate item found with id {identity}.")
            seen.add(identity)
        if kind == "message":
            _check_message(at, item)
        elif kind in CALLS or kind in OUTPUTS:
            _check_call(at, kind, item)
        elif kind == "reasoning":
            words = "Reasoning input items can only be provided to a reasoning or computer use model."
            refuse_unless(model["efforts"], words, param=f"input[{at}]")
            _check_follower(items, at)
        elif kind == "configuration_update":
            _check_update(items, at, name, model, body)


def _check_id(at: int, kind: str, identity: str) -> None:
    words = (
        f"Invalid 'input[{at}].id': '{identity}'. Expected an ID that contains letters, numbers, underscores, or "
        "dashes, but this value contained additional characters."
    )
    refuse_unless(re.fullmatch(r"[a-zA-Z0-9_-]+", identity), words, param=f"input[{at}].id", code="invalid_value")
    prefix = PREFIXES.get(kind, "")
    words = f"Invalid 'input[{at}].id': '{identity}'. Expected an ID that begins with '{prefix}'."
    refuse_unless(identity.startswith(prefix), words, param=f"input[{at}].id", code="invalid_value")


def _check_message(at: int, item: Mapping[str, Any]) -> None:
    role, content = item.get("role"), item.get("content")
    refuse_unless(
        role in ("user", "assistant", "system", "developer"), f"Invalid value: '{role}'.", param=f"input[{at}].role"
    )
    words = f"Invalid type for 'input[{at}].content': expected one of an array of objects or string."
    refuse_unless(isinstance(content, str | list), words, code="invalid_type")
    phase = item.get("phase")
    refuse_unless(
        phase in (None, "commentary", "final_answer"), f"Invalid value: '{phase}'.", param=f"input[{at}].phase"
    )
    refuse_unless(phase is None or role == "assistant", f"Unknown parameter: 'input[{at}].phase'.")
    for number, part in enumerate(content if isinstance(content, list) else ()):
        known = (
            ("output_text", "refusal")
            if role == "assistant"
            else ("input_text", "input_image", "input_file", "input_audio")
        )
        kind = part.get("type")
        values = " and ".join(f"'{each}'" for each in known)
        words = f"Invalid value: '{kind}'. Supported values are: {values}."
        refuse_unless(kind in known, words, param=f"input[{at}].content[{number}]", code="invalid_value")


def _check_call(at: int, kind: str, item: Mapping[str, Any]) -> None:
    call_id = item.get("call_id")
    if call_id is None and kind not in ("function_call", "function_call_output"):
        return
    words = f"Invalid 'input[{at}].call_id': empty string. Expected a string with minimum length 1."
    refuse_unless(call_id, words, param=f"input[{at}].call_id", code="empty_string")
    words = f"Invalid 'input[{at}].call_id': string too long. Expected a string with maximum length 64."
    refuse_unless(len(str(call_id)) <= 64, words, param=f"input[{at}].call_id", code="string_above_max_length")
    if kind == "function_call":
        refuse_unless(item.get("name"), f"Missing required parameter: 'input[{at}].name'.")
        refuse_unless(
            isinstance(item.get("arguments"), str), f"Invalid type for 'input[{at}].arguments': expected a string."
        )
    if kind == "function_call_output":
        refuse_unless(isinstance(item.get("output"), str | list), f"Missing required parameter: 'input[{at}].output'.")


def _check_follower(items: list[Any], at: int) -> None:
    """Refuse reasoning that is not followed by what it led to (R3)."""
    after = next((each for each in items[at + 1 :] if get_type(each) != "reasoning"), None)
    kind = get_type(after) if after is not None else ""
    led = after is not None and kind not in OUTPUTS and (kind != "message" or after.get("role") == "assistant")
    words = f"Item '{items[at].get('id')}' of type 'reasoning' was provided without its required following item."
    refuse_unless(led, words, param="input")


def _check_update(items: list[Any], at: int, name: str, model: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    item = items[at]
    words = f"configuration_update is not supported with the '{name}' model."
    refuse_unless(model["generation"] >= 6, words, param=f"input[{at}]")
    mode = (body.get("reasoning") or {}).get("mode")
    words = "configuration_update is not supported with pro or tournament models."
    refuse_unless(mode in (None, "standard") and "pro" not in name, words, param=f"input[{at}]")
    twice = at and get_type(items[at - 1]) == "configuration_update"
    refuse_unless(not twice, "Two configuration_update items in a row are not allowed.", param=f"input[{at}]")
    refuse_unless(set(item) <= {"type", "id", "reasoning", "text"}, f"Unknown parameter in 'input[{at}]'.")
    refuse_unless(item.get("reasoning") or item.get("text"), "A configuration_update needs 'reasoning' or 'text'.")
    reasoning, text = item.get("reasoning") or {}, item.get("text") or {}
    refuse_unless(set(reasoning) <= {"effort"}, f"Unknown parameter: 'input[{at}].reasoning'.")
    refuse_unless(set(text) <= {"format"}, f"Unknown parameter: 'input[{at}].text'.")
    check_effort(reasoning.get("effort"), name, model["efforts"], f"input[{at}].reasoning.effort")
    form = text.get("format") or {}
    if form.get("type") == "json_schema":
        check_format(f"input[{at}].text.format", form)


def _check_pairs(items: list[Any], *, is_partial: bool) -> None:
    """Refuse calls without an output and outputs without a call; a partial list may hold outputs alone."""
    called: dict[str, bool] = {}
    for item in items:
        kind, call_id = get_type(item), str(item.get("call_id"))
        if kind == "function_call":
            called[call_id] = bool(item.get("async"))
        if kind == "function_call_output" and not is_partial:
            words = f"No tool call found for function call output with call_id {call_id}."
            refuse_unless(call_id in called, words, param="input")
    answered = {str(item.get("call_id")) for item in items if get_type(item) in OUTPUTS}
    for call_id, is_async in called.items():
        words = f"No tool output found for function call {call_id}."
        refuse_unless(is_async or call_id in answered, words, param="input")
