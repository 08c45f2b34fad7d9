"""Runs of AG-UI threads: a session on the saved conversation, journaled so that it can wait for people."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from ag_ui.core import BaseEvent, RunAgentInput, ToolMessage
from ag_ui.core import Tool as AguiTool

from antiphon.conversation import AssistantTurn, Conversation, ToolResult, ToolSpec, Turn, UserPart, UserTurn
from antiphon.durable.turn_history import session_request_to_json
from antiphon.errors import AntiphonError, NotSavedError, OptionError, Suspended
from antiphon.session import (
    Cancelled,
    Compacted,
    Context,
    Event,
    ModelProtocol,
    Run,
    RunEnded,
    RunWaits,
    Session,
    current_run,
)
from antiphon.storage import Store
from antiphon.storage.steps import count_done_requests, find_step
from antiphon.tools import Tool, ToolContext, ToolDefinitionError, as_tools
from antiphon.tools.function_schema import FunctionSchema
from antiphon.web.agui_events import AguiEventEncoder
from antiphon.web.agui_history import find_new_messages, import_thread
from antiphon.web.agui_input import build_system_prompt, convert_result, convert_tool

if TYPE_CHECKING:
    from antiphon.durable import ActiveRun, Journal

#: The model and the tools of a run.
Agent = tuple[ModelProtocol, str | Iterable[Callable[..., Any] | Tool]]
#: How long the end of a run waits until the journal is written, in seconds.
_PATIENCE = 60.0


class AtClient(Suspended):
    """Suspends a run because the client runs the tool of a call."""


class _Heard:
    """The events of a run. Subscribes before the first request, because text deltas are sent once."""

    def __init__(self) -> None:
        self.events: deque[Event] = deque()
        self.wake: Callable[[], object] = lambda: None
        #: Called with each event, in the thread of the run.
        self.noted: Callable[[Event], object] = lambda _: None
        self._lock = threading.Lock()
        self._listens = False

    def before_request(self, conversation: Conversation) -> None:
        del conversation
        if (run := current_run()) is not None:
            self.listen(run)

    def listen(self, run: Run[Any]) -> None:
        with self._lock:
            if not self._listens:
                self._listens = True
                run.subscribe(self._put)

    def _put(self, event: Event) -> None:
        self.noted(event)
        self.events.append(event)
        # The event loop of a disconnected client is closed.
        with suppress(RuntimeError):
            self.wake()


class Work:
    """An active run and its client."""

    def __init__(
        self, journal: Journal, name: str, kept: _Keeps, session: Session, known: Conversation, id: str
    ) -> None:
        self._journal = journal
        self._name = name
        self._kept = kept
        self._session = session
        self._known = known
        self.id = id
        kept.heard.noted = self._shortened
        #: The conversation before it was compacted, and the number of turns after that.
        self._whole: tuple[Conversation, int] | None = None
        self.told: list[BaseEvent] = []

    @classmethod
    def begun(cls, journal: Journal, agent: Agent, name: str, given: RunAgentInput) -> Work:
        """Start a run with the new messages of the thread."""
        ours, is_unfinished = loaded(journal, name), partial(_is_unfinished, journal)
        if ours is None:
            conversation, new = import_thread(given.messages, build_system_prompt(given), is_unfinished)
        else:
            conversation, new = ours, find_new_messages(given.messages, ours, is_unfinished)
            conversation.system = build_system_prompt(given) or conversation.system
        _answer(conversation, new.results)
        if not new.said and not conversation.ready():
            raise OptionError(f"the request has no new message or result: {conversation.ready().reason}")
        known = conversation.fork()
        kept = _Keeps(journal, name, given, agent[1] if isinstance(agent[1], str) else "")
        session = _session(agent, kept, given.tools or (), {}, conversation)
        work = cls(journal, name, kept, session, known, given.run_id)
        work._watch(session.start(list(new.said) or None, mode="chat"), 0)
        return work

    @classmethod
    def resumed(
        cls, journal: Journal, agent: Agent, name: str, given: RunAgentInput, id: str, told: list[BaseEvent]
    ) -> Work:
        """Resume a suspended run with its tools and the results of the client's tools."""
        known = loaded(journal, name) or Conversation()
        about = journal.find(id).begun_as
        offered = [AguiTool.model_validate(each) for each in about.get("offered", ())]
        answers = {each.tool_call_id: convert_result(each) for each in given.messages if isinstance(each, ToolMessage)}
        kept = _Keeps(journal, name, given, "")
        session = _session(agent, kept, offered, answers, None)
        work = cls(journal, name, kept, session, known, id)
        work.told = told
        work._watch(session.resume_in_background(id), count_done_requests(journal.database, id, "1/r"))
        return work

    def _watch(self, run: Run[Any], replayed: int) -> None:
        self._run = run
        self.telling = AguiEventEncoder(run.id, self._session.conversation, self._known, replayed)
        self._kept.heard.listen(run)

    def _shortened(self, event: Event) -> None:
        if isinstance(event.body, Compacted) and event.run == self.id:
            self._whole = self._grown(event.body.before), len(self._session.conversation.turns)

    async def happening(self, quiet: float) -> AsyncGenerator[BaseEvent | None]:
        """Yield the events of the run as they happen, and `None` after `quiet` seconds of silence."""
        more = asyncio.Event()
        heard = self._kept.heard
        heard.wake = partial(asyncio.get_running_loop().call_soon_threadsafe, more.set)
        while True:
            while heard.events:
                event = heard.events.popleft()
                for each in self.telling.take(event):
                    yield each
                if event.run == self.id and isinstance(event.body, RunEnded | RunWaits):
                    return
            more.clear()
            if heard.events:
                continue
            try:
                await asyncio.wait_for(more.wait(), quiet)
            except TimeoutError:
                yield None

    # The end

    def end(self) -> BaseException | None:
        """Wait until the journal is written, save the conversation, and return the error of the run."""
        error: BaseException | None = None
        try:
            self._run.wait()
        except Suspended:
            pass
        except BaseException as raised:
            error = raised
        self._kept.over.wait(_PATIENCE)
        if error is None or self._has_answered():
            self._save()
        if self.state == "cancelled" or isinstance(error, Cancelled):
            return None
        return error

    def _has_answered(self) -> bool:
        """Return whether the model has answered; otherwise the client sends the message again."""
        turns = self._session.conversation.turns[len(self._known.turns) :]
        return self._whole is not None or any(isinstance(turn, AssistantTurn) for turn in turns)

    def stop(self) -> None:
        """Cancel the run because the client is gone."""
        self._kept.is_stopped = True
        self._run.cancel()
        self.end()

    @cached_property
    def state(self) -> str:
        """The state of the run in the journal."""
        return self._journal.find(self.id).state

    @property
    def pending(self) -> list[str]:
        """The ids of the calls that the client must answer."""
        return [call.id for call in self._session.conversation.open_calls]

    def _save(self) -> None:
        conversation = self._session.conversation
        if self._whole is not None:
            conversation = self._grown(conversation)
        with _store(self._journal) as store:
            store.save(
                conversation, id=self._name, is_new=True, model=self._session.model.name, command="agui",
                usage=self._run.usage, cost=self._run.cost,
            )  # fmt: skip

    def _grown(self, shorter: Conversation) -> Conversation:
        """Return the full conversation: compaction is for the model, the client keeps all messages."""
        if self._whole is None:
            return shorter
        before, count = self._whole
        whole = before.fork()
        for turn in shorter.turns[count:]:
            _add(whole, turn)
        for id, question in shorter.questions.items():
            whole.ask(id, question)
        return whole


