"""Tools that the provider runs, as values beside functions: `tools=[my_function, WebSearch(max_uses=3)]`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from antiphon.conversation import HostedTool, ToolSpec
from antiphon.errors import ContentError, OptionError
from antiphon.tools.tool import Tool, ToolDefinitionError, as_tool, as_tools
from antiphon.tools.toolset import Toolset

if TYPE_CHECKING:
    from antiphon.wire import Target

LocalFunction = Callable[..., Any] | Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderTool:
    """A tool that the provider of a model runs.

    `local` is the function that is declared if the provider lacks such a tool, or lacks a requested option.
    `extra` holds further fields of the declaration by provider: `{"openai": {"search_context_size": "low"}}`.
    """

    server_tool: ClassVar[str] = ""
    local: LocalFunction | None = field(default=None, repr=False)
    extra: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    @property
    def name(self) -> str:
        """The name of the tool among the others."""
        return self.server_tool

    @property
    def spec(self) -> ToolSpec:
        """The tool as conversations store it, without secrets."""
        extra = {provider: dict(fields) for provider, fields in self.extra.items()}
        return ToolSpec(self.name, hosted=HostedTool(self.server_tool, self.options(), extra, self.secrets()))

    def options(self) -> dict[str, Any]:
        """Return the options of the tool: the fields of its class that are set."""
        others = ("local", "extra", *self.secrets())
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in others}
        plain = {
            name: dict(cast("Mapping[str, Any]", value))
            if isinstance(value, Mapping)
            else list(cast("Sequence[Any]", value))
            if isinstance(value, Sequence) and not isinstance(value, str)
            else value
            for name, value in given.items()
        }
        return {name: value for name, value in plain.items() if value not in (None, "", [], {}, False)}

    def secrets(self) -> dict[str, str]:
        """Return values that are sent, but never displayed or saved."""
        return {}

    def local_tools(self) -> list[Tool] | None:
        """Return the tools that replace it; `None` if there are none."""
        return None if self.local is None else [as_tool(self.local)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSearch(ProviderTool):
    """Search the web; sources are on `Text.citations`.

    Only `domains` are searched, and never `blocked` ones. `location` says where the user is: `{"city":
    "Paris", "country": "FR"}`.
    """

    server_tool: ClassVar[str] = "web_search"
    domains: Sequence[str] = ()
    blocked: Sequence[str] = ()
    max_uses: int | None = None
    location: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebFetch(ProviderTool):
    """Read web pages. If the provider cannot, the tool `fetch_url` does, but only for `domains`."""

    server_tool: ClassVar[str] = "web_fetch"
    domains: Sequence[str] = ()
    citations: bool = True
    max_uses: int | None = None

    def local_tools(self) -> list[Tool] | None:
        """Return the given function, or the built-in tool for the domains."""
        if self.local is not None:
            return [as_tool(self.local)]
        from antiphon.tools.builtin.web import fetch_tool

        # The program must say which pages may be read from this machine.
        return [fetch_tool(list(self.domains))] if self.domains else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeExecution(ProviderTool):
    """Run code in the provider's sandbox. `files` are ids of files there, `packages` names to install."""

    server_tool: ClassVar[str] = "code_execution"
    files: Sequence[str] = ()
    packages: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSearch(ProviderTool):
    """Search files that were uploaded to the provider; `stores` are the names of its stores."""

    server_tool: ClassVar[str] = "file_search"
    stores: Sequence[str]

    def options(self) -> dict[str, Any]:
        """Return the stores to search."""
        return {"stores": list(self.stores)}


