"""Rules about options, and items that change them, in the Responses API (R19 to R26)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.wire.rules.json_access import get_type_tag, is_json_dict
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

_TTLS = ("30m", "12h")
_CONFIGURATION_UPDATE = "configuration_update"


class ItemLike(Protocol):
    """Protocol of an input item with its location."""

    @property
    def type(self) -> str: ...
    @property
    def data(self) -> dict[str, object]: ...
    @property
    def path(self) -> str: ...


def find_responses_option_violations(
    request: dict[str, object], items: Sequence[ItemLike], subject: CheckSubject
) -> Iterator[Violation]:
    """Yield violations of the rules about a request's options."""
    effort = as_object(request.get("reasoning")).get("effort")
    yield from find_openai_effort_violations("R19", effort, "reasoning.effort", subject)
    yield from find_sampling_violations("R20", request, get_effective_effort(effort, subject), subject, defaults=False)
    yield from _check_updates(request, items, subject)
    yield from _check_schemas(request, items, subject)
    yield from _check_named_choice(request, items)
    yield from find_choice_violations("R27", request, subject)
    if request.get("background") is True and request.get("store") is False:
        yield Violation(
            "R24", "Background responses are only supported when 'store' is true.", "background", "invalid_value"
        )
    yield from find_openai_cache_violations("R25", request, _TTLS)
    if subject.facts.tool_change == "no":
        yield from (_make_unsupported("R26", item) for item in items if item.type == "additional_tools")


def _make_unsupported(code: str, item: ItemLike) -> Violation:
    text = f"The '{item.type}' item type is not supported with this model."
    return Violation(code, text, f"{item.path}.type", "unsupported_value")


def _check_updates(request: dict[str, object], items: Sequence[ItemLike], subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of R21, and of R19 for the effort in an update."""
    before = ""
    for item in items:
        if item.type != _CONFIGURATION_UPDATE:
            before = item.type
            continue
        if subject.facts.config_change in ("no", "effort_only"):
            yield _make_unsupported("R21", item)
        elif as_object(request.get("reasoning")).get("mode") == "pro":
            text = "The 'configuration_update' item type is not supported with pro or tournament models."
            yield Violation("R21", text, f"{item.path}.type", "unsupported_value")
        elif before == _CONFIGURATION_UPDATE:
            text = "Consecutive 'configuration_update' items are not supported."
            yield Violation("R21", text, item.path, "invalid_value")
        effort = as_object(item.data.get("reasoning")).get("effort")
        yield from find_openai_effort_violations("R19", effort, f"{item.path}.reasoning.effort", subject)
        before = item.type


def _check_schemas(request: dict[str, object], items: Sequence[ItemLike], subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of R22: schemas of strict functions and answers."""
    for index, tool in enumerate(as_array(request.get("tools"))):
        yield from _check_function(as_object(tool), f"tools[{index}]", subject)
    yield from _check_format(request.get("text"), "text.format", subject)
    for item in items:
        if item.type == "additional_tools":
            for index, tool in enumerate(as_array(item.data.get("tools"))):
                yield from _check_function(as_object(tool), f"{item.path}.tools[{index}]", subject)
        elif item.type == _CONFIGURATION_UPDATE:
            yield from _check_format(item.data.get("text"), f"{item.path}.text.format", subject)


def _check_function(tool: dict[str, object], path: str, subject: CheckSubject) -> Iterator[Violation]:
    if get_type_tag(tool) != "function" or tool.get("strict") is not True:
        return
    for _, fault in find_strict_schema_faults(tool.get("parameters"), strict=True, facts=subject.facts):
        text = f"Invalid schema for function '{as_string(tool.get('name'))}': {fault}"
        yield Violation("R22", text, f"{path}.parameters", "invalid_function_parameters")


def _check_format(text: object, path: str, subject: CheckSubject) -> Iterator[Violation]:
    form = as_object(as_object(text).get("format"))
    if get_type_tag(form) != "json_schema" or form.get("strict") is not True:
        return
    for _, fault in find_strict_schema_faults(form.get("schema"), strict=True, facts=subject.facts):
        words = f"Invalid schema for response_format '{as_string(form.get('name'))}': {fault}"
        yield Violation("R22", words, f"{path}.schema", "invalid_json_schema")


def _check_named_choice(request: dict[str, object], items: Sequence[ItemLike]) -> Iterator[Violation]:
    """Yield violations of R23. Tools of a prompt or a stored conversation are not in the body."""
    choice = request.get("tool_choice")
    if (
        not is_json_dict(choice)
        or get_type_tag(choice) not in ("function", "custom")
        or request.get("prompt") is not None
    ):
        return
    added = [tool for item in items if item.type == "additional_tools" for tool in as_array(item.data.get("tools"))]
    names = {as_string(as_object(tool).get("name")) for tool in (*as_array(request.get("tools")), *added)}
    name = as_string(choice.get("name"))
    if name and name not in names:
        yield Violation("R23", f"Tool choice '{name}' not found in 'tools' parameter.", "tool_choice", "invalid_value")
