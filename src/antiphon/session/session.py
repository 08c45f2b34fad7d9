"""The session: a model, its tools and an ongoing conversation."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, Self, Unpack, cast, overload

from antiphon._base.did_you_mean import make_hinting_getattr
from antiphon.conversation import Conversation
from antiphon.effects.budget import Limits
from antiphon.effects.types import HumanAnswer
from antiphon.errors import NotReadyError, OptionError
from antiphon.session.context_window import Context, build_summary_request
from antiphon.session.fallback import Fallback
from antiphon.session.handoff import list_handoffs, restate_handoffs
from antiphon.session.human_input import Answers, HumanInput, Question
from antiphon.session.loop import AgentLoop, Prompt
from antiphon.session.model_connections import ModelConnections
from antiphon.session.options import check_session_arguments
from antiphon.session.output_spec import RunMode
from antiphon.session.pending_answers import list_pending_questions, make_delivery, record_answer
from antiphon.session.result import AIResult
from antiphon.session.run import Run
from antiphon.session.settings import (
    PLAIN_TEXT,
    AfterReply,
    AskOptions,
    BeforeRequest,
    BeforeRequestHook,
    Checks,
    JournalProtocol,
    ModelChoice,
    ModelProtocol,
    SessionSettings,
    StoredMessages,
    StoreProtocol,
    SystemPart,
    make_settings,
    read_request_guards,
)
from antiphon.session.streams import AsyncEventStream, Events
from antiphon.session.sync_bridge import check_no_running_loop, get_event_loop_thread, run_blocking, start_task
from antiphon.session.typed_output import OutputStrategy
from antiphon.tools import Policy, ProviderTool, Tool, Toolset
from antiphon.tools.provider_tools import sort_tools
from antiphon.tools.tool import Deps
from antiphon.wire import ModelSettings

if TYPE_CHECKING:
    from typing_extensions import TypeForm, TypeVar

    from antiphon.config import Configuration
    from antiphon.tools.guards import AfterCall, BeforeCall

    T = TypeVar("T", default=str)
    V = TypeVar("V")
else:
    from antiphon.session.result import T


_ASK_HINT = "`vibe(TEXT)` lets the model work with its tools, `chat(TEXT)` gives the text of its answer"
#: Methods of other libraries for asking.
ASK_HINTS = {
    **dict.fromkeys(("ask", "run_sync", "invoke", "prompt", "complete", "completion", "generate", "send"), _ASK_HINT),
    **dict.fromkeys(("query", "call", "execute", "kickoff", "message", "predict", "create"), _ASK_HINT),
    **dict.fromkeys(
        ("run", "ainvoke", "arun", "arun_sync"), "`await avibe(TEXT)`, or `vibe(TEXT)` outside of async code"
    ),
    **dict.fromkeys(
        ("run_stream", "iter", "run_stream_events", "astream_events"), "`astream(TEXT)`, or `stream(TEXT)`"
    ),
    **dict.fromkeys(("run_stream_sync", "stream_events"), "`stream(TEXT)` gives the events of a run"),
}
_CONVERSATION_HINT = "the messages are `session.conversation.turns`"
_ATTRIBUTE_HINTS = {
    **ASK_HINTS,
    **dict.fromkeys(("messages", "history", "all_messages", "turns", "get_messages"), _CONVERSATION_HINT),
    **dict.fromkeys(("usage", "cost", "tokens"), "each result has them: `result.run.usage`, `result.run.cost`"),
    **dict.fromkeys(("system", "system_prompt", "instructions"), "that is `session.conversation.system`"),
    **dict.fromkeys(("save", "checkpoint"), "`Session(…, store=Store(), id=NAME)` saves each message"),
    **dict.fromkeys(("fork", "copy", "clone"), "`Session(conversation=session.conversation.fork())` is a copy"),
    **dict.fromkeys(("add_tool",), "write `session.tools = [*session.tools, FUNCTION]`"),
    "replace": "only an `Agent` has it; of a session, set `model`, `tools` or `before_request`",
}


class Session(Generic[Deps, T]):
    """Asks a model, runs the tools it calls, and asks again, until there is an answer.

    `do` allows one set of tool calls, `vibe` any number within `limits`, and `chat` is one turn of a chat.
    All continue the same conversation. They return an `AIResult`, or raise an exception if the run ended
    without an answer; after that `resume` continues. `start` returns a `Run` immediately, which can be
    watched. `stream` starts a run and iterates over its events. `ado`, `avibe`, `achat`, `aresume`, `astart`
    and `astream` are the asynchronous forms.

    `model` is a name, a model created by `connect`, any object with the same interface, or a `Fallback`. Without
    one, the model of the configuration is used, as in `antiphon ask`. `tools` are functions, toolsets, and tools of the
    provider such as `WebSearch`. `people` answers the questions of tools, and approves the calls for which `policy`
    requires it: a function, or a `HumanInput` that several sessions share. Without it `NeedsHuman` is raised,
    and `allow`, `deny` and `answer` give the answers before `resume`. `deps` is passed to tools in their
    `ToolContext`. With `raise_tool_bugs`, an error in a tool's own code ends the run instead of being
    reported to the model. `context` controls the compaction of a long conversation. `before_request` is
    called with the conversation before each request, `after_reply` with each reply, `before_call` with each call of a
    tool before it runs, and `after_call` with the call and its result. `system` is a text, a function
    that returns one before each ask, or several of both. `returns` is the type of all answers, and `check` are
    functions of the answer; a ValueError makes the model answer again, at most `attempts` times. Functions of the
    session may take `deps` as their last parameter. `name` is shown as the asker of questions. With a `store`, each
    message is saved as a step of the session `id`. If the program is run again, the N-th message is the saved one, and
    nothing of it is repeated; `Session.open` adds messages instead.
    `configuration` provides the keys; the default is that of the current directory. `record` and `replay`
    name a file of exchanges. `options` are sent with every request. An `Agent` is the same without a conversation.
    """

    def __init__(
        self,
        model: ModelChoice[Deps] | None = None,
        tools: Iterable[Callable[..., Any] | Tool | ProviderTool | Toolset[Deps]] = (),
        system: SystemPart[Deps] | Sequence[SystemPart[Deps]] = "",
        *,
        returns: TypeForm[T] = PLAIN_TEXT,  # type: ignore[assignment]
        check: Checks[T, Deps] | None = None,
        conversation: Conversation | None = None,
        policy: Policy | None = None,
        people: HumanInput | Answers | None = None,
        deps: Deps = cast(Any, None),  # noqa: B008
        limits: Limits | None = None,
        strategy: OutputStrategy | None = None,
        attempts: int = 3,
        raise_tool_bugs: bool = False,
        context: Context | None = Context(),  # noqa: B008
        before_request: BeforeRequest[Deps] | None = None,
        after_reply: AfterReply[Deps] | None = None,
        before_call: BeforeCall[Deps] | None = None,
        after_call: AfterCall[Deps] | None = None,
        name: str = "",
        journal: JournalProtocol | None = None,
        store: StoreProtocol | None = None,
        id: str = "",
        configuration: Configuration | None = None,
        record: str | PathLike[str] | None = None,
        replay: str | PathLike[str] | None = None,
        **options: Unpack[ModelSettings],
    ) -> None:
        arguments = {
            "policy": policy,
            "people": people,
            "limits": limits,
            "strategy": strategy,
            "attempts": attempts,
            "raise_tool_bugs": raise_tool_bugs,
            "context": context,
            "before_request": before_request,
            "after_reply": after_reply,
            "before_call": before_call,
            "after_call": after_call,
            "name": name,
            "journal": journal,
        }
        check_session_arguments({"record": record, "replay": replay})
        if conversation is not None and system:
            raise OptionError("a conversation has its own system text; set `conversation.system` instead of `system`")
        settings = make_settings(tools, system, cast(Any, options), {**arguments, "returns": returns, "check": check})
        settings.deps = deps
        #: The models that the session connected and therefore closes; None if an agent did.
        self._connections: ModelConnections | None = ModelConnections(configuration)
        settings.choose_model = choose = self._connections.get_chooser(model)
        chain = self._connections.get(model, record, replay) if choose is None else choose(deps)
        self._begin_with(settings.with_models(chain), conversation, store, id)

    if not TYPE_CHECKING:
        __getattr__ = make_hinting_getattr(_ATTRIBUTE_HINTS)

    @classmethod
    def of_agent(
        cls,
        settings: SessionSettings,
        conversation: Conversation | None = None,
        store: StoreProtocol | None = None,
        id: str = "",
        *,
        opens: bool = False,
    ) -> Self:
        """Return a session with the settings of an agent. With `opens`, messages are added to a saved session."""
        session = cls.__new__(cls)
        session._connections = None
        session._begin_with(settings, conversation, None if opens else store, "" if opens else id)
        if opens and store is not None:
            session._load(store, id)
        return session

    def _begin_with(
        self, settings: SessionSettings, conversation: Conversation | None, store: StoreProtocol | None, id: str
    ) -> None:
        check_session_arguments({"conversation": conversation, "store": store, "id": id})
        self.conversation = Conversation() if conversation is None else conversation
        self._settings = settings
        if text := settings.system_text:
            self.conversation.system = text
        settings.resolve()
        #: The saved messages, if the session has a store.
        self._stored: StoredMessages | None = None
        if store is not None:
            self._use_store(store, id, appends=False)
        elif id:
            raise OptionError("`id` names a saved session, which needs a store: `Session(store=Store(), id=…)`")

    @classmethod
    def open(
        cls, id: str, model: str | ModelProtocol | Fallback | None = None, *, store: StoreProtocol, **more: Any
    ) -> Self:
        """Open a saved session, to add messages to it. The other arguments are those of a session."""
        session = cls(model, **more)
        session._load(store, id)
        return session

    def _load(self, store: StoreProtocol, id: str) -> None:
        """Continue a saved session. A system text of the definition replaces the saved one."""
        self.conversation = self._use_store(store, id, appends=True).load_conversation()
        if text := self._settings.system_text:
            self.conversation.system = text

    def _use_store(self, store: StoreProtocol, id: str, *, appends: bool) -> StoredMessages:
        settings = self._settings
        stored = store.open_session(id, lambda: settings.model.name, appends=appends)
        settings.journal = self._stored = stored
        # Release the session when nobody uses it any more, at the latest at the end of the program.
        weakref.finalize(self, stored.close)
        return stored

    @property
    def id(self) -> str:
        """The id of the session in its store; empty without one, and before the first message without a name."""
        return "" if self._stored is None else self._stored.id

    @property
    def model(self) -> ModelProtocol:
        """The model of the session, or the first one of a `Fallback`. It can be replaced at any time."""
        return self._settings.model

    @model.setter
    def model(self, model: str | ModelProtocol | Fallback) -> None:
        settings, connections = self._settings, self._connections or ModelConnections()
        before = settings.chain
        settings.chain = connections.get(model)
        settings.model = settings.chain.models[0]
        try:
            settings.resolve()
        except OptionError:
            settings.chain, settings.model = before, before.models[0]
            raise
        settings.choose_model, self._connections = None, connections

    @property
    def tools(self) -> list[Tool | ProviderTool | Toolset[Deps]]:
        """The tools that the model may call, including those of the provider, and toolsets that are prepared."""
        own = [tool for name, tool in self._settings.tools.items() if name not in self._settings.substitute_names]
        return [*own, *self._settings.provided, *self._settings.prepared]

    @tools.setter
    def tools(self, tools: Iterable[Callable[..., Any] | Tool | ProviderTool | Toolset[Deps]]) -> None:
        every = sort_tools(tools)
        self._settings.tools, self._settings.prepared = every.local, every.prepared
        self._settings.provided, self._settings.substitute_names = every.provided, ()
        self._settings.resolve()

    @property
    def before_request(self) -> Sequence[BeforeRequestHook[Any]]:
        """The functions that are called with the conversation before each request."""
        return [each.function for each in self._settings.before_request]

    @before_request.setter
    def before_request(self, called: BeforeRequest[Any] | None) -> None:
        self._settings.before_request = read_request_guards(called)

    # Asking

    @overload
    def do(self, prompt: Prompt, *, returns: None = None, **options: Unpack[AskOptions[Deps, T]]) -> AIResult[T]: ...
    @overload
    def do(self, prompt: Prompt, *, returns: TypeForm[V], **options: Unpack[AskOptions[Deps, V]]) -> AIResult[V]: ...
    @overload
    def do(
        self, prompt: Prompt, *, returns: Mapping[str, Any], **options: Unpack[AskOptions[Deps, dict[str, Any]]]
    ) -> AIResult[dict[str, Any]]: ...
    def do(self, prompt: Prompt, *, returns: Any = None, **options: Any) -> AIResult[Any]:
        """Ask once: at most one set of tool calls, then the answer."""
        return run_blocking("do", self._ask("do", prompt, returns, options))

    @overload
    def vibe(self, prompt: Prompt, *, returns: None = None, **options: Unpack[AskOptions[Deps, T]]) -> AIResult[T]: ...
    @overload
    def vibe(self, prompt: Prompt, *, returns: TypeForm[V], **options: Unpack[AskOptions[Deps, V]]) -> AIResult[V]: ...
    @overload
    def vibe(
        self, prompt: Prompt, *, returns: Mapping[str, Any], **options: Unpack[AskOptions[Deps, dict[str, Any]]]
    ) -> AIResult[dict[str, Any]]: ...
    def vibe(self, prompt: Prompt, *, returns: Any = None, **options: Any) -> AIResult[Any]:
        """Ask, and let the model work with its tools until it answers."""
        return run_blocking("vibe", self._ask("vibe", prompt, returns, options))

    def chat(self, text: Prompt, **options: Unpack[AskOptions[Deps, str]]) -> AIResult[str]:
        """Send a chat message. Like `vibe`, but the value is always the text."""
        return run_blocking("chat", self._ask("chat", text, None, options))

    @overload
    async def ado(
        self, prompt: Prompt, *, returns: None = None, **options: Unpack[AskOptions[Deps, T]]
    ) -> AIResult[T]: ...
    @overload
    async def ado(
        self, prompt: Prompt, *, returns: TypeForm[V], **options: Unpack[AskOptions[Deps, V]]
    ) -> AIResult[V]: ...
    @overload
    async def ado(
        self, prompt: Prompt, *, returns: Mapping[str, Any], **options: Unpack[AskOptions[Deps, dict[str, Any]]]
    ) -> AIResult[dict[str, Any]]: ...
    async def ado(self, prompt: Prompt, *, returns: Any = None, **options: Any) -> AIResult[Any]:
        """Like `do`, but asynchronous."""
        return await self._ask("do", prompt, returns, options)

    @overload
    async def avibe(
        self, prompt: Prompt, *, returns: None = None, **options: Unpack[AskOptions[Deps, T]]
    ) -> AIResult[T]: ...
    @overload
    async def avibe(
        self, prompt: Prompt, *, returns: TypeForm[V], **options: Unpack[AskOptions[Deps, V]]
    ) -> AIResult[V]: ...
    @overload
    async def avibe(
        self, prompt: Prompt, *, returns: Mapping[str, Any], **options: Unpack[AskOptions[Deps, dict[str, Any]]]
    ) -> AIResult[dict[str, Any]]: ...
    async def avibe(self, prompt: Prompt, *, returns: Any = None, **options: Any) -> AIResult[Any]:
        """Like `vibe`, but asynchronous."""
        return await self._ask("vibe", prompt, returns, options)

    async def achat(self, text: Prompt, **options: Unpack[AskOptions[Deps, str]]) -> AIResult[str]:
        """Like `chat`, but asynchronous."""
        return await self._ask("chat", text, None, options)

    @overload
    def resume(self, *, returns: None = None, **options: Unpack[AskOptions[Deps, T]]) -> AIResult[T]: ...
    @overload
    def resume(self, *, returns: TypeForm[V], **options: Unpack[AskOptions[Deps, V]]) -> AIResult[V]: ...
    @overload
    def resume(
        self, *, returns: Mapping[str, Any], **options: Unpack[AskOptions[Deps, dict[str, Any]]]
    ) -> AIResult[dict[str, Any]]: ...
    def resume(self, *, returns: Any = None, **options: Any) -> AIResult[Any]:
        """Continue without a new prompt, from whatever the conversation is: run open calls, then ask the model.

        After a failure, after the answers of people, or in another process after `Conversation.load`.
        """
        return run_blocking("resume", self._ask("vibe", None, returns, options))

    @overload
    async def aresume(self, *, returns: None = None, **options: Unpack[AskOptions[Deps, T]]) -> AIResult[T]: ...
    @overload
    async def aresume(self, *, returns: TypeForm[V], **options: Unpack[AskOptions[Deps, V]]) -> AIResult[V]: ...
    @overload
    async def aresume(
        self, *, returns: Mapping[str, Any], **options: Unpack[AskOptions[Deps, dict[str, Any]]]
    ) -> AIResult[dict[str, Any]]: ...
    async def aresume(self, *, returns: Any = None, **options: Any) -> AIResult[Any]:
        """Like `resume`, but asynchronous."""
        return await self._ask("vibe", None, returns, options)

    @overload
    def resume_run(self, id: str, *, returns: None = None) -> AIResult[T]: ...
    @overload
    def resume_run(self, id: str, *, returns: TypeForm[V]) -> AIResult[V]: ...
    @overload
    def resume_run(self, id: str, *, returns: Mapping[str, Any]) -> AIResult[dict[str, Any]]: ...
    def resume_run(self, id: str, *, returns: Any = None) -> AIResult[Any]:
        """Resume a suspended run of the session's journal, in any process; no step is repeated.

        The conversation is the saved one; the model, the tools and the output type are the current ones.
        """
        return run_blocking("resume_run", self._resume_and_drive(id, returns))

    @overload
    async def aresume_run(self, id: str, *, returns: None = None) -> AIResult[T]: ...
    @overload
    async def aresume_run(self, id: str, *, returns: TypeForm[V]) -> AIResult[V]: ...
    @overload
    async def aresume_run(self, id: str, *, returns: Mapping[str, Any]) -> AIResult[dict[str, Any]]: ...
    async def aresume_run(self, id: str, *, returns: Any = None) -> AIResult[Any]:
        """Like `resume_run`, but asynchronous."""
        return await self._resume_and_drive(id, returns)

    def resume_in_background(self, id: str, *, returns: Any = None) -> Run[Any]:
        """Resume a run of the journal in the background and return it immediately, as `start` does."""
        loop = self._resume_loop(id, returns)
        loop.run_in_background(get_event_loop_thread().start)
        return loop.run

    async def _resume_and_drive(self, id: str, returns: Any) -> AIResult[Any]:
        return await self._resume_loop(id, returns, stream=False).drive()

    def _resume_loop(self, id: str, returns: Any, *, stream: bool = True) -> AgentLoop:
        journal = self._settings.journal
        if journal is None:
            raise NotReadyError("only what is written down can be resumed: `Session(…, journal=Journal())`")
        self.conversation, mode, prompt = journal.load_request(id)
        settings = self._settings.for_ask({}, is_own_type=returns is None)
        loop = AgentLoop(settings, self.conversation, mode, prompt, returns, stream, journal.resume(id))
        loop.begin()
        return loop

    # Watching

    @overload
    def start(
        self,
        prompt: Prompt | None = None,
        *,
        mode: RunMode = "vibe",
        returns: None = None,
        **options: Unpack[AskOptions[Deps, T]],
    ) -> Run[T]: ...
    @overload
    def start(
        self,
        prompt: Prompt | None = None,
        *,
        mode: RunMode = "vibe",
        returns: TypeForm[V],
        **options: Unpack[AskOptions[Deps, V]],
    ) -> Run[V]: ...
    @overload
    def start(
        self,
        prompt: Prompt | None = None,
        *,
        mode: RunMode = "vibe",
        returns: Mapping[str, Any],
        **options: Unpack[AskOptions[Deps, dict[str, Any]]],
    ) -> Run[dict[str, Any]]: ...
    def start(
        self, prompt: Prompt | None = None, *, mode: RunMode = "vibe", returns: Any = None, **options: Any
    ) -> Run[Any]:
        """Start a run in the background and return it immediately; without a prompt, `resume`."""
        loop = self._begin(mode, prompt, returns, options)
        loop.run_in_background(get_event_loop_thread().start)
        return loop.run

    @overload
    async def astart(
        self,
        prompt: Prompt | None = None,
        *,
        mode: RunMode = "vibe",
        returns: None = None,
        **options: Unpack[AskOptions[Deps, T]],
    ) -> Run[T]: ...
    @overload
    async def astart(
        self,
        prompt: Prompt | None = None,
        *,
        mode: RunMode = "vibe",
        returns: TypeForm[V],
        **options: Unpack[AskOptions[Deps, V]],
    ) -> Run[V]: ...
    @overload
    async def astart(
        self,
        prompt: Prompt | None = None,
        *,
        mode: RunMode = "vibe",
        returns: Mapping[str, Any],
        **options: Unpack[AskOptions[Deps, dict[str, Any]]],
    ) -> Run[dict[str, Any]]: ...
    async def astart(
        self, prompt: Prompt | None = None, *, mode: RunMode = "vibe", returns: Any = None, **options: Any
    ) -> Run[Any]:
        """Like `start`, but on the running event loop."""
        return await self._start_here(mode, prompt, returns, options)

    async def _start_here(self, mode: RunMode, prompt: Prompt | None, returns: Any, options: Any) -> Run[Any]:
        loop = self._begin(mode, prompt, returns, options)
        loop.run_in_background(partial(start_task, asyncio.get_running_loop()))
        return loop.run

    async def _ask(self, mode: RunMode, prompt: Prompt | None, returns: Any, options: Any) -> AIResult[Any]:
        return await self._begin(mode, prompt, returns, options, stream=False).drive()

    def _begin(
        self, mode: RunMode, prompt: Prompt | None, returns: Any, options: Any, *, stream: bool = True
    ) -> AgentLoop:
        is_own_type = self._settings.returns is None if mode == "chat" else returns is None
        settings = self._settings.for_ask(options, is_own_type=is_own_type)
        loop = AgentLoop(settings, self.conversation, mode, prompt, returns, stream)
        loop.begin()
        return loop

    @overload
    def stream(
        self,
        prompt: Prompt | None = None,
        *,
        mode: RunMode = "vibe",
        cancel: bool = False,
        returns: None = None,
        **options: Unpack[AskOptions[Deps, T]],
    ) -> Events[T]: ...
    @overload
    def stream(
        self,
        prompt: Prompt | None = None,
        *,
        mode: RunMode = "vibe",
        cancel: bool = False,
        returns: TypeForm[V],
        **options: Unpack[AskOptions[Deps, V]],
    ) -> Events[V]: ...
    @overload
    def stream(
        self,
        prompt: Prompt | None = None,
        *,
        mode: RunMode = "vibe",
        cancel: bool = False,
        returns: Mapping[str, Any],
        **options: Unpack[AskOptions[Deps, dict[str, Any]]],
    ) -> Events[dict[str, Any]]: ...
    def stream(
        self,
        prompt: Prompt | None = None,
        *,
        mode: RunMode = "vibe",
        cancel: bool = False,
        returns: Any = None,
        **options: Any,
    ) -> Events[Any]:
        """Start a run and iterate over its events: `with session.stream("…") as events: for event in events: …`.

        Leaving the block does not end the run, unless `cancel` is set.
        """
        check_no_running_loop("stream", "async with …astream(…)")
        loop = self._begin(mode, prompt, returns, options)
        events = Events[Any](loop.run, cancel, self._settings.get_output_type(mode, returns))
        loop.run_in_background(get_event_loop_thread().start)
        return events

    @overload
    def astream(
        self,
        prompt: Prompt | None = None,
        *,
        mode: RunMode = "vibe",
        cancel: bool = False,
        returns: None = None,
        **options: Unpack[AskOptions[Deps, T]],
    ) -> AsyncEventStream[T]: ...
    @overload
    def astream(
        self,
        prompt: Prompt | None = None,
        *,
        mode: RunMode = "vibe",
        cancel: bool = False,
        returns: TypeForm[V],
        **options: Unpack[AskOptions[Deps, V]],
    ) -> AsyncEventStream[V]: ...
    @overload
    def astream(
        self,
        prompt: Prompt | None = None,
        *,
        mode: RunMode = "vibe",
        cancel: bool = False,
        returns: Mapping[str, Any],
        **options: Unpack[AskOptions[Deps, dict[str, Any]]],
    ) -> AsyncEventStream[dict[str, Any]]: ...
    def astream(
        self,
        prompt: Prompt | None = None,
        *,
        mode: RunMode = "vibe",
        cancel: bool = False,
        returns: Any = None,
        **options: Any,
    ) -> AsyncEventStream[Any]:
        """Like `stream`, but asynchronous.

        Use it as `async with session.astream("…") as events: async for event in events: …`.
        """
        asked = self._settings.get_output_type(mode, returns)
        return AsyncEventStream(lambda: self._start_here(mode, prompt, returns, options), cancel, asked)

    # Compaction

    def compact(self, focus: str = "") -> AIResult[int]:
        """Replace the older turns by a summary that the model writes, and return how many there were.

        The first message and the last exchange stay. `focus` says what the summary is about. `run` has the usage.
        """
        return run_blocking("compact", self.acompact(focus))

    async def acompact(self, focus: str = "") -> AIResult[int]:
        """Like `compact`, but asynchronous."""
        conversation = self.conversation
        dropped = conversation.compaction(0).dropped
        if not dropped:
            raise NotReadyError("there is nothing to summarize yet: the conversation is short")
        conversation.claim(self)
        try:
            asked = build_summary_request(dropped, focus)
            summary = (await Session(self._settings.chain.choice, conversation=asked, context=None).aresume()).run
            plan = conversation.compaction(0, summary=summary.said)
            handoffs = list_handoffs(conversation)
            conversation.replace_with(conversation.compact(plan.after, summary=summary.said))
            restate_handoffs(handoffs, conversation)
        finally:
            conversation.release()
        return AIResult(len(dropped), (), summary)

    # Questions

    @property
    def policy(self) -> Policy:
        """The policy for tool calls. Its `decided` lists people's standing decisions, and `revoke` removes one."""
        return self._settings.policy

    @property
    def pending_questions(self) -> tuple[Question, ...]:
        """The unanswered questions about open calls of the conversation."""
        return list_pending_questions(self.conversation, self._settings)

    def answer(self, id: str, text: str) -> None:
        """Answer a question of a suspended run. Then call `resume`."""
        self._take(id, HumanAnswer(text), "question")

    def allow(self, id: str, *, always: bool = False) -> None:
        """Approve a call of a suspended run. `always` also covers later calls of this kind."""
        self._take(id, HumanAnswer(allowed=True, always=always), "approval")

    def deny(self, id: str, why: str = "", *, always: bool = False) -> None:
        """Deny a call of a suspended run. The model is told the reason."""
        self._take(id, HumanAnswer(why, allowed=False, always=always), "approval")

    def deliver(self, id: str, value: object = None, *, error: str = "") -> None:
        """Give the result of a call of an `external` tool, or the reason why there is none. Then call `resume`.

        The value is converted like the value that a tool returns; it may be a `Result`.
        """
        self._take(id, make_delivery(value, error), "result")

    def _take(self, id: str, said: HumanAnswer, kind: str) -> None:
        record_answer(self.conversation, self._settings, id, said, kind)

    # Closing

    def close(self) -> None:
        """Release the saved session, and close the connections of the model if this session created it."""
        if self._stored is not None:
            self._stored.close()
        if self._connections is not None:
            self._connections.close()

    async def aclose(self) -> None:
        """Like `close`, but asynchronous: close the connections that this event loop opened."""
        if self._stored is not None:
            self._stored.close()
        if self._connections is not None:
            await self._connections.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def request(self, prompt: Prompt, *, mode: RunMode = "vibe", returns: Any = None) -> bytes:
        """Return the body of the first request for a prompt. Nothing is sent and nothing changes."""
        conversation, _ = self.conversation.repair()
        return AgentLoop(self._settings, conversation, mode, prompt, returns, stream=True).request()
