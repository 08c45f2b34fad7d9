"""A Python function as a tool: its schema from its signature, its words from its docstring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

from antiphon.conversation import Conversation, ToolCall, ToolSpec
from antiphon.errors import AntiphonError
from antiphon.tools.signature import Arguments

if TYPE_CHECKING:
    from typing_extensions import ParamSpec as DefaultedParamSpec
    from typing_extensions import TypeVar as DefaultedTypeVar

    P = DefaultedParamSpec("P", default=...)
    R = DefaultedTypeVar("R", default=Any)
    Deps = DefaultedTypeVar("Deps", default=Any)
else:
    P = ParamSpec("P")
    R = TypeVar("R")
    Deps = TypeVar("Deps")


class ToolDefinitionError(AntiphonError, TypeError):
    """A function that cannot become a tool; the message says why and what to change."""


class ToolFailure(AntiphonError):
    """Raised by a tool to tell the model, in these words, that and why it failed."""


class Pause(ToolFailure):
    """Raised by a tool that needs a person: the call stays open, and the run waits, until the question is answered.

    The model then reads a short result, and the answer as what the person said.
    """


class Finish(Exception):
    """Raised by a tool to end the run that called it, with this value; `text` is what the model would read of it."""

    def __init__(self, value: Any, text: str = "finished") -> None:
        super().__init__(text)
        self.value = value
        self.text = text


@dataclass(frozen=True, slots=True)
class ToolContext(Generic[Deps]):
    """What a tool may know of the call it serves: a parameter annotated with this class is given it.

    It is no part of the schema. `deps` is whatever the session was given for its tools: `ToolContext[Database]`. `key`
    is the name of this call among all there ever were; in a journal it is the same when the call is run again, so that
    a service that is told it can see that it has done this already.
    """

    call: ToolCall
    conversation: Conversation
    deps: Deps
    key: str = ""


@dataclass(frozen=True, slots=True)
class Before:
    """What stands where an argument of a call is to be put, for whoever has to allow it; `note` says what it is."""

    argument: str
    text: str
    note: str


@dataclass(frozen=True, slots=True)
class Tool(Generic[P, R]):
    """Something a model may call. Made by `@tool`, or from any function by `as_tool`.

    `concurrent` says that calls may run at the same time as others. `timeout` is in seconds. `output_limit` is how many
    characters of a result the model is shown at once; the rest is kept and can be read through a handle.
    """

    spec: ToolSpec
    function: Callable[P, R]
    arguments: Arguments
    timeout: float | None = None
    concurrent: bool = True
    read_only: bool = False
    destructive: bool = False
    needs_approval: bool = False
    output_limit: int = 40_000
    #: Whether a call that was begun may be begun again with the same `ToolContext.key`, and takes effect once.
    idempotent: bool = False
    #: Whether all it does to the world are effects of its own, as those of a program's tools are.
    is_transparent: bool = False
    #: Of which arguments it asks for approval although it does not as a rule.
    asks_about: Callable[[Mapping[str, Any]], bool] | None = None
    #: What a call with these arguments would overwrite, for people to compare.
    before: Callable[[Mapping[str, Any]], Before | None] | None = None
    #: The same for a program that calls it: whole values, where the function gives words for a model.
    data: Callable[..., Any] | None = None

    def wants_approval(self, arguments: Mapping[str, Any]) -> bool:
        """Whether somebody should allow a call with these arguments."""
        if self.needs_approval or self.destructive:
            return True
        return self.asks_about is not None and self.asks_about(arguments)

    @property
    def name(self) -> str:
        """The name the model calls it by."""
        return self.spec.name

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The function itself: a tool can be used like any other function."""
        return self.function(*args, **kwargs)


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    concurrent: bool = True,
    read_only: bool = False,
    destructive: bool = False,
    needs_approval: bool = False,
    idempotent: bool = False,
    output_limit: int = 40_000,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **settings: Any) -> Any:
    """Make a function a tool: `@tool`, or `@tool(timeout=5, read_only=True)`."""
    if function is not None:
        return as_tool(function)

    def made(function: Callable[..., Any]) -> Tool:
        return as_tool(function, **settings)

    return made


def as_tool(
    function: Callable[..., Any] | Tool, *, name: str | None = None, description: str | None = None, **settings: Any
) -> Tool:
    """A tool from a function, sync or async; a tool is returned as it is."""
    if isinstance(function, Tool):
        return cast(Tool, function)
    if not callable(function):
        raise ToolDefinitionError(f"a tool is a function, not {type(function).__name__}")
    own_name = name or getattr(function, "__name__", "")
    if own_name == "<lambda>" or not own_name:
        raise ToolDefinitionError("a tool needs a name: write `tool(name=...)` for a function that has none")
    try:
        arguments = Arguments.of(function, ToolContext)
        spec = ToolSpec(own_name, description or arguments.description, arguments.schema)
    except (AntiphonError, TypeError, ValueError, NameError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise ToolDefinitionError(f"`{own_name}` cannot be a tool: {reason}") from None
    return Tool(spec, function, arguments, **settings)


def as_tools(functions: Iterable[Callable[..., Any] | Tool]) -> list[Tool]:
    """Tools from functions and tools, which must differ in their names."""
    tools = [as_tool(function) for function in functions]
    names = [tool.name for tool in tools]
    for name in names:
        if names.count(name) > 1:
            raise ToolDefinitionError(f"two tools are named `{name}`; `renamed` or `prefixed` gives one another name")
    return tools
