"""Opening of chats: the model, the conversation, the store and the journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antiphon.chat.project_instructions import replace_own_text
from antiphon.chat.saved_chat import SavedChat
from antiphon.chat.tool_selection import NO_TOOLS, ToolRegistry, ToolSelection
from antiphon.config import default_model
from antiphon.config.default_model import LOCAL_TOOL_MODEL
from antiphon.conversation import Conversation, UserTurn
from antiphon.durable.postgres import is_postgres_url
from antiphon.effects import Limits
from antiphon.errors import ConfigurationError, NotSavedError, StoreError
from antiphon.session import Session
from antiphon.storage import ConversationEntry, Store
from antiphon.tools import ALLOW_ALL

if TYPE_CHECKING:
    from antiphon.chat.chat_journal import ChatJournal
    from antiphon.config import Configuration


_NO_KEY_REASON = "no key was found"


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Options for opening a chat. `resume_last` continues the last one of this command, `resume` a named one."""

    command: str
    model: str | None = None
    system: str | None = None
    resume_last: bool = False
    resume: str | None = None
    allow_all: bool = False
    log: bool = True
    limits: Limits | None = None
    #: Whether answers are saved in a journal, with `about` as more launch data.
    journal: bool = False
    about: dict[str, Any] = field(default_factory=dict[str, Any])
    #: The file or database of conversations and runs, if it is not the default.
    location: str | None = None
    #: Whether questions are answered in the journal, from any process.
    has_inbox: bool = False
    #: The tools to use. None means the previous ones, or the default of a new chat. The files and servers of `more`
    #: are added.
    tools: ToolSelection | None = None
    more: ToolSelection = NO_TOOLS
    #: Options of every request, such as `temperature`.
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class OpenChat:
    """An open chat, the reason for its model, and the saved metadata if it is resumed."""

    chat: SavedChat
    model_reason: str
    entry: ConversationEntry | None
    store: Store | None
    journal: ChatJournal | None


def open_chat(wishes: ChatOptions, settings: Configuration, stack: ExitStack, tell: Callable[[str], None]) -> OpenChat:
    """Start or resume a chat. The `stack` closes the store."""
    store = _open_store(wishes, stack, tell)
    entry = _find_entry(wishes, store) if store else None
    conversation = store.load(entry.id) if store and entry else Conversation()
    if wishes.system is not None:
        conversation.system = replace_own_text(conversation.system, wishes.system)
    journal = _open_journal(wishes, stack, lambda: _describe_now(talk))
    choice = default_model(settings, wishes.model, entry.models[-1] if entry and entry.models else None)
    try:
        session = Session(
            choice.model,
            configuration=settings,
            conversation=conversation,
            policy=ALLOW_ALL if wishes.allow_all else None,
            people=journal.wait_for_answer if journal is not None and wishes.has_inbox else None,
            limits=wishes.limits,
            journal=journal,
            **wishes.options,
        )
    except ConfigurationError as error:
        if choice.source == "flag":
            raise
        reason = f"`{choice.model}` comes from {_explain_model(choice.source, entry)}; `--model` names another"
        raise ConfigurationError(f"{error} ({reason})") from None
    kept = store if wishes.log else None
    talk = SavedChat(
        session,
        kept,
        wishes.command,
        tell,
        entry.id if entry and kept else "",
        journal,
        lambda: _extract_tool_choice(wishes.about),
    )
    if journal is not None and talk.id:
        talk.unfinished_run = journal.find_unfinished_run(talk.id)
    return OpenChat(talk, _explain_model(choice.source, entry), entry, kept, journal)


def choose_chat_tools(
    wishes: ChatOptions, opened: OpenChat, toolbox: ToolRegistry, otherwise: str = "none"
) -> ToolSelection:
    """Set the tools of a chat, and return the selection. Tools that no longer exist are reported."""
    is_kept = opened.entry is not None and wishes.tools is None
    chosen = toolbox.keep_available(_find_previous_tools(opened)) if is_kept else ToolSelection(otherwise)
    chosen = (chosen if wishes.tools is None else wishes.tools).add_sources(wishes.more)
    session = opened.chat.session
    session.tools = toolbox.load_tools(chosen)
    if opened.model_reason == _NO_KEY_REASON and session.tools:
        # No model was chosen, and the smallest local one is bad at tools.
        session.model = LOCAL_TOOL_MODEL
    there = {*(tool.name for tool in session.tools), "read_result"}
    specs = session.conversation.tools if is_kept else ()
    if lost := [spec.name for spec in specs if spec.name not in there and not spec.is_provider_defined]:
        toolbox.tell(f"tools of this conversation that are no longer available: {', '.join(lost)}")
    return chosen


def _find_previous_tools(opened: OpenChat) -> ToolSelection:
    """Return the saved selection of tools, or the built-in tools that the conversation lists."""
    if opened.entry is not None and opened.entry.tools is not None:
        return ToolSelection.from_json(opened.entry.tools)
    from antiphon.tools.builtin import all_tools

    told = {spec.name for spec in opened.chat.conversation.tools}
    return ToolSelection(on=tuple(tool.name for tool in all_tools() if tool.name in told))


def _extract_tool_choice(about: Mapping[str, Any]) -> dict[str, Any] | None:
    return {name: about[name] for name in ToolSelection().to_json() if name in about} or None


def _open_journal(wishes: ChatOptions, stack: ExitStack, now: Callable[[], dict[str, Any]]) -> ChatJournal | None:
    if not (wishes.journal and wishes.log):
        return None
    from antiphon.chat.chat_journal import ChatJournal

    journal = ChatJournal(wishes.command, lambda: {**wishes.about, **now()}, wishes.location)
    stack.callback(journal.close)
    return journal


def _describe_now(talk: SavedChat) -> dict[str, Any]:
    """Return launch data of a run: `turn` is the place of the turn with its message, `message` its number from 1."""
    turns = talk.conversation.turns
    turn = len(turns) - bool(turns and isinstance(turns[-1], UserTurn))
    message = 1 + sum(isinstance(each, UserTurn) and bool(each.visible_parts) for each in turns[:turn])
    return {"model": talk.session.model.name, "conversation": talk.id, "turn": turn, "message": message}


def _explain_model(source: str, entry: ConversationEntry | None) -> str:
    return {
        "flag": "--model",
        "program": f"conversation {entry.id}" if entry else "",
        "project": "the project's configuration",
        "user": "your configuration",
        "environment": "ANTIPHON_MODEL",
        "key": "a key that was found",
        "local": _NO_KEY_REASON,
    }[source]


def _open_store(wishes: ChatOptions, stack: ExitStack, tell: Callable[[str], None]) -> Store | None:
    resumes = wishes.resume_last or wishes.resume is not None
    if not wishes.log and not resumes:
        return None
    try:
        return stack.enter_context(
            Store(wishes.location if wishes.location and not is_postgres_url(wishes.location) else None)
        )
    except StoreError as error:
        if resumes:
            raise
        tell(f"{error}; nothing is saved")
        return None


def _find_entry(wishes: ChatOptions, store: Store) -> ConversationEntry | None:
    if wishes.resume is not None:
        return store.find(wishes.resume)
    if not wishes.resume_last:
        return None
    found = next((each for each in store.list() if each.command == wishes.command), None)
    if found is None:
        raise NotSavedError(
            f"there is no saved `antiphon {wishes.command}` to continue; `antiphon list` lists the rest"
        )
    return found
