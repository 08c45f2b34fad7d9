"""Tools that providers run themselves, written in the words of each API; the facts say which models have which."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from antiphon._json import dumps, loads
from antiphon._shape import arr, obj, string
from antiphon.conversation import HostedTool, ToolSpec
from antiphon.errors import OptionError
from antiphon.wire.options import Target

Declaration = dict[str, Any]
_Options = Mapping[str, Any]
#: The version of Anthropic's search that has no callers.
_FIRST_SEARCH = "web_search_20250305"


class _Lacking(Exception):
    """Names an option that the provider's tool does not have."""


def check_hosted(tools: Sequence[ToolSpec], target: Target) -> None:
    """Raise an OptionError where a tool that is in force is one that the target cannot run."""
    has_functions = any(not tool.is_provider_defined for tool in tools)
    for tool in tools:
        if tool.hosted and (problem := find_problem(tool, target, has_functions=has_functions)):
            raise OptionError(problem)


def hosted_json(tool: ToolSpec, target: Target) -> str | None:
    """Return the declaration of a hosted tool; nothing where the target has none, of which `check_hosted` tells."""
    return None if find_problem(tool, target) else dumps(_declared(tool, target))


def find_problem(tool: ToolSpec, target: Target, *, has_functions: bool = False) -> str:
    """Return why the target cannot run a hosted tool, with what to do about it; "" where it can."""
    try:
        _declared(tool, target)
    except _Lacking as lacking:
        return f"{target.provider}/{target.model} {lacking}; {_INSTEAD}"
    if has_functions and target.facts.tools_together is False:
        return f"{target.model} takes no functions beside `{tool.name}`; {_INSTEAD}"
    return ""


_INSTEAD = "give the tool a `local=` function, leave it out, or use another model"


def _declared(tool: ToolSpec, target: Target) -> Declaration:
    hosted = tool.hosted or HostedTool("")
    more = obj(hosted.extra.get(target.provider))
    writer = _WRITERS.get(target.api, {}).get(hosted.kind)
    versions = (target.facts.server_tools or {}).get(hosted.kind, ())
    if writer is None or not versions:
        if more:
            # The user knows better than the facts.
            return more
        raise _Lacking(f"has no tool `{hosted.kind}` of its own")
    options = {name: value for name, value in hosted.options.items() if value not in (None, [], {}, False)}
    declared = writer(options, versions)
    if left := [name for name in options if name not in _KNOWN[target.api].get(hosted.kind, ())]:
        raise _Lacking(f"has no `{left[0]}` in its `{hosted.kind}`")
    return declared | more


def deferred_names(tools: Iterable[ToolSpec], target: Target) -> frozenset[str]:
    """Return the functions that a model finds by the provider's search instead of reading their declarations."""
    tools = tuple(tools)
    search = next((tool.hosted for tool in tools if tool.hosted and tool.hosted.kind == "tool_search"), None)
    if search is None or target.api not in ("anthropic", "openai-responses"):
        return frozenset()
    named = arr(search.options.get("tools"))
    return frozenset(named or [tool.name for tool in tools if not tool.is_provider_defined])


def fill_secrets(declarations: str, tools: Iterable[ToolSpec]) -> str:
    """Return declarations, separated by commas, with the tokens for servers of tools that belong in them."""
    tokens = {tool.name: _token(tool) for tool in tools if _wants_token(tool)}
    if not tokens:
        return declarations
    declared: list[dict[str, Any]] = loads(f"[{declarations}]")
    for each in declared:
        if each.get("type") == "mcp" and each.get("server_label") in tokens:
            each["authorization"] = tokens[each["server_label"]]
        for server in map(obj, arr(each.get("mcpServers"))):
            if server.get("name") in tokens:
                transport = obj(server.get("streamableHttpTransport"))
                transport["headers"] = {"Authorization": f"Bearer {tokens[server['name']]}"}
    return dumps(declared)[1:-1]


def _wants_token(tool: ToolSpec) -> bool:
    return tool.hosted is not None and tool.hosted.kind == "mcp" and bool(tool.hosted.options.get("authorization"))


def _token(tool: ToolSpec) -> str:
    token = tool.hosted.secrets.get("authorization", "") if tool.hosted else ""
    if not token:
        raise OptionError(
            f"the `authorization` of the MCP server `{tool.name}` is missing: it is not saved with a conversation; give"
            " the session the `MCPServer` with its `authorization` again"
        )
    return token


def tokens_in(body: object) -> list[str]:
    """Return the tokens for servers of tools that a request body holds, whichever API it is for."""
    request = obj(body)
    tools = [obj(tool) for tool in arr(request.get("tools"))]
    found = [tool.get("authorization") for tool in tools if tool.get("type") == "mcp"]
    found += [obj(server).get("authorization_token") for server in arr(request.get("mcp_servers"))]
    servers = [obj(server) for tool in tools for server in arr(tool.get("mcpServers"))]
    headers = [obj(obj(server.get("streamableHttpTransport")).get("headers")) for server in servers]
    found += [string(each.get("Authorization")).removeprefix("Bearer ") for each in headers]
    return [token for token in found if isinstance(token, str) and token]


def mcp_servers(tools: Iterable[ToolSpec], target: Target) -> list[dict[str, Any]]:
    """Return the servers that Anthropic is to connect to, which stand apart from the tools."""
    servers: list[dict[str, Any]] = []
    for tool in tools:
        if tool.hosted is None or tool.hosted.kind != "mcp" or find_problem(tool, target):
            continue
        options = tool.hosted.options
        server = {"type": "url", "url": string(options.get("url")), "name": string(options.get("label"))}
        servers.append(server | ({"authorization_token": _token(tool)} if _wants_token(tool) else {}))
    return servers


