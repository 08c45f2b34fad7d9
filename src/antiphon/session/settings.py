"""Settings that apply to all runs of a session: the model, the tools, the approval policy and the limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypedDict, cast, get_origin, runtime_checkable

from antiphon._base.did_you_mean import suggest_name
from antiphon.conversation import Conversation, File, Media, ToolSpec, UserPart
from antiphon.effects.budget import Limits, Spending
from antiphon.effects.pipeline import Middleware, PathCounter
from antiphon.errors import OptionError
from antiphon.session.context_window import Context
from antiphon.session.fallback import Fallback, ModelChain
from antiphon.session.human_input import Answers, HumanInput
from antiphon.session.options import (
    ARGUMENT_ALIASES,
    check_request_options,
    check_session_arguments,
    describe_foreign_argument,
)
from antiphon.session.typed_output import OutputStrategy
from antiphon.tools import Policy, ProviderTool, Tool, Toolset
from antiphon.tools.guards import NO_GUARDS, CallGuards, DepsFunction
from antiphon.tools.provider_tools import resolve_tools, sort_tools
from antiphon.wire import ModelSettings, Reply, Usage

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Deps = TypeVar("Deps", default=Any)
    T = TypeVar("T", default=Any)
else:
    from antiphon.session.result import T
    from antiphon.tools.tool import Deps


#: The default of `returns`: None, which asks for the text of the answer.
PLAIN_TEXT: type[str] = cast(Any, None)


class ReplyStream(Protocol):
    """A streaming answer, such as a provider's stream."""

    @property
    def reply(self) -> Reply: ...
    def __aiter__(self) -> AsyncIterator[Any]: ...
    async def __aenter__(self) -> Any: ...
    async def __aexit__(self, *_: Any) -> None: ...


@runtime_checkable
class ModelProtocol(Protocol):
    """The interface that a session requires of a model. `antiphon.connect` returns one."""

    @property
    def name(self) -> str: ...
    async def achat(self, conversation: Conversation, **options: Any) -> Reply: ...
    def astream(self, conversation: Conversation, **options: Any) -> ReplyStream: ...
    def cost(self, usage: Usage) -> float | None: ...


@runtime_checkable
class ChangeAnnouncer(Protocol):
    """A model that can be told about changes of tools, system text, effort or form within the conversation."""

    def announce(self, conversation: Conversation, **options: Any) -> None: ...


@runtime_checkable
class FileUploader(Protocol):
    """A model whose provider keeps files, so that messages can refer to them."""

    async def aupload(self, part: Media) -> File: ...


class RunHandle(Protocol):
    """A run in a journal that this process owns until `finish`."""

    @property
    def id(self) -> str: ...
    @property
    def middleware(self) -> Middleware: ...
    @property
    def counter(self) -> PathCounter: ...
    def finish(self, state: str, ending: Mapping[str, Any] | None = None, *, spent: Spending | None = None) -> None: ...


class JournalProtocol(Protocol):
    """The interface that a session requires of a journal. `antiphon.durable.Journal` implements it."""

    def begin_request(
        self, conversation: Conversation, mode: str, prompt: Sequence[UserPart] | None, title: str
    ) -> RunHandle | None: ...
    def resume(self, id: str) -> RunHandle: ...
    def load_request(self, id: str) -> tuple[Conversation, Any, Any]: ...


class StoredMessages(JournalProtocol, Protocol):
    """The saved messages of one session."""

    @property
    def id(self) -> str: ...
    def load_conversation(self) -> Conversation: ...
    def close(self) -> None: ...


class StoreProtocol(Protocol):
    """The interface that a session requires of a store. `antiphon.Store` implements it."""

    def open_session(self, id: str, model: Callable[[], str], *, appends: bool = False) -> StoredMessages: ...


