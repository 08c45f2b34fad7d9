"""Declarations of hosted tools in the form of OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from antiphon._base.json_access import as_array, as_string
from antiphon.conversation import ToolSpec
from antiphon.wire.hosted_tools import (
    HostedToolForm,
    ToolDeclaration,
    ToolOptions,
    build_user_location,
    drop_none,
)


def build_include(tools: Iterable[ToolSpec]) -> list[str]:
    """Return the `include` field of OpenAI's Responses API for the hosted tools."""
    kinds = {tool.hosted.kind for tool in tools if tool.hosted}
    return [value for kind, value in _INCLUDE_VALUES.items() if kind in kinds]


_INCLUDE_VALUES = {
    "web_search": "web_search_call.action.sources",
    "file_search": "file_search_call.results",
    "code_execution": "code_interpreter_call.outputs",
}


def _declare_search(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    filters = {"allowed_domains": options["domains"]} if options.get("domains") else None
    return drop_none(type=versions[0], filters=filters, user_location=build_user_location(options))


def _declare_code(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    files = {"file_ids": options["files"]} if options.get("files") else {}
    return {"type": versions[0], "container": {"type": "auto", **files}}


def _declare_file_search(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    return {"type": versions[0], "vector_store_ids": as_array(options.get("stores"))}


def _declare_mcp(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    return drop_none(
        type=versions[0],
        server_label=as_string(options.get("label")),
        server_url=as_string(options.get("url")),
        allowed_tools=options.get("tools"),
        require_approval=options.get("approval") or "never",
    )


def _declare_by_type(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:  # noqa: ARG001
    return {"type": versions[0]}


HOSTED_TOOLS = {
    "web_search": HostedToolForm(_declare_search, ("domains", "location")),
    "code_execution": HostedToolForm(_declare_code, ("files",)),
    "file_search": HostedToolForm(_declare_file_search, ("stores",)),
    "tool_search": HostedToolForm(_declare_by_type, ("kind", "tools")),
    "mcp": HostedToolForm(_declare_mcp, ("url", "label", "tools", "approval", "authorization")),
    "computer": HostedToolForm(_declare_by_type, ("display",)),
}
"""The declarations of hosted tools by kind."""
