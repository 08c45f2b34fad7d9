"""Declarations of hosted tools in the form of Google's Gemini API."""

from __future__ import annotations

from collections.abc import Sequence

from antiphon._base.json_access import as_array, as_string
from antiphon.wire.hosted_tools import HostedToolForm, ToolDeclaration, ToolOptions


def _declare_mcp(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    transport = {"url": as_string(options.get("url"))}
    return {versions[0]: [{"name": as_string(options.get("label")), "streamableHttpTransport": transport}]}


def _declare_tool(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:  # noqa: ARG001
    return {versions[0]: {}}


def _declare_file_search(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    return {versions[0]: {"fileSearchStoreNames": as_array(options.get("stores"))}}


def _declare_computer(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:  # noqa: ARG001
    return {versions[0]: {"environment": "ENVIRONMENT_BROWSER"}}


HOSTED_TOOLS = {
    "web_search": HostedToolForm(_declare_tool),
    "web_fetch": HostedToolForm(_declare_tool, ("citations",)),
    "code_execution": HostedToolForm(_declare_tool),
    "file_search": HostedToolForm(_declare_file_search, ("stores",)),
    "mcp": HostedToolForm(_declare_mcp, ("url", "label", "authorization")),
    "computer": HostedToolForm(_declare_computer, ("display",)),
}
"""The declarations of hosted tools by kind."""
