"""The rules of OpenAI's Responses API.

Calls and results are paired by id wherever they stand (R15). A body that continues a stored response or conversation
has its history on the server, so nothing is said of items that may be there. Not decidable from a body, hence left to
a server with memory: R12 (encrypted reasoning that cannot be verified) and R13 (a stored response that is gone).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from antiphon._shape import arr, obj, string
from antiphon.wire.rules.openai import empty_string, missing, not_a_body, too_long, wrong_type
from antiphon.wire.rules.reading import is_array, is_object, kind
from antiphon.wire.rules.responses_options import option_violations
from antiphon.wire.rules.subject import Subject
from antiphon.wire.rules.violation import Violation

_ITEM_ID = re.compile(r"[a-zA-Z0-9_-]+")
_PREFIXES = {"function_call": "fc", "message": "msg", "reasoning": "rs", "web_search_call": "ws"}
_CALLS = {"function_call": "function call", "custom_tool_call": "custom tool call"}
_MAX_CALL_ID = 64
_MAX_NAME = 128
_ORIGIN = 16
_NOT_ASSISTANT_TEXT = ("input_text", "input_image", "input_file", "input_audio", "text", "image_url")
_NOT_CONTENT = ("function_call", "function_call_output", "tool_call", "tool_calls", "tool_use", "tool_result")
_CONTENT = (
    "'input_text', 'input_image', 'output_text', 'refusal', 'input_file', 'computer_screenshot', and 'summary_text'"
)


@dataclass(frozen=True, slots=True)
class Item:
    """An input item and where it stands; messages and references may come without their `type`."""

    index: int
    type: str
    data: dict[str, object]

    @property
    def path(self) -> str:
        return f"input[{self.index}]"

    @property
    def id(self) -> str:
        return string(self.data.get("id"))

    @property
    def call_id(self) -> str:
        return string(self.data.get("call_id"))


def violations(body: object, model: str, subject: Subject) -> Iterator[Violation]:
    """Yield what the Responses API would reject in `body`."""
    if not is_object(body):
        yield not_a_body("R0")
        return
    request = obj(body)
    model = model or string(request.get("model"))
    yield from _shape(request, model)
    items = [_item(index, item) for index, item in enumerate(arr(request.get("input")))]
    for item in items:
        yield from _item_ids(item)
        yield from _fields(item)
        yield from _content(item)
        yield from _stored(item, request)
    yield from _duplicates(items)
    yield from _reasoning_model(items, subject)
    yield from _pairs(items, request)
    yield from _interrupted(items)
    yield from _reasoning_followers(items, request)
    yield from _tools(request)
    yield from option_violations(request, items, subject)


def _item(index: int, item: object) -> Item:
    data = obj(item)
    type_ = kind(item)
    if not type_ and data.get("type") is None:
        type_ = "message" if "role" in data else "item_reference" if "id" in data else ""
    return Item(index, type_, data)


def _shape(request: dict[str, object], model: str) -> Iterator[Violation]:
    if not model and request.get("prompt") is None:
        yield missing("R0", "model")
    given = request.get("input")
    elsewhere = ("previous_response_id", "prompt", "conversation")
    if given is None and all(request.get(key) is None for key in elsewhere):
        yield missing("R0", "input")
    elif given is not None and not (isinstance(given, str) or is_array(given)):
        yield wrong_type("R0", "input", "one of a string or array of input items", given)
    for index, item in enumerate(arr(given)):
        if not is_object(item):
            yield wrong_type("R0", f"input[{index}]", "an object", item)
        elif not _item(index, obj(item)).type:
            yield missing("R0", f"input[{index}].type")
    for old, new in (("messages", "input"), ("response_format", "text.format")):
        if request.get(old) is not None:
            text = (
                f"Unsupported parameter: '{old}'. In the Responses API, this parameter has moved to '{new}'. "
                "Try again with the new parameter. See the API documentation for more information: "
                "https://platform.openai.com/docs/api-reference/responses/create."
            )
            yield Violation("R14", text, old, "unsupported_parameter")


def _item_ids(item: Item) -> Iterator[Violation]:
    """R6 and R7."""
    item_id = item.data.get("id")
    if not isinstance(item_id, str):
        return
    path = f"{item.path}.id"
    prefix = _PREFIXES.get(item.type, "")
    if not _ITEM_ID.fullmatch(item_id):
        text = (
            f"Invalid '{path}': '{item_id}'. Expected an ID that contains letters, numbers, underscores, or dashes, "
            "but this value contained additional characters."
        )
        yield Violation("R7", text, path, "invalid_value")
    elif not item_id.startswith(prefix):
        text = f"Invalid '{path}': '{item_id}'. Expected an ID that begins with '{prefix}'."
        yield Violation("R6", text, path, "invalid_value")


def _fields(item: Item) -> Iterator[Violation]:
    """R8, and the parts of R14 that are about the fields of calls and their outputs."""
    if item.type.removesuffix("_output") not in _CALLS:
        return
    path = f"{item.path}.call_id"
    call_id = item.data.get("call_id")
    if call_id is None:
        yield missing("R0", path)
    elif not isinstance(call_id, str):
        yield wrong_type("R0", path, "a string", call_id)
    elif not call_id:
        yield empty_string("R8", path)
    elif len(call_id) > _MAX_CALL_ID:
        yield too_long("R8", path, _MAX_CALL_ID, len(call_id))
    if item.type == "function_call":
        yield from _call_strings(item)
        yield from _name(item.data.get("name"), f"{item.path}.name")
    elif item.type.endswith("_output"):
        yield from _output(item)


def _call_strings(item: Item) -> Iterator[Violation]:
    for key, code in (("name", "R0"), ("arguments", "R14")):
        value = item.data.get(key)
        if value is None:
            yield missing(code, f"{item.path}.{key}")
        elif not isinstance(value, str):
            yield wrong_type(code, f"{item.path}.{key}", "a string", value)


def _name(name: object, path: str) -> Iterator[Violation]:
    """R18."""
    if name == "":
        yield empty_string("R18", path)
    elif isinstance(name, str) and len(name) > _MAX_NAME:
        yield too_long("R18", path, _MAX_NAME, len(name))
    elif isinstance(name, str) and not _ITEM_ID.fullmatch(name):
        text = f"Invalid '{path}': string does not match pattern. Expected a string that matches the pattern"
        yield Violation("R18", f"{text} '^[a-zA-Z0-9_-]+$'.", path, "invalid_value")


def _output(item: Item) -> Iterator[Violation]:
    output = item.data.get("output")
    if output is None:
        yield missing("R14", f"{item.path}.output")
    elif not (isinstance(output, str) or is_array(output)):
        yield wrong_type("R14", f"{item.path}.output", "one of an array of objects or string", output)


def _content(item: Item) -> Iterator[Violation]:
    """R10, and R14 where a call or a result stands inside a message."""
    if item.type != "message":
        return
    assistant = item.data.get("role") == "assistant"
    for index, part in enumerate(arr(item.data.get("content"))):
        type_ = kind(part)
        path = f"{item.path}.content[{index}]"
        if type_ in _NOT_CONTENT:
            text = f"Invalid value: '{type_}'. Supported values are: {_CONTENT}."
            yield Violation("R14", text, path, "invalid_value")
        elif assistant and type_ in _NOT_ASSISTANT_TEXT:
            text = f"Invalid value: '{type_}'. Supported values are: 'output_text' and 'refusal'."
            yield Violation("R10", text, path, "invalid_value")


def _stored(item: Item, request: dict[str, object]) -> Iterator[Violation]:
    """R11: with `store` off, an item that carries only its id cannot be found."""
    bare = item.type == "item_reference" or (item.type == "reasoning" and not item.data.get("encrypted_content"))
    if request.get("store") is False and bare and item.id and not _continues(request):
        text = (
            f"Item with id '{item.id}' not found. Items are not persisted when `store` is set to false. "
            "Try again with `store` set to true, or remove this item from your input."
        )
        yield Violation("R11", text, "input")


def _continues(request: dict[str, object]) -> bool:
    return request.get("previous_response_id") is not None or request.get("conversation") is not None


def _duplicates(items: list[Item]) -> Iterator[Violation]:
    """R9."""
    seen: set[str] = set()
    for item in items:
        if item.id and item.id in seen:
            yield Violation("R9", f"Duplicate item found with id {item.id}", "input")
        seen.add(item.id)


def _reasoning_model(items: list[Item], subject: Subject) -> Iterator[Violation]:
    """R5, for the models known not to reason."""
    if subject.facts.efforts == () and any(item.type == "reasoning" for item in items):
        text = "Reasoning input items can only be provided to a reasoning or computer use model."
        yield Violation("R5", text, "input")


def _pairs(items: list[Item], request: dict[str, object]) -> Iterator[Violation]:
    """R1, R2 and R17. A call of any type counts: the output of a shell call may be a function's."""
    calls = {item.call_id for item in items if not item.type.endswith("_output")}
    outputs = {item.call_id for item in items if item.type.endswith("_output")}
    referenced = any(item.type == "item_reference" for item in items)
    compacted = any(item.type.startswith("compaction") for item in items)
    for item in items:
        call = _CALLS.get(item.type.removesuffix("_output"))
        if not call or not item.call_id:
            continue
        if item.type in _CALLS and item.call_id not in outputs and not referenced:
            code = "R1" if item.type == "function_call" else "R17"
            yield Violation(code, f"No tool output found for {call} {item.call_id}.", "input")
        hidden = referenced or compacted or _continues(request)
        if item.type not in _CALLS and item.call_id not in calls and not hidden:
            text = f"No tool call found for {call} output with call_id {item.call_id}."
            yield Violation("R2", text, "input")


