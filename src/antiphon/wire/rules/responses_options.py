"""What a model takes of the options and of the items that change them in the Responses API (R19 to R26)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from antiphon._shape import arr, obj, string
from antiphon.wire.rules.openai_options import (
    cache_violations,
    choice_violations,
    effective_effort,
    effort_violations,
    sampling_violations,
)
from antiphon.wire.rules.reading import is_object, kind
from antiphon.wire.rules.strict_schema import schema_faults
from antiphon.wire.rules.subject import Subject
from antiphon.wire.rules.violation import Violation

_TTLS = ("30m", "12h")
_UPDATE = "configuration_update"


class Item(Protocol):
    """An input item and where it stands."""

    @property
    def type(self) -> str: ...
    @property
    def data(self) -> dict[str, object]: ...
    @property
    def path(self) -> str: ...


def option_violations(request: dict[str, object], items: Sequence[Item], subject: Subject) -> Iterator[Violation]:
    """Yield what the model refuses of a request's options."""
    effort = obj(request.get("reasoning")).get("effort")
    yield from effort_violations("R19", effort, "reasoning.effort", subject)
    yield from sampling_violations("R20", request, effective_effort(effort, subject), subject, defaults=False)
    yield from _updates(request, items, subject)
    yield from _schemas(request, items, subject)
    yield from _named_choice(request, items)
    yield from choice_violations("R27", request, subject)
    if request.get("background") is True and request.get("store") is False:
        yield Violation(
            "R24", "Background responses are only supported when 'store' is true.", "background", "invalid_value"
        )
    yield from cache_violations("R25", request, _TTLS)
    if subject.facts.tool_change == "no":
        yield from (_unsupported("R26", item) for item in items if item.type == "additional_tools")


def _unsupported(code: str, item: Item) -> Violation:
    text = f"The '{item.type}' item type is not supported with this model."
    return Violation(code, text, f"{item.path}.type", "unsupported_value")


def _updates(request: dict[str, object], items: Sequence[Item], subject: Subject) -> Iterator[Violation]:
    """R21, and R19 of an update's effort."""
    before = ""
    for item in items:
        if item.type != _UPDATE:
            before = item.type
            continue
        if subject.facts.config_change in ("no", "effort_only"):
            yield _unsupported("R21", item)
        elif obj(request.get("reasoning")).get("mode") == "pro":
            text = "The 'configuration_update' item type is not supported with pro or tournament models."
            yield Violation("R21", text, f"{item.path}.type", "unsupported_value")
        elif before == _UPDATE:
            text = "Consecutive 'configuration_update' items are not supported."
            yield Violation("R21", text, item.path, "invalid_value")
        effort = obj(item.data.get("reasoning")).get("effort")
        yield from effort_violations("R19", effort, f"{item.path}.reasoning.effort", subject)
        before = item.type


def _schemas(request: dict[str, object], items: Sequence[Item], subject: Subject) -> Iterator[Violation]:
    """R22: strict functions and answers."""
    for index, tool in enumerate(arr(request.get("tools"))):
        yield from _function(obj(tool), f"tools[{index}]", subject)
    yield from _format(request.get("text"), "text.format", subject)
    for item in items:
        if item.type == "additional_tools":
            for index, tool in enumerate(arr(item.data.get("tools"))):
                yield from _function(obj(tool), f"{item.path}.tools[{index}]", subject)
        elif item.type == _UPDATE:
            yield from _format(item.data.get("text"), f"{item.path}.text.format", subject)


def _function(tool: dict[str, object], path: str, subject: Subject) -> Iterator[Violation]:
    if kind(tool) != "function" or tool.get("strict") is not True:
        return
    for _, fault in schema_faults(tool.get("parameters"), strict=True, facts=subject.facts):
        text = f"Invalid schema for function '{string(tool.get('name'))}': {fault}"
        yield Violation("R22", text, f"{path}.parameters", "invalid_function_parameters")


def _format(text: object, path: str, subject: Subject) -> Iterator[Violation]:
    form = obj(obj(text).get("format"))
    if kind(form) != "json_schema" or form.get("strict") is not True:
        return
    for _, fault in schema_faults(form.get("schema"), strict=True, facts=subject.facts):
        words = f"Invalid schema for response_format '{string(form.get('name'))}': {fault}"
        yield Violation("R22", words, f"{path}.schema", "invalid_json_schema")


def _named_choice(request: dict[str, object], items: Sequence[Item]) -> Iterator[Violation]:
    """R23. What a prompt or a stored conversation declares is not in the body."""
    choice = request.get("tool_choice")
    if not is_object(choice) or kind(choice) not in ("function", "custom") or request.get("prompt") is not None:
        return
    added = [tool for item in items if item.type == "additional_tools" for tool in arr(item.data.get("tools"))]
    names = {string(obj(tool).get("name")) for tool in (*arr(request.get("tools")), *added)}
    name = string(choice.get("name"))
    if name and name not in names:
        yield Violation("R23", f"Tool choice '{name}' not found in 'tools' parameter.", "tool_choice", "invalid_value")
