"""The `Tool` class and decorator: a Python function with a schema from its signature and docstring."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

from antiphon._base.did_you_mean import hint_arguments, suggest_name
from antiphon.conversation import Conversation, ToolCall, ToolSpec
from antiphon.errors import AntiphonError
from antiphon.tools.call_host import NO_HOST, CallHost
from antiphon.tools.function_schema import FunctionSchema
from antiphon.tools.guards import NO_GUARDS, CallGuards
from antiphon.tools.path_arguments import PathTarget, find_command_parameters, find_path_parameters, resolve_path_target

if TYPE_CHECKING:
    from typing_extensions import ParamSpec as DefaultedParamSpec
    from typing_extensions import TypeVar as DefaultedTypeVar

    from antiphon.tools.guards import AfterCall, BeforeCall

    P = DefaultedParamSpec("P", default=...)
    R = DefaultedTypeVar("R", default=Any)
    Deps = DefaultedTypeVar("Deps", default=Any)
else:
    P = ParamSpec("P")
    R = TypeVar("R")
    Deps = TypeVar("Deps")


log = logging.getLogger("antiphon.tools")


class ToolDefinitionError(AntiphonError, TypeError):
    """A function cannot become a tool; the message says why and what to change."""


class ToolFailure(AntiphonError):
    """Raised by a tool to report a failure to the model, in these words."""


class NeedsHumanInput(ToolFailure):
    """Raised by a tool that needs a person: the run is suspended until the question is answered.

    The call stays pending. The model then reads a short result, and the answer as a message of the person.
    """


class FinishRun(Exception):
    """Raised by a tool to end its run with this value; `text` is the result that the model would read."""

    def __init__(self, value: Any, text: str = "finished") -> None:
        super().__init__(text)
        self.value = value
        self.text = text


@dataclass(frozen=True, slots=True)
class ToolContext(Generic[Deps]):
    """The context of a tool call, passed to a parameter that is annotated with this class.

    It is not part of the schema. `deps` is the object that the session was given for its tools:
    `ToolContext[Database]`. `key` is an idempotency key: it is unique for each call, and the same when a
    journal runs the call again. `host` asks people and models for the call.
    """

    call: ToolCall
    conversation: Conversation
    deps: Deps
    key: str = ""
    host: CallHost = NO_HOST


@dataclass(frozen=True, slots=True)
class Before:
    """The current text that an argument of a call would overwrite, for the person who approves it. `note`
    describes it.
    """

    argument: str
    text: str
    note: str


@hint_arguments({}, "as_tool(FUNCTION)")
@dataclass(frozen=True, slots=True)
class Tool(Generic[P, R]):
    """A function that a model may call. Made by `@tool`, or from any function by `as_tool`.

    `concurrent` says that calls may run at the same time as others. `timeout` is in seconds. `output_limit`
    is how many characters of a result the model reads at once; the remainder is stored and can be read
    through a handle.
    """

    spec: ToolSpec
    function: Callable[P, R]
    arguments: FunctionSchema
    timeout: float | None = None
    concurrent: bool = True
    read_only: bool = False
    destructive: bool = False
    needs_approval: bool = False
    output_limit: int = 40_000
    #: Whether its calls run elsewhere: they wait until their results are delivered, and the function is not called.
    external: bool = False
    #: Whether a started call may be repeated with the same `ToolContext.key`, and takes effect once.
    idempotent: bool = False
    #: Whether all its side effects are recorded as effects of their own, as those of a program's tools are.
    is_transparent: bool = False
    #: For which arguments it needs approval, although it usually does not. It is called with those it names, as
    #: the function receives them: `lambda path: path.name == ".env"`.
    asks_about: Callable[..., bool] | None = None
    #: The parameters that are paths. They are resolved before a call is judged.
    paths: tuple[str, ...] = ()
    #: Resolves a path of its arguments.
    locate: Callable[[str], PathTarget] = resolve_path_target
    #: Whether it runs command lines. Rules match each command of a line, and *always* covers only the same line.
    is_shell: bool = False
    #: Returns what a call with these arguments would overwrite, for people to compare.
    before: Callable[[Mapping[str, Any]], Before | None] | None = None
    #: Whether its changes of files are recorded in the history of a chat, which can undo them.
    is_undoable: bool = False
    #: Whether its coroutine never blocks its event loop, and ends when it is cancelled. Then it always runs on the loop
    #: of its session, also outside of the block of `entered` that has opened what it uses.
    is_cooperative: bool = False
    #: The JSON schema of its structured results, if it has any.
    output_schema: Mapping[str, Any] | None = None
    #: The function for programs that call the tool: it returns full values instead of text for a model.
    #: It has the parameters of `function`, with the context if that has one.
    data: Callable[..., Any] | None = None
    #: How many calls of a run are executed. The model is told that further ones are not.
    max_calls: int | None = None
    #: How many calls may fail in a row before the run ends.
    max_failures: int | None = None
    #: Functions that judge each call of a model, and its result.
    guards: CallGuards = NO_GUARDS

    def asks(self, values: Mapping[str, Any]) -> bool:
        """Return whether `asks_about` requires approval for these values. A predicate that raises does."""
        if self.asks_about is None:
            return False
        wanted = _parameter_names(self.asks_about)
        given = {name: value for name, value in values.items() if wanted is None or name in wanted}
        try:
            return bool(self.asks_about(**given))
        except Exception:
            log.exception("`asks_about` of the tool `%s` failed; the call is asked about", self.name)
            return True

    @property
    def name(self) -> str:
        """The name by which the model calls the tool."""
        return self.spec.name

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself: a tool can be used like any other function."""
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
    external: bool = False,
    is_cooperative: bool = False,
    asks_about: Callable[..., bool] | None = None,
    paths: Sequence[str] | None = None,
    is_shell: bool | None = None,
    max_calls: int | None = None,
    max_failures: int | None = None,
    before_call: BeforeCall | None = None,
    after_call: AfterCall | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **settings: Any) -> Any:
    """Make a function a tool: `@tool`, or `@tool(timeout=5, read_only=True)`."""
    if function is not None:
        return as_tool(function)

    def decorate(function: Callable[..., Any]) -> Tool:
        return as_tool(function, **settings)

    return decorate


