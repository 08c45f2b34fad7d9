"""Rules of OpenAI's Responses API.

Calls and results are paired by id at any position (R15). A body that continues a stored response or
conversation has its history on the server, so items that may be there are not checked. Only a
server with memory can check R12 (encrypted reasoning that cannot be verified) and R13 (a stored
response that is gone).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.wire.rules.json_access import get_type_tag, is_json_array, is_json_dict
from antiphon.wire.rules.openai import empty_string, invalid_body, invalid_type, missing_parameter, string_too_long
from antiphon.wire.rules.openai_responses_options import find_responses_option_violations
from antiphon.wire.rules.subject import CheckSubject
from antiphon.wire.rules.violation import Violation

_ITEM_ID = re.compile(r"[a-zA-Z0-9_-]+")
_ID_PREFIXES = {"function_call": "fc", "message": "msg", "reasoning": "rs", "web_search_call": "ws"}
_CALL_NAMES = {"function_call": "function call", "custom_tool_call": "custom tool call"}
_MAX_CALL_ID = 64
_MAX_NAME = 128
_SHARED_ID_LENGTH = 16
_FORBIDDEN_IN_ASSISTANT = ("input_text", "input_image", "input_file", "input_audio", "text", "image_url")
_FORBIDDEN_IN_MESSAGE = ("function_call", "function_call_output", "tool_call", "tool_calls", "tool_use", "tool_result")
_CONTENT_TYPES = (
    "'input_text', 'input_image', 'output_text', 'refusal', 'input_file', 'computer_screenshot', and 'summary_text'"
)


@dataclass(frozen=True, slots=True)
class InputItem:
    """An input item and its position. Messages and references may come without their `type`."""

    index: int
    type: str
    data: dict[str, object]

    @property
    def path(self) -> str:
        return f"input[{self.index}]"

    @property
    def id(self) -> str:
        return as_string(self.data.get("id"))

    @property
    def call_id(self) -> str:
        return as_string(self.data.get("call_id"))


def violations(body: object, model: str, subject: CheckSubject) -> Iterator[Violation]:
    """Yield the violations that the Responses API would report for `body`."""
    if not is_json_dict(body):
        yield invalid_body("R0")
        return
    request = as_object(body)
    model = model or as_string(request.get("model"))
    yield from _check_shape(request, model)
    items = [_read_item(index, item) for index, item in enumerate(as_array(request.get("input")))]
    for item in items:
        yield from _check_item_ids(item)
        yield from _check_call_fields(item)
        yield from _check_content(item)
        yield from _check_stored(item, request)
    yield from _check_duplicates(items)
    yield from _check_reasoning_model(items, subject)
    yield from _check_pairs(items, request)
    yield from _check_interrupted(items)
    yield from _check_reasoning_followers(items, request)
    yield from _check_tools(request)
    yield from find_responses_option_violations(request, items, subject)


def _read_item(index: int, item: object) -> InputItem:
    data = as_object(item)
    type_ = get_type_tag(item)
    if not type_ and data.get("type") is None:
        type_ = "message" if "role" in data else "item_reference" if "id" in data else ""
    return InputItem(index, type_, data)


def _check_shape(request: dict[str, object], model: str) -> Iterator[Violation]:
    if not model and request.get("prompt") is None:
        yield missing_parameter("R0", "model")
    given = request.get("input")
    elsewhere = ("previous_response_id", "prompt", "conversation")
    if given is None and all(request.get(key) is None for key in elsewhere):
        yield missing_parameter("R0", "input")
    elif given is not None and not (isinstance(given, str) or is_json_array(given)):
        yield invalid_type("R0", "input", "one of a string or array of input items", given)
    for index, item in enumerate(as_array(given)):
        if not is_json_dict(item):
            yield invalid_type("R0", f"input[{index}]", "an object", item)
        elif not _read_item(index, as_object(item)).type:
            yield missing_parameter("R0", f"input[{index}].type")
    for old, new in (("messages", "input"), ("response_format", "text.format")):
        if request.get(old) is not None:
            text = (
                f"Unsupported parameter: '{old}'. In the Responses API, this parameter has moved to '{new}'. "
                "Try again with the new parameter. See the API documentation for more information: "
                "https://platform.openai.com/docs/api-reference/responses/create."
            )
            yield Violation("R14", text, old, "unsupported_parameter")


def _check_item_ids(item: InputItem) -> Iterator[Violation]:
    """Yield violations of R6 and R7: illegal item ids."""
    item_id = item.data.get("id")
    if not isinstance(item_id, str):
        return
    path = f"{item.path}.id"
    prefix = _ID_PREFIXES.get(item.type, "")
    if not _ITEM_ID.fullmatch(item_id):
        text = (
            f"Invalid '{path}': '{item_id}'. Expected an ID that contains letters, numbers, underscores, or dashes, "
            "but this value contained additional characters."
        )
        yield Violation("R7", text, path, "invalid_value")
    elif not item_id.startswith(prefix):
        text = f"Invalid '{path}': '{item_id}'. Expected an ID that begins with '{prefix}'."
        yield Violation("R6", text, path, "invalid_value")


def _check_call_fields(item: InputItem) -> Iterator[Violation]:
    """Yield violations of R8, and of R14 for fields of calls and outputs."""
    if item.type.removesuffix("_output") not in _CALL_NAMES:
        return
    path = f"{item.path}.call_id"
    call_id = item.data.get("call_id")
    if call_id is None:
        yield missing_parameter("R0", path)
    elif not isinstance(call_id, str):
        yield invalid_type("R0", path, "a string", call_id)
    elif not call_id:
        yield empty_string("R8", path)
    elif len(call_id) > _MAX_CALL_ID:
        yield string_too_long("R8", path, _MAX_CALL_ID, len(call_id))
    if item.type == "function_call":
        yield from _check_call_strings(item)
        yield from _check_name(item.data.get("name"), f"{item.path}.name")
    elif item.type.endswith("_output"):
        yield from _check_output(item)


def _check_call_strings(item: InputItem) -> Iterator[Violation]:
    for key, code in (("name", "R0"), ("arguments", "R14")):
        value = item.data.get(key)
        if value is None:
            yield missing_parameter(code, f"{item.path}.{key}")
        elif not isinstance(value, str):
            yield invalid_type(code, f"{item.path}.{key}", "a string", value)


def _check_name(name: object, path: str) -> Iterator[Violation]:
    """Yield violations of R18: illegal function names."""
    if name == "":
        yield empty_string("R18", path)
    elif isinstance(name, str) and len(name) > _MAX_NAME:
        yield string_too_long("R18", path, _MAX_NAME, len(name))
    elif isinstance(name, str) and not _ITEM_ID.fullmatch(name):
        text = f"Invalid '{path}': string does not match pattern. Expected a string that matches the pattern"
        yield Violation("R18", f"{text} '^[a-zA-Z0-9_-]+$'.", path, "invalid_value")


def _check_output(item: InputItem) -> Iterator[Violation]:
    output = item.data.get("output")
    if output is None:
        yield missing_parameter("R14", f"{item.path}.output")
    elif not (isinstance(output, str) or is_json_array(output)):
        yield invalid_type("R14", f"{item.path}.output", "one of an array of objects or string", output)


def _check_content(item: InputItem) -> Iterator[Violation]:
    """Yield violations of R10, and of R14 for calls or results inside a message."""
    if item.type != "message":
        return
    assistant = item.data.get("role") == "assistant"
    for index, part in enumerate(as_array(item.data.get("content"))):
        type_ = get_type_tag(part)
        path = f"{item.path}.content[{index}]"
        if type_ in _FORBIDDEN_IN_MESSAGE:
            text = f"Invalid value: '{type_}'. Supported values are: {_CONTENT_TYPES}."
            yield Violation("R14", text, path, "invalid_value")
        elif assistant and type_ in _FORBIDDEN_IN_ASSISTANT:
            text = f"Invalid value: '{type_}'. Supported values are: 'output_text' and 'refusal'."
            yield Violation("R10", text, path, "invalid_value")


def _check_stored(item: InputItem, request: dict[str, object]) -> Iterator[Violation]:
    """Yield violations of R11: without `store`, an item that carries only its id cannot be found."""
    bare = item.type == "item_reference" or (item.type == "reasoning" and not item.data.get("encrypted_content"))
    if request.get("store") is False and bare and item.id and not _continues_stored(request):
        text = (
            f"Item with id '{item.id}' not found. Items are not persisted when `store` is set to false. "
            "Try again with `store` set to true, or remove this item from your input."
        )
        yield Violation("R11", text, "input")


def _continues_stored(request: dict[str, object]) -> bool:
    return request.get("previous_response_id") is not None or request.get("conversation") is not None


def _check_duplicates(items: list[InputItem]) -> Iterator[Violation]:
    """Yield violations of R9: repeated item ids."""
    seen: set[str] = set()
    for item in items:
        if item.id and item.id in seen:
            yield Violation("R9", f"Duplicate item found with id {item.id}", "input")
        seen.add(item.id)


def _check_reasoning_model(items: list[InputItem], subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of R5: reasoning items for a model known not to reason."""
    if subject.facts.efforts == () and any(item.type == "reasoning" for item in items):
        text = "Reasoning input items can only be provided to a reasoning or computer use model."
        yield Violation("R5", text, "input")


