"""Declarations of tools that providers run themselves, in the form of each API. Model facts say which
model has which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from antiphon._base.json import dump_json, load_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import HostedTool, ToolSpec
from antiphon.errors import OptionError
from antiphon.wire.options import Target

ToolDeclaration = dict[str, Any]
_ToolOptions = Mapping[str, Any]
#: The version of Anthropic's search without `allowed_callers`.
_SEARCH_WITHOUT_CALLERS = "web_search_20250305"


class _UnsupportedOption(Exception):
    """Raised for an option that the provider's tool does not have."""


def check_hosted_tools(tools: Sequence[ToolSpec], target: Target) -> None:
    """Raise OptionError if the target cannot run one of the active hosted tools."""
    has_functions = any(not tool.is_provider_defined for tool in tools)
    for tool in tools:
        if tool.hosted and (problem := find_hosted_tool_problem(tool, target, has_functions=has_functions)):
            raise OptionError(problem)


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
    writer = _DECLARERS.get(target.api, {}).get(hosted.kind)
    versions = (target.facts.server_tools or {}).get(hosted.kind, ())
    if writer is None or not versions:
        if more:
            # The user's explicit declaration overrides the facts.
            return more
        raise _UnsupportedOption(f"has no tool `{hosted.kind}` of its own")
    options = {name: value for name, value in hosted.options.items() if value not in (None, [], {}, False)}
    declared = writer(options, versions)
    if left := [name for name in options if name not in _KNOWN_OPTIONS[target.api].get(hosted.kind, ())]:
        raise _UnsupportedOption(f"has no `{left[0]}` in its `{hosted.kind}`")
    return declared | more


def find_deferred_tools(tools: Iterable[ToolSpec], target: Target) -> frozenset[str]:
    """Return the names of functions that a model finds by tool search instead of reading their
    declarations.
    """
    tools = tuple(tools)
    search = next((tool.hosted for tool in tools if tool.hosted and tool.hosted.kind == "tool_search"), None)
    if search is None or target.api not in ("anthropic", "openai-responses"):
        return frozenset()
    named = as_array(search.options.get("tools"))
    return frozenset(named or [tool.name for tool in tools if not tool.is_provider_defined])


def insert_mcp_tokens(declarations: str, tools: Iterable[ToolSpec]) -> str:
    """Return the declarations, separated by commas, with the tokens of MCP servers inserted."""
    tokens = {tool.name: _get_token(tool) for tool in tools if _needs_token(tool)}
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


def _needs_token(tool: ToolSpec) -> bool:
    return tool.hosted is not None and tool.hosted.kind == "mcp" and bool(tool.hosted.options.get("authorization"))


def _get_token(tool: ToolSpec) -> str:
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


def build_mcp_servers(tools: Iterable[ToolSpec], target: Target) -> list[dict[str, Any]]:
    """Return the `mcp_servers` field of Anthropic's API, which is separate from the tools."""
    servers: list[dict[str, Any]] = []
    for tool in tools:
        if tool.hosted is None or tool.hosted.kind != "mcp" or find_hosted_tool_problem(tool, target):
            continue
        options = tool.hosted.options
        server = {"type": "url", "url": as_string(options.get("url")), "name": as_string(options.get("label"))}
        servers.append(server | ({"authorization_token": _get_token(tool)} if _needs_token(tool) else {}))
    return servers


def build_include(tools: Iterable[ToolSpec]) -> list[str]:
    """Return the `include` field of OpenAI's Responses API for the hosted tools."""
    kinds = {tool.hosted.kind for tool in tools if tool.hosted}
    return [value for kind, value in _INCLUDE_VALUES.items() if kind in kinds]


_INCLUDE_VALUES = {
    "web_search": "web_search_call.action.sources",
    "file_search": "file_search_call.results",
    "code_execution": "code_interpreter_call.outputs",
}


def _drop_none(**fields: Any) -> ToolDeclaration:
    return {name: value for name, value in fields.items() if value is not None}


def _build_user_location(options: _ToolOptions) -> dict[str, Any] | None:
    given = as_object(options.get("location"))
    return {"type": "approximate", **given} if given else None


# Anthropic