def as_tool(
    function: Callable[..., Any] | Tool,
    *,
    name: str | None = None,
    description: str | None = None,
    asks_about: Callable[..., bool] | None = None,
    paths: Sequence[str] | None = None,
    is_shell: bool | None = None,
    before_call: BeforeCall | None = None,
    after_call: AfterCall | None = None,
    **settings: Any,
) -> Tool:
    """Make a tool from a sync or async function; a tool is returned as it is.

    `before_call` is called with each call of a model before it runs, and `after_call` with its result.

    Without `paths`, parameters of the type `Path` and those named like `path`, `file` or `directory` are
    paths. Without `is_shell`, a tool with a parameter named like `command` is a shell.
    """
    if isinstance(function, Tool):
        return cast(Tool, function)
    _check_settings(settings)
    if not callable(function):
        hints = {str: "write `tools=[…]` with functions, not their names", dict: "a schema alone cannot be run"}
        hint = f"; {hints[type(function)]}" if type(function) in hints else ""
        raise ToolDefinitionError(f"a tool is a function, not {type(function).__name__}{hint}")
    own_name = name or getattr(function, "__name__", "")
    if own_name == "<lambda>" or not own_name:
        raise ToolDefinitionError("a tool needs a name: write `tool(name=...)` for a function that has none")
    try:
        arguments = FunctionSchema.of(function, ToolContext)
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
        paths=find_path_parameters(spec.parameters) if paths is None else tuple(paths),
        is_shell=bool(find_command_parameters(spec.parameters)) if is_shell is None else is_shell,
        guards=CallGuards.of(before_call, after_call),
        **settings,
    )


def check_tool_limits(max_calls: object, max_failures: object) -> None:
    """Raise a ToolDefinitionError for a limit that is no number of calls."""
    for name, value in (("max_calls", max_calls), ("max_failures", max_failures)):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise ToolDefinitionError(f"`{name}` of a tool is a whole number from 1, or None, not {value!r:.60}")


def _check_settings(settings: Mapping[str, object]) -> None:
    """Raise a ToolDefinitionError for the first setting that tools do not have, or for a wrong limit."""
    check_tool_limits(settings.get("max_calls"), settings.get("max_failures"))
    own = ("spec", "function", "arguments", "guards")
    known = [*[each.name for each in fields(Tool) if each.name not in own], "before_call", "after_call"]
    for name in settings:
        if name not in known:
            near = suggest_name(name, known)
            hint = f"did you mean `{near}`?" if near else f"there are {', '.join(known)}"
            raise ToolDefinitionError(f"a tool has no option `{name}`; {hint}")


def _check_asks_about(name: str, asks_about: Callable[..., bool] | None, known: Iterable[str]) -> None:
    if asks_about is None:
        return
    if not callable(asks_about):
        raise ToolDefinitionError(f"`asks_about` of `{name}` is a function of its arguments, not {asks_about!r:.60}")
    there = list(known)
    for each in _parameter_names(asks_about) or ():
        if each not in there:
            named = ", ".join(f"`{one}`" for one in there) or "none"
            raise ToolDefinitionError(f"`asks_about` of `{name}` takes `{each}`, but the tool's parameters are {named}")


def _parameter_names(function: Callable[..., Any]) -> list[str] | None:
    """Return the names of a function's parameters; `None` if it takes any keyword arguments."""
    parameters = inspect.signature(function).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return None
    return [each.name for each in parameters if each.kind is not each.VAR_POSITIONAL]


def as_tools(functions: Iterable[Callable[..., Any] | Tool]) -> list[Tool]:
    """Return tools made from functions and tools. Raise a ToolDefinitionError if two have the same name."""
    tools = [as_tool(function) for function in functions]
    names = [tool.name for tool in tools]
    for name in names:
        if names.count(name) > 1:
            raise ToolDefinitionError(
                f"two tools are named `{name}`; `renamed` or `Toolset.prefixed` gives one another"
            )
    return tools