def _check_pairs(items: list[InputItem], request: dict[str, object]) -> Iterator[Violation]:
    """Yield violations of R1, R2 and R17. A call of any type counts: a shell call may have a function's
    output.
    """
    calls = {item.call_id for item in items if not item.type.endswith("_output")}
    outputs = {item.call_id for item in items if item.type.endswith("_output")}
    referenced = any(item.type == "item_reference" for item in items)
    compacted = any(item.type.startswith("compaction") for item in items)
    for item in items:
        call = _CALL_NAMES.get(item.type.removesuffix("_output"))
        if not call or not item.call_id:
            continue
        if item.type in _CALL_NAMES and item.call_id not in outputs and not referenced:
            code = "R1" if item.type == "function_call" else "R17"
            yield Violation(code, f"No tool output found for {call} {item.call_id}.", "input")
        hidden = referenced or compacted or _continues_stored(request)
        if item.type not in _CALL_NAMES and item.call_id not in calls and not hidden:
            text = f"No tool call found for {call} output with call_id {item.call_id}."
            yield Violation("R2", text, "input")


def _check_interrupted(items: list[InputItem]) -> Iterator[Violation]:
    """Yield violations of R16: a message between a call and its output."""
    answered = {item.call_id for item in items if item.type == "function_call_output"}
    open_: dict[str, None] = {}
    for item in items:
        if item.type == "function_call" and item.call_id in answered:
            open_[item.call_id] = None
        elif item.type == "function_call_output":
            open_.pop(item.call_id, None)
        elif item.type == "message":
            for call_id in open_:
                yield Violation("R16", f"No tool output found for tool call {call_id}.", "input")
            open_ = {}


