"""What there is to tell of a team, in words: what happens in it, how it stands, and how one goes on with it."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any

from antiphon._base.escape import escape_unprintable
from antiphon.cli.listing import one_line
from antiphon.cli.telling import local, utc
from antiphon.team.queries import classify_question, describe_event
from antiphon.team.queries import team_status_json as standing_of
from antiphon.views.cost_format import format_cost

if TYPE_CHECKING:
    from antiphon.team import AgentCost, ChannelMessage, Task, Team, TeamSettings, TeamState


def told(message: ChannelMessage) -> str:
    """A message as it is printed: its number, who says it to whom, and all of it; no line of it passes for another."""
    return f"#{message.id} {set_in(_said(message))}"


def set_in(text: str) -> str:
    """A text that can be printed, whose further lines are set in: none of them passes for one of ours."""
    first, *rest = escape_unprintable(text).split("\n")
    return "\n".join([first, *(f"    {line}".rstrip() for line in rest)])


def _said(message: ChannelMessage) -> str:
    match message.kind:
        case "fact":
            return describe_event(message)
        case "question":
            return f"{message.author} asks: {message.text}"
        case "answer":
            return f"{message.author} answers #{message.reply_to}: {message.text}"
        case _:
            return f"{message.author}{f' to {message.to}' if message.to else ''}: {message.text}"


def used(requests: int, cost: float | None) -> str:
    """What was used, as far as that is known."""
    counted = "1 request" if requests == 1 else f"{requests:,} requests"
    return ", ".join(filter(None, [counted, format_cost(cost)]))


def allowed(settings: TeamSettings) -> str:
    """What may be used."""
    caps = [
        f"${settings.cost:g} in all" if settings.cost is not None else "",
        f"${settings.task_cost:g} for a task" if settings.task_cost is not None else "",
        f"{settings.requests:,} requests" if settings.requests is not None else "",
    ]
    return ", ".join(filter(None, caps)) or "none"


def progress(task: Task) -> str:
    """How often a task went back."""
    counts = [(task.tries, "failed test run"), (task.rounds, "review with changes"), (task.conflicts, "conflict")]
    return ", ".join(f"{count} {_plural(what, count)}" for count, what in counts if count)


def _plural(what: str, count: int) -> str:
    return what if count == 1 else what.replace("review ", "reviews ") if "review" in what else f"{what}s"


def standing(team: Team) -> str:
    """How far a team is, in a line."""
    state = team.state
    if state.ended is not None:
        return f"done: {_count(len(state.ended.merged), 'task')} merged, {len(state.ended.rejected)} given up"
    who = "at work" if team.is_running() else "nobody runs it"
    at = {"interview": "finding out what is wanted", "spec": "a specification to accept", "plan": "making tasks"}
    return f"{who}; {at.get(state.phase) or _tasks(state.tasks.values())}"


def _tasks(tasks: Iterable[Task]) -> str:
    states = [each.state for each in tasks]
    return ", ".join(f"{states.count(each)} {each}" for each in dict.fromkeys(states))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def how_to_go_on(team: Team) -> Generator[str]:
    """What a team waits for, and what to do about it."""
    state, id = team.state, team.id
    for number, question in state.questions.items():
        yield f"{question.author} asks (#{number}): {question.text}"
        yield f'  antiphon team answer {number} "..."{_choices(question)}'
    yield from _pauses(state, id)
    if state.questions:
        yield f"then `antiphon team resume {id}` goes on"
    elif not any(turn.paused for turn in state.turns.values()):
        yield f"`antiphon team resume {id}` goes on"


def _choices(question: ChannelMessage) -> str:
    match classify_question(question):
        case "spec":
            return "   # `yes` accepts it, anything else says what to change"
        case "approval":
            return "   # `yes` allows it, anything else says why not"
        case _:
            return ""


def _pauses(state: TeamState, id: str) -> Generator[str]:
    for turn in state.turns.values():
        pause = turn.paused
        if pause is None or pause.over == "questions":
            continue
        yield f"{turn.begun.agent} waits: {pause.why}"
        if pause.over == "cap":
            cap = "--max-requests N" if "requests" in pause.why else "--max-cost USD"
            yield f"  `antiphon team resume {id} {cap}` lets it use more"
        elif pause.until is not None:
            when = f"until {local(pause.until)}" if pause.until > time.time() else "no longer"
            yield f"  {when}; `antiphon team resume {id}` goes on then"


def status_lines(team: Team) -> Generator[str]:
    """How a team stands, for people."""
    state = team.state
    assert state.begun is not None
    yield f"team {team.id}: {one_line(state.begun.request)}"
    yield f"  {standing(team)}"
    yield f"  {state.begun.repository}, branch antiphon/{team.id}/main"
    if state.tasks:
        yield ""
    for task in state.tasks.values():
        parts = [f"{task.id}. {one_line(task.title)}", task.state, task.coder, progress(task)]
        yield "  " + "  ".join(filter(None, parts))
    if costs := team.costs():
        yield ""
        yield from (f"  {each.agent}  {_count(each.turns, 'turn')}, {used(each.requests, each.cost)}" for each in costs)
        yield f"  in all  {total(costs)}; allowed: {allowed(state.settings)}"
    if state.ended is None:
        yield ""
        yield from how_to_go_on(team) if not team.is_running() else _open_questions(team)


def total(costs: list[AgentCost]) -> str:
    """What all have used together; a price that nobody knows is no price of nothing."""
    known = sum(each.cost or 0.0 for each in costs)
    unknown = [each.agent for each in costs if each.cost is None]
    note = f" (what {', '.join(unknown)} cost is not known)" if unknown else ""
    return f"{used(sum(each.requests for each in costs), known)}{note}"


def _open_questions(team: Team) -> Generator[str]:
    yield from list(how_to_go_on(team))[:-1] if team.state.questions else ()
    yield "`antiphon team chat` shows what is said, `antiphon team stop` has it leave off"


def status_json(team: Team) -> dict[str, Any]:
    """The same as JSON data."""
    known = standing_of(team, team.costs())
    waiting = [{**each, "until": None if each["until"] is None else utc(each["until"])} for each in known["waiting"]]
    return {**known, "waiting": waiting}
