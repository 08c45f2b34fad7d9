"""How a team stands follows from its messages: every way that a task can go, and what must hold whatever happens."""

from __future__ import annotations

import copy
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.errors import FormatError
from antiphon.team import events as facts
from antiphon.team.channels import ChannelMessage
from antiphon.team.events import event_from_json, event_to_json
from antiphon.team.members import make_submission
from antiphon.team.scheduler import (
    AskQuestion,
    AssignTask,
    CheckTask,
    FinishTeam,
    MergeTask,
    StartTurn,
    TakeTurn,
    TeamStep,
    next_steps,
    next_wake_time,
)
from antiphon.team.settings import TeamSettings, settings_to_json
from antiphon.team.state import TeamState


class Told:
    """A team that is told what has happened, and the messages by which it was."""

    def __init__(self, **given: Any) -> None:
        self.state = TeamState()
        self.messages: list[ChannelMessage] = []
        self.note(facts.TeamStarted("Fix it", "/r", "c0", settings_to_json(TeamSettings(**given))))

    def post(self, author: str, kind: str, text: str, **more: Any) -> ChannelMessage:
        message = ChannelMessage(len(self.messages) + 1, "t/x", 0.0, author, more.pop("to", ""), kind, text, **more)
        self.messages.append(message)
        self.state.apply(message)
        return message

    def note(self, fact: facts.TeamEvent) -> None:
        self.post("@team", "fact", "x", data=event_to_json(fact))

    def steps(self, **unread: list[ChannelMessage]) -> list[TeamStep]:
        return next_steps(self.state, {f"@{name}": each for name, each in unread.items()}, 100.0)

    def take(
        self, outcome: Any, value: Any = None, agent: str = "", **unread: list[ChannelMessage]
    ) -> facts.TurnStarted:
        """Begin the turn that is due, and end it."""
        begin = next(each for each in self.steps(**unread) if isinstance(each, StartTurn) and agent in ("", each.agent))
        number = self.state.turn_count + 1
        turn = facts.TurnStarted(number, begin.agent, begin.thread, begin.why, begin.why, begin.task)
        self.note(turn)
        self.note(facts.TurnEnded(number, outcome, value))
        return turn

    def ask(self, step: AskQuestion) -> ChannelMessage:
        job = self.state.jobs.get(step.about)
        data = {"about": step.about, **({"to": job.agent} if job else {})}
        return self.post("@team", "question", step.text, data=data)

    def answer(self, text: str) -> None:
        """Ask what is to be asked, and answer it."""
        ask = next(each for each in self.steps() if isinstance(each, AskQuestion))
        asked = self.ask(ask)
        self.post("@human", "answer", text, reply_to=asked.id, to=self.state.recipient(asked, text))

    def check(self, task: str = "1", passed: bool = True, why: str = "", **more: Any) -> None:
        self.note(facts.TaskChecked(task, why or ("passed" if passed else "failed"), passed, "c1", **more))


def working(*tasks: Any, **given: Any) -> Told:
    """A team whose tasks are written down."""
    team = Told(**given)
    hello = team.post("@human", "chat", "Fix it", to="@pm")
    team.take("submitted", make_submission("submit_spec", title="t", text="x"), pm=[hello])
    team.answer("Yes.")
    made = [
        {"title": each, "spec": each, "checks": [], "after": []} if isinstance(each, str) else each for each in tasks
    ]
    team.take("submitted", make_submission("create_tasks", tasks=made or [_task("one")]))
    return team


def _task(title: str, *after: int) -> dict[str, Any]:
    return {"title": title, "spec": title, "checks": [], "after": list(after)}


def handed_in(team: Told, task: str = "1", coder: str = "@coder-1") -> None:
    if team.state.tasks[task].state == "planned":
        assert AssignTask(task, coder) in team.steps()
        team.note(facts.TaskAssigned(task, coder))
        team.take("said", "my plan", coder)
    team.take("submitted", make_submission("submit_work", summary="done"), coder)


def reviewed(team: Told, decision: str) -> None:
    team.take("submitted", make_submission("review", decision=decision, notes="n"), "@architect")


def test_a_task_goes_its_way_from_hand_to_hand() -> None:
    team = working()
    task = team.state.tasks["1"]
    assert (team.state.phase, task.state) == ("work", "planned")
    handed_in(team)
    assert (task.state, task.plan, team.steps()) == ("testing", "my plan", [CheckTask("1")])
    team.check()
    assert task.state == "review"
    reviewed(team, "approve")
    assert (task.state, team.steps()) == ("merging", [MergeTask("1")])
    team.note(facts.TaskMerged("1", "c1", "c0"))
    assert (task.state, team.state.head, team.steps()) == ("merged", "c1", [FinishTeam()])
    team.note(facts.TeamFinished("c1", ("1",)))
    assert (team.state.phase, team.steps()) == ("done", [])