def _check_reasoning_followers(items: list[InputItem], request: dict[str, object]) -> Iterator[Violation]:
    """Yield violations of R3 and R4: reasoning without the item that must follow it."""
    if _continues_stored(request):
        return
    follower: InputItem | None = None
    for position in range(len(items) - 1, -1, -1):
        item = items[position]
        if item.type == "reasoning" and item.id and not _may_follow_reasoning(follower, request):
            text = f"Item '{item.id}' of type 'reasoning' was provided without its required following item."
            yield Violation("R3", text, "input")
            if position:
                yield from _check_swapped_reasoning(items[position - 1], item)
        if item.type != "reasoning":
            follower = item


def _may_follow_reasoning(item: InputItem | None, request: dict[str, object]) -> bool:
    if item is None or item.type.endswith("_call_output") or item.type == "mcp_approval_response":
        return False
    if item.type != "message":
        return True
    # A recording shows that plain assistant text does not replace the stored message. If nothing is stored, the
    # message has no id, and any assistant message will do.
    plain = not item.id and isinstance(item.data.get("content"), str)
    return item.data.get("role") == "assistant" and (not plain or request.get("store") is False)


def _check_swapped_reasoning(before: InputItem, reasoning: InputItem) -> Iterator[Violation]:
    # R4. A body does not show which item needs which reasoning, except if the two were swapped: ids of one
    # response begin alike.
    kind_of = {"message": "", "function_call": " of type 'function_call'"}.get(before.type)
    if kind_of is None or not before.id:
        return
    if before.id.partition("_")[2][:_SHARED_ID_LENGTH] == reasoning.id.partition("_")[2][:_SHARED_ID_LENGTH]:
        text = f"Item '{before.id}'{kind_of} was provided without its required 'reasoning' item: '{reasoning.id}'."
        yield Violation("R4", text, "input")


def _check_tools(request: dict[str, object]) -> Iterator[Violation]:
    """Yield violations of R14: functions are declared flat, without the wrapper of Chat Completions."""
    tools = request.get("tools")
    if tools is not None and not is_json_array(tools):
        yield invalid_type("R0", "tools", "an array of objects", tools)
    for index, tool in enumerate(as_array(tools)):
        if not is_json_dict(tool):
            yield invalid_type("R0", f"tools[{index}]", "an object", tool)
        elif get_type_tag(as_object(tool)) == "function" and not isinstance(as_object(tool).get("name"), str):
            yield missing_parameter("R14", f"tools[{index}].name")
        elif get_type_tag(as_object(tool)) == "function":
            yield from _check_name(as_object(tool).get("name"), f"tools[{index}].name")
