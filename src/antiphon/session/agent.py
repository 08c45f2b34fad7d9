"""Agents: immutable definitions of a model, its tools, its prompt and its output, apart from any conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypedDict, Unpack, cast, overload

from antiphon._base.did_you_mean import make_hinting_getattr
from antiphon.conversation import Conversation
from antiphon.effects.budget import Limits
from antiphon.errors import OptionError
from antiphon.session.context_window import Context
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
from antiphon.tools import Policy, ProviderTool, Tool
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
    tools: Iterable[Callable[..., Any] | Tool | ProviderTool]
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


class Agent(Generic[AgentDeps, Output]):
    """Defines how a model is asked, apart from any conversation. It is immutable, and threads may share it.

    `model` is a name, a connected model, or a function of the dependencies that returns one of them. `tools` are
    functions, and tools of the provider. `system` is a text, a function that returns one before each ask, or
    several of both. Functions may take the dependencies, and may be asynchronous. `returns` is the type of all
    answers; the default is the text of the answer. `deps_type` is the type of the dependencies, which tools get in
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
        tools: Iterable[Callable[..., Any] | Tool | ProviderTool] = (),
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
        model = self._given["model"]
        shown = (
            model if isinstance(model, str) else getattr(model, "name", "a function" if callable(model) else "default")
        )
        return f"<Agent {self.name or 'without a name'}: {shown}, {len(self.tools)} tools>"

    @property
    def name(self) -> str:
        """The name that is shown as the asker of questions."""
        return self._settings.name

    @property
    def tools(self) -> tuple[Tool | ProviderTool, ...]:
        """The tools that the model may call, including those of the provider."""
        return (*self._settings.tools.values(), *self._settings.provided)

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

    def _make_session(self, options: dict[str, Any], *, opens: bool = False) -> Session[Any, Any]:
        for name in options:
            if name not in _SESSION_OPTIONS:
                raise OptionError(describe_unknown_option("a session of an agent", name, _SESSION_OPTIONS))
        deps, people = options.pop("deps", None), options.pop("people", None)
        check_deps(self._settings.deps_type, deps)
        check_session_arguments({"people": people})
        changes: dict[str, Any] = {} if people is None else {"people": read_people(people)}
        if self._given.get("policy") is None:
            # A policy stores standing decisions, which belong to one conversation.
            changes["policy"] = Policy()
        choose = self._settings.choose_model
        model = self._connections.get(self._given["model"]) if choose is None else choose(deps)
        settings = replace(self._settings, model=model, deps=deps, **changes)
        return Session[Any, Any].of_agent(settings, **options, opens=opens)

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
