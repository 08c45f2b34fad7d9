"""Teams on the page: what is told of them, what can be said and done, and that nobody is heard twice or missed."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from antiphon.conversation import ToolCall
from antiphon.durable import Journal
from antiphon.effects import AskPerson, CallTool
from antiphon.errors import NotReadyError, NotSavedError, OptionError
from antiphon.team import Team
from antiphon.team.diffs import branch_commands
from antiphon.team.events import TeamFinished, TurnPaused
from antiphon.team.queries import open_team_questions
from antiphon.web import app, teams
from antiphon.web.questions import list_questions_json
from antiphon.web.run_launcher import RunLauncher
from antiphon.web.team_events import TeamEventFeed
from tests.cli.team_roles import MODEL, serving
from tests.team.teams import FIX, SUBMIT, Script, calls, git, repository, settings
from tests.web.browser import Site
from tests.web.journals import begun, do, say
from tests.web.tabs import AXE, PICTURES, Tab
from tests.web.teamwork import (
    asks,
    board,
    checked,
    codes,
    hands_in,
    happens,
    real_team,
    specified,
    takes_turn,
    team_in,
    with_tasks,
)
from tests.web.test_page import HOSTILES
from tests.web.test_server import OURS, TOKEN, known


class Noted(RunLauncher):
    """Notes what is gone on with, and begins no process."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self.gone_on: list[str] = []

    def go_on(self, id: str) -> bool:
        self.gone_on.append(id)
        return True


def held(journal: Journal, team: Team) -> None:
    """Somebody runs a team: this process."""
    journal.resume(team.id)


def told(watch: TeamEventFeed) -> dict[str, list[Any]]:
    """What is new, by the names of events; of messages their numbers."""
    found: dict[str, list[Any]] = {}
    for _, name, data in watch.new():
        found.setdefault(name, []).append([each["id"] for each in data] if name == "messages" else data)
    return found


def status(journal: Journal, team: Team) -> dict[str, Any]:
    return told(TeamEventFeed(journal, Noted(journal), team.id))["team"][0]


def got(journal: Journal, path: str) -> list[dict[str, Any]]:
    """The sessions of a list."""
    (response,) = known(app(journal=journal, token=TOKEN), ("GET", path, {}))
    return response.json()["sessions"]


# Which there are


def test_teams_are_listed_by_who_runs_them_and_what_waits(journal: Journal):
    left, asking, running, done = (team_in(journal, each) for each in "abcd")
    asks(asking, "Which?")
    asks(running, "Which?")
    held(journal, running)
    happens(done, TeamFinished(done.state.head))
    journal.resume(done.id).finish("done")
    begun(journal, "program").finish("done")
    listed = {each["id"]: (each["state"], each["waiting"]) for each in got(journal, "/api/sessions?kind=team")}
    assert listed == {
        left.id: ("ready", 0),
        asking.id: ("waiting", 1),
        running.id: ("running", 1),
        done.id: ("done", 0),
    }


def test_a_journal_that_many_share_has_no_teams():
    shared = Journal("postgresql://nobody@127.0.0.1:1/none")
    (one,) = known(app(journal=shared, token=TOKEN), ("GET", "/api/sessions/x/task?task=1", {}))
    assert (one.status_code, one.json()) == (404, {"error": teams.SHARED_JOURNAL_NOTE})
    assert open_team_questions(shared, 10) == []


@pytest.mark.parametrize("id", ["../x", "..%2Fx", "%2e%2e/%2e%2e/etc", "none", "program", "'", "%00", "x/log"])
def test_what_is_no_team_is_not_found(journal: Journal, id: str):
    team = team_in(journal)
    begun(journal, "program").finish("done")
    page = app(journal=journal, token=TOKEN)
    said = {"json": {"text": "Hello", "question": 1}}
    names = ("answer", "send", "limits", "stop", "resume")
    gets = [("GET", f"/api/sessions/{each}/{what}", {}) for each in (id, team.id[:-1]) for what in ("task", "diff")]
    posts = [("POST", f"/api/sessions/{each}/{what}", OURS, said) for each in (id, team.id[:-1]) for what in names]
    found = known(page, *gets, *posts)
    # A program cannot do what a team does.
    assert {each.status_code for each in found} <= ({404, 400, 409} if id == "program" else {404, 405})
    assert list(told(TeamEventFeed(journal, Noted(journal), id))) == ["gone", "questions"]


