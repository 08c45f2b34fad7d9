"""Functions that derive tools from tools: rename, prefix, filter, require approval, guard."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from antiphon.tools.guards import CallGuards
from antiphon.tools.tool import Tool, as_tools

if TYPE_CHECKING:
    from antiphon.tools.guards import AfterCall, BeforeCall

ToolFunctions = Iterable[Callable[..., Any] | Tool]


def renamed(function: Callable[..., Any] | Tool, name: str) -> Tool:
    """Return the tool under another name."""
    (tool,) = as_tools([function])
    return replace(tool, spec=replace(tool.spec, name=name))


def prefixed(tools: ToolFunctions, prefix: str) -> list[Tool]:
    """Return the tools with a prefix before each name."""
    return [renamed(tool, prefix + tool.name) for tool in as_tools(tools)]


def filtered(tools: ToolFunctions, keep: str | Callable[[Tool], bool]) -> list[Tool]:
    """Return the tools whose names match a pattern such as `read_*`, or for which a function returns true."""
    chosen = as_tools(tools)
    if isinstance(keep, str):
        return [tool for tool in chosen if fnmatchcase(tool.name, keep)]
    return [tool for tool in chosen if keep(tool)]


def requiring_approval(tools: ToolFunctions) -> list[Tool]:
    """Return the tools such that each call needs approval, whatever they declare."""
    return [replace(tool, needs_approval=True) for tool in as_tools(tools)]


def guarded(
    tools: ToolFunctions, *, before_call: BeforeCall | None = None, after_call: AfterCall | None = None
) -> list[Tool]:
    """Return the tools with functions that judge each call of a model before it runs, and its result."""
    guards = CallGuards.of(before_call, after_call)
    return [replace(tool, guards=guards + tool.guards) for tool in as_tools(tools)]
