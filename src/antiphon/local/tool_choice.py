"""Decides which tools a small model may call next, and whether it may answer instead.

It names paths that do not exist, repeats failing calls, takes names of files for their content, and
invents the remainder. So it is offered only tools that make sense after the conversation so far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.local.groundedness import (
    PastCall,
    asks_for_names,
    claims_tool_knowledge,
    drop_unrequested_subjects,
    get_calls_since_request,
    get_last_request,
    is_listing_tool,
    mentions_numbers,
    names_file,
    names_place,
    names_unknown_files,
    needs_no_tool,
    select_file_readers,
    select_required_tools,
    select_unclassified_tools,
)

#: Maximum calls without findings; after that the model answers.
_MAX_EMPTY_CALLS = 2
#: Maximum calls that only list files before one must be read.
_MAX_LISTING_CALLS = 3
#: Maximum number of paths in a grammar.
_MAX_PATHS = 200

ToolSchemas = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """The tools that may be called. An answer that `is_claim` of unseen facts is replaced by a call of
    `instead`.
    """

    tools: ToolSchemas
    may_answer: bool
    is_claim: Callable[[str], bool] | None = None
    instead: ToolSchemas = field(default_factory=list[dict[str, Any]])


def choose_tool_offer(choice: object, messages: list[dict[str, Any]], tools: ToolSchemas) -> ToolOffer:
    """Return what may come next. A `choice` of the request itself takes precedence."""
    said, calls = get_last_request(messages), get_calls_since_request(messages)
    tools = [_drop_unmentioned_arguments(tool, said, calls) for tool in tools]
    if forced := find_forced_tool(choice, tools):
        return ToolOffer([forced], False)
    if choice == "none" or not tools:
        return ToolOffer([], True)
    if choice == "required":
        return ToolOffer(tools, False)
    if not calls:
        return _offer_first_call(said, tools)
    if calls[-1] in calls[:-1]:
        return ToolOffer([], True)
    if all(call.found_nothing for call in calls):
        return _offer_after_no_findings(said, calls, tools)
    return _offer_after_findings(said, calls, tools)


def find_forced_tool(choice: object, tools: ToolSchemas) -> dict[str, Any] | None:
    """Return the one tool that must be called, or None."""
    if choice == "required" and len(tools) == 1:
        return tools[0]
    name = as_object(as_object(choice).get("function")).get("name")
    return next((tool for tool in tools if tool.get("name") == name), None)


def _offer_first_call(said: str, tools: ToolSchemas) -> ToolOffer:
    tools = _drop_path_readers(said, tools)
    if needed := select_required_tools(said, tools):
        return ToolOffer(needed, False)
    if needs_no_tool(said, tools):
        return ToolOffer(select_unclassified_tools(tools), True)
    fitting = drop_unrequested_subjects(tools)
    return ToolOffer(fitting, True, partial(claims_tool_knowledge, tools=tools), fitting)


def _offer_after_no_findings(said: str, calls: list[PastCall], tools: ToolSchemas) -> ToolOffer:
    last = calls[-1]
    # The same tool without filters is a different call.
    others = [tool for tool in tools if tool.get("name") != last.name or _used_optional_filter(tool, last)] or tools
    others = [_drop_arguments(tool, _is_filter_argument) for tool in others]
    if len(calls) >= _MAX_EMPTY_CALLS:
        return ToolOffer(others, True)
    again = [
        _restrict_path(tool, last.meant) for tool in tools if tool.get("name") == last.name and _accepts_path(tool)
    ]
    if again and last.meant:
        return ToolOffer(again, False)
    needed = select_required_tools(said, _drop_path_readers(said, others), is_first=False)
    return ToolOffer(needed or others, not needed)


def _drop_path_readers(said: str, tools: ToolSchemas) -> ToolSchemas:
    """Return the tools without those that need a path, if the request names none and others can find it."""
    if names_file(said):
        return tools
    looking = select_file_readers(tools)
    blind = [tool for tool in looking if _requires_path(tool)]
    return [tool for tool in tools if tool not in blind] if len(blind) < len(looking) else tools


def _offer_after_findings(said: str, calls: list[PastCall], tools: ToolSchemas) -> ToolOffer:
    found = [call for call in calls if not call.found_nothing]
    if len(calls) >= _MAX_LISTING_CALLS or not all(is_listing_tool(call.name) for call in found):
        return ToolOffer(tools, True)
    seen = "\n".join([said, *(call.result for call in calls)])
    if asks_for_names(said, "\n".join(call.result for call in found)):
        others = [tool for tool in select_file_readers(tools) if tool.get("name") != calls[-1].name]
        return ToolOffer(tools, True, partial(names_unknown_files, known=seen), others)
    needed = _select_content_readers(calls, select_file_readers(tools))
    return ToolOffer(needed or tools, not needed)


def _select_content_readers(calls: list[PastCall], tools: ToolSchemas) -> ToolSchemas:
    """Return the tools that read file content, restricted to the listed files."""
    listed = [path for call in calls for path in call.listed][:_MAX_PATHS]
    failed = calls[-1].name if calls[-1].found_nothing else ""
    readers = [
        tool for tool in tools if not is_listing_tool(as_string(tool.get("name"))) and tool.get("name") != failed
    ]
    return [
        _restrict_path(tool, listed) if listed and _requires_path(tool) else _drop_arguments(tool, _is_filter_argument)
        for tool in readers
    ]


# Tools with fewer arguments


def _drop_unmentioned_arguments(tool: dict[str, Any], said: str, calls: list[PastCall]) -> dict[str, Any]:
    """Return a tool without optional arguments that nobody mentioned: a small model would fill them in."""
    if not mentions_numbers(said) and not any(call.has_more for call in calls):
        tool = _drop_arguments(tool, _is_number_argument)
    return tool if calls or names_place(said) else _drop_arguments(tool, _is_filter_argument)


def _drop_arguments(tool: dict[str, Any], is_dropped: Callable[[str, dict[str, Any]], bool]) -> dict[str, Any]:
    parameters = as_object(tool.get("parameters"))
    needed, given = as_array(parameters.get("required")), as_object(parameters.get("properties"))
    kept = {name: value for name, value in given.items() if name in needed or not is_dropped(name, as_object(value))}
    return {**tool, "parameters": {**parameters, "properties": kept}} if len(kept) < len(given) else tool


def _is_number_argument(_: str, schema: dict[str, Any]) -> bool:
    kinds = [as_object(option).get("type") for option in as_array(schema.get("anyOf")) or [schema]]
    return all(kind in ("integer", "number", "null") for kind in kinds)


def _is_filter_argument(name: str, _: dict[str, Any]) -> bool:
    return name in ("path", "glob")


def _used_optional_filter(tool: dict[str, Any], last: PastCall) -> bool:
    """Return whether a call of this tool used a filter that it could have omitted."""
    needed, given = (
        as_array(as_object(tool.get("parameters")).get("required")),
        as_object(tool.get("parameters")).get("properties"),
    )
    names = [name for name in as_object(given) if _is_filter_argument(name, {}) and name not in needed]
    return tool.get("name") == last.name and any(f'"{name}"' in last.arguments for name in names)


def _accepts_path(tool: dict[str, Any]) -> bool:
    return "path" in as_object(as_object(tool.get("parameters")).get("properties"))


def _requires_path(tool: dict[str, Any]) -> bool:
    return "path" in as_array(as_object(tool.get("parameters")).get("required"))


def _restrict_path(tool: dict[str, Any], paths: list[str]) -> dict[str, Any]:
    """Return a tool whose `path` must be one of these."""
    parameters = as_object(tool.get("parameters"))
    fields = {**as_object(parameters.get("properties")), "path": {"enum": paths}}
    return {**tool, "parameters": {**parameters, "properties": fields}}
