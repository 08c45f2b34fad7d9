"""How a talk begins: which model, which conversation, and whether it is saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antiphon.chat.instructions import with_own_part
from antiphon.chat.toolbox import NOTHING, Chosen, Toolbox
from antiphon.config import default_model
from antiphon.config.default_model import LOCAL_TOOL_MODEL
from antiphon.conversation import Conversation, UserTurn
from antiphon.durable.postgres import is_url
from antiphon.errors import ConfigurationError, NotSavedError, StoreError
from antiphon.session import Limits, Session
from antiphon.storage import Entry, Store
from antiphon.storage.talk import Talk
from antiphon.tools import ALLOW_ALL

if TYPE_CHECKING:
    from antiphon.chat.keeping import TalkJournal
    from antiphon.config import Configuration


_UNCHOSEN = "no key was found"


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is said of a talk to open. `go_on` is with the last one of this command, `resume` with a named one."""

    command: str
    model: str | None = None
    system: str | None = None
    go_on: bool = False
    resume: str | None = None
    allow_all: bool = False
    log: bool = True
    limits: Limits | None = None
    #: Whether answers can be gone on with; what more must be known to do so is `about`.
    journal: bool = False
    about: dict[str, Any] = field(default_factory=dict[str, Any])
    #: Where conversations and runs are kept, if that is not the user's own file.
    place: str | None = None
    #: Whether people are asked by way of the journal: whoever looks at it answers.
    has_inbox: bool = False
    #: The tools to use and no others; without them it is those of before, or what a new talk has by itself. The files
    #: and servers of `more` come to them.
    tools: Chosen | None = None
    more: Chosen = NOTHING
    #: What goes along with every request, such as `temperature`.
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Opened:
    """A talk, why it has this model, and what was known of the conversation if it is resumed."""

    talk: Talk
    why: str
    entry: Entry | None
    store: Store | None
    journal: TalkJournal | None


def open_talk(wishes: Wishes, settings: Configuration, stack: ExitStack, tell: Callable[[str], None]) -> Opened:
    """Begin or resume a talk; the store is closed when the `stack` is left."""
    store = _store(wishes, stack, tell)
    entry = _entry(wishes, store) if store else None
    conversation = store.load(entry.id) if store and entry else Conversation()
    if wishes.system is not None:
        conversation.system = with_own_part(conversation.system, wishes.system)
    journal = _journal(wishes, stack, lambda: _now(talk))
    choice = default_model(settings, wishes.model, entry.models[-1] if entry and entry.models else None)
    try:
        session = Session(
            choice.model,
            configuration=settings,
            conversation=conversation,
            policy=ALLOW_ALL if wishes.allow_all else None,
            people=journal.said if journal is not None and wishes.has_inbox else None,
            limits=wishes.limits,
            journal=journal,
            **wishes.options,
        )
    except ConfigurationError as error:
        if choice.source == "flag":
            raise
        reason = f"`{choice.model}` comes from {_reason(choice.source, entry)}; `--model` names another"
        raise ConfigurationError(f"{error} ({reason})") from None
    kept = store if wishes.log else None
    talk = Talk(
        session, kept, wishes.command, tell, entry.id if entry and kept else "", journal, lambda: _tools(wishes.about)
    )
    if journal is not None and talk.id:
        talk.unfinished = journal.unfinished(talk.id)
    return Opened(talk, _reason(choice.source, entry), entry, kept, journal)


def choose_tools(wishes: Wishes, opened: Opened, toolbox: Toolbox, otherwise: str = "none") -> Chosen:
    """Give a talk its tools, and say how they were chosen. Of those it had, the ones that are gone are told."""
    is_kept = opened.entry is not None and wishes.tools is None
    chosen = toolbox.still(_before(opened)) if is_kept else Chosen(otherwise)
    chosen = (chosen if wishes.tools is None else wishes.tools).and_named(wishes.more)
    session = opened.talk.session
    session.tools = toolbox.tools(chosen)
    if opened.why == _UNCHOSEN and session.tools:
        # Nobody chose a model, and the smallest is no good at tools.
        session.model = LOCAL_TOOL_MODEL
    there = {*(tool.name for tool in session.tools), "read_result"}
    specs = session.conversation.tools if is_kept else ()
    if lost := [spec.name for spec in specs if spec.name not in there and not spec.is_provider_defined]:
        toolbox.tell(f"tools of this conversation that are no longer to be had: {', '.join(lost)}")
    return chosen


def _before(opened: Opened) -> Chosen:
    """What a conversation was had with; where nobody wrote that down, the built-in ones of those the model was told."""
    if opened.entry is not None and opened.entry.tools is not None:
        return Chosen.read(opened.entry.tools)
    from antiphon.tools.builtin import all_tools

    told = {spec.name for spec in opened.talk.conversation.tools}
    return Chosen(on=tuple(tool.name for tool in all_tools() if tool.name in told))


def _tools(about: Mapping[str, Any]) -> dict[str, Any] | None:
    return {name: about[name] for name in Chosen().to_json() if name in about} or None


def _journal(wishes: Wishes, stack: ExitStack, now: Callable[[], dict[str, Any]]) -> TalkJournal | None:
    if not (wishes.journal and wishes.log):
        return None
    from antiphon.chat.keeping import TalkJournal

    journal = TalkJournal(wishes.command, lambda: {**wishes.about, **now()}, wishes.place)
    stack.callback(journal.close)
    return journal


def _now(talk: Talk) -> dict[str, Any]:
    """What a run is begun with: `turn` is the number of the turn in which its message is said."""
    turns = talk.conversation.turns
    turn = len(turns) - bool(turns and isinstance(turns[-1], UserTurn))
    return {"model": talk.session.model.name, "conversation": talk.id, "turn": turn}


def _reason(source: str, entry: Entry | None) -> str:
    return {
        "flag": "--model",
        "program": f"conversation {entry.id}" if entry else "",
        "project": "the project's configuration",
        "user": "your configuration",
        "environment": "ANTIPHON_MODEL",
        "key": "a key that was found",
        "local": _UNCHOSEN,
    }[source]


def _store(wishes: Wishes, stack: ExitStack, tell: Callable[[str], None]) -> Store | None:
    resumes = wishes.go_on or wishes.resume is not None
    if not wishes.log and not resumes:
        return None
    try:
        return stack.enter_context(Store(wishes.place if wishes.place and not is_url(wishes.place) else None))
    except StoreError as error:
        if resumes:
            raise
        tell(f"{error}; nothing is saved")
        return None


def _entry(wishes: Wishes, store: Store) -> Entry | None:
    if wishes.resume is not None:
        return store.find(wishes.resume)
    if not wishes.go_on:
        return None
    found = next((each for each in store.list() if each.command == wishes.command), None)
    if found is None:
        raise NotSavedError(
            f"there is no saved `antiphon {wishes.command}` to continue; `antiphon logs` lists the rest"
        )
    return found
