"""A tool call in canonical form: converted, completed with defaults, with every path resolved.

Policies, approval prompts, standing decisions, the execution and the records all use this one value. So no
spelling of a call is judged as one thing and run as another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from antiphon.conversation import ToolCall
from antiphon.tools.function_schema import InvalidArguments
from antiphon.tools.path_arguments import PathTarget
from antiphon.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class CanonicalCall:
    """A tool call as it is approved, displayed, run and recorded.

    `call` has the canonical arguments as JSON data; `values` are the ones that the function receives. `given`
    is the call as the model made it. `problem` says why the arguments are invalid: such a call fails when it
    is run.
    """

    given: ToolCall
    tool: Tool
    call: ToolCall
    values: Mapping[str, Any]
    #: Where each path of the arguments leads, by the path.
    targets: Mapping[str, PathTarget] = field(default_factory=dict[str, PathTarget])
    problem: str = ""

    @property
    def name(self) -> str:
        """The name by which the tool was called."""
        return self.call.name

    @property
    def arguments(self) -> dict[str, Any]:
        """The canonical arguments."""
        return self.call.arguments

    @property
    def links(self) -> list[tuple[str, str]]:
        """Each path that leads elsewhere through a symbolic link, with its target."""
        return [(path, target.shown) for path, target in self.targets.items() if target.is_link]

    @property
    def question(self) -> str:
        """The question for the person who must approve the call."""
        links = "".join(f" `{path}` leads to `{where}`." for path, where in self.links)
        linked = "".join(
            f" `{target.shown}` has other hard links: it may also be a file elsewhere."
            for target in self.targets.values()
            if target.has_other_names
        )
        return f"May `{self.name}` run with {self.call.arguments_json}?{links}{linked}"

    @property
    def needs_approval(self) -> bool:
        """Return whether this call needs approval if no rule decides."""
        tool = self.tool
        return tool.needs_approval or tool.destructive or tool.asks(self.values)


def canonicalize(tool: Tool, call: ToolCall) -> CanonicalCall:
    """Return the canonical form of a call."""
    targets: dict[str, PathTarget] = {}
    given, given_json = call.arguments, call.arguments_json
    if tool.paths:
        given = {name: _resolve_path_arguments(tool, name, value, targets) for name, value in given.items()}
        given_json = ""
    try:
        values, arguments = tool.arguments.convert(given, given_json)
    except InvalidArguments as error:
        return CanonicalCall(call, tool, call, given, targets, str(error))
    same = arguments == call.arguments
    canonical = call if same else replace(call, arguments=arguments, arguments_json="")
    return CanonicalCall(call, tool, canonical, values, targets)


def _resolve_path_arguments(tool: Tool, name: str, value: Any, targets: dict[str, PathTarget]) -> Any:
    if not any(each == name or each.startswith(f"{name}.") for each in tool.paths):
        return value
    if isinstance(value, list):
        return [_resolve_path_arguments(tool, name, each, targets) for each in cast(list[Any], value)]
    if isinstance(value, dict):
        inner = cast(dict[str, Any], value)
        return {key: _resolve_path_arguments(tool, f"{name}.{key}", each, targets) for key, each in inner.items()}
    if not isinstance(value, str) or name not in tool.paths:
        return value
    targets[value] = tool.locate(value)
    return targets[value].shown
