"""Declarations of hosted tools in the form of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from antiphon._base.json_access import as_array, as_string
from antiphon.conversation import ToolSpec
from antiphon.wire.hosted_tools import (
    HostedToolForm,
    ToolDeclaration,
    ToolOptions,
    build_user_location,
    drop_none,
    find_hosted_tool_problem,
    get_mcp_token,
    needs_mcp_token,
)
from antiphon.wire.options import Target

#: The version of the search without `allowed_callers`.
_SEARCH_WITHOUT_CALLERS = "web_search_20250305"


def _declare_search(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    version = versions[0]
    return drop_none(
        type=version,
        name="web_search",
        allowed_domains=options.get("domains"),
        blocked_domains=options.get("blocked"),
        max_uses=options.get("max_uses"),
        user_location=build_user_location(options),
        # Results filtered by code have no citations.
        allowed_callers=None if version == _SEARCH_WITHOUT_CALLERS else ["direct"],
    )


def _declare_fetch(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    return drop_none(
        type=versions[0],
        name="web_fetch",
        allowed_domains=options.get("domains"),
        max_uses=options.get("max_uses"),
        citations={"enabled": True} if options.get("citations") else None,
    )


def _declare_tool_search(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    kind = as_string(options.get("kind"))
    version = next((each for each in versions if kind in each), versions[0])
    return {"type": version, "name": version.rpartition("_")[0]}


def _declare_mcp(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    declared: ToolDeclaration = {"type": versions[0], "mcp_server_name": as_string(options.get("label"))}
    if names := as_array(options.get("tools")):
        declared["default_config"] = {"enabled": False}
        declared["configs"] = {name: {"enabled": True} for name in names}
    return declared


def _declare_computer(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    if "toolset" in versions[0]:
        return {"type": versions[0]}
    width, height = as_array(options.get("display")) or (1280, 800)
    return {"type": versions[0], "name": "computer", "display_width_px": width, "display_height_px": height}


def _declare_code(options: ToolOptions, versions: Sequence[str]) -> ToolDeclaration:  # noqa: ARG001
    return {"type": versions[0], "name": "code_execution"}


def build_mcp_servers(tools: Iterable[ToolSpec], target: Target) -> list[dict[str, Any]]:
    """Return the `mcp_servers` field of Anthropic's API, which is separate from the tools."""
    servers: list[dict[str, Any]] = []
    for tool in tools:
        if tool.hosted is None or tool.hosted.kind != "mcp" or find_hosted_tool_problem(tool, target):
            continue
        options = tool.hosted.options
        server = {"type": "url", "url": as_string(options.get("url")), "name": as_string(options.get("label"))}
        servers.append(server | ({"authorization_token": get_mcp_token(tool)} if needs_mcp_token(tool) else {}))
    return servers


HOSTED_TOOLS = {
    "web_search": HostedToolForm(_declare_search, ("domains", "blocked", "max_uses", "location")),
    "web_fetch": HostedToolForm(_declare_fetch, ("domains", "citations", "max_uses")),
    "code_execution": HostedToolForm(_declare_code),
    "tool_search": HostedToolForm(_declare_tool_search, ("kind", "tools")),
    "mcp": HostedToolForm(_declare_mcp, ("url", "label", "tools", "authorization")),
    "computer": HostedToolForm(_declare_computer, ("display",)),
}
"""The declarations of hosted tools by kind."""