def test_what_failed_goes_back_and_after_so_many_tries_to_the_human() -> None:
    team = working(tries=2)
    for _ in range(2):
        handed_in(team)
        team.check(passed=False)
        assert team.state.tasks["1"].state == "coding"
    handed_in(team)
    team.check(passed=False)
    assert team.state.tasks["1"].state == "human"
    # What is not green is not taken as it is: it is told to the coder.
    team.answer("approve")
    assert (team.state.tasks["1"].state, team.state.tasks["1"].tries) == ("coding", 0)


@pytest.mark.parametrize(("said", "state"), [("Drop!", "rejected"), ("approve", "merging"), ("make it blue", "coding")])
def test_after_three_rounds_of_changes_the_human_decides(said: str, state: str) -> None:
    team = working()
    for _ in range(3):
        handed_in(team)
        team.check()
        reviewed(team, "changes")
        assert team.state.tasks["1"].state == "coding"
    handed_in(team)
    team.check()
    reviewed(team, "changes")
    assert team.state.tasks["1"].state == "human"
    team.answer(said)
    assert team.state.tasks["1"].state == state


def test_what_was_green_and_fails_with_what_was_merged_meanwhile_goes_back() -> None:
    team = working()
    handed_in(team)
    team.check()
    reviewed(team, "approve")
    team.check(merging=True)
    assert team.state.tasks["1"].state == "merging"
    team.check(passed=False, merging=True)
    assert team.state.tasks["1"].state == "coding"


def test_conflicts_go_back_and_after_three_to_the_human() -> None:
    team = working()
    for count in range(4):
        handed_in(team)
        team.check()
        reviewed(team, "approve")
        team.note(facts.TaskConflicted("1", ("a",), "c2"))
        assert team.state.tasks["1"].state == ("coding" if count < 3 else "human")
    assert team.state.tasks["1"].files == "c2"


def test_tasks_are_merged_one_at_a_time_and_not_while_their_coder_speaks() -> None:
    team = working("one", "two", coders=2)
    for task, coder in (("1", "@coder-1"), ("2", "@coder-2")):
        handed_in(team, task, coder)
        team.check(task)
        reviewed(team, "approve")
    assert [each for each in team.steps() if isinstance(each, MergeTask)] == [MergeTask("1")]
    hello = team.post("@human", "chat", "hello", to="@coder-1")
    assert team.steps(**{"coder-1": [hello]}) == [MergeTask("1")]
    team.note(facts.TurnStarted(99, "@coder-1", "coder-1/1", "talk", ""))
    assert not [each for each in team.steps() if isinstance(each, MergeTask)]


def test_tasks_wait_for_those_they_come_after() -> None:
    team = working("one", _task("two", 1), coders=2)
    assert team.steps() == [AssignTask("1", "@coder-1")]
    handed_in(team)
    team.check()
    reviewed(team, "approve")
    team.note(facts.TaskMerged("1", "c1", "c0"))
    assert AssignTask("2", "@coder-1") in team.steps()


def test_an_agent_that_hands_in_nothing_is_reminded_twice() -> None:
    team = working()
    team.note(facts.TaskAssigned("1", "@coder-1"))
    turns = [team.take("said", "hm").why for _ in range(4)]
    assert turns == ["plan", "work", "nudge", "nudge"]
    assert team.state.tasks["1"].state == "human"


def test_a_turn_that_is_paused_goes_on_when_it_may() -> None:
    team = working()
    team.note(facts.TaskAssigned("1", "@coder-1"))
    team.note(facts.TurnStarted(7, "@coder-1", "coder-1/1", "plan", "x", "1"))
    assert team.steps() == [TakeTurn(7, "@coder-1")]
    team.note(facts.TurnPaused(7, "busy", until=200.0))
    assert (team.steps(), next_wake_time(team.state)) == ([], 200.0)
    assert next_steps(team.state, {}, 201.0) == [TakeTurn(7, "@coder-1")]
    team.note(facts.TurnPaused(7, "spent", over="cap"))
    assert (team.steps(), next_wake_time(team.state)) == ([], None)
    team.note(facts.LimitsRaised(9.0))
    assert team.steps() == [TakeTurn(7, "@coder-1")]
    about = {"about": "call", "turn": 7, "run": "t.7", "path": "p"}
    first, second = (team.post("@coder-1", "question", "May it?", data={**about, "path": path}) for path in "ab")
    team.note(facts.TurnPaused(7, "asks", over="questions"))
    team.post("@human", "answer", "yes", reply_to=first.id)
    assert team.steps() == []
    team.post("@human", "answer", "yes", reply_to=second.id)
    assert team.steps() == [TakeTurn(7, "@coder-1")]
    # An answer may be there before it is known that it is waited for.
    team.note(facts.TurnPaused(7, "asks", over="questions"))
    assert team.steps() == [TakeTurn(7, "@coder-1")]


def test_facts_are_read_as_they_were_written_and_others_are_errors() -> None:
    fact = facts.TaskChecked("1", "passed", True, "c", files=("a",), tests=("t",))
    assert event_from_json(event_to_json(fact)) == fact
    with pytest.raises(FormatError, match="does not know"):
        event_from_json({"fact": "danced"})
    with pytest.raises(FormatError, match="cannot be read"):
        event_from_json({"fact": "turn", "number": 1})


