"""The session: a model, its tools and an ongoing conversation."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast, overload

from antiphon.conversation import Conversation
from antiphon.effects.budget import Limits
from antiphon.effects.types import HumanAnswer
from antiphon.errors import NotReadyError, OptionError
from antiphon.session.context_window import Context, build_summary_request
from antiphon.session.events import AsyncEventStream, Events
from antiphon.session.human_input import Answers, HumanInput, Question
from antiphon.session.loop import AgentLoop, Prompt
from antiphon.session.options import check_request_options, check_session_arguments
from antiphon.session.output_spec import RunMode
from antiphon.session.pending_answers import list_pending_questions, record_answer
from antiphon.session.result import AIResult
from antiphon.session.run import Run
from antiphon.session.settings import (
    BeforeRequestHook,
    JournalProtocol,
    ModelProtocol,
    SessionSettings,
    StoredMessages,
    StoreProtocol,
)
from antiphon.session.sync_bridge import check_no_running_loop, get_event_loop_thread, start_task
from antiphon.session.typed_output import OutputStrategy
from antiphon.tools import Policy, ProviderTool, Tool
from antiphon.tools.provider_tools import split_tools
from antiphon.tools.tool import Deps

if TYPE_CHECKING:
    from antiphon.config import Configuration

T = TypeVar("T")


class Session(Generic[Deps]):
    """Asks a model, runs the tools it calls, and asks again, until there is an answer.

    `do` allows one set of tool calls, `vibe` any number within `limits`, and `chat` is one turn of a chat.
    All continue the same conversation. They return an `AIResult`, or raise an exception if the run ended
    without an answer; after that `resume` continues. `start` returns a `Run` immediately, which can be
    watched. `stream` starts a run and iterates over its events. `ado`, `avibe`, `achat`, `aresume`, `astart`
    and `astream` are the asynchronous forms.

    `model` is a name, a model created by `connect`, or any object with the same interface. Without one, the
    model of the configuration is used, as in `antiphon ask`. `tools` are functions, and tools of the provider
    such as `WebSearch`. `people` answers the questions of tools, and approves the calls for which `policy`
    requires it: a function, or a `HumanInput` that several sessions share. Without it `NeedsHuman` is raised,
    and `allow`, `deny` and `answer` give the answers before `resume`. `deps` is passed to tools in their
    `ToolContext`. With `raise_tool_bugs`, an error in a tool's own code ends the run instead of being
    reported to the model. `context` controls the compaction of a long conversation. `before_request` is
    called with the conversation before each request. `name` is shown as the asker of questions. With a `store`, each
    message is saved as a step of the session `id`. If the program is run again, the N-th message is the saved one, and
    nothing of it is repeated; `Session.open` adds messages instead.
    `configuration` provides the keys; the default is that of the current directory. `record` and `replay`
    name a file of exchanges. `options` are sent with every request.
    """

    def __init__(
        self,
        model: str | ModelProtocol | None = None,
        tools: Iterable[Callable[..., Any] | Tool | ProviderTool] = (),
        system: str = "",
        *,
        conversation: Conversation | None = None,
        policy: Policy | None = None,
        people: HumanInput | Answers | None = None,
        deps: Deps = cast(Any, None),  # noqa: B008
        limits: Limits | None = None,
        strategy: OutputStrategy | None = None,
        attempts: int = 3,
        raise_tool_bugs: bool = False,
        context: Context | None = Context(),  # noqa: B008
        before_request: BeforeRequestHook | None = None,
        name: str = "",
        journal: JournalProtocol | None = None,
        store: StoreProtocol | None = None,
        id: str = "",
        configuration: Configuration | None = None,
        record: str | PathLike[str] | None = None,
        replay: str | PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        check_session_arguments(
            {
                "system": system,
                "conversation": conversation,
                "policy": policy,
                "people": people,
                "limits": limits,
                "strategy": strategy,
                "attempts": attempts,
                "raise_tool_bugs": raise_tool_bugs,
                "context": context,
                "before_request": before_request,
                "name": name,
                "journal": journal,
                "store": store,
                "id": id,
                "record": record,
                "replay": replay,
            }
        )
        if conversation is not None and system:
            raise OptionError("a conversation has its own system text; set `conversation.system` instead of `system`")
        self.conversation = conversation if conversation is not None else Conversation(system)
        self._configuration = configuration
        check_request_options(options)
        asked = _connect_model(model, configuration, record, replay)
        #: True if the session created the model and therefore closes it.
        self._owns_model = asked is not model
        functions, provided = split_tools(tools)
        given = {tool.name: tool for tool in functions}
        self._settings = SessionSettings(
            asked,
            given,
            policy or Policy(),
            people if people is None or isinstance(people, HumanInput) else HumanInput(people),
            deps,
            limits or Limits(),
            options,
            strategy,
            attempts,
            raise_tool_bugs,
            context,
            before_request,
            name,
            journal,
            provided,
        )
        self._settings.resolve()
        #: The saved messages, if the session has a store.
        self._stored: StoredMessages | None = None
        if store is not None:
            self._use_store(store, id, appends=False)
        elif id:
            raise OptionError("`id` names a saved session, which needs a store: `Session(store=Store(), id=…)`")

    @classmethod
    def open(cls, id: str, model: str | ModelProtocol | None = None, *, store: StoreProtocol, **more: Any) -> Self:
        """Open a saved session, to add messages to it. The other arguments are those of a session."""
        session = cls(model, **more)
        session.conversation = session._use_store(store, id, appends=True).load_conversation()
        return session

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
        """The model of the session. It can be replaced at any time."""
        return self._settings.model

    @model.setter
    def model(self, model: str | ModelProtocol) -> None:
        before, self._settings.model = self._settings.model, _connect_model(model, self._configuration, None, None)
        try:
            self._settings.resolve()
        except OptionError:
            self._settings.model = before
            raise
        self._owns_model = self._settings.model is not model

    @property
    def tools(self) -> list[Tool | ProviderTool]:
        """The tools that the model may call, including those of the provider."""
        own = [tool for name, tool in self._settings.tools.items() if name not in self._settings.substitute_names]
        return [*own, *self._settings.provided]

    @tools.setter
    def tools(self, tools: Iterable[Callable[..., Any] | Tool | ProviderTool]) -> None:
        functions, provided = split_tools(tools)
        self._settings.tools = {tool.name: tool for tool in functions}
        self._settings.provided, self._settings.substitute_names = provided, ()
        self._settings.resolve()

    @property
    def before_request(self) -> BeforeRequestHook | None:
        """The function that is called with the conversation before each request, or None."""
        return self._settings.before_request

    @before_request.setter
    def before_request(self, called: BeforeRequestHook | None) -> None:
        check_session_arguments({"before_request": called})
        self._settings.before_request = called

    # Asking

    @overload
    def do(self, prompt: Prompt) -> AIResult[Any]: ...
    @overload
    def do(self, prompt: Prompt, *, returns: type[T]) -> AIResult[T]: ...
    @overload
    def do(self, prompt: Prompt, *, returns: Mapping[str, Any]) -> AIResult[dict[str, Any]]: ...
    @overload
    def do(self, prompt: Prompt, *, returns: Any = None) -> AIResult[Any]: ...
    def do(self, prompt: Prompt, *, returns: Any = None) -> AIResult[Any]:
        """Ask once: at most one set of tool calls, then the answer."""
        return _run_blocking("do", self.ado(prompt, returns=returns))

    @overload
    def vibe(self, prompt: Prompt) -> AIResult[Any]: ...
    @overload
    def vibe(self, prompt: Prompt, *, returns: type[T]) -> AIResult[T]: ...
    @overload
    def vibe(self, prompt: Prompt, *, returns: Mapping[str, Any]) -> AIResult[dict[str, Any]]: ...
    @overload
    def vibe(self, prompt: Prompt, *, returns: Any = None) -> AIResult[Any]: ...
    def vibe(self, prompt: Prompt, *, returns: Any = None) -> AIResult[Any]:
        """Ask, and let the model work with its tools until it answers."""
        return _run_blocking("vibe", self.avibe(prompt, returns=returns))

    def chat(self, text: Prompt) -> AIResult[str]:
        """Send a chat message. Like `vibe`, but the value is always the text."""
        return _run_blocking("chat", self.achat(text))

    @overload
    async def ado(self, prompt: Prompt) -> AIResult[Any]: ...
    @overload
    async def ado(self, prompt: Prompt, *, returns: type[T]) -> AIResult[T]: ...
    @overload
    async def ado(self, prompt: Prompt, *, returns: Mapping[str, Any]) -> AIResult[dict[str, Any]]: ...
    @overload
    async def ado(self, prompt: Prompt, *, returns: Any = None) -> AIResult[Any]: ...
    async def ado(self, prompt: Prompt, *, returns: Any = None) -> AIResult[Any]:
        """`do`, asynchronously."""
        return await self._begun("do", prompt, returns, stream=False).drive()

    @overload
    async def avibe(self, prompt: Prompt) -> AIResult[Any]: ...
    @overload
    async def avibe(self, prompt: Prompt, *, returns: type[T]) -> AIResult[T]: ...
    @overload
    async def avibe(self, prompt: Prompt, *, returns: Mapping[str, Any]) -> AIResult[dict[str, Any]]: ...
    @overload
    async def avibe(self, prompt: Prompt, *, returns: Any = None) -> AIResult[Any]: ...
    async def avibe(self, prompt: Prompt, *, returns: Any = None) -> AIResult[Any]:
        """`vibe`, asynchronously."""
        return await self._begun("vibe", prompt, returns, stream=False).drive()

    async def achat(self, text: Prompt) -> AIResult[str]:
        """Like `chat`, but asynchronous."""
        return await self._begun("chat", text, None, stream=False).drive()

    @overload
    def resume(self) -> AIResult[Any]: ...
    @overload
    def resume(self, *, returns: type[T]) -> AIResult[T]: ...
    @overload
    def resume(self, *, returns: Any = None) -> AIResult[Any]: ...
    def resume(self, *, returns: Any = None) -> AIResult[Any]:
        """Continue without a new prompt, from whatever the conversation is: run open calls, then ask the model.

        After a failure, after the answers of people, or in another process after `Conversation.load`.
        """
        return _run_blocking("resume", self.aresume(returns=returns))

    @overload
    async def aresume(self) -> AIResult[Any]: ...
    @overload
    async def aresume(self, *, returns: type[T]) -> AIResult[T]: ...
    @overload
    async def aresume(self, *, returns: Any = None) -> AIResult[Any]: ...
    async def aresume(self, *, returns: Any = None) -> AIResult[Any]:
        """Like `resume`, but asynchronous."""
        return await self._begun("vibe", None, returns, stream=False).drive()

    @overload
    def resume_run(self, id: str) -> AIResult[Any]: ...
    @overload
    def resume_run(self, id: str, *, returns: type[T]) -> AIResult[T]: ...
    @overload
    def resume_run(self, id: str, *, returns: Any = None) -> AIResult[Any]: ...
    def resume_run(self, id: str, *, returns: Any = None) -> AIResult[Any]:
        """Resume a suspended run of the session's journal, in any process; no step is repeated.

        The conversation is the saved one; the model, the tools and the output type are the current ones.
        """
        return _run_blocking("resume_run", self.aresume_run(id, returns=returns))

    @overload
    async def aresume_run(self, id: str) -> AIResult[Any]: ...
    @overload
    async def aresume_run(self, id: str, *, returns: type[T]) -> AIResult[T]: ...
    @overload
    async def aresume_run(self, id: str, *, returns: Any = None) -> AIResult[Any]: ...
    async def aresume_run(self, id: str, *, returns: Any = None) -> AIResult[Any]:
        """Like `resume_run`, but asynchronous."""
        return await self._resume_loop(id, returns, stream=False).drive()

    def resume_in_background(self, id: str, *, returns: Any = None) -> Run[Any]:
        """Resume a run of the journal in the background and return it immediately, as `start` does."""
        loop = self._resume_loop(id, returns)
        loop.run_in_background(get_event_loop_thread().start)
        return loop.run

    def _resume_loop(self, id: str, returns: Any, *, stream: bool = True) -> AgentLoop:
        journal = self._settings.journal
        if journal is None:
            raise NotReadyError("only what is written down can be resumed: `Session(…, journal=Journal())`")
        self.conversation, mode, prompt = journal.load_request(id)
        loop = AgentLoop(self._settings, self.conversation, mode, prompt, returns, stream, journal.resume(id))
        loop.begin()
        return loop

    # Watching

    @overload
    def start(self, prompt: Prompt | None = None, *, mode: RunMode = "vibe") -> Run[Any]: ...
    @overload
    def start(self, prompt: Prompt | None = None, *, mode: RunMode = "vibe", returns: type[T]) -> Run[T]: ...
    @overload
    def start(self, prompt: Prompt | None = None, *, mode: RunMode = "vibe", returns: Any = None) -> Run[Any]: ...
    def start(self, prompt: Prompt | None = None, *, mode: RunMode = "vibe", returns: Any = None) -> Run[Any]:
        """Start a run in the background and return it immediately; without a prompt, `resume`."""
        loop = self._begun(mode, prompt, returns)
        loop.run_in_background(get_event_loop_thread().start)
        return loop.run

    @overload
    async def astart(self, prompt: Prompt | None = None, *, mode: RunMode = "vibe") -> Run[Any]: ...
    @overload
    async def astart(self, prompt: Prompt | None = None, *, mode: RunMode = "vibe", returns: type[T]) -> Run[T]: ...
    @overload
    async def astart(
        self, prompt: Prompt | None = None, *, mode: RunMode = "vibe", returns: Any = None
    ) -> Run[Any]: ...
    async def astart(self, prompt: Prompt | None = None, *, mode: RunMode = "vibe", returns: Any = None) -> Run[Any]:
        """`start`, on the running event loop."""
        loop = self._begun(mode, prompt, returns)
        loop.run_in_background(partial(start_task, asyncio.get_running_loop()))
        return loop.run

    def _begun(self, mode: RunMode, prompt: Prompt | None, returns: Any, *, stream: bool = True) -> AgentLoop:
        loop = AgentLoop(self._settings, self.conversation, mode, prompt, returns, stream)
        loop.begin()
        return loop

    def stream(
        self, prompt: Prompt | None = None, *, mode: RunMode = "vibe", returns: Any = None, cancel: bool = False
    ) -> Events:
        """Start a run and iterate over its events: `with session.stream("…") as events: for event in events: …`.

        Leaving the block does not end the run, unless `cancel` is set.
        """
        check_no_running_loop("stream", "async with …astream(…)")
        loop = self._begun(mode, prompt, returns)
        events = Events(loop.run, cancel)
        loop.run_in_background(get_event_loop_thread().start)
        return events

    def astream(
        self, prompt: Prompt | None = None, *, mode: RunMode = "vibe", returns: Any = None, cancel: bool = False
    ) -> AsyncEventStream:
        """Like `stream`, but asynchronous.

        Use it as `async with session.astream("…") as events: async for event in events: …`.
        """
        return AsyncEventStream(lambda: self.astart(prompt, mode=mode, returns=returns), cancel)

    # Compaction

    def compact(self, focus: str = "") -> AIResult[int]:
        """Replace the older turns by a summary that the model writes, and return how many there were.

        The first message and the last exchange stay. `focus` says what the summary is about. `run` has the usage.
        """
        return _run_blocking("compact", self.acompact(focus))

    async def acompact(self, focus: str = "") -> AIResult[int]:
        """Like `compact`, but asynchronous."""
        conversation = self.conversation
        dropped = conversation.compaction(0).dropped
        if not dropped:
            raise NotReadyError("there is nothing to summarize yet: the conversation is short")
        conversation.claim(self)
        try:
            asked = build_summary_request(dropped, focus)
            summary = (await Session(self.model, conversation=asked, context=None).aresume()).run
            plan = conversation.compaction(0, summary=summary.said)
            conversation.replace_with(conversation.compact(plan.after, summary=summary.said))
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

    def _take(self, id: str, said: HumanAnswer, kind: str) -> None:
        record_answer(self.conversation, self._settings, id, said, kind)

    # Closing

    def close(self) -> None:
        """Release the saved session, and close the connections of the model if this session created it."""
        if self._stored is not None:
            self._stored.close()
        if self._owns_model and (close := getattr(self.model, "aclose", None)) is not None:
            _run_blocking("close", close())

    async def aclose(self) -> None:
        """Like `close`, but asynchronous: close the connections that this event loop opened."""
        if self._stored is not None:
            self._stored.close()
        if self._owns_model and (close := getattr(self.model, "aclose", None)) is not None:
            await close()

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


def _connect_model(
    model: str | ModelProtocol | None,
    configuration: Configuration | None,
    record: str | PathLike[str] | None,
    replay: str | PathLike[str] | None,
) -> ModelProtocol:
    if model is None or isinstance(model, str):
        from antiphon.config import default_model, load_configuration
        from antiphon.providers import connect

        configuration = configuration or load_configuration()
        name = default_model(configuration).model if model in (None, "default") else model
        return connect(name, record=record, replay=replay, environment=configuration.environment)
    if record is not None or replay is not None:
        raise OptionError("`record` and `replay` go with a model's name; for a model, give them to its `connect`")
    return model


def _run_blocking(name: str, work: Coroutine[Any, Any, T]) -> T:
    try:
        check_no_running_loop(name)
    except NotReadyError:
        work.close()
        raise
    return get_event_loop_thread().run(work)
