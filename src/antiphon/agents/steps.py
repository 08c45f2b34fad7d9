"""What a team can do next, as it follows from how it stands; who does it is another matter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from antiphon.agents.channels import Message
from antiphon.agents.state import TeamState
from antiphon.agents.work import Job
from antiphon.conversation.attribution import HUMAN

#: So many turns in a row an agent takes for nothing but what other agents say; more waits for its next turn.
_CHATTER = 3
#: What is said to each agent, and not read yet.
Unread = Mapping[str, Sequence[Message]]


@dataclass(frozen=True, slots=True)
class TakeTurn:
    """Let an agent take the turn that was begun for it."""

    number: int
    agent: str


@dataclass(frozen=True, slots=True)
class BeginTurn:
    """Begin a turn of an agent."""

    agent: str
    thread: str
    why: str
    task: str = ""
    wants: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the human."""

    about: str
    text: str


@dataclass(frozen=True, slots=True)
class Assign:
    """Give a task to a coder."""

    task: str
    coder: str


@dataclass(frozen=True, slots=True)
class Check:
    """Look at what was handed in, and run the tests."""

    task: str


@dataclass(frozen=True, slots=True)
class Merge:
    """Bring a task that was found good onto the team's branch."""

    task: str


@dataclass(frozen=True, slots=True)
class End:
    """Nothing is left to do."""


Step = TakeTurn | BeginTurn | Ask | Assign | Check | Merge | End


def next_steps(state: TeamState, unread: Unread, now: float) -> list[Step]:
    """All that can be done now, side by side."""
    if state.begun is None or state.ended is not None:
        return []
    return [
        *(Ask(about, text) for about, text in state.troubles.items()),
        *_turns(state, now),
        *_new_turns(state, unread),
        *_assignments(state),
        *_tasks(state),
    ]


def wakes_at(state: TeamState) -> float | None:
    """When the first turn that was paused for a while can go on."""
    paused = [turn.paused.until for turn in state.turns.values() if turn.paused and turn.paused.until]
    return min(paused, default=None)


def _turns(state: TeamState, now: float) -> Iterator[Step]:
    for number, turn in state.turns.items():
        if turn.paused is None or (turn.paused.until is not None and turn.paused.until <= now):
            yield TakeTurn(number, turn.begun.agent)


def _new_turns(state: TeamState, unread: Unread) -> Iterator[Step]:
    busy = {turn.begun.agent for turn in state.turns.values()}
    for job in state.jobs.values():
        if job.agent not in busy and _is_due(state, job, unread.get(job.agent, ())):
            busy.add(job.agent)
            yield BeginTurn(job.agent, job.thread, job.why or job.then, job.task, job.wants)
    employed = {job.agent for job in state.jobs.values()}
    # Whose task is being merged is about to lose its files.
    merging = {task.coder for task in state.tasks.values() if task.state == "merging"}
    for agent, messages in unread.items():
        if agent not in busy | employed | merging and _is_news(state, agent, messages):
            yield BeginTurn(agent, state.last_thread.get(agent) or agent.removeprefix("@"), "talk")


def _is_due(state: TeamState, job: Job, unread: Sequence[Message]) -> bool:
    """Whether there is something to tell, or something new was said.

    Of several questions that an agent has asked, it is given the answers together.
    """
    mine = [each for each in unread if each.kind != "answer" or each.task in ("", job.task)]
    if job.why or not _is_news(state, job.agent, mine):
        return bool(job.why)
    asks = any((each.author, each.task) == (job.agent, job.task) for each in state.questions.values())
    return not asks or any(each.author == HUMAN and each.kind != "answer" for each in mine)


def _is_news(state: TeamState, agent: str, messages: Sequence[Message]) -> bool:
    """Whether a turn is to begin for messages: agents that only talk to one another come to an end."""
    return any(each.author == HUMAN or state.chatter.get(agent, 0) < _CHATTER for each in messages)


def _assignments(state: TeamState) -> Iterator[Step]:
    held = {task.coder for task in state.tasks.values() if not task.is_over and task.state != "human"}
    free = [coder for coder in state.coders if coder not in held]
    for task in state.tasks.values():
        if task.state == "planned" and free and all(state.tasks[each].state == "merged" for each in task.after):
            yield Assign(task.id, free.pop(0))


def _tasks(state: TeamState) -> Iterator[Step]:
    merging = [task for task in state.tasks.values() if task.state == "merging"]
    yield from (Check(task.id) for task in state.tasks.values() if task.state == "testing")
    # One at a time: each is tested together with those before it.
    busy = {turn.begun.agent for turn in state.turns.values()}
    yield from (Merge(task.id) for task in merging[:1] if task.coder not in busy)
    if state.tasks and not state.turns and all(task.is_over for task in state.tasks.values()):
        yield End()
