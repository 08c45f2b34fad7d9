"""The chat service: it opens chats, new ones and saved ones, for the terminal, the page, AG-UI and Python."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from antiphon.chat.chat import Chat
from antiphon.chat.project_instructions import replace_own_text
from antiphon.chat.tool_selection import NO_TOOLS, ToolRegistry, ToolSelection
from antiphon.config import default_model
from antiphon.conversation import Conversation
from antiphon.durable import Store
from antiphon.durable.run_owner import may_owner_be_alive
from antiphon.effects import Limits
from antiphon.errors import ConfigurationError, NotSavedError
from antiphon.session import Context, ModelProtocol, Session
from antiphon.storage import ConversationEntry
from antiphon.tools import ALLOW_ALL, Tool

if TYPE_CHECKING:
    from antiphon.chat.saved_chat_run import ChatRun
    from antiphon.config import Configuration

#: The most idle chats that stay open.
_MAX_OPEN = 20


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Options for opening a chat. `resume_last` continues the last one of this command, `resume` a named one."""

    command: str = "chat"
    model: str | ModelProtocol | None = None
    system: str | None = None
    resume_last: bool = False
    resume: str | None = None
    allow_all: bool = False
    log: bool = True
    limits: Limits | None = None
    #: Whether answers are saved in a journal, with `about` as more launch data.
    journal: bool = True
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])
    #: The id and the conversation of a chat whose front keeps its history itself, and sends it with each message. What
    #: it said stays, also without an answer, and is saved whole.
    id: str = ""
    conversation: Conversation | None = None
    is_client_kept: bool = False
    #: The kind of its run, if it is not the command.
    kind: str = ""
    context: Context | None = Context()  # noqa: RUF009
    #: Continue in a copy, with the first `fork_at` turns or all.
    fork: bool = False
    fork_at: int | None = None
    #: The file or database of conversations and runs, if it is not the default.
    location: str | None = None
    #: Whether questions are answered in the journal, from any process.
    has_inbox: bool = False
    #: Whether those who follow the events of a reply answer its questions. Otherwise it ends at a question.
    is_attended: bool = True
    #: Whether no other process can use the chat until it is closed, or only while it answers.
    is_held: bool = False
    #: The tools to use. None means the previous ones, or `default_tools` in a new chat. The files and servers of
    #: `more` are added. Functions are used as they are.
    tools: ToolSelection | Iterable[Callable[..., Any] | Tool] | None = None
    more: ToolSelection = NO_TOOLS
    default_tools: str = "none"
    #: Options of every request, such as `temperature`.
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


