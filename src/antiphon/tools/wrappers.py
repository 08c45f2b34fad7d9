"""Tool sets compose: small functions from tools to tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from antiphon.tools.tool import Tool, as_tools

Functions = Iterable[Callable[..., Any] | Tool]


def renamed(function: Callable[..., Any] | Tool, name: str) -> Tool:
    """The tool under another name."""
    (tool,) = as_tools([function])
    return replace(tool, spec=replace(tool.spec, name=name))


def prefixed(tools: Functions, prefix: str) -> list[Tool]:
    """The tools with this before each name."""
    return [renamed(tool, prefix + tool.name) for tool in as_tools(tools)]


def filtered(tools: Functions, keep: str | Callable[[Tool], bool]) -> list[Tool]:
    """The tools whose names match a pattern such as `read_*`, or of which a function says yes."""
    chosen = as_tools(tools)
    if isinstance(keep, str):
        return [tool for tool in chosen if fnmatchcase(tool.name, keep)]
    return [tool for tool in chosen if keep(tool)]


def requiring_approval(tools: Functions) -> list[Tool]:
    """The tools, each call of which somebody must allow first, whatever they say of themselves."""
    return [replace(tool, needs_approval=True) for tool in as_tools(tools)]
