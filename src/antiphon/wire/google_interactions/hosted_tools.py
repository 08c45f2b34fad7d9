"""Declarations of hosted tools in the form of Google's Interactions API."""

from __future__ import annotations

from collections.abc import Sequence

from antiphon._base.json_access import as_array
from antiphon.wire.hosted_tools import HostedToolForm, ToolDeclaration, ToolOptions


def _declare_search(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:  # noqa: ARG001
    return {"type": "google_search"}


def _declare_fetch(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:  # noqa: ARG001
    return {"type": "url_context"}


def _declare_code(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:  # noqa: ARG001
    return {"type": "code_execution"}


def _declare_file_search(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:  # noqa: ARG001
    return {"type": "file_search", "file_search_store_names": as_array(options.get("stores"))}


HOSTED_TOOLS = {
    "web_search": HostedToolForm(_declare_search),
    "web_fetch": HostedToolForm(_declare_fetch, ("citations",)),
    "code_execution": HostedToolForm(_declare_code),
    "file_search": HostedToolForm(_declare_file_search, ("stores",)),
}
"""The declarations of hosted tools by kind."""
