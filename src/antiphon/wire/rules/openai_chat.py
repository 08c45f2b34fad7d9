"""Rules of OpenAI's Chat Completions API.

System and developer messages may be anywhere, and the answers to one message's calls may come in
any order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.wire.rules.json_access import get_type_tag, is_json_array, is_json_dict
from antiphon.wire.rules.openai import (
    empty_array,
    empty_string,
    invalid_body,
    invalid_type,
    missing_parameter,
    string_too_long,
)
from antiphon.wire.rules.openai_options import (
    find_choice_violations,
    find_openai_cache_violations,
    find_openai_effort_violations,
    find_sampling_violations,
    get_effective_effort,
)
from antiphon.wire.rules.strict_schema import find_strict_schema_faults
from antiphon.wire.rules.subject import CheckSubject
from antiphon.wire.rules.violation import Violation

_ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_SHORT_ID = re.compile(r"[a-zA-Z0-9]{9}")
_MAX_ID = 40
_MAX_NAME = 64
_MAX_TOOLS = 128
_TTLS = ("30m",)


def violations(body: object, model: str, subject: CheckSubject) -> Iterator[Violation]:
    """Yield the violations that Chat Completions would report for `body`."""
    if not is_json_dict(body):
        yield invalid_body("O0")
        return
    request = as_object(body)
    model = model or as_string(request.get("model"))
    if not model:
        yield Violation("O0", "you must provide a model parameter")
    messages = request.get("messages")
    if "messages" not in request:
        yield missing_parameter("O0", "messages")
    elif not is_json_array(messages):
        yield invalid_type("O0", "messages", "an array of objects", messages)
    elif not messages:
        yield empty_array("O11", "messages")
    for index, message in enumerate(as_array(messages)):
        yield from _check_message(message, index, subject)
    yield from _check_pairs(as_array(messages))
    yield from _check_tools(request, subject)
    yield from _check_response_format(request, subject)
    yield from _check_options(request, subject)


def _check_options(request: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of O15 to O21: options that the model does not accept."""
    effort = request.get("reasoning_effort")
    effective = get_effective_effort(effort, subject)
    yield from _check_functions_with_reasoning(request, effective, subject)
    if request.get("max_tokens") is not None and subject.facts.efforts:
        text = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        yield Violation("O16", text, "max_tokens", "unsupported_parameter")
    yield from find_openai_effort_violations("O17", effort, "reasoning_effort", subject)
    yield from find_sampling_violations("O18", request, effective, subject, defaults=True)
    yield from find_choice_violations("O19", request, subject)
    yield from find_openai_cache_violations("O20", request, _TTLS)
    schema = subject.facts.schema
    if get_type_tag(request.get("response_format")) == "json_schema" and schema not in (None, "yes", "api:openai-chat"):
        yield Violation("O21", "This response_format type is unavailable now", "response_format")


def _check_functions_with_reasoning(
    request: dict[str, object], effective: str | None, subject: CheckSubject
) -> Iterator[Violation]:
    """Yield violations of O15: functions together with reasoning."""
    functions = [
        tool for tool in as_array(request.get("tools")) if as_object(tool).get("type", "function") == "function"
    ]
    taken = subject.facts.tools_api
    if not functions or taken in (None, "any") or (taken == "effort_none_only" and effective in (None, "none")):
        return
    text = (
        f"Function tools with reasoning_effort are not supported for {subject.model} in /v1/chat/completions. "
        "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
    )
    yield Violation("O15", text, "reasoning_effort")


def _check_message(message: object, index: int, subject: CheckSubject) -> Iterator[Violation]:
    path = f"messages[{index}]"
    if not is_json_dict(message):
        yield invalid_type("O0", path, "an object", message)
        return
    data = as_object(message)
    role = data.get("role")
    if "role" not in data:
        yield missing_parameter("O0", f"{path}.role")
    elif not isinstance(role, str):
        yield invalid_type("O0", f"{path}.role", "a string", role)
    elif role not in _ROLES:
        supported = "'system', 'assistant', 'user', 'function', 'tool', and 'developer'"
        text = f"Invalid value: '{role}'. Supported values are: {supported}."
        yield Violation("O0", text, f"{path}.role", "invalid_value")
    yield from _check_content(data, index)
    yield from _check_images(data, index, subject)
    if role == "tool" and not isinstance(data.get("tool_call_id"), str):
        yield missing_parameter("O0", f"{path}.tool_call_id")
    if role == "assistant":
        yield from _check_calls(data.get("tool_calls"), f"{path}.tool_calls")