def loaded(journal: Journal, name: str) -> Conversation | None:
    """Return the conversation of a thread; `None` if it is not saved."""
    with _store(journal) as store:
        try:
            return store.load(name) if store.find(name).id == name else None
        except NotSavedError:
            return None


def _store(journal: Journal) -> Store:
    return Store(journal.location)


def _add(whole: Conversation, turn: Turn) -> None:
    if isinstance(turn, UserTurn):
        whole.add_user(turn.parts)
    else:
        whole.add_reply(turn.parts)
        whole.add_tool_results(turn.results)


def _answer(conversation: Conversation, results: Sequence[ToolResult]) -> None:
    conversation.add_tool_results(results)
    if open_calls := conversation.open_calls:
        names = ", ".join(f"{call.id!r} (`{call.name}`)" for call in open_calls)
        raise OptionError(f"no message of role `tool` answers call {names}; send a result for every call")


def _is_unfinished(journal: Journal, message: str) -> bool:
    """Return whether a message belongs to a request of ours that did not finish."""
    run, _, number = message.rpartition(".")
    request = find_step(journal.database, run, f"1/r{number}")
    return request is not None and request.state != "done"


# The session


def _session(
    agent: Agent,
    kept: _Keeps,
    offered: Iterable[AguiTool],
    answers: Mapping[str, ToolResult],
    conversation: Conversation | None,
) -> Session:
    model, tools = agent
    mine = _named(tools) if isinstance(tools, str) else list(tools)
    try:
        theirs = [_at_client(convert_tool(each), answers) for each in offered]
        every = as_tools([*mine, *theirs])
    except (ToolDefinitionError, AntiphonError) as error:
        raise OptionError(f"`tools`: {error}") from None
    # A client sends the whole thread each time; a summary would be made again for each run.
    context = Context(summarize=False)
    kept.model = model.name
    return Session(
        model, every, conversation=conversation, journal=kept, context=context,
        before_request=kept.heard.before_request,
    )  # fmt: skip


