"""Descriptions of a team: its messages, status and usage, and hints what to do next."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any

from antiphon._base.escape import escape_unprintable
from antiphon.cli.listing import one_line
from antiphon.cli.style import format_noun_count
from antiphon.cli.telling import format_local_minute, format_utc_time
from antiphon.team.queries import classify_question, describe_event, team_status_json
from antiphon.views.cost_format import format_cost

if TYPE_CHECKING:
    from antiphon.team import AgentCost, ChannelMessage, Task, Team, TeamSettings, TeamState


def format_message(message: ChannelMessage) -> str:
    """Return a message with its number and author; further lines are indented."""
    return f"#{message.id} {indent_lines(_format_content(message))}"


def indent_lines(text: str) -> str:
    """Return printable text with further lines indented, so that they cannot imitate our messages."""
    first, *rest = escape_unprintable(text).split("\n")
    return "\n".join([first, *(f"    {line}".rstrip() for line in rest)])


def _format_content(message: ChannelMessage) -> str:
    match message.kind:
        case "fact":
            return describe_event(message)
        case "question":
            return f"{message.author} asks: {message.text}"
        case "answer":
            return f"{message.author} answers #{message.reply_to}: {message.text}"
        case _:
            return f"{message.author}{f' to {message.to}' if message.to else ''}: {message.text}"


def format_usage(requests: int, cost: float | None) -> str:
    """Return the number of requests, and the cost if known."""
    counted = "1 request" if requests == 1 else f"{requests:,} requests"
    return ", ".join(filter(None, [counted, format_cost(cost)]))


def describe_limits(settings: TeamSettings) -> str:
    """Return the limits of cost and requests."""
    caps = [
        f"${settings.cost:g} in total" if settings.cost is not None else "",
        f"${settings.task_cost:g} per task" if settings.task_cost is not None else "",
        f"{settings.requests:,} requests" if settings.requests is not None else "",
    ]
    return ", ".join(filter(None, caps)) or "none"


def describe_setbacks(task: Task) -> str:
    """Return how often a task failed tests, review or merging."""
    counts = [(task.tries, "failed test run"), (task.rounds, "review with changes"), (task.conflicts, "conflict")]
    return ", ".join(f"{count} {_plural(what, count)}" for count, what in counts if count)


def _plural(what: str, count: int) -> str:
    return what if count == 1 else what.replace("review ", "reviews ") if "review" in what else f"{what}s"


def describe_team_state(team: Team) -> str:
    """Return the state of a team as one line."""
    state = team.state
    if state.ended is not None:
        return (
            f"done: {format_noun_count(len(state.ended.merged), 'task')} merged, {len(state.ended.rejected)} rejected"
        )
    who = "running" if team.is_running() else "not running"
    at = {
        "interview": "clarifying the request",
        "spec": "waiting for the specification to be accepted",
        "plan": "planning tasks",
    }
    return f"{who}; {at.get(state.phase) or _count_task_states(state.tasks.values())}"


def _count_task_states(tasks: Iterable[Task]) -> str:
    states = [each.state for each in tasks]
    return ", ".join(f"{states.count(each)} {each}" for each in dict.fromkeys(states))


def iter_next_steps(team: Team) -> Generator[str]:
    """Yield what a team waits for, and the commands to continue it."""
    state, id = team.state, team.id
    for number, question in state.questions.items():
        yield f"{question.author} asks (#{number}): {question.text}"
        yield f"  antiphon answer {id}:{number} {_describe_choices(question)}"
    yield from _iter_pauses(state, id)
    if state.questions:
        yield f"then resume it with `antiphon resume {id}`"
    elif not any(turn.paused for turn in state.turns.values()):
        yield f"resume it with `antiphon resume {id}`"


def _describe_choices(question: ChannelMessage) -> str:
    match classify_question(question):
        case "spec":
            return '"..."   # `yes` accepts it, any other text is what to change'
        case "approval":
            return "yes   # or: no --reason TEXT"
        case _:
            return '"..."'


def _iter_pauses(state: TeamState, id: str) -> Generator[str]:
    for turn in state.turns.values():
        pause = turn.paused
        if pause is None or pause.over == "questions":
            continue
        yield f"{turn.begun.agent} waits: {pause.why}"
        if pause.over == "cap":
            cap = "--max-requests N" if "requests" in pause.why else "--max-cost USD"
            yield f"  `antiphon resume {id} {cap}` raises the limit"
        elif pause.until is not None:
            when = f"until {format_local_minute(pause.until)}" if pause.until > time.time() else "not any more"
            yield f"  {when}; resume it with `antiphon resume {id}`"


def iter_status_lines(team: Team) -> Generator[str]:
    """Yield the status of a team as lines."""
    state = team.state
    assert state.begun is not None
    yield f"team {team.id}: {one_line(state.begun.request)}"
    yield f"  {describe_team_state(team)}"
    yield f"  {state.begun.repository}, branch antiphon/{team.id}/main"
    if state.tasks:
        yield ""
    for task in state.tasks.values():
        parts = [f"{task.id}. {one_line(task.title)}", task.state, task.coder, describe_setbacks(task)]
        yield "  " + "  ".join(filter(None, parts))
    if costs := team.costs():
        yield ""
        yield from (
            f"  {each.agent}  {format_noun_count(each.turns, 'turn')}, {format_usage(each.requests, each.cost)}"
            for each in costs
        )
        yield f"  in total  {format_total(costs)}; allowed: {describe_limits(state.settings)}"
    if state.ended is None:
        yield ""
        yield from iter_next_steps(team) if not team.is_running() else _iter_open_questions(team)


def format_total(costs: list[AgentCost]) -> str:
    """Return the total usage; agents with an unknown cost are named."""
    known = sum(each.cost or 0.0 for each in costs)
    unknown = [each.agent for each in costs if each.cost is None]
    note = f" (the cost of {', '.join(unknown)} is unknown)" if unknown else ""
    return f"{format_usage(sum(each.requests for each in costs), known)}{note}"


def _iter_open_questions(team: Team) -> Generator[str]:
    yield from list(iter_next_steps(team))[:-1] if team.state.questions else ()
    yield f"read its messages with `antiphon team chat`, stop it with `antiphon stop {team.id}`"


def make_status_json(team: Team) -> dict[str, Any]:
    """Return the status of a team as JSON data."""
    known = team_status_json(team, team.costs())
    waiting = [
        {**each, "until": None if each["until"] is None else format_utc_time(each["until"])}
        for each in known["waiting"]
    ]
    return {**known, "waiting": waiting}
