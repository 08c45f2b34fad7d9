"""Rules of Google's Interactions API for requests without stored state.

They follow from the schema that Google's SDK 3.1.0 is generated from (November 2026), which calls these
fields required. No recorded traffic confirms the wordings; they have the form of Google's other errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.wire.google_interactions import BLOCK_TYPES, TOOL_TYPES, find_missing_fields, is_valid_block
from antiphon.wire.rules.json_access import format_literal, get_type_tag, is_json_array, is_json_dict
from antiphon.wire.rules.subject import CheckSubject
from antiphon.wire.rules.violation import Violation

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_MODES = ("auto", "any", "none", "validated")


def violations(body: object, model: str, subject: CheckSubject) -> Iterator[Violation]:
    """Yield the violations that the Interactions API would report for `body`."""
    if not is_json_dict(body):
        yield Violation("I0", 'Invalid JSON payload received. Unknown name "": Root element must be a message.')
        return
    request = as_object(body)
    if not (model or subject.model or as_string(request.get("agent"))):
        yield Violation("I1", "Missing required field: 'model' or 'agent'.", "model")
    steps = _get_steps(request)
    given = request.get("input")
    if given is not None and not isinstance(given, str) and not is_json_array(given) and not is_json_dict(given):
        yield Violation("I0", f"Invalid value at 'input', {format_literal(given)}", "input")
    if not steps and not given and not request.get("continuation_token"):
        yield Violation("I2", "Missing required field: 'input'.", "input")
    for index, step in enumerate(steps):
        yield from _check_step(f"input[{index}]", step)
    yield from _check_pairs(steps, is_continued=bool(request.get("previous_interaction_id")))
    yield from _check_tools(request)
    if request.get("background") is True and request.get("store") is False:
        yield Violation("I8", "'background' requires 'store' to be true.", "background")


def _get_steps(request: dict[str, object]) -> list[object]:
    """Return the steps of `input`. A list of content blocks or one of them is the user's input."""
    given = request.get("input")
    entries: list[object] = [given] if is_json_dict(given) else list(as_array(given))
    return [] if entries and all(get_type_tag(entry) in BLOCK_TYPES for entry in entries) else entries


def _check_step(path: str, step: object) -> Iterator[Violation]:
    data, kind = as_object(step), get_type_tag(step)
    missing = find_missing_fields(data)
    if missing is None:
        yield Violation("I3", f"Invalid value at '{path}.type', {format_literal(data.get('type'))}", path)
        return
    for name in missing:
        yield Violation("I4", f"Missing required field: '{path}.{name}'.", path)
    if kind in ("user_input", "model_output"):
        yield from _check_content(f"{path}.content", data.get("content"))
    if kind == "function_call" and data.get("arguments") is not None and not is_json_dict(data["arguments"]):
        yield Violation("I0", f"Invalid value at '{path}.arguments', {format_literal(data['arguments'])}", path)
    if kind == "function_call" and as_string(data.get("name")) and not _NAME.fullmatch(as_string(data["name"])):
        yield _make_name_violation(f"{path}.name")


def _check_content(path: str, content: object) -> Iterator[Violation]:
    if content is not None and not is_json_array(content):
        yield Violation("I0", f"Invalid value at '{path}', {format_literal(content)}", path)
    for index, block in enumerate(as_array(content)):
        data, kind = as_object(block), get_type_tag(block)
        if kind not in BLOCK_TYPES:
            yield Violation("I3", f"Invalid value at '{path}[{index}].type', {format_literal(data.get('type'))}", path)
        elif not is_valid_block(data):
            yield Violation("I4", f"Missing required field: '{path}[{index}].text'.", path)


def _make_name_violation(path: str) -> Violation:
    return Violation(
        "I7",
        f"* {path}: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z,"
        " 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
        path,
    )


def _check_pairs(steps: list[object], *, is_continued: bool) -> Iterator[Violation]:
    """Yield calls without a result before the next input, and results without a call."""
    waiting: dict[str, int] = {}
    for index, step in enumerate(steps):
        data = as_object(step)
        match get_type_tag(step):
            case "function_call":
                waiting[as_string(data.get("id"))] = index
            case "function_result":
                id = as_string(data.get("call_id"))
                if id and waiting.pop(id, None) is None and not is_continued:
                    yield Violation("I5", f"No function call found for call_id '{id}'.", f"input[{index}]")
            case "user_input" if waiting:
                yield from _report_unanswered(waiting)
                waiting = {}
            case _:
                pass
    yield from _report_unanswered(waiting)


def _report_unanswered(waiting: dict[str, int]) -> Iterator[Violation]:
    for id, index in waiting.items():
        yield Violation("I6", f"No function result found for function call '{id}'.", f"input[{index}]")


def _check_tools(request: dict[str, object]) -> Iterator[Violation]:
    names: set[str] = set()
    for index, tool in enumerate(as_array(request.get("tools"))):
        data, path, kind = as_object(tool), f"tools[{index}]", get_type_tag(tool)
        if kind not in TOOL_TYPES:
            yield Violation("I3", f"Invalid value at '{path}.type', {format_literal(data.get('type'))}", path)
        if kind != "function":
            continue
        names.add(as_string(data.get("name")))
        if not _NAME.fullmatch(as_string(data.get("name"))):
            yield _make_name_violation(f"{path}.name")
    choice = as_object(request.get("generation_config")).get("tool_choice")
    allowed = as_object(as_object(choice).get("allowed_tools"))
    mode = allowed.get("mode") if allowed else choice
    if mode is not None and mode not in _MODES:
        yield Violation(
            "I3", f"Invalid value at 'generation_config.tool_choice', {format_literal(mode)}", "tool_choice"
        )
    for name in map(as_string, as_array(allowed.get("tools"))):
        if name not in names:
            yield Violation("I9", f"Allowed tool '{name}' is not declared in 'tools'.", "tool_choice")
