"""Agents: immutable definitions of a model, its tools, its prompt and its output, apart from any conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Generic, NoReturn, Self, TypedDict, Unpack, cast, overload

from antiphon._base.did_you_mean import make_hinting_getattr
from antiphon.conversation import Conversation
from antiphon.effects.budget import NO_LIMITS, Limits
from antiphon.errors import OptionError
from antiphon.session.context_window import Context
from antiphon.session.fallback import Fallback
from antiphon.session.handoff import Handoff, make_name
from antiphon.session.human_input import Answers, HumanInput
from antiphon.session.loop import Prompt
from antiphon.session.model_connections import ModelConnections
from antiphon.session.options import check_session_arguments
from antiphon.session.output_spec import RunMode
from antiphon.session.result import AIResult
from antiphon.session.session import ASK_HINTS, Session
from antiphon.session.settings import (
    PLAIN_TEXT,
    AfterReply,
    BeforeRequest,
    Checks,
    ModelChoice,
    SessionSettings,
    StoreProtocol,
    SystemPart,
    check_deps,
    describe_unknown_option,
    make_settings,
    read_people,
)
from antiphon.session.typed_output import OutputStrategy
from antiphon.tools import Policy, ProviderTool, Tool, ToolContext, ToolDefinitionError, Toolset, as_tool
from antiphon.tools.provider_tools import list_tools
from antiphon.wire import ModelSettings

if TYPE_CHECKING:
    from typing_extensions import TypeForm, TypeVar

    from antiphon.session.streams import AsyncEventStream, Events
    from antiphon.tools.guards import AfterCall, BeforeCall

    AgentDeps = TypeVar("AgentDeps", default=None)
    Output = TypeVar("Output", default=str)
    Answer = TypeVar("Answer", default=str)
else:
    from typing import TypeVar

    AgentDeps = TypeVar("AgentDeps")
    Output = TypeVar("Output")
    Answer = TypeVar("Answer")


class AgentOptions(TypedDict, Generic[AgentDeps, Output], total=False):
    """The options of an agent.

    `check` are functions of the answer; a ValueError makes the model answer again, at most `attempts` times.
    `settings` are sent with every request. `people` answers questions and approves calls, as `policy` requires.
    `strategy` says how the model is asked for a typed answer. With `raise_tool_bugs`, an error in a tool's own code
    ends the run. `context` controls the compaction of a long conversation. `before_request` is called with the
    conversation before each request, `after_reply` with each reply, `before_call` with each call of a tool before it
    runs, and `after_call` with the call and its result. `name` is shown as the asker of questions.
    """

    check: Checks[Output, AgentDeps] | None
    settings: ModelSettings
    policy: Policy | None
    people: HumanInput | Answers | None
    limits: Limits | None
    strategy: OutputStrategy | None
    attempts: int
    raise_tool_bugs: bool
    context: Context | None
    before_request: BeforeRequest[AgentDeps] | None
    after_reply: AfterReply[AgentDeps] | None
    before_call: BeforeCall[AgentDeps] | None
    after_call: AfterCall[AgentDeps] | None
    name: str


class AgentChanges(AgentOptions[AgentDeps, Output], Generic[AgentDeps, Output], total=False):
    """The arguments that a copy of an agent may change; its types stay the same."""

    model: ModelChoice[AgentDeps] | None
    tools: Iterable[Callable[..., Any] | Tool | ProviderTool | Toolset[AgentDeps]]
    system: SystemPart[AgentDeps] | Sequence[SystemPart[AgentDeps]]


class SessionOptions(TypedDict, total=False):
    """The options of a session of an agent."""

    conversation: Conversation | None
    store: StoreProtocol | None
    id: str
    people: HumanInput | Answers | None


_SESSION_OPTIONS = ("deps", *SessionOptions.__annotations__)


_ATTRIBUTE_HINTS = {
    **ASK_HINTS,
    **dict.fromkeys(("tool", "tool_plain", "add_tool"), "tools are functions: `Agent(…, tools=[…])`"),
    **dict.fromkeys(("system_prompt", "instructions"), "write `Agent(…, system=…)`, a text or a function"),
    **dict.fromkeys(("output_validator", "result_validator"), "write `Agent(…, check=…)`"),
    **dict.fromkeys(("override", "with_config", "bind", "clone", "copy"), "write `agent.replace(…)`"),
    **dict.fromkeys(("messages", "history", "conversation"), "`agent.session()` starts a conversation"),
    "output_type": "write `Agent(…, returns=TYPE)`",
    "start": "`agent.session().start(…)` runs in the background",
    "resume": "`agent.session(…).resume()` continues",
}


def _describe_model(model: object) -> str:
    """Return what `model=` names: one model or several, a function, or the default."""
    if isinstance(model, Fallback):
        return ", ".join(map(_describe_model, model.models))
    return model if isinstance(model, str) else getattr(model, "name", "a function" if callable(model) else "default")


@dataclass(frozen=True, slots=True)
class AgentTask:
    """The function of an agent that is a tool."""

    agent: Agent[Any, Any] = field(repr=False)
    returns: Any
    limits: Limits | None

    async def __call__(
        self, task: Annotated[str, "What to do, with everything that one must know for it."], context: ToolContext
    ) -> Any:
        """Let the agent answer, in a conversation of its own."""
        return (await self.agent.answer_task(task, context.deps, self.returns, self.limits)).value


class Agent(Generic[AgentDeps, Output]):
    """Defines how a model is asked, apart from any conversation. It is immutable, and threads may share it.

    `model` is a name, a connected model, a `Fallback`, or a function of the dependencies that returns one of them.
    `tools` are functions, toolsets, and tools of the provider. `system` is a text, a function that returns one before
    each ask, or several of both. Functions may take the dependencies, and may be asynchronous. `returns` is the type of
    all answers; the default is the text of the answer. `deps_type` is the type of the dependencies, which tools get in
    their `ToolContext`; then each ask needs `deps`. The other arguments are those of `AgentOptions`.

    `do`, `vibe`, `chat` and `stream` ask in a conversation of their own. `session` starts a conversation.
    """

    __slots__ = ("_connections", "_given", "_settings")
    _given: dict[str, Any]
    _connections: ModelConnections
    _settings: SessionSettings

    def __init__(
        self,
        model: ModelChoice[AgentDeps] | None = None,
        tools: Iterable[Callable[..., Any] | Tool | ProviderTool | Toolset[AgentDeps]] = (),
        system: SystemPart[AgentDeps] | Sequence[SystemPart[AgentDeps]] = "",
        *,
        returns: TypeForm[Output] = PLAIN_TEXT,  # type: ignore[assignment]
        deps_type: TypeForm[AgentDeps] = None,  # type: ignore[assignment]  # noqa: RUF013
        **options: Unpack[AgentOptions[AgentDeps, Output]],
    ) -> None:
        tools, more = tuple(list_tools(tools)), cast("dict[str, Any]", dict(options))
        given = {"model": model, "tools": tools, "system": system, "returns": returns, "deps_type": deps_type}
        for name in more:
            if name not in AgentOptions.__annotations__:
                raise OptionError(describe_unknown_option("an agent", name, (*given, *AgentOptions.__annotations__)))
        given |= more
        settings = make_settings(tools, system, more.pop("settings", {}), {**more, "returns": returns})
        settings.deps_type = deps_type
        connections = ModelConnections()
        settings.choose_model = connections.get_chooser(model)
        for name, value in (("_given", given), ("_connections", connections), ("_settings", settings)):
            object.__setattr__(self, name, value)

    if not TYPE_CHECKING:
        __getattr__ = make_hinting_getattr(_ATTRIBUTE_HINTS)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"an Agent does not change; `agent.replace({name}=…)` returns a changed copy")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"an Agent does not change, so `{name}` stays")

    def __repr__(self) -> str:
        shown = _describe_model(self._given["model"])
        return f"<Agent {self.name or 'without a name'}: {shown}, {len(self.tools)} tools>"

    @property
    def name(self) -> str:
        """The name that is shown as the asker of questions."""
        return self._settings.name

    @property
    def tools(self) -> tuple[Tool | ProviderTool | Toolset[AgentDeps], ...]:
        """The tools that the model may call, including those of the provider, and toolsets that are prepared."""
        settings = self._settings
        return (*settings.tools.values(), *settings.provided, *settings.prepared)

    def replace(self, **changes: Unpack[AgentChanges[AgentDeps, Output]]) -> Self:
        """Return a copy with other arguments, for example another `model`, `system` text or `limits`."""
        given: Any = {**self._given, **changes}
        return type(self)(**given)

    # Sessions

    @overload
    def session(self: Agent[None, Answer], **options: Unpack[SessionOptions]) -> Session[None, Answer]: ...
    @overload
    def session(self, *, deps: AgentDeps, **options: Unpack[SessionOptions]) -> Session[AgentDeps, Output]: ...
    def session(self, **options: Any) -> Session[Any, Any]:
        """Start a conversation, or continue the given one. With a `store`, its messages are saved as the session `id`.

        The system text of the agent replaces that of the conversation.
        """
        return self._make_session(options)

    @overload
    def open_session(
        self: Agent[None, Answer], id: str, *, store: StoreProtocol, people: HumanInput | Answers | None = None
    ) -> Session[None, Answer]: ...
    @overload
    def open_session(
        self, id: str, *, store: StoreProtocol, deps: AgentDeps, people: HumanInput | Answers | None = None
    ) -> Session[AgentDeps, Output]: ...
    def open_session(self, id: str, *, store: StoreProtocol, **options: Any) -> Session[Any, Any]:
        """Open a saved session, to add messages to it."""
        return self._make_session({"id": id, "store": store, **options}, opens=True)

    def _make_session(self, options: dict[str, Any], *, opens: bool = False, **changes: Any) -> Session[Any, Any]:
        for name in options:
            if name not in _SESSION_OPTIONS:
                raise OptionError(describe_unknown_option("a session of an agent", name, _SESSION_OPTIONS))
        deps, people = options.pop("deps", None), options.pop("people", None)
        check_deps(self._settings.deps_type, deps)
        check_session_arguments({"people": people})
        if people is not None:
            changes["people"] = read_people(people)
        if self._given.get("policy") is None:
            # A policy stores standing decisions, which belong to one conversation.
            changes["policy"] = Policy()
        choose = self._settings.choose_model
        chain = self._connections.get(self._given["model"]) if choose is None else choose(deps)
        settings = self._settings.with_models(chain, deps=deps, **changes)
        return Session[Any, Any].of_agent(settings, **options, opens=opens)

    # Other agents

    def as_tool(
        self,
        name: str = "",
        description: str = "",
        *,
        returns: Any = None,
        limits: Limits | None = None,
    ) -> Tool:
        """Return a tool that gives this agent a task in a conversation of its own, and returns the answer.

        Its run is inside that of the caller: events, cost and questions reach those of the caller. It shares the
        limits of that run. With `limits`, or if the agent has its own, these count for each task; limits of tokens and
        cost of the caller hold in any case. `returns` is another type of answer. An agent with dependencies gets
        those of the caller.
        """
        chosen = name or (make_name(self.name) if self.name else "")
        if not chosen:
            raise ToolDefinitionError("an agent as a tool needs a name: `agent.as_tool(NAME)`, or `Agent(name=…)`")
        check_session_arguments({"limits": limits})
        own = limits or self._given.get("limits")
        function = AgentTask(self, returns, own)
        said = description or f"Give a task to {self.name or chosen}, who answers it."
        return as_tool(function, name=chosen, description=said, is_transparent=True, is_cooperative=True)

    def settings_for_handoff(self, current: SessionSettings) -> SessionSettings:
        """Return settings with which a run goes on with this agent. For the code that drives the run."""
        own = self._settings
        check_deps(own.deps_type, current.deps)
        wanted, choose = self._given["model"], own.choose_model
        if choose is not None:
            chain = choose(current.deps)
        else:
            chain = current.chain if wanted is None else self._connections.get(wanted)
        changed = current.with_models(
            chain,
            tools=own.tools,
            provided=own.provided,
            prepared=own.prepared,
            hosted=(),
            substitute_names=(),
            system=own.system,
            options=own.options,
            policy=own.policy if self._given.get("policy") is not None else current.policy,
            raise_tool_bugs=own.raise_tool_bugs,
            context=own.context,
            before_request=own.before_request,
            after_reply=own.after_reply,
            guards=own.guards,
            name=own.name,
        )
        changed.resolve()
        return changed

    # Asks

    @overload
    def do(self: Agent[None, Answer], prompt: Prompt, *, settings: ModelSettings = ...) -> AIResult[Answer]: ...
    @overload
    def do(self, prompt: Prompt, *, deps: AgentDeps, settings: ModelSettings = ...) -> AIResult[Output]: ...
    def do(self, prompt: Prompt, **options: Any) -> AIResult[Any]:
        """Ask once in a new conversation: at most one set of tool calls, then the answer."""
        session, asked = self._split(options)
        return session.do(prompt, **asked)

    @overload
    def vibe(self: Agent[None, Answer], prompt: Prompt, *, settings: ModelSettings = ...) -> AIResult[Answer]: ...
    @overload
    def vibe(self, prompt: Prompt, *, deps: AgentDeps, settings: ModelSettings = ...) -> AIResult[Output]: ...
    def vibe(self, prompt: Prompt, **options: Any) -> AIResult[Any]:
        """Ask in a new conversation, and let the model work with its tools until it answers."""
        session, asked = self._split(options)
        return session.vibe(prompt, **asked)

    @overload
    def chat(self: Agent[None, Any], text: Prompt, *, settings: ModelSettings = ...) -> AIResult[str]: ...
    @overload
    def chat(self, text: Prompt, *, deps: AgentDeps, settings: ModelSettings = ...) -> AIResult[str]: ...
    def chat(self, text: Prompt, **options: Any) -> AIResult[str]:
        """Ask in a new conversation. Like `vibe`, but the value is always the text."""
        session, asked = self._split(options)
        return session.chat(text, **asked)

    @overload
    async def ado(self: Agent[None, Answer], prompt: Prompt, *, settings: ModelSettings = ...) -> AIResult[Answer]: ...
    @overload
    async def ado(self, prompt: Prompt, *, deps: AgentDeps, settings: ModelSettings = ...) -> AIResult[Output]: ...
    async def ado(self, prompt: Prompt, **options: Any) -> AIResult[Any]:
        """Like `do`, but asynchronous."""
        session, asked = self._split(options)
        return await session.ado(prompt, **asked)

    @overload
    async def avibe(
        self: Agent[None, Answer], prompt: Prompt, *, settings: ModelSettings = ...
    ) -> AIResult[Answer]: ...
    @overload
    async def avibe(self, prompt: Prompt, *, deps: AgentDeps, settings: ModelSettings = ...) -> AIResult[Output]: ...
    async def avibe(self, prompt: Prompt, **options: Any) -> AIResult[Any]:
        """Like `vibe`, but asynchronous."""
        session, asked = self._split(options)
        return await session.avibe(prompt, **asked)

    @overload
    async def achat(self: Agent[None, Any], text: Prompt, *, settings: ModelSettings = ...) -> AIResult[str]: ...
    @overload
    async def achat(self, text: Prompt, *, deps: AgentDeps, settings: ModelSettings = ...) -> AIResult[str]: ...
    async def achat(self, text: Prompt, **options: Any) -> AIResult[str]:
        """Like `chat`, but asynchronous."""
        session, asked = self._split(options)
        return await session.achat(text, **asked)

    @overload
    def stream(
        self: Agent[None, Answer],
        prompt: Prompt,
        *,
        mode: RunMode = "vibe",
        cancel: bool = False,
        settings: ModelSettings = ...,
    ) -> Events[Answer]: ...
    @overload
    def stream(
        self,
        prompt: Prompt,
        *,
        deps: AgentDeps,
        mode: RunMode = "vibe",
        cancel: bool = False,
        settings: ModelSettings = ...,
    ) -> Events[Output]: ...
    def stream(self, prompt: Prompt, *, mode: RunMode = "vibe", cancel: bool = False, **options: Any) -> Events[Any]:
        """Ask in a new conversation and iterate over the events of the run."""
        session, asked = self._split(options)
        return session.stream(prompt, mode=mode, cancel=cancel, **asked)

    @overload
    def astream(
        self: Agent[None, Answer],
        prompt: Prompt,
        *,
        mode: RunMode = "vibe",
        cancel: bool = False,
        settings: ModelSettings = ...,
    ) -> AsyncEventStream[Answer]: ...
    @overload
    def astream(
        self,
        prompt: Prompt,
        *,
        deps: AgentDeps,
        mode: RunMode = "vibe",
        cancel: bool = False,
        settings: ModelSettings = ...,
    ) -> AsyncEventStream[Output]: ...
    def astream(
        self, prompt: Prompt, *, mode: RunMode = "vibe", cancel: bool = False, **options: Any
    ) -> AsyncEventStream[Any]:
        """Like `stream`, but asynchronous."""
        session, asked = self._split(options)
        return session.astream(prompt, mode=mode, cancel=cancel, **asked)

    def _split(self, options: dict[str, Any]) -> tuple[Session[Any, Any], dict[str, Any]]:
        """Return a session for one ask, and the options of the ask itself."""
        deps = {"deps": options.pop("deps")} if "deps" in options else {}
        return self._make_session(deps), options

    async def answer_task(self, task: str, deps: Any, returns: Any, limits: Limits | None) -> AIResult[Any]:
        """Answer a task inside the current run. For the tool that `as_tool` returns."""
        given = {} if self._settings.deps_type is None else {"deps": deps}
        session = self._make_session(given, limits=limits or NO_LIMITS, shares_limits=limits is None)
        return await session.avibe(task, returns=returns)

    # Closing

    def close(self) -> None:
        """Close the connections of `do`, `vibe`, `chat` and `stream`, and of sessions."""
        self._connections.close()

    async def aclose(self) -> None:
        """Close the connections that this event loop opened."""
        await self._connections.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def hand_off(
    agent: Agent[Any, Any] | Callable[[], Agent[Any, Any]],
    *,
    name: str = "",
    description: str = "",
    limits: Limits | None = None,
) -> Tool:
    """Return a tool with which a model hands the conversation to another agent.

    The conversation goes on with the model, the tools and the system text of that agent; without a model of its own,
    with the current one. The type of the answer stays the same. Two agents can hand over to each other if one of them
    is given as a function that returns it; that needs a `name`. With `limits`, these count from the hand-off on.
    """
    given: object = agent
    if not isinstance(given, Agent) and not callable(given):
        raise ToolDefinitionError(f"a hand-off is to an `Agent` or a function that returns one, not {given!r:.80}")
    known = "" if callable(agent) else agent.name
    chosen = name or (f"hand_off_to_{make_name(known)}" if known else "")
    if not chosen:
        raise ToolDefinitionError("a hand-off needs a name: `hand_off(agent, name=…)`, or `Agent(name=…)`")
    said = description or f"Hand the conversation over to {known or chosen}, which continues it."
    return as_tool(Handoff(agent, limits), name=chosen, description=said, read_only=True)
