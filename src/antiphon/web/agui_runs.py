"""Runs of AG-UI threads: a thread is a chat, and the id of a run is the key of a message in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ag_ui.core import BaseEvent, MessagesSnapshotEvent, RunAgentInput, ToolMessage
from ag_ui.core import Tool as AguiTool

from antiphon.chat.chat import Chat
from antiphon.chat.reply import Reply
from antiphon.chat.saved_chat_run import get_journal_location
from antiphon.chat.service import ChatOptions, ChatService
from antiphon.conversation import Conversation, ToolResult, ToolSpec
from antiphon.conversation.interruption import is_last_answer_interrupted
from antiphon.durable import Store
from antiphon.errors import AntiphonError, NotSavedError, OptionError, Suspended
from antiphon.session import Cancelled, Context, ModelProtocol
from antiphon.tools import Tool, ToolContext, ToolDefinitionError, as_tools
from antiphon.tools.function_schema import FunctionSchema
from antiphon.web.agui_events import AguiEventEncoder
from antiphon.web.agui_history import (
    HistoryMismatch,
    NewMessages,
    conversation_to_agui,
    find_new_messages,
    import_thread,
)
from antiphon.web.agui_input import ThreadWishes, build_system_prompt, convert_result, convert_tool, parse_wishes

if TYPE_CHECKING:
    from antiphon.durable import EffectEntry, Journal

#: The model and the tools of a run.
Agent = tuple[ModelProtocol, str | Iterable[Callable[..., Any] | Tool]]


class AtClient(Suspended):
    """Suspends a run because the client runs the tool of a call."""


class ThreadRun:
    """An active run of a thread, and its client."""

    def __init__(self, chat: Chat, reply: Reply, encoder: AguiEventEncoder, told: Sequence[BaseEvent] = ()) -> None:
        self.told = told
        self._chat = chat
        self._reply = reply
        self._encoder = encoder

    @classmethod
    def begin(cls, journal: Journal, agent: Agent, name: str, given: RunAgentInput) -> ThreadRun:
        """Start a run with the new messages of the thread."""
        ours, unfinished = load_thread(journal, name), UnfinishedMessages(journal, name)
        if ours is None:
            conversation, new = import_thread(given.messages, build_system_prompt(given), unfinished.contains)
        else:
            conversation, new = _match(ours, given, unfinished)
            conversation.system = build_system_prompt(given) or conversation.system
        _add_results(conversation, new.results)
        wishes, key = parse_wishes(given), given.run_id
        if not new.said and not wishes.action and not conversation.ready():
            raise OptionError(f"the request has no new message or result: {conversation.ready().reason}")
        known = conversation.fork()
        chat = _open_chat(journal, agent, name, given, given.tools or (), {}, conversation)
        if wishes.action == "retry":
            known = known.fork(chat.find_place() + 1)
            snapshot = MessagesSnapshotEvent(messages=conversation_to_agui(known, name))
            return cls(chat, chat.ask_again(key=key), AguiEventEncoder(key, chat, known, 0), [snapshot])
        reply = chat.send(list(new.said), key=key) if new.said else chat.continue_answer(key=key)
        return cls(chat, reply, AguiEventEncoder(key, chat, known, 0))

    @classmethod
    def resume(
        cls, journal: Journal, agent: Agent, name: str, given: RunAgentInput, told: Sequence[BaseEvent]
    ) -> ThreadRun:
        """Resume the last message of a thread with its tools and the results of the client's tools."""
        known, entry = load_thread(journal, name) or Conversation(), journal.find(name)
        offered = [AguiTool.model_validate(each) for each in entry.begun_as.get("offered", ())]
        answers = {each.tool_call_id: convert_result(each) for each in given.messages if isinstance(each, ToolMessage)}
        chat = _open_chat(journal, agent, name, given, offered, answers, known.fork())
        message = journal.find_last_message(name)
        key, path = ("", "") if message is None else (str(message.asked.get("key", "")), message.path)
        done = [
            each
            for each in journal.iterate_effects(name)
            if each.kind == "request" and each.state == "done" and each.path.startswith(f"{path}/r")
        ]
        return cls(chat, chat.resume_run(name), AguiEventEncoder(key, chat, known, len(done)), told)

    async def happening(self, quiet: float) -> AsyncGenerator[BaseEvent | None]:
        """Yield the events of the run as they happen, and `None` after `quiet` seconds of silence."""
        events = self._reply.aevents()
        while True:
            coming = asyncio.ensure_future(anext(events))
            while not (await asyncio.wait({coming}, timeout=quiet))[0]:
                yield None
            try:
                event = coming.result()
            except StopAsyncIteration:
                return
            for each in self._encoder.take(event):
                yield each

    def end(self) -> BaseException | None:
        """Wait until everything is saved, and return the error of the run."""
        error: BaseException | None = None
        try:
            self._reply.result()
        except Suspended:
            pass
        except BaseException as raised:
            error = raised
        state = self.state
        self._chat.close()
        return None if state == "cancelled" or isinstance(error, Cancelled) else error

    def stop(self) -> None:
        """Stop the run because the client is gone."""
        self._reply.stop()
        self.end()

    @property
    def state(self) -> str:
        """The state of the saved run."""
        entry = self._chat.saved_run and self._chat.saved_run.entry
        return "done" if entry is None else entry.state

    @property
    def pending(self) -> list[str]:
        """The ids of the calls that the client must answer."""
        return [call.id for call in self._chat.conversation.open_calls]

    @property
    def encoder(self) -> AguiEventEncoder:
        """The encoder of the events, which knows the usage."""
        return self._encoder