class ChatService:
    """Opens chats. `configure` returns the configuration; the default is that of the current directory.

    `tell` receives notices for the user.
    """

    def __init__(
        self,
        configure: Callable[[], Configuration] | None = None,
        *,
        tell: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._configure = configure or _load_configuration
        self._tell = tell
        self._open: dict[str, Chat] = {}
        self._lock = threading.Lock()

    def open(self, options: ChatOptions) -> Chat:
        """Open a new chat, or continue a saved one."""
        with ExitStack() as stack:
            chat = self._open_chat(options, stack)
            stack.pop_all()
        return chat

    def close(self) -> None:
        """Close the chats that are kept open."""
        while self._open:
            self._open.popitem()[1].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Chats that stay open, for servers

    @property
    def kept(self) -> Mapping[str, Chat]:
        """The chats that are kept open, by name."""
        return self._open

    def find(self, name: str) -> Chat | None:
        """Return a chat that is kept open."""
        with self._lock:
            chat = self._open.get(name)
            if chat is None or chat.name != name:
                return None
            self._open[name] = self._open.pop(name)
            return chat

    def drop(self, name: str) -> None:
        """Close a chat, if it is kept open."""
        with self._lock:
            chat = self._open.pop(name, None)
        if chat is not None:
            chat.close()

    def keep(self, chat: Chat) -> Chat:
        """Keep a chat open, and close the idle ones that were used least recently.

        If the same chat is open already, return that one and close this.
        """
        with self._lock:
            there = self._open.get(chat.name)
            if there is not None and there is not chat and there.name == chat.name:
                chat.close()
                return there
            self._open[chat.name] = chat
            idle = [name for name, each in self._open.items() if each.is_idle]
            for name in idle[: max(0, len(self._open) - _MAX_OPEN)]:
                self._open.pop(name).close()
        return chat

    # Opening

    def _open_chat(self, options: ChatOptions, stack: ExitStack) -> Chat:
        settings = self._configure()
        store = _open_store(options, stack)
        entry = _find_entry(options, store) if store else None
        run = _make_run(options, lambda: {**options.about, **chat.launch_data}) if store else None
        if store is not None and entry is not None:
            entry = self._fork_if_wanted(options, store, entry, run)
        conversation = options.conversation or (store.load(entry.id) if store and entry else Conversation())
        if options.system is not None:
            conversation.system = replace_own_text(conversation.system, options.system)
        saved_run = run if options.journal and options.log else None
        session, reason = _make_session(options, settings, entry, conversation, saved_run)
        toolbox = ToolRegistry(settings, stack, lambda note: chat.tell(note))
        kept = store if options.log else None
        chat = Chat(
            session,
            options.command,
            toolbox,
            store=kept,
            saved_run=saved_run,
            entry=entry,
            model_reason=reason,
            tell=self._tell,
            stack=stack,
        )
        chat.is_attended, chat.is_client_kept = options.is_attended, options.is_client_kept
        if saved_run is not None:
            saved_run.is_client_kept = options.is_client_kept
        if options.tools is None or isinstance(options.tools, ToolSelection):
            chat.tools, chat.are_tools_kept = _choose_tools(options, entry, conversation)
        if saved_run is not None and options.is_held:
            saved_run.is_held = True
            saved_run.hold()
            # Another process may have sent messages since the conversation was loaded.
            chat.look()
        return chat

    def _fork_if_wanted(
        self, options: ChatOptions, store: Store, entry: ConversationEntry, run: ChatRun | None
    ) -> ConversationEntry:
        """Return a copy of a conversation, if that is wanted or another process uses it during an `ask`."""
        if options.fork:
            copy = store.find(store.fork(entry.id, options.fork_at))
            if options.fork_at is None:
                self._tell(f"continuing in the copy {copy.id}; {entry.id} is unchanged")
            return copy
        if options.command == "ask" and run is not None and run.journal.has_run(entry.id):
            owner = run.journal.find(entry.id).owner
            if owner and may_owner_be_alive(owner):
                copy = store.find(store.fork(entry.id))
                self._tell(f"{entry.id} is in use by another process, so this continues in the copy {copy.id}")
                return copy
        return entry


def _load_configuration() -> Configuration:
    from antiphon.config import load_configuration

    return load_configuration()


def _make_session(
    options: ChatOptions,
    settings: Configuration,
    entry: ConversationEntry | None,
    conversation: Conversation,
    run: ChatRun | None,
) -> tuple[Session, str]:
    """Return the session of a chat, and the reason for its model."""
    functions = () if options.tools is None or isinstance(options.tools, ToolSelection) else options.tools
    model, reason, source = options.model, "", "flag"
    if model is None or isinstance(model, str):
        choice = default_model(settings, model, entry.models[-1] if entry and entry.models else None)
        model, source, reason = choice.model, choice.source, _explain_model(choice.source, entry)
    try:
        session = Session(
            model,
            functions,
            configuration=settings,
            conversation=conversation,
            policy=ALLOW_ALL if options.allow_all else None,
            people=run.wait_for_answer if run is not None and options.has_inbox else None,
            limits=options.limits,
            context=options.context,
            journal=run,
            **options.options,
        )
    except ConfigurationError as error:
        if source == "flag":
            raise
        raise ConfigurationError(f"{error} (`{model}` comes from {reason}; `--model` names another)") from None
    return session, reason


def _choose_tools(
    options: ChatOptions, entry: ConversationEntry | None, conversation: Conversation
) -> tuple[ToolSelection, bool]:
    """Return the selection of tools, and whether it is that of the saved conversation."""
    is_kept = entry is not None and options.tools is None
    if isinstance(options.tools, ToolSelection):
        chosen = options.tools
    elif entry is None:
        chosen = ToolSelection(options.default_tools)
    elif entry.tools is not None:
        chosen = ToolSelection.from_json(entry.tools)
    else:
        from antiphon.tools.builtin import all_tools

        told = {spec.name for spec in conversation.tools}
        chosen = ToolSelection(on=tuple(tool.name for tool in all_tools() if tool.name in told))
    return chosen.add_sources(options.more), is_kept


def _make_run(options: ChatOptions, about: Callable[[], Mapping[str, Any]]) -> ChatRun:
    from antiphon.chat.saved_chat_run import ChatRun

    return ChatRun(options.kind or options.command, about, options.location, id=options.id)


def _explain_model(source: str, entry: ConversationEntry | None) -> str:
    return {
        "flag": "--model",
        "program": f"conversation {entry.id}" if entry else "",
        "project": "the project's configuration",
        "user": "your configuration",
        "environment": "ANTIPHON_MODEL",
        "key": "a key that was found",
        "local": Chat.NO_KEY_REASON,
    }[source]


def _open_store(options: ChatOptions, stack: ExitStack) -> Store | None:
    resumes = options.resume_last or options.resume is not None
    if not options.log and not resumes:
        return None
    store = stack.enter_context(Store(options.location))
    if options.log and store.is_saving:
        store.check_writable()
    return store


def _find_entry(options: ChatOptions, store: Store) -> ConversationEntry | None:
    if options.resume is not None:
        return store.find(options.resume)
    if options.id:
        with suppress(NotSavedError):
            found = store.find(options.id)
            return found if found.id == options.id else None
    if not options.resume_last:
        return None
    found = next((each for each in store.list() if each.command == options.command), None)
    if found is None:
        raise NotSavedError(
            f"there is no saved `antiphon {options.command}` to continue; `antiphon list` lists the rest"
        )
    return found