# Whatever happens


class Played(Told):
    """A team that does what can be done next, with outcomes that chance decides."""

    def __init__(self, choices: list[int], **given: Any) -> None:
        self.choices = choices
        self.merged: dict[str, bool] = {}
        super().__init__(**given)
        self.unread: dict[str, list[ChannelMessage]] = {"@pm": [self.post("@human", "chat", "Fix it", to="@pm")]}

    def choose(self, *given: Any) -> Any:
        return given[self.choices.pop() % len(given)] if self.choices else given[0]

    def step(self) -> bool:
        """Do one of the things that can be done; whether there was one."""
        state = self.state
        steps = next_steps(state, self.unread, 0.0)
        begins = [each.agent for each in steps if isinstance(each, StartTurn)]
        assert len(begins) == len(set(begins))
        assert not set(begins) & {turn.begun.agent for turn in state.turns.values()}
        if not steps:
            return self._outside()
        match self.choose(*steps):
            case StartTurn(agent, thread, why, task, _):
                self.unread.pop(agent, None)
                number = state.turn_count + 1
                self.note(facts.TurnStarted(number, agent, thread, why, why, task, state.threads.get(thread, 0)))
            case TakeTurn(number, agent):
                self._turn(number, agent)
            case AskQuestion(about, text):
                self.ask(AskQuestion(about, text))
            case AssignTask(task, coder):
                self.note(facts.TaskAssigned(task, coder))
            case CheckTask(task):
                self.check(task, self.choose(True, False), files=("a",))
            case MergeTask(task):
                green = state.tasks[task].check is not None and state.tasks[task].check.passed  # type: ignore[union-attr]
                if self.choose(0, 0, 1):
                    self.note(facts.TaskConflicted(task, ("a",), "c2"))
                elif not self.choose(True, True, False):
                    self.check(task, passed=False, merging=True)
                else:
                    self.merged[task] = green
                    self.note(facts.TaskMerged(task, f"m{task}", state.head))
            case FinishTeam():
                self.note(facts.TeamFinished(state.head))
        return True

    def _turn(self, number: int, agent: str) -> None:
        turn = self.state.turns[number].begun
        wants = next(
            (job.wants for job in self.state.jobs.values() if (job.thread, job.task) == (turn.thread, turn.task)), ""
        )
        given: dict[str, Any] = {
            "submit_spec": {"title": "t", "text": "x"},
            "create_tasks": {"tasks": [_task("a"), _task("b"), _task("c", 1)]},
            "review": {"decision": self.choose("approve", "changes"), "notes": "n"},
            "submit_work": {"summary": "s"},
        }
        match self.choose("submit", "submit", "said", "asked", "stuck", "paused"):
            case "submit" if wants and turn.why not in ("talk", "plan", "planning"):
                self.note(facts.TurnEnded(number, "submitted", make_submission(wants, **given[wants])))
            case "asked":
                self.post(agent, "question", "Which?", task=turn.task)
                self.note(facts.TurnEnded(number, "asked", make_submission("chat_ask_user", question="Which?")))
            case "stuck":
                self.note(facts.TurnEnded(number, "stuck", "circles"))
            case "paused":
                self.note(facts.TurnPaused(number, "busy", until=-1.0))
            case _:
                if agent == "@pm" and turn.why != "talk":
                    self.post(agent, "question", "Hm?")
                self.note(facts.TurnEnded(number, "said", "well"))

    def _outside(self) -> bool:
        """The human answers something."""
        if not self.state.questions:
            return False
        question = self.state.questions[self.choose(*self.state.questions)]
        text = self.choose("yes", "other words", "drop")
        to = self.state.recipient(question, text)
        said = self.post(
            "@human", "answer", text, reply_to=question.id, to=to or "@team", task=self.state.answer_task(question, to)
        )
        if to:
            self.unread.setdefault(to, []).append(said)
        return True


@given(st.lists(st.integers(0, 59), max_size=150), st.integers(1, 3), st.booleans(), st.integers(1, 2))
@settings(max_examples=150)
def test_whatever_happens_no_task_is_lost_and_the_team_comes_to_its_end(
    choices: list[int], coders: int, solo: bool, rounds: int
) -> None:
    team = Played(choices, coders=coders, solo=solo, rounds=rounds, tries=rounds)
    for _ in range(1500):
        if not team.step():
            break
    else:
        raise AssertionError("it never ends")
    state = team.state
    assert state.ended is not None, (state.tasks, state.jobs, team.messages[-3:])
    assert all(task.is_over for task in state.tasks.values())
    assert not state.turns
    # Nothing was merged that was not green.
    assert all(team.merged.values())
    assert set(team.merged) == {task.id for task in state.tasks.values() if task.state == "merged"}
    # However the messages come, it stands as it stands.
    other = TeamState()
    for number, message in enumerate(team.messages):
        if number == len(team.messages) // 2:
            other = copy.deepcopy(other)
        other.apply(message)
    assert asdict(other) == asdict(state)