#: The checks of an answer, of its type and that of the dependencies; a ValueError makes the model answer again.
Checks = (
    Callable[[T], object] | Callable[[T, Deps], object] | Sequence[Callable[[T], object] | Callable[[T, Deps], object]]
)
#: Called with the conversation before each request; it may change it, or return another one.
BeforeRequestHook = (
    Callable[[Conversation], Awaitable[Conversation | None] | Conversation | None]
    | Callable[[Conversation, Deps], Awaitable[Conversation | None] | Conversation | None]
)
#: Called with each reply of the model, before anything is done with it; it may return another one.
AfterReplyHook = (
    Callable[[Reply], Awaitable[Reply | None] | Reply | None]
    | Callable[[Reply, Deps], Awaitable[Reply | None] | Reply | None]
)
BeforeRequest = BeforeRequestHook[Deps] | Sequence[BeforeRequestHook[Deps]]
AfterReply = AfterReplyHook[Deps] | Sequence[AfterReplyHook[Deps]]


#: A part of a system text: a text, or a function that makes it before each ask.
SystemPart = str | Callable[[], str | Awaitable[str]] | Callable[[Deps], str | Awaitable[str]]
#: A model: a name, a connected model, several with a `Fallback`, or a function of the dependencies that returns one.
ModelChoice = str | ModelProtocol | Fallback | Callable[[Deps], str | ModelProtocol | Fallback]


class AskOptions(TypedDict, Generic[Deps, T], total=False):
    """Options of one ask: other checks, dependencies and settings than those of the session."""

    check: Checks[T, Deps]
    deps: Deps
    settings: ModelSettings