def included(tools: Iterable[ToolSpec]) -> list[str]:
    """Return what OpenAI is asked to send along with the items of its tools."""
    kinds = {tool.hosted.kind for tool in tools if tool.hosted}
    return [value for kind, value in _INCLUDED.items() if kind in kinds]


_INCLUDED = {
    "web_search": "web_search_call.action.sources",
    "file_search": "file_search_call.results",
    "code_execution": "code_interpreter_call.outputs",
}


def _without_nothing(**fields: Any) -> Declaration:
    return {name: value for name, value in fields.items() if value is not None}


def _place(options: _Options) -> dict[str, Any] | None:
    given = obj(options.get("location"))
    return {"type": "approximate", **given} if given else None


# Anthropic


def _anthropic_search(options: _Options, versions: Sequence[str]) -> Declaration:
    version = versions[0]
    return _without_nothing(
        type=version,
        name="web_search",
        allowed_domains=options.get("domains"),
        blocked_domains=options.get("blocked"),
        max_uses=options.get("max_uses"),
        user_location=_place(options),
        # Results that code filters come without citations.
        allowed_callers=None if version == _FIRST_SEARCH else ["direct"],
    )


def _anthropic_fetch(options: _Options, versions: Sequence[str]) -> Declaration:
    return _without_nothing(
        type=versions[0],
        name="web_fetch",
        allowed_domains=options.get("domains"),
        max_uses=options.get("max_uses"),
        citations={"enabled": True} if options.get("citations") else None,
    )


def _anthropic_tool_search(options: _Options, versions: Sequence[str]) -> Declaration:
    kind = string(options.get("kind"))
    version = next((each for each in versions if kind in each), versions[0])
    return {"type": version, "name": version.rpartition("_")[0]}


def _anthropic_mcp(options: _Options, versions: Sequence[str]) -> Declaration:
    declared: Declaration = {"type": versions[0], "mcp_server_name": string(options.get("label"))}
    if names := arr(options.get("tools")):
        declared["default_config"] = {"enabled": False}
        declared["configs"] = {name: {"enabled": True} for name in names}
    return declared


def _anthropic_computer(options: _Options, versions: Sequence[str]) -> Declaration:
    if "toolset" in versions[0]:
        return {"type": versions[0]}
    width, height = arr(options.get("display")) or (1280, 800)
    return {"type": versions[0], "name": "computer", "display_width_px": width, "display_height_px": height}


# OpenAI


def _openai_search(options: _Options, versions: Sequence[str]) -> Declaration:
    filters = {"allowed_domains": options["domains"]} if options.get("domains") else None
    return _without_nothing(type=versions[0], filters=filters, user_location=_place(options))


def _openai_code(options: _Options, versions: Sequence[str]) -> Declaration:
    files = {"file_ids": options["files"]} if options.get("files") else {}
    return {"type": versions[0], "container": {"type": "auto", **files}}


def _openai_files(options: _Options, versions: Sequence[str]) -> Declaration:
    return {"type": versions[0], "vector_store_ids": arr(options.get("stores"))}


def _openai_mcp(options: _Options, versions: Sequence[str]) -> Declaration:
    return _without_nothing(
        type=versions[0],
        server_label=string(options.get("label")),
        server_url=string(options.get("url")),
        allowed_tools=options.get("tools"),
        require_approval=options.get("approval") or "never",
    )


# Google


def _google_mcp(options: _Options, versions: Sequence[str]) -> Declaration:
    transport = {"url": string(options.get("url"))}
    return {versions[0]: [{"name": string(options.get("label")), "streamableHttpTransport": transport}]}


def _google_plain(options: _Options, versions: Sequence[str]) -> Declaration:  # noqa: ARG001
    return {versions[0]: {}}


def _google_files(options: _Options, versions: Sequence[str]) -> Declaration:
    return {versions[0]: {"fileSearchStoreNames": arr(options.get("stores"))}}


def _google_computer(options: _Options, versions: Sequence[str]) -> Declaration:  # noqa: ARG001
    return {versions[0]: {"environment": "ENVIRONMENT_BROWSER"}}


def _typed(options: _Options, versions: Sequence[str]) -> Declaration:  # noqa: ARG001
    return {"type": versions[0]}


def _anthropic_code(options: _Options, versions: Sequence[str]) -> Declaration:  # noqa: ARG001
    return {"type": versions[0], "name": "code_execution"}


_WRITERS: dict[str, dict[str, Callable[[_Options, Sequence[str]], Declaration]]] = {
    "anthropic": {
        "web_search": _anthropic_search,
        "web_fetch": _anthropic_fetch,
        "code_execution": _anthropic_code,
        "tool_search": _anthropic_tool_search,
        "mcp": _anthropic_mcp,
        "computer": _anthropic_computer,
    },
    "openai-responses": {
        "web_search": _openai_search,
        "code_execution": _openai_code,
        "file_search": _openai_files,
        "tool_search": _typed,
        "mcp": _openai_mcp,
        "computer": _typed,
    },
    "gemini": {
        "web_search": _google_plain,
        "web_fetch": _google_plain,
        "code_execution": _google_plain,
        "file_search": _google_files,
        "mcp": _google_mcp,
        "computer": _google_computer,
    },
}
#: The options that each API has a place for, or can do without, as it does with the size of a display.
_KNOWN: dict[str, dict[str, tuple[str, ...]]] = {
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
