"""Toolsets: collections of tools, with functions that derive others and that choose the tools of each request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Generic, cast

from antiphon._base.escape import escape_unprintable_line
from antiphon.conversation import Conversation
from antiphon.tools.guards import CallGuards
from antiphon.tools.tool import Deps, Tool, ToolDefinitionError, as_tool, as_tools, check_tool_limits
from antiphon.tools.worker_threads import call_function

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from antiphon.tools.guards import AfterCall, BeforeCall

    StepDeps = TypeVar("StepDeps", contravariant=True, default=Any)
    OtherDeps = TypeVar("OtherDeps")
else:
    from typing import TypeVar

    StepDeps = TypeVar("StepDeps", contravariant=True)
    OtherDeps = TypeVar("OtherDeps")

_TooledFunction = Callable[..., Any] | Tool


@dataclass(frozen=True, slots=True)
class StepContext(Generic[Deps]):
    """The argument of a function that prepares tools, before each request.

    `deps` are those of the session. `request` counts the requests of the run from 1, and `model` names its model.
    """

    deps: Deps
    conversation: Conversation
    request: int
    model: str


#: Returns the tools of the next request, chosen or derived from those that it is given.
Preparation = Callable[
    [StepContext[Deps], tuple[Tool, ...]], Iterable[_TooledFunction] | Awaitable[Iterable[_TooledFunction]]
]


class Toolset(Generic[StepDeps]):
    """A collection of functions, tools and other toolsets, which `tools` of a session or an agent accepts.

    It is immutable: its methods return other toolsets. `name` is used in messages.
    """

    __slots__ = ("_changes", "_parts", "name")

    def __init__(self, tools: Iterable[_TooledFunction | Toolset[StepDeps]] = (), name: str = "") -> None:
        self.name = name
        parts: list[Tool | Toolset[Any]] = [
            each if isinstance(each, Toolset) else as_tool(each) for each in list_given(tools)
        ]
        if not any(isinstance(each, Toolset) and each.is_prepared for each in parts):
            parts = [*as_tools(tool for each in parts for tool in (each if isinstance(each, Toolset) else [each]))]
        self._parts: tuple[Tool | Toolset[Any], ...] = tuple(parts)
        #: The functions that change the tools before each request, in order.
        self._changes: tuple[Preparation[Any], ...] = ()

    @property
    def is_prepared(self) -> bool:
        """True if a function chooses the tools before each request, so that they are not known earlier."""
        return bool(self._changes) or any(isinstance(each, Toolset) for each in self._parts)

    def __iter__(self) -> Iterator[Tool]:
        """Iterate over the tools. Raise a ToolDefinitionError if they are not known before a request."""
        if self.is_prepared:
            # Its tools alone would lack what the function decides.
            raise ToolDefinitionError(
                f"{self} is prepared before each request, so it has no tools now; give `tools=` the toolset itself"
            )
        return iter(cast("tuple[Tool, ...]", self._parts))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        about = "prepared" if self.is_prepared else f"{len(self._parts)} tools"
        return f"<Toolset {escape_unprintable_line(self.name) or 'without a name'}: {about}>"

    def prefixed(self, prefix: str) -> Toolset[StepDeps]:
        """Return these tools with a prefix before each name."""
        return self._map(lambda tool: renamed(tool, prefix + tool.name))

    def filtered(self, keep: str | Callable[[Tool], bool]) -> Toolset[StepDeps]:
        """Return the tools whose names match a pattern such as `read_*`, or for which a function returns true."""

        def choose(tools: Iterable[Tool]) -> list[Tool]:
            if isinstance(keep, str):
                return [tool for tool in tools if fnmatchcase(tool.name, keep)]
            return [tool for tool in tools if keep(tool)]

        return self._change(choose)

    def requiring_approval(self, when: Callable[[Tool, Mapping[str, Any]], bool] | None = None) -> Toolset[StepDeps]:
        """Return these tools such that each call needs approval, whatever they declare.

        With `when`, only calls need it for which that function of the tool and its arguments returns true, besides
        those that need it anyway. If it raises, the call needs approval.
        """
        return self._map(lambda tool: _require_approval(tool, when))

    def limited(self, *, max_calls: int | None = None, max_failures: int | None = None) -> Toolset[StepDeps]:
        """Return these tools, each with these limits for a run: its calls, and its failures in a row.

        The model is told that further calls are not run. Too many failures end the run.
        """
        check_tool_limits(max_calls, max_failures)
        return self._map(lambda tool: replace(tool, max_calls=max_calls, max_failures=max_failures))

    def guarded(
        self, *, before_call: BeforeCall | None = None, after_call: AfterCall | None = None
    ) -> Toolset[StepDeps]:
        """Return these tools with functions that judge each call of a model before it runs, and its result."""
        guards = CallGuards.of(before_call, after_call)
        return self._map(lambda tool: replace(tool, guards=guards + tool.guards))

    def prepared(self, function: Callable[[StepContext[OtherDeps], tuple[Tool, ...]], _Prepared]) -> Toolset[OtherDeps]:
        """Return a toolset whose tools a function chooses before each request; it may be asynchronous.

        It returns those of the given tools that the model may call now, or tools derived from them. Tools that are
        always the same in the same situation keep prompt caches valid.
        """
        if not callable(function):
            raise ToolDefinitionError(f"`prepared` takes a function of the context and the tools, not {function!r:.80}")
        return cast("Toolset[OtherDeps]", self._with_change(function))

    def deferred(self) -> Toolset[StepDeps]:
        """Return two tools that stand for these: `search_tools` finds them, and `call_tool` calls them.

        The size of a request does not depend on their number. Rules, approvals and records see the call of the tool
        itself.
        """

        def defer(tools: Iterable[Tool]) -> list[Tool]:
            from antiphon.tools.deferred import make_deferred_tools

            return make_deferred_tools(list(tools), self.name)

        return self._change(defer)

    async def list_tools(self, context: StepContext[Any]) -> list[Tool]:
        """Return the tools of the next request."""
        tools: list[Tool] = []
        for part in self._parts:
            tools += await part.list_tools(context) if isinstance(part, Toolset) else [part]
        for change in self._changes:
            chosen: Any = await call_function(change, context, tuple(tools))
            if isinstance(chosen, str) or not isinstance(chosen, Iterable):
                raise ToolDefinitionError(
                    f"a function that prepares tools returns a list of tools, not {type(chosen).__name__}: {self}"
                )
            tools = as_tools(cast("Iterable[_TooledFunction]", chosen))
        return as_tools(tools)

    def _map(self, derive: Callable[[Tool], Tool]) -> Toolset[StepDeps]:
        return self._change(lambda tools: [derive(tool) for tool in tools])

    def _change(self, change: Callable[[Iterable[Tool]], list[Tool]]) -> Toolset[StepDeps]:
        """Return a toolset with changed tools, now if they are known."""
        if not self.is_prepared:
            return Toolset(change(self), self.name)

        async def change_later(_: StepContext[Any], tools: tuple[Tool, ...]) -> list[Tool]:
            return change(tools)

        return self._with_change(change_later)

    def _with_change(self, change: Preparation[Any]) -> Toolset[Any]:
        changed = Toolset[Any]((), self.name)
        changed._parts, changed._changes = self._parts, (*self._changes, change)
        return changed


def list_given(tools: Iterable[Any]) -> list[Any]:
    """Return what was given as tools; a toolset on its own is one part."""
    return [tools] if isinstance(tools, Toolset) else list(tools)


_Prepared = Iterable[_TooledFunction] | Awaitable[Iterable[_TooledFunction]]


def renamed(function: _TooledFunction, name: str) -> Tool:
    """Return the tool under another name."""
    tool = as_tool(function)
    return replace(tool, spec=replace(tool.spec, name=name))


def _require_approval(tool: Tool, when: Callable[[Tool, Mapping[str, Any]], bool] | None) -> Tool:
    if when is None:
        return replace(tool, needs_approval=True)
    asks = when

    def asks_about(**values: Any) -> bool:
        return tool.asks(values) or bool(asks(tool, values))

    return replace(tool, asks_about=asks_about)
