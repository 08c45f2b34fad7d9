"""Declarations of tools that providers run themselves, in the form of each API. Model facts say which
model has which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from antiphon._base.json import dump_json, load_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import HostedTool, ToolSpec
from antiphon.errors import OptionError
from antiphon.wire.apis import wire
from antiphon.wire.options import Target

ToolDeclaration = dict[str, Any]
ToolOptions = Mapping[str, Any]


class HostedToolForm(NamedTuple):
    """How an API declares one kind of hosted tool. `options` are those that it supports or can ignore."""

    declare: Callable[[ToolOptions, Sequence[str]], ToolDeclaration]
    options: tuple[str, ...] = ()


class _UnsupportedOption(Exception):
    """Raised for an option that the provider's tool does not have."""


def check_hosted_tools(tools: Sequence[ToolSpec], target: Target) -> tuple[str, ...]:
    """Return the secrets of the active hosted tools. Raise OptionError if the target cannot run one of them."""
    hosted = [tool for tool in tools if tool.hosted]
    has_functions = bool(hosted) and any(not tool.is_provider_defined for tool in tools)
    for tool in hosted:
        if problem := find_hosted_tool_problem(tool, target, has_functions=has_functions):
            raise OptionError(problem)
    return tuple([text for tool in hosted for text in tool.secret_texts])


def encode_hosted_tool(tool: ToolSpec, target: Target) -> str | None:
    """Return the JSON declaration of a hosted tool, or None if the target has none.

    `check_hosted_tools` reports that case.
    """
    return None if find_hosted_tool_problem(tool, target) else dump_json(_declare_hosted_tool(tool, target))


def find_hosted_tool_problem(tool: ToolSpec, target: Target, *, has_functions: bool = False) -> str:
    """Return why the target cannot run a hosted tool and how to fix it, or "" if it can."""
    try:
        _declare_hosted_tool(tool, target)
    except _UnsupportedOption as lacking:
        return f"{target.provider}/{target.model} {lacking}; {_INSTEAD}"
    if has_functions and target.facts.tools_together is False:
        return f"{target.model} takes no functions beside `{tool.name}`; {_INSTEAD}"
    return ""


_INSTEAD = "give the tool a `local=` function, leave it out, or use another model"


def _declare_hosted_tool(tool: ToolSpec, target: Target) -> ToolDeclaration:
    hosted = tool.hosted or HostedTool("")
    more = as_object(hosted.extra.get(target.provider))
    form = wire(target.api).HOSTED_TOOLS.get(hosted.kind)
    versions = (target.facts.server_tools or {}).get(hosted.kind, ())
    if form is None or not versions:
        if more:
            # The user's explicit declaration overrides the facts.
            return more
        raise _UnsupportedOption(f"has no tool `{hosted.kind}` of its own")
    options = {name: value for name, value in hosted.options.items() if value not in (None, [], {}, False)}
    declared = form.declare(options, versions)
    if left := [name for name in options if name not in form.options]:
        raise _UnsupportedOption(f"has no `{left[0]}` in its `{hosted.kind}`")
    return declared | more


def find_deferred_tools(tools: Iterable[ToolSpec], target: Target) -> frozenset[str]:
    """Return the names of functions that a model finds by tool search instead of reading their
    declarations.
    """
    tools = tuple(tools)
    search = next((tool.hosted for tool in tools if tool.hosted and tool.hosted.kind == "tool_search"), None)
    if search is None or "tool_search" not in wire(target.api).HOSTED_TOOLS:
        return frozenset()
    named = as_array(search.options.get("tools"))
    return frozenset(named or [tool.name for tool in tools if not tool.is_provider_defined])


def insert_mcp_tokens(declarations: str, tools: Iterable[ToolSpec]) -> str:
    """Return the declarations, separated by commas, with the tokens of MCP servers inserted."""
    tokens = {tool.name: get_mcp_token(tool) for tool in tools if tool.hosted and needs_mcp_token(tool)}
    if not tokens:
        return declarations
    declared: list[dict[str, Any]] = load_json(f"[{declarations}]")
    for each in declared:
        if each.get("type") == "mcp" and each.get("server_label") in tokens:
            each["authorization"] = tokens[each["server_label"]]
        for server in map(as_object, as_array(each.get("mcpServers"))):
            if server.get("name") in tokens:
                transport = as_object(server.get("streamableHttpTransport"))
                transport["headers"] = {"Authorization": f"Bearer {tokens[server['name']]}"}
    return dump_json(declared)[1:-1]


def needs_mcp_token(tool: ToolSpec) -> bool:
    """Return whether a tool is an MCP server with a token."""
    return tool.hosted is not None and tool.hosted.kind == "mcp" and bool(tool.hosted.options.get("authorization"))


def get_mcp_token(tool: ToolSpec) -> str:
    """Return the token of an MCP server. Raise OptionError if it is missing."""
    token = tool.hosted.secrets.get("authorization", "") if tool.hosted else ""
    if not token:
        raise OptionError(
            f"the `authorization` of the MCP server `{tool.name}` is missing: it is not saved with a conversation; give"
            " the session the `MCPServer` with its `authorization` again"
        )
    return token


def extract_mcp_tokens(body: object) -> list[str]:
    """Return the tokens of MCP servers in a request body of any API."""
    request = as_object(body)
    tools = [as_object(tool) for tool in as_array(request.get("tools"))]
    found = [tool.get("authorization") for tool in tools if tool.get("type") == "mcp"]
    found += [as_object(server).get("authorization_token") for server in as_array(request.get("mcp_servers"))]
    servers = [as_object(server) for tool in tools for server in as_array(tool.get("mcpServers"))]
    headers = [as_object(as_object(server.get("streamableHttpTransport")).get("headers")) for server in servers]
    found += [as_string(each.get("Authorization")).removeprefix("Bearer ") for each in headers]
    return [token for token in found if isinstance(token, str) and token]


def drop_none(**fields: Any) -> ToolDeclaration:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def build_user_location(options: ToolOptions) -> dict[str, Any] | None:
    """Return the `user_location` of a search, or None."""
    given = as_object(options.get("location"))
    return {"type": "approximate", **given} if given else None
