"""A Python function as a tool: its schema from its signature, its words from its docstring."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

from antiphon.conversation import Conversation, ToolCall, ToolSpec
from antiphon.errors import AntiphonError
from antiphon.tools.signature import Arguments
from antiphon.tools.targets import Target, command_parameters, locate, path_parameters

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


log = logging.getLogger("antiphon.tools")


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
    #: Of which arguments it asks for approval although it does not as a rule. It is called with those it names, as
    #: the function gets them: `lambda path: path.name == ".env"`.
    asks_about: Callable[..., bool] | None = None
    #: The parameters that are paths. They are resolved before anybody looks at a call.
    paths: tuple[str, ...] = ()
    #: Where a path of its arguments leads.
    locate: Callable[[str], Target] = locate
    #: Whether it runs command lines. Rules look at each command of a line, and *always* covers the same line alone.
    is_shell: bool = False
    #: What a call with these arguments would overwrite, for people to compare.
    before: Callable[[Mapping[str, Any]], Before | None] | None = None
    #: The same for a program that calls it: whole values, where the function gives words for a model.
    data: Callable[..., Any] | None = None

    def asks(self, values: Mapping[str, Any]) -> bool:
        """Return whether `asks_about` wants somebody to be asked about these values; a predicate that fails does."""
        if self.asks_about is None:
            return False
        wanted = _parameters(self.asks_about)
        given = {name: value for name, value in values.items() if wanted is None or name in wanted}
        try:
            return bool(self.asks_about(**given))
        except Exception:
            log.exception("`asks_about` of the tool `%s` failed; the call is asked about", self.name)
            return True

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
    asks_about: Callable[..., bool] | None = None,
    paths: Sequence[str] | None = None,
    is_shell: bool | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **settings: Any) -> Any:
    """Make a function a tool: `@tool`, or `@tool(timeout=5, read_only=True)`."""
    if function is not None:
        return as_tool(function)

    def made(function: Callable[..., Any]) -> Tool:
        return as_tool(function, **settings)

    return made


def as_tool(
    function: Callable[..., Any] | Tool,
    *,
    name: str | None = None,
    description: str | None = None,
    asks_about: Callable[..., bool] | None = None,
    paths: Sequence[str] | None = None,
    is_shell: bool | None = None,
    **settings: Any,
) -> Tool:
    """Return a tool made from a function, sync or async; a tool is returned as it is.

    Without `paths`, parameters of the type `Path` and those named like `path`, `file` or `directory` are paths. Without
    `is_shell`, a tool with a parameter named like `command` is a shell.
    """
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
    known = arguments.fields.values()
    _check_asks_about(own_name, asks_about, known)
    for each in paths or ():
        if each not in known:
            raise ToolDefinitionError(f"`paths` of `{own_name}` names {each!r}, which is none of its parameters")
    return Tool(
        spec,
        function,
        arguments,
        asks_about=asks_about,
        paths=path_parameters(spec.parameters) if paths is None else tuple(paths),
        is_shell=bool(command_parameters(spec.parameters)) if is_shell is None else is_shell,
        **settings,
    )


def _check_asks_about(name: str, asks_about: Callable[..., bool] | None, known: Iterable[str]) -> None:
    if asks_about is None:
        return
    if not callable(asks_about):
        raise ToolDefinitionError(f"`asks_about` of `{name}` is a function of its arguments, not {asks_about!r:.60}")
    there = list(known)
    for each in _parameters(asks_about) or ():
        if each not in there:
            named = ", ".join(f"`{one}`" for one in there) or "none"
            raise ToolDefinitionError(f"`asks_about` of `{name}` takes `{each}`, but the tool's parameters are {named}")


def _parameters(function: Callable[..., Any]) -> list[str] | None:
    """Return the names of a function's parameters; `None` where it takes whatever it is given."""
    parameters = inspect.signature(function).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return None
    return [each.name for each in parameters if each.kind is not each.VAR_POSITIONAL]


def as_tools(functions: Iterable[Callable[..., Any] | Tool]) -> list[Tool]:
    """Tools from functions and tools, which must differ in their names."""
    tools = [as_tool(function) for function in functions]
    names = [tool.name for tool in tools]
    for name in names:
        if names.count(name) > 1:
            raise ToolDefinitionError(f"two tools are named `{name}`; `renamed` or `prefixed` gives one another name")
    return tools
