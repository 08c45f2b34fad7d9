"""What there is to see of a team, for a terminal and for a page: how it stands, what happens, what it asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from antiphon.agents import changes
from antiphon.agents.channels import Message, message_of
from antiphon.conversation import ToolCall
from antiphon.conversation.storage import parts_from_json
from antiphon.errors import NotReadyError

if TYPE_CHECKING:
    from antiphon.agents.spending import AgentCost
    from antiphon.agents.state import TeamState
    from antiphon.agents.team import Team
    from antiphon.agents.work import Task
    from antiphon.journal import Journal

#: What a question is about: what is to be built, a task that gets no further, a call to be allowed; or whatever.
Sort = Literal["question", "spec", "task", "approval"]
_MOST = 50_000_000
#: What an agent is at, by the reason for its turn.
_TURNS = {
    "": "reads what is new",
    "talk": "reads what was said",
    "tasks": "makes the tasks",
    "plan": "plans",
    "solo": "works",
    "work": "works",
    "failed": "mends what the tests found",
    "unchanged": "is told that nothing is changed",
    "changes": "makes the changes that the reviewer wants",
    "conflict": "brings it together with what was merged",
    "review": "reviews",
    "nudge": "is reminded to hand in",
}


# What happens


def happened(message: Message) -> str:
    """A fact in words."""
    if message.data.get("fact") != "turn":
        return message.text
    task = f" (task {message.data['task']})" if message.data.get("task") else ""
    return f"{message.data['agent']} {at_work(str(message.data['why']))}{task}"


def at_work(why: str) -> str:
    """What an agent is at, by the reason for its turn."""
    return _TURNS.get(why, why)


# How it stands


def standing(team: Team, costs: Sequence[AgentCost]) -> dict[str, Any]:
    """How a team stands as JSON data, with what its agents have used."""
    state = team.state
    assert state.begun is not None
    return {
        "id": team.id,
        "request": state.begun.request,
        "repository": state.begun.repository,
        "branch": f"antiphon/{team.id}/main",
        "phase": state.phase,
        "running": team.is_running(),
        "tasks": [_task(each) for each in state.tasks.values()],
        "questions": [
            {"id": number, "author": each.author, "text": each.text} for number, each in state.questions.items()
        ],
        "waiting": list(_waiting(state)),
        "costs": [
            {"agent": each.agent, "turns": each.turns, "requests": each.requests, "cost": each.cost} for each in costs
        ],
    }


def _task(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        "title": task.title,
        "state": task.state,
        "coder": task.coder or None,
        "tries": task.tries,
        "rounds": task.rounds,
        "conflicts": task.conflicts,
        "commit": task.commit or None,
    }


def _waiting(state: TeamState) -> list[dict[str, Any]]:
    paused = [(turn.begun.agent, turn.paused) for turn in state.turns.values() if turn.paused is not None]
    return [{"agent": agent, "why": each.why, "until": each.until} for agent, each in paused]


# What it asks


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a team that nobody has answered yet."""

    team: str
    title: str
    message: Message


def open_questions(journal: Journal, most: int) -> list[Asked]:
    """What the teams that are not done ask, the oldest first."""
    if journal.is_shared:
        return []
    rows = journal.read(
        "SELECT runs.id, runs.title, asked.id, channel, at, author, recipient, asked.kind, text, data, reply_to, task"
        " FROM runs JOIN messages AS asked ON channel IN (runs.id || '/product', runs.id || '/development')"
        " WHERE runs.kind = 'team' AND runs.state <> 'done' AND asked.kind = 'question'"
        " AND NOT EXISTS (SELECT 1 FROM messages AS said WHERE said.kind = 'answer' AND said.reply_to = asked.id)"
        f" ORDER BY asked.id LIMIT {int(most)}",
        (),
    )
    return [Asked(team, title, message_of(row)) for team, title, *row in rows]


def sort_of(question: Message) -> Sort:
    """What a question is about."""
    if question.data.get("is") == "approval":
        return "approval"
    about = str(question.data.get("about", "")).partition(":")[0]
    return "spec" if about == "spec" else "task" if about == "task" else "question"


def waiting_call(journal: Journal, question: Message) -> ToolCall | None:
    """The call that waits to be allowed, whole."""
    if sort_of(question) != "approval":
        return None
    asked = journal.effect(str(question.data["run"]), str(question.data["path"])).asked.get("call")
    part = parts_from_json([asked])[0] if asked else None
    return part if isinstance(part, ToolCall) else None


# What it has changed


def span(team: Team, task: str | None) -> tuple[str, str] | None:
    """The commits between which a task has changed something, or the team in all; nothing, where it has not yet."""
    state = team.state
    if task is None:
        assert state.begun is not None
        return state.begun.base, state.head
    found = task_of(team, task)
    if not found.coder or found.state == "rejected":
        return None
    return team.workshop().span(found)


def task_diff(team: Team, task: str | None) -> str:
    """What a task has changed, or all that was merged, as a unified diff."""
    between = span(team, task)
    return "" if between is None else changes.diff_between(team.workshop().work, *between, _MOST).text


def task_of(team: Team, task: str) -> Task:
    """A task by its number."""
    found = team.state.tasks.get(task)
    if found is None:
        there = ", ".join(f"{each.id} ({each.title})" for each in team.state.tasks.values()) or "none yet"
        raise NotReadyError(f"team {team.id} has no task {task!r}; there are: {there}")
    return found