def connected(model: str | ModelProtocol | None) -> ModelProtocol:
    """Return the model; without a name, the configured one."""
    if model is not None and not isinstance(model, str):
        return model
    from antiphon.config import default_model, load_configuration
    from antiphon.providers import connect

    settings = load_configuration()
    name = model if model is not None else default_model(settings).model
    return connect(name, environment=settings.environment)


def _named(name: str) -> list[Tool]:
    if name == "none":
        return []
    from antiphon.tools.builtin import all_tools, read_only_tools

    return read_only_tools() if name == "read" else all_tools()


def _at_client(spec: ToolSpec, answers: Mapping[str, ToolResult]) -> Tool:
    """Return a tool that the client runs: its calls stay open until the client answers them."""

    def answered(antiphon_context: ToolContext, **arguments: Any) -> ToolResult:
        del arguments
        result = answers.get(antiphon_context.call.id)
        if result is None:
            raise AtClient(f"`{spec.name}` is run by the client")
        return result

    arguments = FunctionSchema(spec.description, spec.parameters, {}, "antiphon_context", None)
    return Tool(spec, answered, arguments, is_transparent=True)


@dataclass(slots=True)
class _Keeps:
    """Journal of a session whose runs have the ids that the client gave them."""

    journal: Journal
    name: str
    given: RunAgentInput
    tools: str
    model: str = ""
    heard: _Heard = field(default_factory=_Heard)
    over: threading.Event = field(default_factory=threading.Event)
    is_stopped: bool = False

    def begin_request(
        self, conversation: Conversation, mode: str, prompt: Sequence[UserPart] | None, title: str
    ) -> _Left:
        about = {
            "conversation": self.name, "thread": self.given.thread_id, "directory": os.getcwd(), "tools": self.tools,
            "model": self.model,
            "offered": [each.model_dump() for each in self.given.tools or ()],
        }  # fmt: skip
        key = self.journal.save_turns(conversation.turns)
        begun_as = {**session_request_to_json(conversation, mode, prompt), **about}
        # A terminal can resume it only if the client brought no tools.
        kind = "chat" if self.tools and not self.given.tools else "agui"
        return _Left(self, self.journal.begin(kind, title, begun_as, id=self.given.run_id, said=key))

    def resume(self, id: str) -> _Left:
        return _Left(self, self.journal.resume(id))

    def load_request(self, id: str) -> tuple[Conversation, Any, Any]:
        return self.journal.load_request(id)


class _Left:
    """A journal run that is finished when it only waits for tools of the client, or when the client is gone."""

    def __init__(self, keeps: _Keeps, running: ActiveRun) -> None:
        self._keeps = keeps
        self._running = running

    @property
    def id(self) -> str:
        return self._running.id

    @property
    def middleware(self) -> Any:
        return self._running.middleware

    def finish(self, state: str, ending: Mapping[str, Any] | None = None) -> None:
        try:
            if self._keeps.is_stopped:
                state = "cancelled"
            elif state == "waiting" and not self._running.journal.list_questions(self.id, 1):
                state, ending = "done", {"outcome": "done", "value": None}
            self._running.finish(state, ending)
        finally:
            self._keeps.over.set()