@dataclass(frozen=True, slots=True)
class MCPServer(ProviderTool):
    """An MCP server that the provider connects to. `label` names it; `tools` selects from its tools.

    `approval` is `"never"` or `"always"`, if the provider can ask. `authorization` is a token for the server;
    it is sent with each request, and never displayed or saved.
    """

    server_tool: ClassVar[str] = "mcp"
    url: str
    label: str
    tools: Sequence[str] = ()
    approval: str = ""
    authorization: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The label, which identifies the server."""
        return self.label

    def options(self) -> dict[str, Any]:
        """Return the options of the connection; for the token only whether there is one."""
        return ProviderTool.options(self) | ({"authorization": True} if self.authorization else {})

    def secrets(self) -> dict[str, str]:
        """Return the token."""
        return {"authorization": self.authorization} if self.authorization else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSearch(ProviderTool):
    """Let the model search for tools instead of reading all declarations.

    `tools` are the names of the tools to search; by default, all functions. `kind` is `"bm25"` or `"regex"`,
    if the provider has both. If it has no search, all tools are declared.
    """

    server_tool: ClassVar[str] = "tool_search"
    kind: str = ""
    tools: Sequence[str] = ()

    def local_tools(self) -> list[Tool] | None:
        """Return the local function, or no tools: without a search, all tools are declared."""
        return [] if self.local is None else [as_tool(self.local)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Computer(ProviderTool):
    """Use a computer: `local` performs the actions, whose forms differ between providers.

    `display` is the size of the screen in pixels, for providers that require it.
    """

    server_tool: ClassVar[str] = "computer"
    display: tuple[int, int] = (1280, 800)


@dataclass(frozen=True, slots=True)
class ResolvedTools:
    """The tools for one model: local ones by name, and those that the provider runs."""

    tools: dict[str, Tool]
    hosted: tuple[ToolSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class GivenTools:
    """The tools of a session or an agent: local ones by name, those of the provider, and prepared toolsets."""

    local: dict[str, Tool]
    provided: tuple[ProviderTool, ...]
    prepared: tuple[Toolset[Any], ...]


def sort_tools(tools: Iterable[LocalFunction | ProviderTool | Toolset[Any]]) -> GivenTools:
    """Separate a list into local tools, provider tools and toolsets that are prepared before each request."""
    local: list[LocalFunction] = []
    provided: list[ProviderTool] = []
    prepared: list[Toolset[Any]] = []
    for tool in list_tools(tools):
        if isinstance(tool, ProviderTool):
            provided.append(tool)
        elif isinstance(tool, Toolset) and tool.is_prepared:
            prepared.append(cast("Toolset[Any]", tool))
        else:
            local += tool if isinstance(tool, Toolset) else [tool]
    return GivenTools({tool.name: tool for tool in as_tools(local)}, tuple(provided), tuple(prepared))


def list_tools(tools: Iterable[LocalFunction | ProviderTool | Toolset[Any]]) -> list[Any]:
    """Return the tools of a definition as a list. Raise a ToolDefinitionError for a single one, or a text."""
    given: object = tools
    if isinstance(given, Toolset):
        return [given]
    if isinstance(given, str):
        raise ToolDefinitionError(
            f"`tools` is a list of functions, not a text; write `system={given!r:.40}` for a prompt"
        )
    if callable(given) or isinstance(given, ProviderTool | Tool):
        name = getattr(given, "__name__", None) or getattr(given, "name", type(given).__name__)
        raise ToolDefinitionError(f"`tools` is a list of functions; write `tools=[{name}]`")
    if not isinstance(given, Iterable):
        raise ToolDefinitionError(f"`tools` is a list of functions, not {type(given).__name__}")
    return list(tools)


def resolve_tools(functions: Iterable[Tool], provided: Sequence[ProviderTool], target: Target | None) -> ResolvedTools:
    """Return the tools for a model: the provider's where it has them, else their local replacements.

    Raise an OptionError if there is neither. An unknown model is assumed to support everything.
    """
    from antiphon.wire.hosted_tools import find_hosted_tool_problem

    tools = {tool.name: tool for tool in functions}
    hosted: list[ToolSpec] = []
    for tool in provided:
        try:
            spec = tool.spec
        except ContentError as error:
            raise OptionError(f"{type(tool).__name__}: {error}") from None
        problem = find_hosted_tool_problem(spec, target, has_functions=bool(tools)) if target is not None else ""
        local = tool.local_tools() if problem or tool.server_tool == "computer" else None
        if problem and local is None:
            raise OptionError(problem)
        if not problem and local:
            # The provider declares the tool, and this machine runs it.
            tools[spec.name] = replace(local[0], spec=spec)
        elif not problem:
            hosted.append(spec)
        for each in local or () if problem else ():
            tools[each.name] = each
    names = [*tools, *[spec.name for spec in hosted]]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise OptionError(f"two tools are named `{repeated}`; give one of them another name")
    return ResolvedTools(tools, tuple(hosted))