def _declare_anthropic_search(options: _ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    version = versions[0]
    return _drop_none(
        type=version,
        name="web_search",
        allowed_domains=options.get("domains"),
        blocked_domains=options.get("blocked"),
        max_uses=options.get("max_uses"),
        user_location=_build_user_location(options),
        # Results filtered by code have no citations.
        allowed_callers=None if version == _SEARCH_WITHOUT_CALLERS else ["direct"],
    )


def _declare_anthropic_fetch(options: _ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    return _drop_none(
        type=versions[0],
        name="web_fetch",
        allowed_domains=options.get("domains"),
        max_uses=options.get("max_uses"),
        citations={"enabled": True} if options.get("citations") else None,
    )


def _declare_anthropic_tool_search(options: _ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    kind = as_string(options.get("kind"))
    version = next((each for each in versions if kind in each), versions[0])
    return {"type": version, "name": version.rpartition("_")[0]}


def _declare_anthropic_mcp(options: _ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    declared: ToolDeclaration = {"type": versions[0], "mcp_server_name": as_string(options.get("label"))}
    if names := as_array(options.get("tools")):
        declared["default_config"] = {"enabled": False}
        declared["configs"] = {name: {"enabled": True} for name in names}
    return declared


def _declare_anthropic_computer(options: _ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    if "toolset" in versions[0]:
        return {"type": versions[0]}
    width, height = as_array(options.get("display")) or (1280, 800)
    return {"type": versions[0], "name": "computer", "display_width_px": width, "display_height_px": height}


# OpenAI


def _declare_openai_search(options: _ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    filters = {"allowed_domains": options["domains"]} if options.get("domains") else None
    return _drop_none(type=versions[0], filters=filters, user_location=_build_user_location(options))


def _declare_openai_code(options: _ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    files = {"file_ids": options["files"]} if options.get("files") else {}
    return {"type": versions[0], "container": {"type": "auto", **files}}


def _declare_openai_file_search(options: _ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    return {"type": versions[0], "vector_store_ids": as_array(options.get("stores"))}


def _declare_openai_mcp(options: _ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    return _drop_none(
        type=versions[0],
        server_label=as_string(options.get("label")),
        server_url=as_string(options.get("url")),
        allowed_tools=options.get("tools"),
        require_approval=options.get("approval") or "never",
    )


# Google


def _declare_google_mcp(options: _ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    transport = {"url": as_string(options.get("url"))}
    return {versions[0]: [{"name": as_string(options.get("label")), "streamableHttpTransport": transport}]}


def _declare_google_tool(options: _ToolOptions, versions: Sequence[str]) -> ToolDeclaration:  # noqa: ARG001
    return {versions[0]: {}}


def _declare_google_file_search(options: _ToolOptions, versions: Sequence[str]) -> ToolDeclaration:
    return {versions[0]: {"fileSearchStoreNames": as_array(options.get("stores"))}}


def _declare_google_computer(options: _ToolOptions, versions: Sequence[str]) -> ToolDeclaration:  # noqa: ARG001
    return {versions[0]: {"environment": "ENVIRONMENT_BROWSER"}}


def _declare_by_type(options: _ToolOptions, versions: Sequence[str]) -> ToolDeclaration:  # noqa: ARG001
    return {"type": versions[0]}


def _declare_anthropic_code(options: _ToolOptions, versions: Sequence[str]) -> ToolDeclaration:  # noqa: ARG001
    return {"type": versions[0], "name": "code_execution"}


_DECLARERS: dict[str, dict[str, Callable[[_ToolOptions, Sequence[str]], ToolDeclaration]]] = {
    "anthropic": {
        "web_search": _declare_anthropic_search,
        "web_fetch": _declare_anthropic_fetch,
        "code_execution": _declare_anthropic_code,
        "tool_search": _declare_anthropic_tool_search,
        "mcp": _declare_anthropic_mcp,
        "computer": _declare_anthropic_computer,
    },
    "openai-responses": {
        "web_search": _declare_openai_search,
        "code_execution": _declare_openai_code,
        "file_search": _declare_openai_file_search,
        "tool_search": _declare_by_type,
        "mcp": _declare_openai_mcp,
        "computer": _declare_by_type,
    },
    "gemini": {
        "web_search": _declare_google_tool,
        "web_fetch": _declare_google_tool,
        "code_execution": _declare_google_tool,
        "file_search": _declare_google_file_search,
        "mcp": _declare_google_mcp,
        "computer": _declare_google_computer,
    },
}
#: The options that each API supports, or can ignore, such as the size of a display.
_KNOWN_OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "anthropic": {
        "web_search": ("domains", "blocked", "max_uses", "location"),
        "web_fetch": ("domains", "citations", "max_uses"),
        "tool_search": ("kind", "tools"),
        "mcp": ("url", "label", "tools", "authorization"),
        "computer": ("display",),
    },
    "openai-responses": {
        "web_search": ("domains", "location"),
        "code_execution": ("files",),
        "file_search": ("stores",),
        "tool_search": ("kind", "tools"),
        "mcp": ("url", "label", "tools", "approval", "authorization"),
        "computer": ("display",),
    },
    "gemini": {
        "web_fetch": ("citations",),
        "file_search": ("stores",),
        "mcp": ("url", "label", "authorization"),
        "computer": ("display",),
    },
}