def _check_content(data: dict[str, object], index: int) -> Iterator[Violation]:
    """Yield violations of O7. An assistant's message may omit the text if it carries something else."""
    content = data.get("content")
    if isinstance(content, str) or is_json_array(content) or data.get("role") not in _ROLES:
        return
    if content is not None:
        yield invalid_type("O0", f"messages[{index}].content", "one of a string or array of objects", content)
        return
    instead = ("tool_calls", "function_call", "refusal", "audio")
    if data["role"] == "assistant" and any(data.get(key) is not None for key in instead):
        return
    # The deprecated form of a function's result may be null.
    if data["role"] != "function":
        text = "Invalid value for 'content': expected a string, got null."
        yield Violation("O7", text, f"messages.[{index}].content")


def _check_images(data: dict[str, object], index: int, subject: CheckSubject) -> Iterator[Violation]:
    # O9. Reasoning models accept the image and ignore it. Unknown models are not checked.
    role = data.get("role")
    if role == "user" or not isinstance(role, str) or subject.facts.efforts != ():
        return
    if any(get_type_tag(part) == "image_url" for part in as_array(data.get("content"))):
        text = (
            f"Invalid 'messages[{index}]'. Image URLs are only allowed for messages with role 'user', "
            f"but this message with role '{role}' contains an image URL."
        )
        yield Violation("O9", text, f"messages[{index}]", "invalid_value")


def _check_calls(calls: object, path: str) -> Iterator[Violation]:
    if calls is None:
        return
    if not is_json_array(calls):
        yield invalid_type("O0", path, "an array of objects", calls)
    elif not calls:
        yield empty_array("O4", path)
    for index, call in enumerate(as_array(calls)):
        yield from _check_call(call, f"{path}[{index}]")


def _check_call(call: object, path: str) -> Iterator[Violation]:
    if not is_json_dict(call):
        yield invalid_type("O0", path, "an object", call)
        return
    data = as_object(call)
    call_id = data.get("id")
    if not isinstance(call_id, str):
        yield (
            missing_parameter("O0", f"{path}.id")
            if call_id is None
            else invalid_type("O0", f"{path}.id", "a string", call_id)
        )
    else:
        yield from _check_call_id(call_id, f"{path}.id")
    if data.get("type", "function") != "function":
        return
    function = data.get("function")
    if not is_json_dict(function):
        yield missing_parameter("O0", f"{path}.function")
        return
    yield from _check_name(as_object(function), f"{path}.function.name")
    arguments = as_object(function).get("arguments")
    if arguments is None:
        yield missing_parameter("O12", f"{path}.function.arguments")
    elif not isinstance(arguments, str):
        yield invalid_type("O12", f"{path}.function.arguments", "a string", arguments)


def _check_call_id(call_id: str, path: str) -> Iterator[Violation]:
    """Yield violations of O5 and O14: illegal call ids."""
    if len(call_id) > _MAX_ID:
        yield string_too_long("O5", path, _MAX_ID, len(call_id))
    if not _SHORT_ID.fullmatch(call_id):
        text = f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9."
        yield Violation("O14", text, path)


def _check_name(function: dict[str, object], path: str) -> Iterator[Violation]:
    """Yield violations of O6: illegal names of calls and declared functions."""
    name = function.get("name")
    if name is None:
        yield missing_parameter("O0", path)
    elif not isinstance(name, str):
        yield invalid_type("O0", path, "a string", name)
    elif not name:
        yield empty_string("O6", path)
    elif not _NAME.fullmatch(name):
        text = f"Invalid '{path}': string does not match pattern. Expected a string that matches the pattern"
        yield Violation("O6", f"{text} '^[a-zA-Z0-9_-]+$'.", path, "invalid_value")
    elif len(name) > _MAX_NAME:
        yield string_too_long("O6", path, _MAX_NAME, len(name))


