"""A turn of an agent: a run of the journal, so that what it has done is not done again, wherever it was cut off."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from antiphon.agents.channels import Channel, Message, SecretRefused, deliver
from antiphon.agents.facts import TurnBegun, TurnEnded, TurnPaused
from antiphon.agents.roles import Role
from antiphon.agents.seats import Seat, add_heard, heard_data
from antiphon.agents.spending import Circles, InCircles, Meter, OverCap
from antiphon.agents.state import PLANNING
from antiphon.conversation import Conversation
from antiphon.conversation.attribution import HUMAN
from antiphon.effects import Node, Place, at
from antiphon.effects.written import as_text
from antiphon.errors import RateLimited
from antiphon.journal import Journal, Running
from antiphon.session import Event, LimitReached, Session, Stuck, Waiting
from antiphon.session.endings import Empty, Refused, Truncated
from antiphon.tools import Tool
from antiphon.tools.approval import ALLOW_ALL

#: What ends a turn so that somebody has to look.
_STUCK = (LimitReached, Stuck, Empty, Truncated, Refused, InCircles)
#: For how long a provider is left alone that does not say for how long.
_PATIENCE = 60.0

#: Called with the name of an agent and what happens to it.
Watch = Callable[[str, Event], object]


@dataclass(frozen=True, slots=True)
class Setting:
    """All that a turn of an agent needs from its team."""

    team: str
    journal: Journal
    role: Role
    tools: Sequence[Tool]
    channels: Sequence[Channel]
    #: Everybody, with the channels each hears.
    members: Mapping[str, Collection[str]]
    meter: Meter
    watch: Watch | None = None


async def take_turn(setting: Setting, turn: TurnBegun) -> TurnEnded | TurnPaused:
    """Let an agent do what it is to do; what came of it."""
    name = run_name(setting.team, turn.number)
    running = _running(setting.journal, setting.team, name, turn)
    state, ending = "interrupted", None
    try:
        conversation = _conversation(setting, turn)
        if turn.text:
            conversation.add_user(turn.text)
        heard = deliver(setting.channels, turn.agent, name, turn.task)
        add_heard(conversation, [heard_data(each) for each in heard])
        if not turn.text and not heard:
            # What woke it was read in the turn before.
            state = "done"
            return TurnEnded(turn.number, "asked")
        try:
            value = await _asked(setting, turn, conversation, running)
        except Waiting as waiting:
            state, ending = "waiting", {"outcome": "waiting", "error": str(waiting)}
            _post_questions(setting, turn, name)
            return TurnPaused(turn.number, str(waiting), over="questions")
        except OverCap as over:
            return TurnPaused(turn.number, str(over), over="cap")
        except RateLimited as limited:
            return TurnPaused(turn.number, str(limited), time.time() + (limited.retry_after or _PATIENCE))
        except _STUCK as stuck:
            running.remember(conversation)
            state, ending = "failed", {"outcome": "failed", "error": str(stuck)}
            return TurnEnded(turn.number, "stuck", str(stuck))
        running.remember(conversation)
        state, ending = "done", {"outcome": "done", "value": value}
        return _ended(setting, turn, name, value, heard)
    finally:
        running.leave(state, ending)


def run_name(team: str, number: int) -> str:
    """The run in which a turn is taken."""
    return f"{team}.{number}"


def _running(journal: Journal, team: str, name: str, turn: TurnBegun) -> Running:
    if journal.has(name):
        running = journal.go_on(name)
        running.forget_failure()
        return running
    title = f"{turn.agent}: {turn.why or 'new messages'}" + (f", task {turn.task}" if turn.task else "")
    return journal.begin("turn", title, {}, id=name, parent=team, number=turn.number)


def _conversation(setting: Setting, turn: TurnBegun) -> Conversation:
    if turn.after:
        return setting.journal.asked(run_name(setting.team, turn.after))[0]
    return Conversation(setting.role.told(turn.agent))


async def _asked(setting: Setting, turn: TurnBegun, conversation: Conversation, running: Running) -> Any:
    role = setting.role
    session = Session(
        role.model,
        setting.tools,
        conversation=conversation,
        policy=role.policy or ALLOW_ALL,
        limits=role.limits,
        name=turn.agent,
        **role.options,
    )
    Seat(session, turn.agent, setting.channels, task=turn.task, members=setting.members)
    allowed = {*(tool.name for tool in setting.tools), *role.tools}
    session.tools = [tool for tool in session.tools if tool.name in allowed]
    try:
        with at(Place(Node(), (Circles(), running.performer, setting.meter))):
            run = await session.astart()
        if setting.watch is not None:
            watch = setting.watch
            run.subscribe(lambda event: watch(turn.agent, event))
        try:
            return (await run).value
        except BaseException:
            run.cancel()
            raise
    finally:
        await session.aclose()


def _ended(setting: Setting, turn: TurnBegun, name: str, value: Any, heard: Sequence[Message]) -> TurnEnded:
    match value:
        case {"submitted": "chat_ask_user"}:
            return TurnEnded(turn.number, "asked", value)
        case {"submitted": _}:
            return TurnEnded(turn.number, "submitted", value)
        case str():
            text = value
        case _:
            # A tool of a role's own may end a turn with whatever it likes.
            text = as_text(value)
    if turn.why in PLANNING or any(each.author == HUMAN for each in heard):
        # Whoever interviews the human and says something waits for what the human says to it.
        kind = "question" if setting.role.name == "pm" and turn.why != "talk" else "chat"
        post_for_human(setting.channels[0], text, turn.agent, kind=kind, key=f"{name}/said", task=turn.task)
    return TurnEnded(turn.number, "said", text)


def _post_questions(setting: Setting, turn: TurnBegun, name: str) -> None:
    for each in setting.journal.questions(name):
        post_for_human(
            setting.channels[0],
            each.text,
            turn.agent,
            kind="question",
            data={"about": "call", "turn": turn.number, "run": name, "path": each.path, "is": each.about},
            key=f"{name}/{each.path}",
            task=turn.task,
        )


def post_for_human(channel: Channel, text: str, author: str, **more: Any) -> None:
    """Tell the human something that must be told; of what holds a secret, that it does."""
    try:
        channel.post(text or "(nothing)", author, to=HUMAN, **more)
    except SecretRefused as refused:
        where = f"`antiphon team log {author.removeprefix('@')}` shows it"
        told = f"(something that is not shown here, because it holds a secret: {where}) {refused}"
        channel.post(told, author, to=HUMAN, **more)
