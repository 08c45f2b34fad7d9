"""How a talk begins: which model, which conversation, and whether it is saved."""

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
from antiphon.errors import ConfigurationError, NotSavedError, StoreError
from antiphon.session import Limits, Session
from antiphon.storage import ConversationEntry, Store
from antiphon.tools import ALLOW_ALL

if TYPE_CHECKING:
    from antiphon.chat.chat_journal import ChatJournal
    from antiphon.config import Configuration


_NO_KEY_REASON = "no key was found"


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """What is said of a talk to open. `go_on` is with the last one of this command, `resume` with a named one."""

    command: str
    model: str | None = None
    system: str | None = None
    resume_last: bool = False
    resume: str | None = None
    allow_all: bool = False
    log: bool = True
    limits: Limits | None = None
    #: Whether answers can be gone on with; what more must be known to do so is `about`.
    journal: bool = False
    about: dict[str, Any] = field(default_factory=dict[str, Any])
    #: Where conversations and runs are kept, if that is not the user's own file.
    location: str | None = None
    #: Whether people are asked by way of the journal: whoever looks at it answers.
    has_inbox: bool = False
    #: The tools to use and no others; without them it is those of before, or what a new talk has by itself. The files
    #: and servers of `more` come to them.
    tools: ToolSelection | None = None
    more: ToolSelection = NO_TOOLS
    #: What goes along with every request, such as `temperature`.
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class OpenChat:
    """A talk, why it has this model, and what was known of the conversation if it is resumed."""

    chat: SavedChat
    model_reason: str
    entry: ConversationEntry | None
    store: Store | None
    journal: ChatJournal | None


def open_chat(wishes: ChatOptions, settings: Configuration, stack: ExitStack, tell: Callable[[str], None]) -> OpenChat:
    """Begin or resume a talk; the store is closed when the `stack` is left."""
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
    """Give a talk its tools, and say how they were chosen. Of those it had, the ones that are gone are told."""
    is_kept = opened.entry is not None and wishes.tools is None
    chosen = toolbox.keep_available(_find_previous_tools(opened)) if is_kept else ToolSelection(otherwise)
    chosen = (chosen if wishes.tools is None else wishes.tools).add_sources(wishes.more)
    session = opened.chat.session
    session.tools = toolbox.load_tools(chosen)
    if opened.model_reason == _NO_KEY_REASON and session.tools:
        # Nobody chose a model, and the smallest is no good at tools.
        session.model = LOCAL_TOOL_MODEL
    there = {*(tool.name for tool in session.tools), "read_result"}
    specs = session.conversation.tools if is_kept else ()
    if lost := [spec.name for spec in specs if spec.name not in there and not spec.is_provider_defined]:
        toolbox.tell(f"tools of this conversation that are no longer to be had: {', '.join(lost)}")
    return chosen


def _find_previous_tools(opened: OpenChat) -> ToolSelection:
    """What a conversation was had with; where nobody wrote that down, the built-in ones of those the model was told."""
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
    """What a run is begun with: `turn` is the number of the turn in which its message is said."""
    turns = talk.conversation.turns
    turn = len(turns) - bool(turns and isinstance(turns[-1], UserTurn))
    return {"model": talk.session.model.name, "conversation": talk.id, "turn": turn}


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
            f"there is no saved `antiphon {wishes.command}` to continue; `antiphon logs` lists the rest"
        )
    return found
