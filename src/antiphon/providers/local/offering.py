"""Which tools a small model may call next, and whether it may answer instead.

It names paths that are not there, makes a failing call again and again, takes the names of files for what is in them,
and makes up the rest. So it is offered only what makes sense after what was said and found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from antiphon._shape import arr, obj, string
from antiphon.providers.local.backing import (
    Made,
    calls_since,
    claims,
    file_tools,
    is_listing,
    last_request,
    names_a_file,
    names_a_place,
    names_unknown_files,
    need_not_look,
    of_other_kinds,
    speaks_of_numbers,
    to_look_with,
    wants_names,
    without_other_matters,
)

#: So many calls that find nothing are asked for; then that is the answer.
_TRIES = 2
#: So many calls are made before something is read that was only listed.
_LISTINGS = 3
#: The most paths that a grammar has.
_MOST_PATHS = 200

Tools = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that may be called. An answer that `is_claim` of what nobody has seen is a call of `instead`."""

    tools: Tools
    may_answer: bool
    is_claim: Callable[[str], bool] | None = None
    instead: Tools = field(default_factory=list[dict[str, Any]])


def offer(choice: object, messages: list[dict[str, Any]], tools: Tools) -> Offer:
    """What may come next; a `choice` that the request itself makes is followed."""
    said, calls = last_request(messages), calls_since(messages)
    tools = [_as_asked(tool, said, calls) for tool in tools]
    if forced := forced_tool(choice, tools):
        return Offer([forced], False)
    if choice == "none" or not tools:
        return Offer([], True)
    if choice == "required":
        return Offer(tools, False)
    if not calls:
        return _at_first(said, tools)
    if calls[-1] in calls[:-1]:
        return Offer([], True)
    if all(call.found_nothing for call in calls):
        return _after_nothing(said, calls, tools)
    return _after_something(said, calls, tools)


def forced_tool(choice: object, tools: Tools) -> dict[str, Any] | None:
    """The one tool that must be called, if so it is."""
    if choice == "required" and len(tools) == 1:
        return tools[0]
    name = obj(obj(choice).get("function")).get("name")
    return next((tool for tool in tools if tool.get("name") == name), None)


def _at_first(said: str, tools: Tools) -> Offer:
    tools = _findable(said, tools)
    if needed := to_look_with(said, tools):
        return Offer(needed, False)
    if need_not_look(said, tools):
        return Offer(of_other_kinds(tools), True)
    fitting = without_other_matters(tools)
    return Offer(fitting, True, partial(claims, tools=tools), fitting)


def _after_nothing(said: str, calls: list[Made], tools: Tools) -> Offer:
    last = calls[-1]
    # With nothing left out it is another call.
    others = [tool for tool in tools if tool.get("name") != last.name or _was_narrowed(tool, last)] or tools
    others = [_without(tool, _is_filter) for tool in others]
    if len(calls) >= _TRIES:
        return Offer(others, True)
    again = [_with_path(tool, last.meant) for tool in tools if tool.get("name") == last.name and _has_path(tool)]
    if again and last.meant:
        return Offer(again, False)
    needed = to_look_with(said, _findable(said, others), is_first=False)
    return Offer(needed or others, not needed)


def _findable(said: str, tools: Tools) -> Tools:
    """The tools without those that read a file by its path, where nobody has named one and others can find it."""
    if names_a_file(said):
        return tools
    looking = file_tools(tools)
    blind = [tool for tool in looking if _needs_path(tool)]
    return [tool for tool in tools if tool not in blind] if len(blind) < len(looking) else tools


def _after_something(said: str, calls: list[Made], tools: Tools) -> Offer:
    found = [call for call in calls if not call.found_nothing]
    if len(calls) >= _LISTINGS or not all(is_listing(call.name) for call in found):
        return Offer(tools, True)
    seen = "\n".join([said, *(call.result for call in calls)])
    if wants_names(said, "\n".join(call.result for call in found)):
        others = [tool for tool in file_tools(tools) if tool.get("name") != calls[-1].name]
        return Offer(tools, True, partial(names_unknown_files, known=seen), others)
    needed = _reading(calls, file_tools(tools))
    return Offer(needed or tools, not needed)


def _reading(calls: list[Made], tools: Tools) -> Tools:
    """The tools that see what is in files, of those that were listed."""
    listed = [path for call in calls for path in call.listed][:_MOST_PATHS]
    failed = calls[-1].name if calls[-1].found_nothing else ""
    readers = [tool for tool in tools if not is_listing(string(tool.get("name"))) and tool.get("name") != failed]
    return [
        _with_path(tool, listed) if listed and _needs_path(tool) else _without(tool, _is_filter) for tool in readers
    ]


# Tools with fewer arguments


def _as_asked(tool: dict[str, Any], said: str, calls: list[Made]) -> dict[str, Any]:
    """A tool without what may be left out and nobody spoke of: a small model says something, whatever it means."""
    if not speaks_of_numbers(said) and not any(call.has_more for call in calls):
        tool = _without(tool, _is_number)
    return tool if calls or names_a_place(said) else _without(tool, _is_filter)


def _without(tool: dict[str, Any], is_dropped: Callable[[str, dict[str, Any]], bool]) -> dict[str, Any]:
    parameters = obj(tool.get("parameters"))
    needed, given = arr(parameters.get("required")), obj(parameters.get("properties"))
    kept = {name: value for name, value in given.items() if name in needed or not is_dropped(name, obj(value))}
    return {**tool, "parameters": {**parameters, "properties": kept}} if len(kept) < len(given) else tool


def _is_number(_: str, schema: dict[str, Any]) -> bool:
    kinds = [obj(option).get("type") for option in arr(schema.get("anyOf")) or [schema]]
    return all(kind in ("integer", "number", "null") for kind in kinds)


def _is_filter(name: str, _: dict[str, Any]) -> bool:
    return name in ("path", "glob")


def _was_narrowed(tool: dict[str, Any], last: Made) -> bool:
    """Whether a call of this tool left something out that it need not have left out."""
    needed, given = arr(obj(tool.get("parameters")).get("required")), obj(tool.get("parameters")).get("properties")
    names = [name for name in obj(given) if _is_filter(name, {}) and name not in needed]
    return tool.get("name") == last.name and any(f'"{name}"' in last.arguments for name in names)


def _has_path(tool: dict[str, Any]) -> bool:
    return "path" in obj(obj(tool.get("parameters")).get("properties"))


def _needs_path(tool: dict[str, Any]) -> bool:
    return "path" in arr(obj(tool.get("parameters")).get("required"))


def _with_path(tool: dict[str, Any], paths: list[str]) -> dict[str, Any]:
    """A tool whose `path` is one of these."""
    parameters = obj(tool.get("parameters"))
    fields = {**obj(parameters.get("properties")), "path": {"enum": paths}}
    return {**tool, "parameters": {**parameters, "properties": fields}}
