"""The rules of OpenAI's Chat Completions API.

System and developer messages may stand anywhere, and the order among the answers to one message's calls is free.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from antiphon._shape import arr, obj, string
from antiphon.wire.rules.openai import empty_array, empty_string, missing, not_a_body, too_long, wrong_type
from antiphon.wire.rules.openai_options import (
    cache_violations,
    choice_violations,
    effective_effort,
    effort_violations,
    sampling_violations,
)
from antiphon.wire.rules.reading import is_array, is_object, kind
from antiphon.wire.rules.strict_schema import schema_faults
from antiphon.wire.rules.subject import Subject
from antiphon.wire.rules.violation import Violation

_ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_SHORT_ID = re.compile(r"[a-zA-Z0-9]{9}")
_MAX_ID = 40
_MAX_NAME = 64
_MAX_TOOLS = 128
_TTLS = ("30m",)


def violations(body: object, model: str, subject: Subject) -> Iterator[Violation]:
    """Yield what Chat Completions would reject in `body`."""
    if not is_object(body):
        yield not_a_body("O0")
        return
    request = obj(body)
    model = model or string(request.get("model"))
    if not model:
        yield Violation("O0", "you must provide a model parameter")
    messages = request.get("messages")
    if "messages" not in request:
        yield missing("O0", "messages")
    elif not is_array(messages):
        yield wrong_type("O0", "messages", "an array of objects", messages)
    elif not messages:
        yield empty_array("O11", "messages")
    for index, message in enumerate(arr(messages)):
        yield from _message(message, index, subject)
    yield from _pairs(arr(messages))
    yield from _tools(request, subject)
    yield from _response_format(request, subject)
    yield from _options(request, subject)


def _options(request: dict[str, object], subject: Subject) -> Iterator[Violation]:
    """O15 to O21: what the model takes of the options."""
    effort = request.get("reasoning_effort")
    effective = effective_effort(effort, subject)
    yield from _functions_with_reasoning(request, effective, subject)
    if request.get("max_tokens") is not None and subject.facts.efforts:
        text = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        yield Violation("O16", text, "max_tokens", "unsupported_parameter")
    yield from effort_violations("O17", effort, "reasoning_effort", subject)
    yield from sampling_violations("O18", request, effective, subject, defaults=True)
    yield from choice_violations("O19", request, subject)
    yield from cache_violations("O20", request, _TTLS)
    schema = subject.facts.schema
    if kind(request.get("response_format")) == "json_schema" and schema not in (None, "yes", "api:openai-chat"):
        yield Violation("O21", "This response_format type is unavailable now", "response_format")


def _functions_with_reasoning(
    request: dict[str, object], effective: str | None, subject: Subject
) -> Iterator[Violation]:
    """O15."""
    functions = [tool for tool in arr(request.get("tools")) if obj(tool).get("type", "function") == "function"]
    taken = subject.facts.tools_api
    if not functions or taken in (None, "any") or (taken == "effort_none_only" and effective in (None, "none")):
        return
    text = (
        f"Function tools with reasoning_effort are not supported for {subject.model} in /v1/chat/completions. "
        "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
    )
    yield Violation("O15", text, "reasoning_effort")


def _message(message: object, index: int, subject: Subject) -> Iterator[Violation]:
    path = f"messages[{index}]"
    if not is_object(message):
        yield wrong_type("O0", path, "an object", message)
        return
    data = obj(message)
    role = data.get("role")
    if "role" not in data:
        yield missing("O0", f"{path}.role")
    elif not isinstance(role, str):
        yield wrong_type("O0", f"{path}.role", "a string", role)
    elif role not in _ROLES:
        supported = "'system', 'assistant', 'user', 'function', 'tool', and 'developer'"
        text = f"Invalid value: '{role}'. Supported values are: {supported}."
        yield Violation("O0", text, f"{path}.role", "invalid_value")
    yield from _content(data, index)
    yield from _images(data, index, subject)
    if role == "tool" and not isinstance(data.get("tool_call_id"), str):
        yield missing("O0", f"{path}.tool_call_id")
    if role == "assistant":
        yield from _calls(data.get("tool_calls"), f"{path}.tool_calls")


def _content(data: dict[str, object], index: int) -> Iterator[Violation]:
    """O7. An assistant's message may leave the text out when it carries something else."""
    content = data.get("content")
    if isinstance(content, str) or is_array(content) or data.get("role") not in _ROLES:
        return
    if content is not None:
        yield wrong_type("O0", f"messages[{index}].content", "one of a string or array of objects", content)
        return
    instead = ("tool_calls", "function_call", "refusal", "audio")
    if data["role"] == "assistant" and any(data.get(key) is not None for key in instead):
        return
    # The old form of a function's result may be null.
    if data["role"] != "function":
        text = "Invalid value for 'content': expected a string, got null."
        yield Violation("O7", text, f"messages.[{index}].content")


def _images(data: dict[str, object], index: int, subject: Subject) -> Iterator[Violation]:
    # O9. Models that reason take the image and do not look at it; nothing is said of those that are not known.
    role = data.get("role")
    if role == "user" or not isinstance(role, str) or subject.facts.efforts != ():
        return
    if any(kind(part) == "image_url" for part in arr(data.get("content"))):
        text = (
            f"Invalid 'messages[{index}]'. Image URLs are only allowed for messages with role 'user', "
            f"but this message with role '{role}' contains an image URL."
        )
        yield Violation("O9", text, f"messages[{index}]", "invalid_value")


def _calls(calls: object, path: str) -> Iterator[Violation]:
    if calls is None:
        return
    if not is_array(calls):
        yield wrong_type("O0", path, "an array of objects", calls)
    elif not calls:
        yield empty_array("O4", path)
    for index, call in enumerate(arr(calls)):
        yield from _call(call, f"{path}[{index}]")


