"""Teams as they could stand, written into a journal: what happened is said, and nobody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from antiphon.durable import Journal
from antiphon.team import Team, TeamSettings
from antiphon.team.events import TaskAssigned, TaskChecked, TeamEvent, TeamStarted, TurnEnded, TurnStarted
from antiphon.team.settings import settings_to_json
from tests.team.teams import COMMAND, repository

WANTED = {"title": "A receipt", "text": "Each receipt has a *total*.\n\n- cents are exact"}


def team_in(journal: Journal, id: str = "one", request: str = "Write receipts", **given: Any) -> Team:
    """A team that has begun, without a repository."""
    journal.begin("team", request, {"repository": "/home/ada/basket"}, id=id).finish("ready")
    team = Team(id, journal)
    team.channel("product").post(request, to="@pm")
    settings = settings_to_json(TeamSettings(**{"command": COMMAND, "coders": 2, **given}))
    happens(team, TeamStarted(request, "/home/ada/basket", "3c0ffee" * 5, settings), "begun")
    return team


def real_team(journal: Journal, where: Path, request: str = "Write receipts", **given: Any) -> Team:
    """A team that has begun, in a repository of its own."""
    settings = TeamSettings(**{"command": COMMAND, "sandbox": False, **given})
    return Team.begin(request, repository(where / "repo"), settings, journal=journal)


def happens(team: Team, fact: TeamEvent, text: str = "it happens", task: str = "") -> None:
    team.note(fact, text, task)
    team.refresh()


def takes_turn(team: Team, agent: str, thread: str, why: str, task: str = "") -> int:
    number = team.refresh().turn_count + 1
    happens(team, TurnStarted(number, agent, thread, why, "Do it.", task), f"{agent}: {why}", task)
    return number


def hands_in(team: Team, number: int, tool: str, **given: Any) -> None:
    turn = team.state.history[number]
    happens(
        team,
        TurnEnded(number, "submitted", {"submitted": tool, "given": given}),
        f"{turn.agent} hands in: {tool}",
        turn.task,
    )


def asks(team: Team, text: str, author: str = "@pm", channel: str = "product", **more: Any) -> int:
    return team.channel(channel).post(text, author, to="@human", kind="question", **more).id


def specified(team: Team) -> int:
    """The product manager has handed in what is wanted; the number of the question whether it is that."""
    hands_in(team, takes_turn(team, "@pm", "pm", ""), "submit_spec", **WANTED)
    return asks(
        team,
        f"Is this what you want?\n\n{WANTED['title']}\n\n{WANTED['text']}",
        "@team",
        data={"about": "spec", "ways": team.state.list_decision_words("spec")},
    )


def with_tasks(team: Team, *titles: str) -> Team:
    """What is wanted is accepted, and these are the tasks."""
    team.answer(specified(team), "yes")
    made = [{"title": each, "spec": f"Do **{each}**.", "checks": ["tests pass"], "after": []} for each in titles]
    hands_in(team, takes_turn(team, "@architect", "architect", "tasks"), "create_tasks", tasks=made)
    return team


def codes(team: Team, task: str, coder: str = "@coder-1") -> int:
    """A coder has planned a task, and works; the number of its turn."""
    happens(team, TaskAssigned(task, coder), f"task {task} is {coder}'s", task)
    thread = f"{coder.removeprefix('@')}/{task}"
    number = takes_turn(team, coder, thread, "plan", task)
    happens(team, TurnEnded(number, "said", "First this, then that."), f"{coder} has spoken", task)
    team.channel("development").post("First this, then that.", coder, to="@human", task=task)
    return takes_turn(team, coder, thread, "work", task)


def checked(team: Team, task: str, passed: bool = True, output: str = "1 passed\n", **more: Any) -> None:
    why = "passed" if passed else "failed"
    fact = TaskChecked(task, why, passed, team.state.head, COMMAND, output, **more)
    happens(team, fact, f"task {task}: {why}", task)


def board(team: Team) -> Team:
    """A team with tasks in many states, two of which are worked on."""
    with_tasks(
        team, "Add up lines", "Show a discount", "Group thousands", "Print to a file", "Round in favour of customers"
    )
    hands_in(team, codes(team, "1"), "submit_work", summary="Add up lines")
    checked(team, "1")
    takes_turn(team, "@architect", "architect/coder-1", "review", "1")
    second = codes(team, "2", "@coder-2")
    hands_in(team, second, "submit_work", summary="Show a discount")
    checked(team, "2", passed=False, output="no total\n")
    takes_turn(team, "@coder-2", "coder-2/2", "failed", "2")
    for each in ("3", "4"):
        hands_in(team, codes(team, each), "submit_work", summary=f"Task {each}")
    checked(team, "4")
    hands_in(
        team,
        takes_turn(team, "@architect", "architect/coder-1", "review", "4"),
        "review",
        decision="approve",
        notes="Good.",
    )
    return team
