"""What a team can do next: nobody takes a turn without news, and none takes two at once."""

from __future__ import annotations

from typing import Any

from antiphon.team import events as facts
from antiphon.team.members import make_submission
from antiphon.team.scheduler import StartTurn, next_steps
from antiphon.team.state import TeamState
from tests.team.test_state import Told, handed_in, working


def begun(team: Told, **unread: Any) -> list[StartTurn]:
    return [each for each in team.steps(**unread) if isinstance(each, StartTurn)]


def test_nothing_is_done_before_it_begins_and_after_it_ends() -> None:
    assert next_steps(TeamState(), {}, 0.0) == []
    team = Told(solo=True)
    team.note(facts.TeamFinished("c0"))
    hello = team.post("@human", "chat", "hello", to="@coder")
    assert team.steps(coder=[hello]) == []


def test_nobody_takes_a_turn_without_news() -> None:
    team = Told(coders=2)
    assert team.steps() == []
    hello = team.post("@human", "chat", "hello", to="@coder-2")
    assert begun(team, **{"coder-2": [hello]}) == [StartTurn("@coder-2", "coder-2", "talk")]


def test_who_has_a_turn_does_not_begin_another() -> None:
    team = working("one", "two")
    team.note(facts.TaskAssigned("1", "@coder-1"))
    assert [each.why for each in begun(team)] == ["plan"]
    team.note(facts.TurnStarted(9, "@coder-1", "coder-1/1", "plan", "x", "1"))
    hello = team.post("@human", "chat", "hello", to="@coder-1")
    assert begun(team, **{"coder-1": [hello]}) == []


def test_of_several_questions_the_answers_are_waited_for_unless_the_human_says_something_else() -> None:
    team = Told()
    hello = team.post("@human", "chat", "Fix it", to="@pm")
    team.note(facts.TurnStarted(1, "@pm", "pm", "", ""))
    which, _ = (team.post("@pm", "question", text, to="@human") for text in ("Which?", "When?"))
    team.note(facts.TurnEnded(1, "asked", make_submission("chat_ask_user", question="When?")))
    answer = team.post("@human", "answer", "this", reply_to=which.id, to="@pm")
    assert begun(team, pm=[answer]) == []
    assert begun(team, pm=[answer, hello]) == [StartTurn("@pm", "pm", "", "", "submit_spec")]


def test_an_answer_wakes_only_the_task_in_which_it_was_asked() -> None:
    team = working("one", "two", coders=2)
    for task, coder in (("1", "@coder-1"), ("2", "@coder-2")):
        handed_in(team, task, coder)
        team.check(task)
    for number in (91, 92):
        turn = begun(team)[0]
        team.note(facts.TurnStarted(number, "@architect", turn.thread, "review", "x", turn.task))
        team.post("@architect", "question", f"{turn.task}?", to="@human", task=turn.task)
        team.note(facts.TurnEnded(number, "asked", make_submission("chat_ask_user", question="?")))
    second = next(each for each in team.state.questions.values() if each.task == "2")
    answer = team.post(
        "@human",
        "answer",
        "yes",
        reply_to=second.id,
        to="@architect",
        task=team.state.answer_task(second, "@architect"),
    )
    assert [each.task for each in begun(team, architect=[answer])] == ["2"]


def test_agents_that_only_talk_to_one_another_wait_after_three_turns() -> None:
    team = Told(coders=2)
    chat = team.post("@architect", "chat", "thanks", to="@coder-1")
    for number in (1, 2, 3):
        assert len(begun(team, **{"coder-1": [chat]})) == 1
        team.note(facts.TurnStarted(number, "@coder-1", "coder-1", "talk", ""))
        team.note(facts.TurnEnded(number, "said", "thanks"))
    assert begun(team, **{"coder-1": [chat]}) == []
    hello = team.post("@human", "chat", "hello", to="@coder-1")
    assert len(begun(team, **{"coder-1": [chat, hello]})) == 1