def _interrupted(items: list[Item]) -> Iterator[Violation]:
    """R16."""
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


def _reasoning_followers(items: list[Item], request: dict[str, object]) -> Iterator[Violation]:
    """R3 and R4."""
    if _continues(request):
        return
    follower: Item | None = None
    for position in range(len(items) - 1, -1, -1):
        item = items[position]
        if item.type == "reasoning" and item.id and not _may_follow_reasoning(follower, request):
            text = f"Item '{item.id}' of type 'reasoning' was provided without its required following item."
            yield Violation("R3", text, "input")
            if position:
                yield from _reasoning_behind(items[position - 1], item)
        if item.type != "reasoning":
            follower = item


def _may_follow_reasoning(item: Item | None, request: dict[str, object]) -> bool:
    if item is None or item.type.endswith("_call_output") or item.type == "mcp_approval_response":
        return False
    if item.type != "message":
        return True
    # A recording shows that plain assistant text does not stand in for the stored message. Where nothing is stored the
    # message has no id, and any assistant message will do.
    plain = not item.id and isinstance(item.data.get("content"), str)
    return item.data.get("role") == "assistant" and (not plain or request.get("store") is False)


def _reasoning_behind(before: Item, reasoning: Item) -> Iterator[Violation]:
    # R4. A body does not say which item needed which reasoning, except where the two were swapped: ids made for one
    # response begin alike.
    kind_of = {"message": "", "function_call": " of type 'function_call'"}.get(before.type)
    if kind_of is None or not before.id:
        return
    if before.id.partition("_")[2][:_ORIGIN] == reasoning.id.partition("_")[2][:_ORIGIN]:
        text = f"Item '{before.id}'{kind_of} was provided without its required 'reasoning' item: '{reasoning.id}'."
        yield Violation("R4", text, "input")


def _tools(request: dict[str, object]) -> Iterator[Violation]:
    """R14: a function is declared flat, without the wrapping of Chat Completions."""
    tools = request.get("tools")
    if tools is not None and not is_array(tools):
        yield wrong_type("R0", "tools", "an array of objects", tools)
    for index, tool in enumerate(arr(tools)):
        if not is_object(tool):
            yield wrong_type("R0", f"tools[{index}]", "an object", tool)
        elif kind(obj(tool)) == "function" and not isinstance(obj(tool).get("name"), str):
            yield missing("R14", f"tools[{index}].name")
        elif kind(obj(tool)) == "function":
            yield from _name(obj(tool).get("name"), f"tools[{index}].name")
