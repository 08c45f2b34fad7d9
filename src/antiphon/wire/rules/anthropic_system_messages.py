"""Rules about system messages within a conversation: instructions, tool changes and effort (A13, A33
to A35).
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.wire.rules.anthropic_options import find_anthropic_effort_violations
from antiphon.wire.rules.json_access import get_type_tag, is_json_dict
from antiphon.wire.rules.subject import CheckSubject
from antiphon.wire.rules.violation import Violation

_CHANGE_TYPES = ("tool_addition", "tool_removal", "tool_definition")
_CLEAR_AT_VALUE = "next_user_message"


def find_system_message_violations(request: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    """Yield what the model rejects in system messages that state a change."""
    messages = [as_object(message) for message in as_array(request.get("messages"))]
    yield from _check_system_role(messages, subject)
    declared = {as_string(as_object(tool).get("name")) for tool in as_array(request.get("tools"))}
    for index, message in enumerate(messages):
        path = f"messages.{index}"
        yield from _check_clear_at(message, path, subject)
        yield from _check_effort_change(request, message, path, subject)
        for place, block in enumerate(as_array(message.get("content"))):
            if get_type_tag(block) in _CHANGE_TYPES:
                yield from _check_tool_change(as_object(block), message, f"{path}.content.{place}", declared, subject)


def _check_system_role(messages: list[dict[str, object]], subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of A13: system messages for a model that takes none."""
    if subject.facts.mid_system == "no" and any(message.get("role") == "system" for message in messages):
        yield Violation(
            "A13",
            'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, '
            'not "system" as an input message role.',
            "messages",
        )


def _check_clear_at(message: dict[str, object], path: str, subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of A34: illegal `clear_at` values."""
    if "clear_at" not in message or message["clear_at"] is None:
        return
    where = f"{path}.clear_at"
    if message.get("role") != "system" or subject.facts.mid_system in ("no", "ignored"):
        yield Violation("A34", f"{where}: Extra inputs are not permitted", where)
    elif message["clear_at"] != _CLEAR_AT_VALUE:
        yield Violation("A34", f"{where}: Input should be '{_CLEAR_AT_VALUE}'", where)


def _check_effort_change(
    request: dict[str, object], message: dict[str, object], path: str, subject: CheckSubject
) -> Iterator[Violation]:
    """Yield violations of A35, and of A29 for the effort in the message."""
    if not is_json_dict(message.get("output_config")):
        return
    where = f"{path}.output_config"
    if message.get("role") != "system" or subject.facts.config_change == "no":
        yield Violation("A35", f"{where}: Extra inputs are not permitted", where)
        return
    if get_type_tag(request.get("thinking")) == "between_tools":
        text = f'{where}: effort cannot change within a conversation with "thinking.type.between_tools"'
        yield Violation("A35", text, where)
    yield from find_anthropic_effort_violations(
        as_object(message["output_config"]).get("effort"), f"{where}.effort", subject
    )


def _check_tool_change(
    block: dict[str, object], message: dict[str, object], path: str, declared: set[str], subject: CheckSubject
) -> Iterator[Violation]:
    """Yield violations of A33. A definition declares its tool for the following messages."""
    type_ = as_string(block.get("type"))
    tool = as_object(block.get("tool"))
    definition = as_object(block.get("definition") or tool.get("definition"))
    if message.get("role") != "system":
        yield Violation("A33", f"{path}: `{type_}` blocks can only be in `system` messages", path)
    elif subject.facts.tool_change in ("no", "items"):
        yield Violation("A33", f"{path}: `{type_}` blocks are not supported by this model", path)
    elif definition and (subject.facts.tool_change == "references" or type_ == "tool_removal"):
        yield Violation("A33", f"{path}: `tool_definition` is not supported here. Use a `tool_reference`.", path)
    elif get_type_tag(tool) == "tool_reference" and as_string(tool.get("name")) not in declared:
        yield Violation("A33", f"{path}: `{type_}` references unknown tool '{as_string(tool.get('name'))[:64]}'", path)
    if definition:
        declared.add(as_string(definition.get("name")))