@dataclass(slots=True)
class SessionSettings:
    """The settings that apply to all runs of a session."""

    #: The model that is asked now.
    model: ModelProtocol
    tools: dict[str, Tool]
    policy: Policy
    people: HumanInput | None = None
    deps: Any = None
    limits: Limits = field(default_factory=Limits)
    #: Whether its requests and tool calls count for the limits of the run around it, instead of limits of its own.
    shares_limits: bool = False
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    strategy: OutputStrategy | None = None
    attempts: int = 3
    raise_tool_bugs: bool = False
    context: Context | None = field(default_factory=Context)
    before_request: tuple[DepsFunction, ...] = ()
    after_reply: tuple[DepsFunction, ...] = ()
    guards: CallGuards = NO_GUARDS
    name: str = ""
    journal: JournalProtocol | None = None
    #: Provider tools as they were given, and the specs of those that the current model's provider runs.
    provided: tuple[ProviderTool, ...] = ()
    hosted: tuple[ToolSpec, ...] = ()
    #: The names of local tools that substitute for provider tools.
    substitute_names: tuple[str, ...] = ()
    #: The toolsets that choose their tools before each request.
    prepared: tuple[Toolset[Any], ...] = ()
    #: The type of answers where an ask names none; None is text.
    returns: Any = None
    checks: tuple[DepsFunction, ...] = ()
    #: The texts and functions that make the system text.
    system: tuple[str | DepsFunction, ...] = ()
    #: Returns the model for the dependencies, if the definition has such a function.
    choose_model: Callable[[Any], ModelChain] | None = None
    #: The type that the dependencies must have.
    deps_type: Any = None
    #: All models; runs begin with the first.
    chain: ModelChain = field(default_factory=ModelChain)

    def with_models(self, chain: ModelChain, **changes: Any) -> SessionSettings:
        """Return the settings with other models, and other changes."""
        return replace(self, chain=chain, model=chain.models[0], **changes)

    def resolve(self) -> None:
        """Choose for each provider tool whether the provider of the current model or a local substitute runs it."""
        if not self.provided:
            self.hosted = self.substitute_names = ()
            return
        functions = [tool for name, tool in self.tools.items() if name not in self.substitute_names]
        for model in self.chain.models if self.model is self.chain.models[0] else ():
            # Each of them may have to answer, so that a missing tool is reported now.
            resolve_tools(functions, self.provided, getattr(model, "target", None))
        resolved = resolve_tools(functions, self.provided, getattr(self.model, "target", None))
        known = {tool.name for tool in functions}
        # The dictionary itself may be shared with an agent.
        self.tools, self.hosted = resolved.tools, resolved.hosted
        self.substitute_names = tuple(name for name in resolved.tools if name not in known)

    def get_output_type(self, mode: str, returns: Any) -> Any:
        """Return the type of an answer, of the ask or of the definition; None for text."""
        return self.returns if returns is None and mode != "chat" else returns

    @property
    def system_text(self) -> str | None:
        """The system text; None if functions make a part of it."""
        texts = [each for each in self.system if isinstance(each, str)]
        return "\n\n".join(filter(None, texts)) if len(texts) == len(self.system) else None

    async def make_system_text(self, perform: Callable[[str, DepsFunction], Awaitable[str]] | None = None) -> str:
        """Return the system text. `perform` calls a function, under a name."""
        texts: list[str] = []
        for number, each in enumerate(self.system, 1):
            if isinstance(each, str):
                texts.append(each)
            elif perform is None:
                texts.append(await self.call_system_function(each))
            else:
                texts.append(await perform(f"system{number}", each))
        return "\n\n".join(filter(None, texts))

    async def call_system_function(self, function: DepsFunction) -> str:
        """Return the part of the system text that a function makes."""
        text = await function.call(deps=self.deps)
        if not isinstance(text, str):
            raise OptionError(f"`{function.name}` makes a part of `system`, so it returns text, not {text!r:.80}")
        return text

    def for_ask(self, options: Mapping[str, Any], *, is_own_type: bool = True) -> SessionSettings:
        """Return the settings of one ask: these ones, with the options that the ask names.

        The checks of the definition apply only to answers of its own type.
        """
        for name in options:
            if name not in AskOptions.__annotations__:
                raise OptionError(describe_unknown_option("an ask", name, ("returns", *AskOptions.__annotations__)))
        if not options and (is_own_type or not self.checks):
            return self
        changes: dict[str, Any] = {}
        if "check" in options or not is_own_type:
            changes["checks"] = read_checks(options.get("check"))
        if "settings" in options:
            check_session_arguments({"settings": options["settings"]})
            check_request_options(options["settings"])
            changes["options"] = {**self.options, **options["settings"]}
        if "deps" in options:
            check_deps(self.deps_type, options["deps"])
            changes["deps"] = options["deps"]
        choose = self.choose_model if "deps" in options else None
        chain = self.chain if choose is None else choose(options["deps"])
        settings = self.with_models(chain, **changes)
        if settings.model is not self.model:
            settings.resolve()
        return settings


#: Where arguments belong that an ask, or a session of an agent, does not take.
_PLACES_OF_ARGUMENTS = {
    "conversation": "a conversation belongs to the session: `agent.session(conversation=…)`",
    "tools": "tools belong to the session or the agent: `Session(…, tools=[…])`, `agent.replace(tools=[…])`",
    "model": "the model belongs to the session or the agent: `session.model = NAME`, `agent.replace(model=NAME)`",
    "system": "the system text belongs to the session or the agent: `agent.replace(system=TEXT)`",
    "store": "a store belongs to the session: `agent.session(store=Store(), id=…)`",
    "limits": "limits belong to the session or the agent: `agent.replace(limits=Limits(…))`",
}


def describe_unknown_option(where: str, name: str, known: Iterable[str]) -> str:
    """Return the message for an unknown option, with the option that was probably meant."""
    own = tuple(known)
    if hint := describe_foreign_argument(name, own):
        return f"{where} has no option `{name}`; {hint}"
    if name in _PLACES_OF_ARGUMENTS:
        return f"{where} has no option `{name}`; {_PLACES_OF_ARGUMENTS[name]}"
    if (ours := ARGUMENT_ALIASES.get(name)) in _PLACES_OF_ARGUMENTS:
        return f"{where} has no option `{name}`; {_PLACES_OF_ARGUMENTS[ours]}"
    is_request_option = name in ModelSettings.__annotations__
    near = name if is_request_option else suggest_name(name, (*own, *ModelSettings.__annotations__))
    if near in own:
        hint = f"did you mean `{near}`?"
    elif near:
        hint = f"did you mean `settings={{'{near}': …}}`?"
    else:
        hint = f"there are {', '.join(own)}"
    return f"{where} has no option `{name}`; {hint}"


