"""Read-only views of a team for the terminal and the web page: status, events, questions and changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from antiphon.conversation import ToolCall
from antiphon.conversation.serialization import parts_from_json
from antiphon.errors import NotReadyError
from antiphon.storage.posts import list_team_questions
from antiphon.team import diffs as changes
from antiphon.team.channels import ChannelMessage, message_from_row

if TYPE_CHECKING:
    from antiphon.durable import Journal
    from antiphon.team.budget import AgentCost
    from antiphon.team.tasks import Task
    from antiphon.team.team import Team

#: The subject of a question: the specification, a stuck task, a tool call to approve, or anything else.
QuestionKind = Literal["question", "spec", "task", "approval"]
_MAX_DIFF_BYTES = 50_000_000
#: An agent's activity in words, by the reason for its turn.
_ACTIVITY_BY_REASON = {
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


# Events


def describe_event(message: ChannelMessage) -> str:
    """Return a logged event in words."""
    if message.data.get("fact") != "turn":
        return message.text
    task = f" (task {message.data['task']})" if message.data.get("task") else ""
    return f"{message.data['agent']} {describe_activity(str(message.data['why']))}{task}"


def describe_activity(why: str) -> str:
    """Return what an agent does in a turn with this reason, in words."""
    return _ACTIVITY_BY_REASON.get(why, why)


# Status


def team_status_json(team: Team, costs: Sequence[AgentCost]) -> dict[str, Any]:
    """Return the status of a team as JSON data, including its costs."""
    state = team.state
    assert state.begun is not None
    return {
        "id": team.id,
        "request": state.begun.request,
        "repository": state.begun.repository,
        "branch": f"antiphon/{team.id}/main",
        "phase": state.phase,
        "running": team.is_running(),
        "tasks": [
            {
                "id": task.id,
                "title": task.title,
                "state": task.state,
                "coder": task.coder or None,
                "tries": task.tries,
                "rounds": task.rounds,
                "conflicts": task.conflicts,
                "commit": task.commit or None,
            }
            for task in state.tasks.values()
        ],
        "questions": [
            {"id": number, "author": each.author, "text": each.text} for number, each in state.questions.items()
        ],
        "waiting": [
            {"agent": turn.begun.agent, "why": turn.paused.why, "until": turn.paused.until}
            for turn in state.turns.values()
            if turn.paused is not None
        ],
        "costs": [
            {"agent": each.agent, "turns": each.turns, "requests": each.requests, "cost": each.cost} for each in costs
        ],
    }


# Questions


@dataclass(frozen=True, slots=True)
class TeamQuestion:
    """An unanswered question of a team."""

    team: str
    title: str
    message: ChannelMessage


def open_team_questions(journal: Journal, most: int) -> list[TeamQuestion]:
    """Return the unanswered questions of all unfinished teams, oldest first."""
    rows = list_team_questions(journal.database, most)
    return [TeamQuestion(each.team, each.title, message_from_row(each.post)) for each in rows]


def classify_question(question: ChannelMessage) -> QuestionKind:
    """Return the subject of a question."""
    if question.data.get("is") == "approval":
        return "approval"
    about = str(question.data.get("about", "")).partition(":")[0]
    return "spec" if about == "spec" else "task" if about == "task" else "question"


def find_pending_call(journal: Journal, question: ChannelMessage) -> ToolCall | None:
    """Return the tool call that a question asks to approve, if any."""
    if classify_question(question) != "approval":
        return None
    asked = journal.find_effect(str(question.data["run"]), str(question.data["path"])).asked.get("call")
    part = parts_from_json([asked])[0] if asked else None
    return part if isinstance(part, ToolCall) else None


# Changes


def find_commit_range(team: Team, task: str | None) -> tuple[str, str] | None:
    """Return the commits before and after the changes of a task, or of the team; `None` if there are none."""
    state = team.state
    if task is None:
        assert state.begun is not None
        return state.begun.base, state.head
    found = get_task(team, task)
    if not found.coder or found.state == "rejected":
        return None
    return team.task_files().span(found)


def format_task_diff(team: Team, task: str | None) -> str:
    """Return the changes of a task, or of all merged work, as a unified diff."""
    between = find_commit_range(team, task)
    return "" if between is None else changes.diff_between(team.task_files().work, *between, _MAX_DIFF_BYTES).text


def get_task(team: Team, task: str) -> Task:
    """Return a task by its id."""
    found = team.state.tasks.get(task)
    if found is None:
        there = ", ".join(f"{each.id} ({each.title})" for each in team.state.tasks.values()) or "none yet"
        raise NotReadyError(f"team {team.id} has no task {task!r}; there are: {there}")
    return found
