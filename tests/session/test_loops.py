"""Loops: the same call with the same result, while nothing changes."""

from typing import Any

import pytest

from antiphon.session import LoopDetected, Question, Session
from antiphon.tools import NeedsHumanInput, ToolFailure, tool
from tests.session.scripted import Scripted, calls

WARNING = "This same call has now"


class Files:
    """A file, its tests, and what may be done with both."""

    def __init__(self) -> None:
        self.text = ""

        @tool(read_only=True)
        def read() -> str:
            return f"text: {self.text}"

        @tool(idempotent=True)
        def run_tests() -> str:
            return "1 failed"

        @tool
        def check() -> str:
            raise ToolFailure("1 failed")

        @tool
        def write(text: str) -> str:
            self.text = text
            return "written"

        self.tools: list[Any] = [read, run_tests, check, write]


def run(*script: Any) -> Any:
    return Session(Scripted(*script, "Done."), Files().tools).vibe("Go.")


def outcome(*script: Any) -> tuple[str, int]:
    """The outcome, and how many calls were made."""
    try:
        ended = run(*script).run
    except LoopDetected as error:
        ended = error.run
    return ended.outcome, len(ended.tool_calls)


@pytest.mark.parametrize(
    ("name", "told"), [("read", "gave the same result"), ("run_tests", "gave the same result"), ("check", "failed")]
)
def test_a_call_that_is_repeated_in_vain_ends_the_run(name: str, told: str):
    with pytest.raises(LoopDetected, match=f"the same call {told} 5 times: {name}") as caught:
        run(*[calls(name)] * 9)
    assert len(caught.value.run.tool_calls) == 5
    texts = [each.text for turn in caught.value.run.conversation.turns for each in getattr(turn, "results", ())]
    said = "failed" if told == "failed" else "given the same result"
    assert [WARNING in text for text in texts] == [False, False, True, True, True]
    assert f"has now {said} 3 times. Do something else." in texts[2]


@pytest.mark.parametrize("name", ["read", "run_tests", "check"])
def test_a_change_in_between_is_progress(name: str):
    script = [each for n in range(8) for each in (calls("write", text=f"{n}"), calls(name))]
    assert outcome(*script) == ("done", 16)


@pytest.mark.parametrize("name", ["read", "run_tests", "check"])
def test_a_change_in_the_same_reply_is_progress(name: str):
    script = [calls(("write", {"text": f"{n}"}), (name, {})) for n in range(8)]
    assert outcome(*script) == ("done", 16)


def test_a_failed_change_is_none():
    script = [each for n in range(8) for each in (calls("write", wrong=n), calls("run_tests"))]
    assert outcome(*script) == ("stuck", 10)


def test_a_call_that_is_read_only_is_no_change():
    script = [each for _ in range(8) for each in (calls("read"), calls("check"))]
    assert outcome(*script) == ("stuck", 9)


def test_a_tool_that_may_do_something_new_may_be_repeated():
    assert outcome(*[calls("write", text="again")] * 9) == ("done", 9)


def test_other_results_and_arguments_are_other_calls():
    script = [calls("write", text="a"), *[calls("read")] * 4, calls("write", text="b"), *[calls("read")] * 4]
    assert outcome(*script) == ("done", 10)
    assert outcome(*[calls("read", n=n) for n in range(9)])[0] == "done"


def test_a_reply_counts_once():
    assert outcome(calls(*[("read", {})] * 9)) == ("done", 9)


def test_an_unknown_tool_is_a_failure():
    assert outcome(*[calls("gone")] * 9) == ("stuck", 5)


def test_an_answer_of_a_person_is_no_repetition():
    @tool(read_only=True)
    def ask_user(question: str) -> str:
        raise NeedsHumanInput(question)

    asked: list[str] = []

    def answer(question: Question) -> str:
        asked.append(question.text)
        return "once more"

    script = [calls("ask_user", question="And now?")] * 8
    assert Session(Scripted(*script, "Done."), [ask_user], people=answer).vibe("Go.") == "Done."
    assert len(asked) == 8
