"""Turns of agents. Each is a journal run, so that completed effects are replayed after an interruption."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from antiphon.conversation import Conversation
from antiphon.conversation.attribution import HUMAN_AUTHOR
from antiphon.durable import ActiveRun, Journal
from antiphon.effects import Budget, EffectContext, PathCounter, use_context
from antiphon.effects.codec import dump_ascii_json
from antiphon.errors import RateLimited
from antiphon.session import Event, LimitReached, LoopDetected, NeedsHuman, Session
from antiphon.session.exceptions import EmptyAnswer, ModelRefused, Truncated
from antiphon.team.channels import Channel, ChannelMessage, SecretRefused, deliver_messages
from antiphon.team.events import TurnEnded, TurnPaused, TurnStarted
from antiphon.team.members import ChannelMember, add_received_messages, received_message_json
from antiphon.team.roles import Role
from antiphon.team.state import PLANNING_REASONS
from antiphon.tools import Tool
from antiphon.tools.approval import ALLOW_ALL

#: Errors that end a turn and need a decision of the human.
_STUCK_ERRORS = (LimitReached, LoopDetected, EmptyAnswer, Truncated, ModelRefused)
#: Seconds to wait after a rate limit without a `Retry-After`.
_DEFAULT_BACKOFF = 60.0

#: Called with the name of an agent and an event of its session.
AgentEventCallback = Callable[[str, Event], object]


@dataclass(frozen=True, slots=True)
class TurnContext:
    """The part of a team that a turn needs."""

    team: str
    journal: Journal
    role: Role
    tools: Sequence[Tool]
    channels: Sequence[Channel]
    #: All members, with the channels that each reads.
    members: Mapping[str, Collection[str]]
    budget: Budget
    watch: AgentEventCallback | None = None


async def run_turn(setting: TurnContext, turn: TurnStarted) -> TurnEnded | TurnPaused:
    """Run a turn of an agent and return the event that ends or pauses it."""
    name = turn_run_id(setting.team, turn.number)
    running = _open_run(setting.journal, setting.team, name, turn)
    state, ending = "interrupted", None
    try:
        if turn.after:
            conversation = setting.journal.load_request(turn_run_id(setting.team, turn.after))[0]
        else:
            conversation = Conversation(setting.role.told(turn.agent))
        if turn.text:
            conversation.add_user(turn.text)
        heard = deliver_messages(setting.channels, turn.agent, name, turn.task)
        add_received_messages(conversation, [received_message_json(each) for each in heard])
        if not turn.text and not heard:
            # The previous turn already read the messages that started this one.
            state = "done"
            return TurnEnded(turn.number, "asked")
        try:
            value = await _run_session(setting, turn, conversation, running)
        except NeedsHuman as waiting:
            state, ending = "waiting", {"outcome": "waiting", "error": str(waiting)}
            _post_questions(setting, turn, name)
            return TurnPaused(turn.number, str(waiting), over="questions")
        except RateLimited as limited:
            return TurnPaused(turn.number, str(limited), time.time() + (limited.retry_after or _DEFAULT_BACKOFF))
        except _STUCK_ERRORS as stuck:
            if isinstance(stuck, LimitReached) and stuck.exceeded and stuck.exceeded.scope.startswith("team:"):
                return TurnPaused(turn.number, str(stuck), over="cap")
            running.save_conversation(conversation)
            state, ending = "failed", {"outcome": "failed", "error": str(stuck)}
            return TurnEnded(turn.number, "stuck", str(stuck))
        running.save_conversation(conversation)
        state, ending = "done", {"outcome": "done", "value": value}
        return _make_turn_end(setting, turn, name, value, heard)
    finally:
        running.finish(state, ending)


def turn_run_id(team: str, number: int) -> str:
    """Return the journal run id of a turn."""
    return f"{team}.{number}"


def _open_run(journal: Journal, team: str, name: str, turn: TurnStarted) -> ActiveRun:
    if journal.has_run(name):
        running = journal.resume(name)
        running.clear_failure()
        return running
    title = f"{turn.agent}: {turn.why or 'new messages'}" + (f", task {turn.task}" if turn.task else "")
    return journal.begin("turn", title, {}, id=name, parent=team, number=turn.number)


async def _run_session(setting: TurnContext, turn: TurnStarted, conversation: Conversation, running: ActiveRun) -> Any:
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
    ChannelMember(session, turn.agent, setting.channels, task=turn.task, members=setting.members)
    allowed = {*(tool.name for tool in setting.tools), *role.tools}
    session.tools = [tool for tool in session.tools if tool.name in allowed]
    try:
        with use_context(EffectContext(PathCounter(), (running.middleware, setting.budget))):
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


def _make_turn_end(
    setting: TurnContext, turn: TurnStarted, name: str, value: Any, heard: Sequence[ChannelMessage]
) -> TurnEnded:
    match value:
        case {"submitted": "chat_ask_user"}:
            return TurnEnded(turn.number, "asked", value)
        case {"submitted": _}:
            return TurnEnded(turn.number, "submitted", value)
        case str():
            text = value
        case _:
            # A custom tool of a role may end the turn with any value.
            text = dump_ascii_json(value)
    if turn.why in PLANNING_REASONS or any(each.author == HUMAN_AUTHOR for each in heard):
        # In the interview, each text of the product manager awaits the human's reply.
        kind = "question" if setting.role.name == "pm" and turn.why != "talk" else "chat"
        post_for_human(setting.channels[0], text, turn.agent, kind=kind, key=f"{name}/said", task=turn.task)
    return TurnEnded(turn.number, "said", text)


def _post_questions(setting: TurnContext, turn: TurnStarted, name: str) -> None:
    for each in setting.journal.list_questions(name):
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
    """Post a message that the human must see; if it contains a secret, post a notice instead."""
    try:
        channel.post(text or "(nothing)", author, to=HUMAN_AUTHOR, **more)
    except SecretRefused as refused:
        where = f"`antiphon show TEAM --agent {author.removeprefix('@')}` shows it"
        told = f"(something that is not shown here, because it holds a secret: {where}) {refused}"
        channel.post(told, author, to=HUMAN_AUTHOR, **more)