def _call(call: object, path: str) -> Iterator[Violation]:
    if not is_object(call):
        yield wrong_type("O0", path, "an object", call)
        return
    data = obj(call)
    call_id = data.get("id")
    if not isinstance(call_id, str):
        yield missing("O0", f"{path}.id") if call_id is None else wrong_type("O0", f"{path}.id", "a string", call_id)
    else:
        yield from _call_id(call_id, f"{path}.id")
    if data.get("type", "function") != "function":
        return
    function = data.get("function")
    if not is_object(function):
        yield missing("O0", f"{path}.function")
        return
    yield from _name(obj(function), f"{path}.function.name")
    arguments = obj(function).get("arguments")
    if arguments is None:
        yield missing("O12", f"{path}.function.arguments")
    elif not isinstance(arguments, str):
        yield wrong_type("O12", f"{path}.function.arguments", "a string", arguments)


def _call_id(call_id: str, path: str) -> Iterator[Violation]:
    """O5 and O14."""
    if len(call_id) > _MAX_ID:
        yield too_long("O5", path, _MAX_ID, len(call_id))
    if not _SHORT_ID.fullmatch(call_id):
        text = f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9."
        yield Violation("O14", text, path)


def _name(function: dict[str, object], path: str) -> Iterator[Violation]:
    """O6, of calls and of declared functions."""
    name = function.get("name")
    if name is None:
        yield missing("O0", path)
    elif not isinstance(name, str):
        yield wrong_type("O0", path, "a string", name)
    elif not name:
        yield empty_string("O6", path)
    elif not _NAME.fullmatch(name):
        text = f"Invalid '{path}': string does not match pattern. Expected a string that matches the pattern"
        yield Violation("O6", f"{text} '^[a-zA-Z0-9_-]+$'.", path, "invalid_value")
    elif len(name) > _MAX_NAME:
        yield too_long("O6", path, _MAX_NAME, len(name))


@dataclass(slots=True)
class _Round:
    """The calls of one assistant message and what has answered them so far."""

    calls: set[str] = field(default_factory=lambda: set[str]())
    open: dict[str, None] = field(default_factory=lambda: dict[str, None]())
    cut_at: int | None = None
    late: bool = False

    def cut(self, index: int) -> None:
        if self.open and self.cut_at is None:
            self.cut_at = index

    def close(self) -> Iterator[Violation]:
        """O2, or O3 if the answers came after another message had cut the row of answers."""
        if not self.open:
            return
        text = (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. The following tool_call_ids did not have response messages: " + ", ".join(self.open)
        )
        param = "messages" if self.cut_at is None else f"messages.[{self.cut_at}].role"
        yield Violation("O3" if self.late else "O2", text, param)


def _pairs(messages: list[object]) -> Iterator[Violation]:
    """O1, O2 and O3."""
    current: _Round | None = None
    for index, message in enumerate(messages):
        data = obj(message)
        match data.get("role"):
            case "tool":
                yield from _answer(current, data.get("tool_call_id"), index)
            case "assistant":
                if current:
                    current.cut(index)
                    yield from current.close()
                current = _round(data.get("tool_calls"))
            case "system" | "developer":
                pass
            case _:
                if current:
                    current.cut(index)
    if current:
        yield from current.close()


def _round(calls: object) -> _Round | None:
    if not arr(calls):
        return None
    ids = [string(obj(call).get("id")) for call in arr(calls)]
    return _Round(calls=set(ids), open=dict.fromkeys(id_ for id_ in ids if id_))


def _answer(current: _Round | None, call_id: object, index: int) -> Iterator[Violation]:
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
        current.late = True


def _tools(request: dict[str, object], subject: Subject) -> Iterator[Violation]:
    tools = request.get("tools")
    if tools is not None and not is_array(tools):
        yield wrong_type("O0", "tools", "an array of objects", tools)
        return
    if not tools:
        for key in ("tool_choice", "parallel_tool_calls"):
            if request.get(key) is not None:
                text = f"Invalid value for '{key}': '{key}' is only allowed when 'tools' are specified."
                yield Violation("O8", text, key)
    count = len(arr(tools))
    if count > _MAX_TOOLS:
        text = (
            f"Invalid 'tools': array too long. Expected an array with maximum length {_MAX_TOOLS}, "
            f"but got an array with length {count} instead."
        )
        yield Violation("O13", text, "tools", "array_above_max_length")
    for index, tool in enumerate(arr(tools)):
        yield from _tool(tool, index, subject)


def _tool(tool: object, index: int, subject: Subject) -> Iterator[Violation]:
    path = f"tools[{index}]"
    if not is_object(tool):
        yield wrong_type("O0", path, "an object", tool)
        return
    data = obj(tool)
    if data.get("type", "function") != "function":
        return
    if not is_object(data.get("function")):
        yield missing("O0", f"{path}.function")
        return
    function = obj(data["function"])
    yield from _name(function, f"{path}.function.name")
    named = f"function '{string(function.get('name'))}'"
    strict = function.get("strict") is True
    for code, fault in schema_faults(function.get("parameters"), strict=strict, facts=subject.facts):
        text = f"Invalid schema for {named}: {fault}"
        yield Violation(code, text, f"{path}.parameters", "invalid_function_parameters")


def _response_format(request: dict[str, object], subject: Subject) -> Iterator[Violation]:
    """O10 for structured output, which has the same strict mode."""
    wanted = obj(obj(request.get("response_format")).get("json_schema"))
    if wanted.get("strict") is True:
        for code, fault in schema_faults(wanted.get("schema"), strict=True, facts=subject.facts):
            text = f"Invalid schema for response_format '{string(wanted.get('name'))}': {fault}"
            yield Violation(code, text, "response_format")