@dataclass(slots=True)
class _CallGroup:
    """The calls of one assistant message and those still unanswered."""

    calls: set[str] = field(default_factory=lambda: set[str]())
    open: dict[str, None] = field(default_factory=lambda: dict[str, None]())
    cut_at: int | None = None
    has_late_answers: bool = False

    def cut(self, index: int) -> None:
        if self.open and self.cut_at is None:
            self.cut_at = index

    def close(self) -> Iterator[Violation]:
        """Yield violations of O2, or of O3 if answers came after another message."""
        if not self.open:
            return
        text = (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. The following tool_call_ids did not have response messages: " + ", ".join(self.open)
        )
        param = "messages" if self.cut_at is None else f"messages.[{self.cut_at}].role"
        yield Violation("O3" if self.has_late_answers else "O2", text, param)


def _check_pairs(messages: list[object]) -> Iterator[Violation]:
    """Yield violations of O1, O2 and O3: calls and answers that do not match."""
    current: _CallGroup | None = None
    for index, message in enumerate(messages):
        data = as_object(message)
        match data.get("role"):
            case "tool":
                yield from _check_answer(current, data.get("tool_call_id"), index)
            case "assistant":
                if current:
                    current.cut(index)
                    yield from current.close()
                current = _open_call_group(data.get("tool_calls"))
            case "system" | "developer":
                pass
            case _:
                if current:
                    current.cut(index)
    if current:
        yield from current.close()


def _open_call_group(calls: object) -> _CallGroup | None:
    if not as_array(calls):
        return None
    ids = [as_string(as_object(call).get("id")) for call in as_array(calls)]
    return _CallGroup(calls=set(ids), open=dict.fromkeys(id_ for id_ in ids if id_))


def _check_answer(current: _CallGroup | None, call_id: object, index: int) -> Iterator[Violation]:
    if current is None:
        text = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with"
        yield Violation("O1", f"{text} 'tool_calls'.", f"messages.[{index}].role")
    elif not isinstance(call_id, str):
        return
    elif call_id not in current.calls:
        text = f"Invalid parameter: 'tool_call_id' of '{call_id}' not found in 'tool_calls' of previous message."
        yield Violation("O1", text, f"messages.[{index}].tool_call_id")
    elif current.cut_at is None:
        current.open.pop(call_id, None)
    else:
        current.has_late_answers = True


def _check_tools(request: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    tools = request.get("tools")
    if tools is not None and not is_json_array(tools):
        yield invalid_type("O0", "tools", "an array of objects", tools)
        return
    if not tools:
        for key in ("tool_choice", "parallel_tool_calls"):
            if request.get(key) is not None:
                text = f"Invalid value for '{key}': '{key}' is only allowed when 'tools' are specified."
                yield Violation("O8", text, key)
    count = len(as_array(tools))
    if count > _MAX_TOOLS:
        text = (
            f"Invalid 'tools': array too long. Expected an array with maximum length {_MAX_TOOLS}, "
            f"but got an array with length {count} instead."
        )
        yield Violation("O13", text, "tools", "array_above_max_length")
    for index, tool in enumerate(as_array(tools)):
        yield from _check_tool(tool, index, subject)


def _check_tool(tool: object, index: int, subject: CheckSubject) -> Iterator[Violation]:
    path = f"tools[{index}]"
    if not is_json_dict(tool):
        yield invalid_type("O0", path, "an object", tool)
        return
    data = as_object(tool)
    if data.get("type", "function") != "function":
        return
    if not is_json_dict(data.get("function")):
        yield missing_parameter("O0", f"{path}.function")
        return
    function = as_object(data["function"])
    yield from _check_name(function, f"{path}.function.name")
    named = f"function '{as_string(function.get('name'))}'"
    strict = function.get("strict") is True
    for code, fault in find_strict_schema_faults(function.get("parameters"), strict=strict, facts=subject.facts):
        text = f"Invalid schema for {named}: {fault}"
        yield Violation(code, text, f"{path}.parameters", "invalid_function_parameters")


def _check_response_format(request: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of O10 for structured output, which has the same strict mode."""
    wanted = as_object(as_object(request.get("response_format")).get("json_schema"))
    if wanted.get("strict") is True:
        for code, fault in find_strict_schema_faults(wanted.get("schema"), strict=True, facts=subject.facts):
            text = f"Invalid schema for response_format '{as_string(wanted.get('name'))}': {fault}"
            yield Violation(code, text, "response_format")