class UnfinishedMessages:
    """The messages of the model that a thread began and did not finish."""

    def __init__(self, journal: Journal, name: str) -> None:
        self._journal = journal
        self._name = name
        self._messages: dict[str, EffectEntry] | None = None

    def contains(self, id: str) -> bool:
        """Return whether a message with this id was begun and not finished."""
        key, _, number = id.rpartition(".")
        if self._messages is None:
            self._messages = {str(each.asked.get("key")): each for each in self._journal.list_messages(self._name)}
        message = self._messages.get(key)
        if message is None or not number.isdigit():
            return False
        try:
            return self._journal.find_effect(self._name, f"{message.path}/r{number}").state != "done"
        except AntiphonError:
            return False


def load_thread(journal: Journal, name: str) -> Conversation | None:
    """Return the conversation of a thread; `None` if it is not saved."""
    with Store() if journal.is_shared else Store(journal.file.path) as store:
        try:
            return store.load(name) if store.find(name).id == name else None
        except NotSavedError:
            return None


def change_thread(journal: Journal, agent: Agent, name: str, given: RunAgentInput, wishes: ThreadWishes) -> None:
    """Undo the last message of a thread, or compact it."""
    ours = load_thread(journal, name)
    if ours is None:
        raise OptionError(f"thread {given.thread_id!r} is not saved, so there is nothing to {wishes.action}")
    with _open_chat(journal, agent, name, given, given.tools or (), {}, ours) as chat:
        if wishes.action == "undo":
            chat.undo()
        else:
            chat.compact(wishes.focus)


def find_message(journal: Journal, name: str, key: str) -> EffectEntry | None:
    """Return the message of a thread with this key."""
    return next((each for each in journal.list_messages(name) if each.asked.get("key") == key), None)


def _match(
    ours: Conversation, given: RunAgentInput, unfinished: UnfinishedMessages
) -> tuple[Conversation, NewMessages]:
    """Return the saved conversation and what is new. A client may have dropped an answer that broke off."""
    try:
        return ours, find_new_messages(given.messages, ours, unfinished.contains)
    except HistoryMismatch:
        if not is_last_answer_interrupted(ours):
            raise
        shorter = ours.fork(len(ours.turns) - 2)
        return shorter, find_new_messages(given.messages, shorter, unfinished.contains)


def _add_results(conversation: Conversation, results: Sequence[ToolResult]) -> None:
    conversation.add_tool_results(results)
    if open_calls := conversation.open_calls:
        names = ", ".join(f"{call.id!r} (`{call.name}`)" for call in open_calls)
        raise OptionError(f"no message of role `tool` answers call {names}; send a result for every call")


# The chat of a thread


def _open_chat(
    journal: Journal,
    agent: Agent,
    name: str,
    given: RunAgentInput,
    offered: Iterable[AguiTool],
    answers: Mapping[str, ToolResult],
    conversation: Conversation,
) -> Chat:
    model, tools = agent
    if other := parse_wishes(given).model:
        model = connected(other)
    named, mine = (tools, _load_bundle(tools)) if isinstance(tools, str) else ("", list(tools))
    try:
        every = as_tools([*mine, *(_make_client_tool(convert_tool(each), answers) for each in offered)])
    except (ToolDefinitionError, AntiphonError) as error:
        raise OptionError(f"`tools`: {error}") from None
    about = {"thread": given.thread_id, "tools": named, "offered": [each.model_dump() for each in offered]}
    options = ChatOptions(
        "agui",
        model,
        # A terminal can resume it only if the client brought no tools.
        kind="chat" if named and not given.tools else "agui",
        id=name,
        conversation=conversation,
        location=get_journal_location(journal),
        tools=every,
        about=about,
        is_attended=False,
        is_client_kept=True,
        # A client sends the whole thread each time; a summary would be made again for each run.
        context=Context(summarize=False),
    )
    return ChatService().open(options)


def connected(model: str | ModelProtocol | None) -> ModelProtocol:
    """Return the model; without a name, the configured one."""
    if model is not None and not isinstance(model, str):
        return model
    from antiphon.config import default_model, load_configuration
    from antiphon.providers import connect

    settings = load_configuration()
    name = model if model is not None else default_model(settings).model
    return connect(name, environment=settings.environment)


def _load_bundle(name: str) -> list[Tool]:
    if name == "none":
        return []
    from antiphon.tools.builtin import all_tools, read_only_tools

    return read_only_tools() if name == "read" else all_tools()


def _make_client_tool(spec: ToolSpec, answers: Mapping[str, ToolResult]) -> Tool:
    """Return a tool that the client runs: its calls stay open until the client answers them."""

    def answered(antiphon_context: ToolContext, **arguments: Any) -> ToolResult:
        del arguments
        result = answers.get(antiphon_context.call.id)
        if result is None:
            raise AtClient(f"`{spec.name}` is run by the client")
        return result

    arguments = FunctionSchema(spec.description, spec.parameters, {}, "antiphon_context", None)
    return Tool(spec, answered, arguments, is_transparent=True)
