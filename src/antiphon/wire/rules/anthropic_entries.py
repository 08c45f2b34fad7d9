"""System messages within a conversation: instructions, changes of tools, and of effort (A13, A33 to A35)."""

from __future__ import annotations

from collections.abc import Iterator

from antiphon._shape import arr, obj, string
from antiphon.wire.rules.anthropic_options import effort_violations
from antiphon.wire.rules.reading import is_object, kind
from antiphon.wire.rules.subject import Subject
from antiphon.wire.rules.violation import Violation

_CHANGES = ("tool_addition", "tool_removal", "tool_definition")
_CLEARED = "next_user_message"


def entry_violations(request: dict[str, object], subject: Subject) -> Iterator[Violation]:
    """Yield what the model refuses of the messages that only say a change."""
    messages = [obj(message) for message in arr(request.get("messages"))]
    yield from _roles(messages, subject)
    declared = {string(obj(tool).get("name")) for tool in arr(request.get("tools"))}
    for index, message in enumerate(messages):
        path = f"messages.{index}"
        yield from _clear_at(message, path, subject)
        yield from _effort_entry(request, message, path, subject)
        for place, block in enumerate(arr(message.get("content"))):
            if kind(block) in _CHANGES:
                yield from _tool_change(obj(block), message, f"{path}.content.{place}", declared, subject)


def _roles(messages: list[dict[str, object]], subject: Subject) -> Iterator[Violation]:
    """A13."""
    if subject.facts.mid_system == "no" and any(message.get("role") == "system" for message in messages):
        yield Violation(
            "A13",
            'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, '
            'not "system" as an input message role.',
            "messages",
        )


def _clear_at(message: dict[str, object], path: str, subject: Subject) -> Iterator[Violation]:
    """A34."""
    if "clear_at" not in message or message["clear_at"] is None:
        return
    where = f"{path}.clear_at"
    if message.get("role") != "system" or subject.facts.mid_system in ("no", "ignored"):
        yield Violation("A34", f"{where}: Extra inputs are not permitted", where)
    elif message["clear_at"] != _CLEARED:
        yield Violation("A34", f"{where}: Input should be '{_CLEARED}'", where)


def _effort_entry(
    request: dict[str, object], message: dict[str, object], path: str, subject: Subject
) -> Iterator[Violation]:
    """A35, and A29 of the entry's effort."""
    if not is_object(message.get("output_config")):
        return
    where = f"{path}.output_config"
    if message.get("role") != "system" or subject.facts.config_change == "no":
        yield Violation("A35", f"{where}: Extra inputs are not permitted", where)
        return
    if kind(request.get("thinking")) == "between_tools":
        text = f'{where}: effort cannot change within a conversation with "thinking.type.between_tools"'
        yield Violation("A35", text, where)
    yield from effort_violations(obj(message["output_config"]).get("effort"), f"{where}.effort", subject)


def _tool_change(
    block: dict[str, object], message: dict[str, object], path: str, declared: set[str], subject: Subject
) -> Iterator[Violation]:
    """A33. A definition within the conversation declares its tool for what follows."""
    type_ = string(block.get("type"))
    tool = obj(block.get("tool"))
    definition = obj(block.get("definition") or tool.get("definition"))
    if message.get("role") != "system":
        yield Violation("A33", f"{path}: `{type_}` blocks can only be in `system` messages", path)
    elif subject.facts.tool_change in ("no", "items"):
        yield Violation("A33", f"{path}: `{type_}` blocks are not supported by this model", path)
    elif definition and (subject.facts.tool_change == "references" or type_ == "tool_removal"):
        yield Violation("A33", f"{path}: `tool_definition` is not supported here. Use a `tool_reference`.", path)
    elif kind(tool) == "tool_reference" and string(tool.get("name")) not in declared:
        yield Violation("A33", f"{path}: `{type_}` references unknown tool '{string(tool.get('name'))[:64]}'", path)
    if definition:
        declared.add(string(definition.get("name")))