# What is told


def test_each_message_is_sent_once_wherever_a_page_comes_back(journal: Journal):
    team = board(team_in(journal))
    all_of_them = [each.id for each in team.messages()]
    for last in (0, 1, all_of_them[len(all_of_them) // 2], all_of_them[-1]):
        watch = TeamEventFeed(journal, Noted(journal), team.id, str(last or ""))
        sent = chain.from_iterable(told(watch).get("messages", []))
        assert list(sent) == [each for each in all_of_them if each > last]
        new = [team.say("One", "@coder-1").id, team.say("Two", "@pm").id]
        assert told(watch)["messages"] == [new]
        assert "messages" not in told(watch)
        all_of_them += new


def test_many_messages_come_in_parts_and_end_with_the_last(journal: Journal):
    team = team_in(journal)
    channel = team.channel("product")
    for number in range(600):
        channel.post(f"line {number}", "@pm")
    watch = TeamEventFeed(journal, Noted(journal), team.id)
    first, second = (next(each for each in watch.new() if each[1] == "messages") for _ in "ab")
    assert (len(first[2]), second[2][-1]["text"], second[0]) == (500, "line 599", str(second[2][-1]["id"]))
    again = TeamEventFeed(journal, Noted(journal), team.id, first[0])
    assert told(again)["messages"] == [[each["id"] for each in second[2]]]


def test_a_message_without_end_is_cut_and_says_so(journal: Journal):
    team = team_in(journal)
    team.channel("product").post("x" * 30_000, "@pm")
    sent = next(data for _, name, data in TeamEventFeed(journal, Noted(journal), team.id).new() if name == "messages")[
        -1
    ]
    assert (len(sent["text"]), sent["more"]) == (20_000, 10_000)


def test_tasks_are_told_with_their_states_and_what_was_found(journal: Journal):
    known = status(journal, board(team_in(journal)))
    assert [(each["id"], each["state"], each["coder"]) for each in known["tasks"]] == [
        ("1", "review", "@coder-1"),
        ("2", "coding", "@coder-2"),
        ("3", "testing", "@coder-1"),
        ("4", "merging", "@coder-1"),
        ("5", "planned", None),
    ]
    assert [each["check"] and each["check"]["why"] for each in known["tasks"]] == [
        "passed", "failed", None, "passed", None,
    ]  # fmt: skip
    assert known["tasks"][1]["tries"] == 1
    assert [(each["agent"], each["what"], each["task"]) for each in known["turns"]] == [
        ("@architect", "reviews", "1"),
        ("@coder-2", "mends what the tests found", "2"),
    ]
    assert known["commands"] == ()


def test_what_agents_do_and_use_is_told_as_it_grows(journal: Journal):
    team = with_tasks(team_in(journal), "Add up")
    number = codes(team, "1")
    watch = TeamEventFeed(journal, Noted(journal), team.id)
    assert told(watch)["team"][0]["used"] == {"cost": 0, "requests": 0}
    running = journal.begin("turn", "x", {}, id=f"{team.id}.{number}", parent=team.id, number=number)
    say(running, "1", "I look.", 0.25)
    (now,) = told(watch)["team"]
    assert now["used"] == {"cost": 0.25, "requests": 1}
    assert (now["turns"][0]["run"], now["turns"][0]["doing"]["head"]) == (f"{team.id}.{number}", "claude-sonnet-5")
    say(running, "2", "I see.", None)  # pyright: ignore[reportArgumentType]
    hands_in(team, number, "submit_work", summary="Done")
    (now,) = told(watch)["team"]
    assert now["costs"] == [{"agent": "@coder-1", "turns": 1, "requests": 2, "cost": None}]
    assert (now["used"], now["turns"]) == ({"cost": 0.25, "requests": 2}, [])
    assert "team" not in told(watch)
    assert status(journal, team)["costs"] == now["costs"]


def test_a_turn_that_is_over_is_not_looked_at_again(journal: Journal):
    team = with_tasks(team_in(journal), "Add up")
    number = codes(team, "1")
    running = journal.begin("turn", "x", {}, id=f"{team.id}.{number}", parent=team.id, number=number)
    say(running, "1", "I look.", 0.25)
    hands_in(team, number, "submit_work", summary="Done")
    watch = TeamEventFeed(journal, Noted(journal), team.id)
    told(watch)
    say(running, "2", "Too late", 9.0)
    team.say("Hello", "@pm")
    assert "team" not in told(watch)


def test_a_team_that_is_done_says_how_to_take_its_branch(journal: Journal):
    team = team_in(journal)
    base = team.state.head
    happens(team, TeamFinished(base, ("1",)))
    assert status(journal, team)["commands"] == branch_commands(f"antiphon/{team.id}/main", base)
    nothing = team_in(journal, "other")
    happens(nothing, TeamFinished(nothing.state.head))
    assert status(journal, nothing)["commands"] == ()


# What is changed


def made(where: Path, journal: Journal, *script: Any) -> Team:
    """A team of one, which has done what is in a script."""
    files = {
        "calc.py": "def add(a, b):\n    return a - b\n",
        "old.txt": "old\n",
        "check.sh": "exit 0\n",
        "big.txt": "a\n" * 10,
    }
    team = Team.begin(
        "Do it",
        repository(where / "repo", files),
        settings(solo=True),
        journal=journal,
        models={"coder": Script(*script)},
    )
    team.work()
    return team


def test_what_is_changed_is_drawn_file_by_file(journal: Journal, tmp_path: Path):
    write = calls("write_file", path="test_<b>.py", content="new\n")
    team = made(tmp_path, journal, FIX, write, SUBMIT)
    assert team.state.ended is not None
    page = app(journal=journal, token=TOKEN)
    branch, task, none = known(
        page,
        ("GET", f"/api/sessions/{team.id}/diff", {}),
        ("GET", f"/api/sessions/{team.id}/diff?task=1", {}),
        ("GET", f"/api/sessions/{team.id}/diff?task=9", {}),
    )
    assert branch.json() == task.json()
    calc, new = branch.json()["files"]
    assert (calc["path"], calc["status"], calc["role"]) == ("calc.py", "modified", "code")
    assert calc["view"]["body"]["isPaired"]
    marks = [line["mark"] for hunk in calc["view"]["body"]["hunks"] for line in hunk["lines"]]
    assert (marks.count("-"), marks.count("+")) == (1, 1)
    assert (new["path"], new["role"], new["view"]["body"]["change"]) == ("test_<b>.py", "test", "new")
    assert none.status_code == 409
    (seen,) = known(page, ("GET", f"/api/sessions/{team.id}/task?task=1", {}))
    assert (seen.json()["summary"], seen.json()["check"]["why"]) == ("Fix add", "passed")


def test_files_that_are_no_text_or_too_large_are_only_named(journal: Journal, tmp_path: Path):
    team = made(tmp_path, journal, FIX, SUBMIT)
    work = team.task_files().work
    repo = Path(work.repository.top)
    old = git(repo, "rev-parse", "HEAD")
    (repo / "picture.png").write_bytes(b"\x89PNG\0\xff")
    (repo / "latin.txt").write_bytes(b"caf\xe9\n")
    (repo / "big.txt").write_text("b\n" * 500)
    (repo / "old.txt").unlink()
    (repo / "link").symlink_to("calc.py")
    git(repo, "add", "-A")
    git(repo, "-c", "user.name=n", "-c", "user.email=n@x", "commit", "-qm", "all sorts")
    found = {each.path: each for each in teams.file_versions_between(work, old, git(repo, "rev-parse", "HEAD"), 500)}
    assert {name: each.unseen for name, each in found.items()} == {
        "big.txt": "large", "latin.txt": "", "link": "", "old.txt": "", "picture.png": "binary",
    }  # fmt: skip
    assert (found["latin.txt"].before, found["latin.txt"].after) == (None, "caf\\xe9\n")
    assert (found["old.txt"].before, found["old.txt"].after) == ("old\n", None)
    assert found["link"].after == "calc.py"


# What is asked


def call_asked(journal: Journal, team: Team) -> int:
    """A turn of a coder waits to be allowed a call, and the team asks for that."""
    number = takes_turn(team, "@coder-1", "coder-1", "talk")
    running = journal.begin("turn", "x", {}, id=f"{team.id}.{number}", parent=team.id, number=number)
    do(running, "1", AskPerson("approval", "May `rm` run?", ToolCall("c", "rm", {"path": "all\u202e"})))
    running.finish("waiting")
    data = {"about": "call", "turn": number, "run": f"{team.id}.{number}", "path": "1", "is": "approval"}
    asked = asks(team, "May `rm` run?", "@coder-1", "development", data=data)
    happens(team, TurnPaused(number, "waits", over="questions"))
    return asked


def test_the_inbox_has_what_teams_ask_each_once(journal: Journal):
    team = with_tasks(team_in(journal), "Add up")
    hands_in(team, codes(team, "1"), "submit_work", summary="Done")
    checked(team, "1")
    numbers = [
        asks(team, "Which?"),
        asks(
            team,
            "Task 1 gets no further",
            "@team",
            data={"about": "task:1", "ways": team.state.list_decision_words("task:1")},
        ),
        call_asked(journal, team),
    ]
    other = team_in(journal, "other")
    numbers.append(specified(other))
    found = list_questions_json(journal)
    assert [(each["seq"], each["about"], each.get("ways")) for each in found] == [
        (numbers[0], "question", []),
        (numbers[1], "task", ["approve", "drop"]),
        (numbers[2], "approval", None),
        (numbers[3], "spec", ["yes"]),
    ]
    assert [each["team"] for each in found] == [team.id] * 3 + [other.id]
    assert (found[2]["run"], found[2]["path"], found[2]["call"]["name"]) == (
        f"{team.id}.{team.state.turn_count}",
        "1",
        "rm",
    )
    turn = f"/api/sessions/{found[2]['run']}/answer"
    (refused,) = known(
        app(journal=journal, token=TOKEN), ("POST", turn, OURS, {"json": {"path": "1", "hash": "x", "text": "yes"}})
    )
    assert (refused.status_code, refused.json()) == (
        409,
        {"error": f"team {team.id} asks this question; answer it on the page of the team"},
    )
    team.answer(numbers[0], "This")
    assert [each["seq"] for each in list_questions_json(journal)] == numbers[1:]
    journal.resume(other.id).finish("done")
    assert [each["seq"] for each in list_questions_json(journal)] == numbers[1:3]


def test_only_what_a_fork_still_asks_is_open(journal: Journal, tmp_path: Path):
    team = real_team(journal, tmp_path)
    first = asks(team, "Which?")
    team.answer(first, "This")
    asks(team, "And then?")
    team.refresh()
    made = team.fork(team.state.last)
    assert [(each.team == made.id, each.message.text) for each in open_team_questions(journal, 10)] == [
        (False, "And then?"), (True, "And then?"),
    ]  # fmt: skip


def test_a_question_is_answered_once_and_the_team_goes_on(journal: Journal):
    team, going = team_in(journal), Noted(journal)
    number = asks(team, "Which?")
    watch = TeamEventFeed(journal, going, team.id)
    assert len(told(watch)["questions"][0]) == 1
    assert teams.answer_question(team, going, {"question": number, "text": "All"})["goesOn"]
    assert going.gone_on == [team.id]
    assert told(watch)["questions"] == [[]]
    with pytest.raises(NotReadyError, match="has its answer already: All"):
        teams.answer_question(team, going, {"question": number, "text": "None"})
    assert going.gone_on == [team.id]


def test_a_team_that_somebody_runs_hears_the_answer_there(journal: Journal):
    team, going = team_in(journal), Noted(journal)
    number = asks(team, "Which?")
    held(journal, team)
    assert teams.answer_question(team, going, {"question": number, "text": "All"})["goesOn"]
    assert going.gone_on == []


@pytest.mark.parametrize(
    ("given", "allowed", "said"),
    [
        ({"allowed": True, "text": "never"}, True, "yes"),
        ({"allowed": False}, False, "no"),
        ({"allowed": False, "text": " "}, False, "no"),
        ({"allowed": False, "text": "ok"}, False, "no: ok"),
        ({"allowed": False, "text": "Yes!"}, False, "no: Yes!"),
        ({"allowed": False, "text": "too much"}, False, "too much"),
    ],
)
def test_a_call_is_allowed_by_leave_alone(journal: Journal, given: Any, allowed: bool, said: str):
    team = team_in(journal)
    number = call_asked(journal, team)
    teams.answer_question(team, Noted(journal), {"question": number, **given})
    assert [each.text for each in team.messages() if each.kind == "answer"] == [said]
    outcome = journal.find_effect(f"{team.id}.{team.state.turn_count}", "1").outcome
    assert outcome is not None
    assert outcome.value.allowed is allowed
    assert list_questions_json(journal) == []


def test_an_answer_on_the_page_lets_a_team_go_on_in_a_process(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with serving() as fake:
        monkeypatch.setenv("OPENAI_API_KEY", "none-is-needed")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{fake.url}/v1")
        team = real_team(journal, tmp_path, model=MODEL)
        number = asks(team, "Which numbers should it add?")
        page = app(journal=journal, token=TOKEN)
        request = (
            "POST",
            f"/api/sessions/{team.id}/answer",
            OURS,
            {"json": {"question": number, "text": "All of them"}},
        )
        (response,) = known(page, request)
        assert response.json() == {"goesOn": True, "resume": f"antiphon resume {team.id}"}
        until = time.monotonic() + 90
        while not list_questions_json(journal):
            assert time.monotonic() < until, [each.text for each in team.messages()]
            time.sleep(0.1)
        while team.is_running():
            time.sleep(0.05)


# What is said and done


def test_what_is_said_goes_to_whom_it_is_for(journal: Journal):
    team, going = team_in(journal), Noted(journal)
    number = asks(team, "Which?")
    for given in (
        {"text": "One"},
        {"text": "Two", "channel": "development"},
        {"text": "Three", "to": "@coder-2"},
        {"text": "@coder-1 Four"},
        {"text": f"#{number} Five"},
    ):
        assert teams.post_message(team, going, given)["running"] is False
    said = [
        (each.channel.rpartition("/")[2], each.to, each.text) for each in team.messages() if each.author == "@human"
    ]
    assert said[1:] == [
        ("product", "@pm", "One"),
        ("development", "@architect", "Two"),
        ("development", "@coder-2", "Three"),
        ("development", "@coder-1", "Four"),
        ("product", "@pm", "Five"),
    ]
    assert going.gone_on == []


@pytest.mark.parametrize(
    ("what", "given", "status"),
    [
        ("send", {}, 400),
        ("send", {"text": "  \n"}, 400),
        ("send", {"text": 1}, 400),
        ("send", {"text": "a", "to": ["@pm"]}, 400),
        ("send", {"text": "a", "to": "@nobody"}, 409),
        ("send", {"text": "a", "channel": "log/../x"}, 200),
        ("send", {"text": "AKIA" + "ABCDEFGHIJKLMNOP"}, 400),
        ("answer", {"question": "4", "text": "a"}, 400),
        ("answer", {"question": True, "text": "a"}, 400),
        ("answer", {"question": 4, "text": "a", "allowed": "yes"}, 400),
        ("answer", {"question": 4000, "text": "a"}, 409),
        ("limits", {}, 400),
        ("limits", {"cost": 0}, 400),
        ("limits", {"cost": -1}, 400),
        ("limits", {"cost": True}, 400),
        ("limits", {"cost": "5"}, 400),
        ("limits", {"requests": 1.5}, 400),
        ("stop", {}, 409),
    ],
)
def test_what_cannot_be_done_is_told(journal: Journal, what: str, given: Any, status: int):
    team = team_in(journal)
    before = len(team.messages())
    path = f"/api/sessions/{team.id}/{what}"
    (response, foreign) = known(
        app(journal=journal, token=TOKEN), ("POST", path, OURS, {"json": given}), ("POST", path, {}, {"json": given})
    )
    assert response.status_code == status, response.text
    assert foreign.status_code == 403
    assert len(team.messages()) == before + (status == 200)


def test_limits_that_are_not_numbers_are_none(journal: Journal):
    team = team_in(journal)
    for value in (float("inf"), float("nan")):
        with pytest.raises(OptionError):
            teams.raise_limits(team, Noted(journal), {"cost": value})


def test_who_waits_for_a_limit_goes_on_when_it_is_raised(journal: Journal):
    team, going = with_tasks(team_in(journal), "Add up"), Noted(journal)
    assert teams.raise_limits(team, going, {"requests": 500}) == {"goesOn": False}
    assert (going.gone_on, team.state.settings.requests) == ([], 500)
    happens(team, TurnPaused(codes(team, "1"), "the limit of $5 for all of it is reached", over="cap"))
    paused = status(journal, team)
    assert (paused["turns"][0]["over"], paused["limits"]["cost"]) == ("cap", 5.0)
    assert teams.raise_limits(team, going, {"cost": 8.5})["goesOn"]
    assert (going.gone_on, team.state.settings.cost, team.state.settings.requests) == ([team.id], 8.5, 500)
    assert "paused" not in status(journal, team)["turns"][0]


def test_a_team_is_stopped_and_gone_on_with(journal: Journal):
    team, going = team_in(journal), Noted(journal)
    assert teams.resume_team(team, going, {})["goesOn"]
    held(journal, team)
    teams.stop_team(team, going, {})
    assert team.refresh().stopped_at == team.state.last
    assert going.gone_on == [team.id]
    happens(team, TeamFinished(team.state.head))
    with pytest.raises(NotReadyError, match="is done"):
        teams.resume_team(team, going, {})
    with pytest.raises(NotReadyError, match="is done"):
        teams.post_message(team, going, {"text": "Hello"})


def test_a_team_that_is_not_all_begun_is_only_looked_at(journal: Journal):
    journal.begin("team", "Half", {"repository": "/nowhere"}, id="half").finish("ready")
    with pytest.raises(NotReadyError, match="just being begun"):
        teams.load_team(journal, "half")
    assert "just being begun" in told(TeamEventFeed(journal, Noted(journal), "half"))["problem"][0]
    with pytest.raises(NotSavedError):
        teams.load_team(journal, "hal")


def test_a_repository_that_is_gone_is_told_plainly(journal: Journal):
    team = team_in(journal)
    (response,) = known(app(journal=journal, token=TOKEN), ("GET", f"/api/sessions/{team.id}/diff", {}))
    assert (response.status_code, "/home/ada/basket" in response.json()["error"]) == (409, True)


# In a browser


def numbers_of(page: Any) -> list[int]:
    return page.evaluate("() => [...document.querySelectorAll('[data-message]')].map((each) => +each.dataset.message)")


def test_a_team_is_seen_as_it_works_and_talked_to(tab: Tab, browser: Any, site: Site, journal: Journal):
    team = board(team_in(journal))
    first, second = (
        asks(team, "Which **numbers**?"),
        asks(team, "In whose favour?", "@coder-2", "development", task="2"),
    )
    held(journal, team)
    other = Tab(browser, site)
    there = other.go("questions")
    there.fill(f"[data-seq='{first}'] textarea", "None")
    page = tab.go("sessions?kind=team")
    page.wait_for_selector("[data-session=one] .state.running")
    # With the keyboard alone: the list, the team, a task of its board.
    page.focus(".runs a")
    page.keyboard.press("Enter")
    page.wait_for_selector(".column.review [data-task='1']")
    cards = "() => [...document.querySelectorAll('.board li')].map(({ dataset }) => dataset.task + dataset.state)"
    assert page.evaluate(cards) == ["5planned", "2coding", "3testing", "1review", "4merging"]
    assert page.get_attribute(".now [data-agent='@coder-2'] .turn", "href") == "#/sessions/one.8"
    page.focus("[data-task='5'] a")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("h2:has-text('Task 2: Show a discount')")
    page.wait_for_function("() => document.activeElement.id === 'opened'")
    page.wait_for_selector(".opened-task .terminal >> text=no total")
    # What is said is seen at once, and goes to whom it is for.
    page.click("text=development >> nth=0")
    assert page.get_attribute("[role=log]", "aria-label") == "Messages"
    page.select_option(".said select", "@coder-2")
    page.fill(".said textarea", "Keep it <b>small</b>, please.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".message.mine >> text=Keep it <b>small</b>, please.")
    assert (team.messages()[-1].to, team.messages()[-1].channel) == ("@coder-2", "one/development")
    # One answer counts, wherever it is given.
    page.fill(f"[data-seq='{first}'] textarea", "All of them")
    page.click(f"[data-seq='{first}'] button")
    there.wait_for_selector(f"[data-seq='{first}']", state="detached")
    there.wait_for_selector(f"[data-seq='{second}']")
    team.answer(second, "The customer's")
    there.wait_for_selector(".empty")
    page.wait_for_selector(f"[data-seq='{second}']", state="detached")
    # Nothing is missed or doubled when the page was served anew meanwhile.
    page.click("text=Log")
    site.stop()
    takes_turn(team, "@pm", "pm", "talk")
    site.start()
    page.wait_for_selector("text=@pm reads what was said")
    page.click("text=Both channels")
    found = numbers_of(page)
    assert found == [each.id for each in team.messages() if not each.channel.endswith("/log")]
    page.click("text=Stop")
    page.wait_for_selector("text=Stopping …")
    assert team.refresh().stopped_at
    other.close()
    # The server was away for a while, and the files of this team are nowhere.
    tab.complaints[:] = [each for each in tab.complaints if "ERR_" not in each and "409" not in each]


def seen_well(page: Any) -> None:
    """Nobody is shut out, and nothing sticks out of a narrow screen."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("() => axe.run()")
    assert [(each["id"], [node["target"] for node in each["nodes"]]) for each in found["violations"]] == []
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 1100, "height": 800})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_teams_are_seen_by_all(browser: Any, site: Site, journal: Journal, scheme: str):
    team = board(team_in(journal, request="Receipts with a total, a discount, and large amounts as 1,234.50"))
    for number in team.state.turns:
        running = journal.begin("turn", "x", {}, id=f"one.{number}", parent="one", number=number)
        say(running, "1", "I look.", 0.31)
        do(
            running,
            "2",
            CallTool("edit_file", {"path": "basket/receipt.py", "old": "total", "new": "total - discount"}),
        )
    asks(
        team,
        "A discount seldom comes to whole cents: in whose favour is it rounded?",
        "@coder-2",
        "development",
        task="2",
    )
    held(journal, team)
    capped = with_tasks(team_in(journal, "capped", cost=1.0), "Add up")
    happens(capped, TurnPaused(codes(capped, "1"), "the limit of $1 for all of it is reached", over="cap"))
    done = team_in(journal, "done", "Mend add")
    happens(done, TeamFinished(done.state.head, ("1",)))
    specified(team_in(journal, "spec", "Receipts"))
    tab = Tab(browser, site, color_scheme=scheme)
    views = {
        "light": {"sessions/one?task=2": ".opened-task h3 >> nth=3", "sessions/done": ".take >> nth=2"},
        "dark": {"sessions/capped": ".costs details[open]", "questions": "[data-about=spec]"},
    }[scheme]
    for where, wanted in views.items():
        page = tab.go(where)
        page.wait_for_selector(wanted)
        seen_well(page)
    if os.environ.get("UPDATE_PICTURES"):
        page = tab.go("sessions/one")
        page.wait_for_selector(".message .markdown > *")
        page.set_viewport_size({"width": 1100, "height": 1000})
        page.screenshot(path=PICTURES / f"page-team-{scheme}.png")
    tab.close()
    assert [each for each in tab.complaints if "409" not in each] == []


def test_nothing_that_a_team_says_does_anything(tab: Tab, journal: Journal, tmp_path: Path):
    name = '<img src=x onerror="document.title=1">\u202e.py'
    write = calls("write_file", path=name, content=f"{HOSTILES[0]}\n")
    with ThreadPoolExecutor() as elsewhere:
        team = elsewhere.submit(made, tmp_path, journal, write, FIX, SUBMIT).result()
    evil = team_in(journal, "evil", HOSTILES[0])
    with_tasks(evil, *HOSTILES)
    number = codes(evil, "1")
    running = journal.begin("turn", "x", {}, id=f"evil.{number}", parent="evil", number=number)
    do(running, "1", CallTool(HOSTILES[3], {"a": HOSTILES[1]}))
    for words in HOSTILES:
        evil.channel("product").post(words, "@pm", to="@human")
        asks(evil, words, "@coder-1", "development", task="1")
    hands_in(evil, codes(evil, "2", "@coder-2"), "submit_work", summary=HOSTILES[1])
    checked(evil, "2", False, HOSTILES[0], tests=(name,), left_out=(HOSTILES[2],))
    page = tab.go("sessions/evil?task=2")
    page.wait_for_selector(".opened-task .terminal")
    page.wait_for_selector(".message >> nth=5")
    assert page.locator("main script, main iframe, main img, main base, main style").count() == 0
    for where, wanted in {
        "sessions": "[data-session=evil]", "questions": "section.waiting >> nth=5",
        f"sessions/{team.id}?task=branch": ".diff >> nth=1", "sessions/..%2F..%2Fx": ".empty",
    }.items():  # fmt: skip
        page = tab.go(where)
        page.wait_for_selector(wanted)
        assert "owned" not in page.title()
        assert page.locator("main script, main iframe, main img, main base, main style").count() == 0
    tab.go(f"sessions/{team.id}?task=branch").wait_for_selector("text=onerror=")
    assert page.locator("text=\\u202e.py").count() > 0
    # A session that is not there, and a repository that is not.
    tab.complaints[:] = [each for each in tab.complaints if not {"404", "409"} & {*each.split()}]