#: Options that are checked where they are read.
_FUNCTION_OPTIONS = ("returns", "check", "before_request", "after_reply", "before_call", "after_call")


def make_settings(
    tools: Iterable[Callable[..., Any] | Tool | ProviderTool | Toolset[Any]],
    system: Any,
    options: Mapping[str, Any],
    arguments: Mapping[str, Any],
) -> SessionSettings:
    """Return the settings of an agent or a session, without a model. Raise an OptionError for a wrong argument."""
    given = dict(arguments)
    if isinstance(given.get("returns"), str | int | float | list | tuple):
        raise OptionError(f"`returns` is a type, such as `int` or a dataclass, not {given['returns']!r:.80}")
    check_session_arguments({name: value for name, value in given.items() if name not in _FUNCTION_OPTIONS})
    check_session_arguments({"settings": options})
    check_request_options(options, ("model", "tools", "system", *given))
    checks, people = read_checks(given.pop("check", None)), given.pop("people", None)
    guards = CallGuards.of(given.pop("before_call", None), given.pop("after_call", None))
    every = sort_tools(tools)
    return SessionSettings(
        cast(Any, None),
        every.local,
        given.pop("policy", None) or Policy(),
        read_people(people),
        limits=given.pop("limits", None) or Limits(),
        options=options,
        provided=every.provided,
        prepared=every.prepared,
        checks=checks,
        before_request=read_request_guards(given.pop("before_request", None)),
        after_reply=DepsFunction.read(given.pop("after_reply", None), 1, "`after_reply`"),
        guards=guards,
        system=read_system(system),
        **given,
    )


def read_people(people: HumanInput | Answers | None) -> HumanInput | None:
    """Return the queue of questions for a function that answers them."""
    return people if people is None or isinstance(people, HumanInput) else HumanInput(people)


def read_checks(check: Any) -> tuple[DepsFunction, ...]:
    """Return the check functions of an option, which is one function or several."""
    return DepsFunction.read(check, 1, "a check")


def read_request_guards(functions: Any) -> tuple[DepsFunction, ...]:
    """Return the functions that are called before each request, of an option that is one function or several."""
    return DepsFunction.read(functions, 1, "`before_request`")


def read_system(system: Any) -> tuple[str | DepsFunction, ...]:
    """Return the texts and functions that make a system text."""
    read: list[str | DepsFunction] = []
    for each in _list_parts(system):
        if not isinstance(each, str) and not callable(each):
            raise OptionError(f"`system` is a text, a function that returns one, or a list of both, not {each!r:.80}")
        read.append(each if isinstance(each, str) else DepsFunction.of(each, 0, "a part of `system`"))
    return tuple(read)


def _list_parts(value: object) -> list[Any]:
    """Return the items of a list or a tuple, or the single value."""
    return list(cast(Sequence[Any], value)) if isinstance(value, list | tuple) else [value]


def check_deps(deps_type: Any, deps: Any) -> None:
    """Raise an OptionError for dependencies of another type than the definition names."""
    if deps_type is None:
        return
    try:
        fits = isinstance(deps, get_origin(deps_type) or deps_type)
    except TypeError:
        # Not a class: instances of a protocol or a `TypedDict` cannot be recognized.
        fits = deps is not None
    if not fits:
        name = getattr(deps_type, "__name__", None) or str(deps_type)
        given = "are missing" if deps is None else f"are of the type `{type(deps).__name__}`"
        raise OptionError(f"`deps` must be of the type `{name}`, but they {given}")
