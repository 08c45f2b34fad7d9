"""The scheduler of a team: derives the next possible steps from its state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from antiphon.conversation.attribution import HUMAN_AUTHOR
from antiphon.team.channels import ChannelMessage
from antiphon.team.state import TeamState
from antiphon.team.tasks import SubmissionJob

#: How many turns in a row an agent may take only because of messages of other agents.
_MAX_CHATTER_TURNS = 3
#: The unread messages for each agent.
UnreadMessages = Mapping[str, Sequence[ChannelMessage]]


@dataclass(frozen=True, slots=True)
class TakeTurn:
    """Run a turn that was started for an agent."""

    number: int
    agent: str


@dataclass(frozen=True, slots=True)
class StartTurn:
    """Start a turn of an agent."""

    agent: str
    thread: str
    why: str
    task: str = ""
    wants: str = ""


@dataclass(frozen=True, slots=True)
class AskQuestion:
    """Ask the human a question."""

    about: str
    text: str


@dataclass(frozen=True, slots=True)
class AssignTask:
    """Assign a task to a coder."""

    task: str
    coder: str


@dataclass(frozen=True, slots=True)
class CheckTask:
    """Test a submission."""

    task: str


@dataclass(frozen=True, slots=True)
class MergeTask:
    """Merge an approved task into the team's branch."""

    task: str


@dataclass(frozen=True, slots=True)
class FinishTeam:
    """Close the team, because no work is left."""


TeamStep = TakeTurn | StartTurn | AskQuestion | AssignTask | CheckTask | MergeTask | FinishTeam


def next_steps(state: TeamState, unread: UnreadMessages, now: float) -> list[TeamStep]:
    """Return all steps that can be done now, concurrently."""
    if state.begun is None or state.ended is not None:
        return []
    resumed = (
        TakeTurn(number, turn.begun.agent)
        for number, turn in state.turns.items()
        if turn.paused is None or (turn.paused.until is not None and turn.paused.until <= now)
    )
    return [
        *(AskQuestion(about, text) for about, text in state.unasked_questions.items()),
        *resumed,
        *_turns_to_start(state, unread),
        *_task_assignments(state),
        *_task_steps(state),
    ]


def next_wake_time(state: TeamState) -> float | None:
    """Return when the first turn that is paused for a time can resume; `None` if there is none."""
    paused = [turn.paused.until for turn in state.turns.values() if turn.paused and turn.paused.until]
    return min(paused, default=None)


def _turns_to_start(state: TeamState, unread: UnreadMessages) -> Iterator[TeamStep]:
    busy = {turn.begun.agent for turn in state.turns.values()}
    for job in state.jobs.values():
        if job.agent not in busy and _is_due(state, job, unread.get(job.agent, ())):
            busy.add(job.agent)
            yield StartTurn(job.agent, job.thread, job.why or job.then, job.task, job.wants)
    employed = {job.agent for job in state.jobs.values()}
    # The worktree of a task that is being merged is about to be removed.
    merging = {task.coder for task in state.tasks.values() if task.state == "merging"}
    for agent, messages in unread.items():
        if agent not in busy | employed | merging and _deserves_turn(state, agent, messages):
            yield StartTurn(agent, state.last_thread.get(agent) or agent.removeprefix("@"), "talk")


def _is_due(state: TeamState, job: SubmissionJob, unread: Sequence[ChannelMessage]) -> bool:
    """Return whether a job has a prompt, or new messages, for its agent.

    The answers to several questions of an agent are delivered together.
    """
    mine = [each for each in unread if each.kind != "answer" or each.task in ("", job.task)]
    if job.why or not _deserves_turn(state, job.agent, mine):
        return bool(job.why)
    asks = any((each.author, each.task) == (job.agent, job.task) for each in state.questions.values())
    return not asks or any(each.author == HUMAN_AUTHOR and each.kind != "answer" for each in mine)


def _deserves_turn(state: TeamState, agent: str, messages: Sequence[ChannelMessage]) -> bool:
    """Return whether messages start a turn; agents that only talk to one another eventually stop."""
    return any(
        each.author == HUMAN_AUTHOR or state.chatter_turns.get(agent, 0) < _MAX_CHATTER_TURNS for each in messages
    )


def _task_assignments(state: TeamState) -> Iterator[TeamStep]:
    held = {task.coder for task in state.tasks.values() if not task.is_over and task.state != "human"}
    free = [coder for coder in state.coders if coder not in held]
    for task in state.tasks.values():
        if task.state == "planned" and free and all(state.tasks[each].state == "merged" for each in task.after):
            yield AssignTask(task.id, free.pop(0))


def _task_steps(state: TeamState) -> Iterator[TeamStep]:
    merging = [task for task in state.tasks.values() if task.state == "merging"]
    yield from (CheckTask(task.id) for task in state.tasks.values() if task.state == "testing")
    # Merge one task at a time: each is tested together with those before it.
    busy = {turn.begun.agent for turn in state.turns.values()}
    yield from (MergeTask(task.id) for task in merging[:1] if task.coder not in busy)
    if state.tasks and not state.turns and all(task.is_over for task in state.tasks.values()):
        yield FinishTeam()
