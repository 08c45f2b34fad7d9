"""People: one queue, one question at a time, answers that come later or from elsewhere, and nobody there at all."""

import asyncio
import json
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from antiphon.conversation import AssistantTurn, Conversation, ToolCall, ToolResult, UserTurn
from antiphon.effects import HumanAnswer, Limits
from antiphon.errors import NotReadyError
from antiphon.fakes import Answer, Fake, call
from antiphon.session import CallFinished, HumanInput, LimitReached, NeedsHuman, Question, ReturnError, Session
from antiphon.session import timer as clock
from antiphon.session.timer import RunTimer
from antiphon.tools import FinishRun, NeedsHumanInput, Policy, Toolset, tool
from antiphon.tools.builtin import ask_user_tool, file_tools
from antiphon.wire import Options, Reply, rules, wire
from tests.session.scripted import Scripted, calls, within
from tests.strategies import TARGETS


@tool(destructive=True)
def remove(n: int) -> str:
    """Remove one."""
    return f"removed {n}"


def consult(n: int = 0) -> str:
    """Ask."""
    raise NeedsHumanInput(f"which {n}?")


class Desk:
    """Somebody who sees one question after the other, and answers when told to."""

    def __init__(self) -> None:
        self.shown: list[Question] = []
        self._more = threading.Condition()
        self._answers: list[Any] = []

    def __call__(self, question: Question) -> Any:
        with self._more:
            self.shown.append(question)
            self._more.notify_all()
            assert self._more.wait_for(lambda: self._answers, 60)
            return self._answers.pop(0)

    def answer(self, number: int, said: Any) -> Question:
        """Answer what is shown as the n-th, once it is."""
        with self._more:
            assert self._more.wait_for(lambda: len(self.shown) > number, 60)
            assert len(self.shown) == number + 1
            self._answers.append(said)
            self._more.notify_all()
            return self.shown[number]


class SameIds(Scripted):
    """Counts its calls anew in each conversation, as some servers do."""

    def _reply(self, conversation: Conversation) -> Reply:
        reply = super()._reply(Conversation())
        parts = [replace(part, id="call_1") if isinstance(part, ToolCall) else part for part in reply.parts]
        conversation.add_reply(parts)
        return replace(reply, parts=tuple(parts))


class TestQueue:
    def test_calls_of_one_reply_are_asked_about_one_at_a_time_and_each_has_its_own_answer(self):
        desk = Desk()
        run = Session(
            Scripted(calls(*[("remove", {"n": n}) for n in range(4)]), "Done."), [remove], people=desk, name="cleaner"
        ).start("Go.")
        for number in range(4):
            question = desk.answer(number, number % 2 == 0)
            assert question.call is not None
            assert (question.call.arguments, question.who, question.run) == ({"n": number}, "cleaner", run.id)
        result = within(60, run.wait)
        assert [each.result for each in result.tool_calls] == ["removed 0", None, "removed 2", None]

    def test_sessions_that_share_a_person_wait_for_their_turn(self):
        desk = Desk()
        people = HumanInput(desk)
        runs = {
            name: Session(Scripted(calls("consult", n=1), "Done."), [consult], people=people, name=name).start("Go.")
            for name in ("a", "b", "c")
        }
        said = {(question := desk.answer(number, f"for {number}")).who: f"for {number}" for number in range(3)}
        for name, run in runs.items():
            conversation = within(60, run.wait).run.conversation
            assert conversation.turns[-2].text == said[name]
        assert people.open == ()
        assert question.kind == "question"

    def test_an_answer_from_elsewhere_wins(self):
        desk = Desk()
        people = HumanInput(desk)
        run = Session(Scripted(calls("remove", n=1), "Done."), [remove], people=people).start("Go.")
        within(60, lambda: _until(lambda: desk.shown))
        (question,) = people.open
        people.settle(question.id, HumanAnswer("not that one", allowed=False))
        assert "not that one" in str(within(60, run.wait).tool_calls[0].error)
        with pytest.raises(NotReadyError, match="no question"):
            people.settle(question.id, HumanAnswer())

    def test_the_run_answers_a_question_that_is_not_even_shown_yet(self):
        desk = Desk()
        people = HumanInput(desk)
        first, second = (
            Session(Scripted(calls("consult", n=n), "Done."), [consult], people=people).start("Go.") for n in (1, 2)
        )
        within(60, lambda: _until(lambda: len(people.open) == 2 and desk.shown))
        hidden = people.open[1]
        run = first if hidden.run == first.id else second
        run.answer(hidden.id, "that one")
        assert within(60, run.wait).run.conversation.turns[-2].text == "that one"
        desk.answer(0, "this one")
        for each in (first, second):
            within(60, each.wait)
        assert len(desk.shown) == 1

    def test_of_questions_with_the_same_id_none_is_guessed(self):
        desk = Desk()
        people = HumanInput(desk)
        runs = [Session(SameIds(calls("consult", n=n), "Done."), [consult], people=people).start("Go.") for n in (1, 2)]
        within(60, lambda: _until(lambda: len(people.open) == 2 and desk.shown))
        with pytest.raises(NotReadyError, match="2 questions"):
            people.settle("call_1", HumanAnswer("which?"))
        said = {question.run: question.text for question in people.open}
        for question in people.open:
            people.settle(question, HumanAnswer(question.text))
        for run in runs:
            assert within(60, run.wait).run.conversation.turns[-2].text == said[run.id]

    def test_calls_of_several_runs_may_have_the_same_id(self):
        desk = Desk()
        people = HumanInput(desk)
        first, second = (
            Session(SameIds(calls("consult", n=n), "Done."), [consult], people=people).start("Go.") for n in (1, 2)
        )
        within(60, lambda: _until(lambda: len(people.open) == 2 and desk.shown))
        shown, hidden = (first, second) if people.open[0].run == first.id else (second, first)
        hidden.answer("call_1", "that one")
        assert within(60, hidden.wait).run.conversation.turns[-2].text == "that one"
        desk.answer(0, "this one")
        assert within(60, shown.wait).run.conversation.turns[-2].text == "this one"

    def test_of_runs_inside_that_ask_by_the_same_id_none_is_guessed(self):
        ran: list[int] = []

        @tool(needs_approval=True)
        def drop(n: int) -> str:
            """Drop."""
            ran.append(n)
            return "gone"

        inner: list[Any] = []

        async def both() -> str:
            """Ask two others."""
            sessions = [Session(SameIds(calls("drop", n=n), "Done."), [drop]) for n in (1, 2)]
            inner.extend([await each.astart("Go.") for each in sessions])
            return str([await _ended(each) for each in inner])

        outer = Session(Scripted(calls("both"), "Done."), [both]).start("Go.")
        within(60, lambda: _until(lambda: len(inner) == 2 and all(each.state == "waiting" for each in inner)))
        with pytest.raises(NotReadyError, match="2 runs have an open question 'call_1'"):
            outer.allow("call_1")
        outer.allow(inner[1].waiting[0])
        within(60, lambda: _until(lambda: ran == [2]))
        outer.cancel()
        within(60, lambda: outer.wait(raises=False))
        assert ran == [2]

    def test_who_stops_waiting_gives_way_to_the_next(self):
        desk = Desk()
        people = HumanInput(desk)
        runs = [
            Session(Scripted(calls("consult", n=n), "Done."), [consult], people=people).start("Go.") for n in range(3)
        ]
        within(60, lambda: _until(lambda: len(people.open) == 3 and desk.shown))
        by_id = {run.id: run for run in runs}
        waiting = by_id.pop(people.open[1].run)
        waiting.cancel()
        within(60, lambda: waiting.wait(raises=False))
        desk.answer(0, "a")
        desk.answer(1, "b")
        for run in by_id.values():
            assert within(60, run.wait) == "Done."

    @pytest.mark.parametrize("answer", ["yes", 1, {"a": 1}])
    def test_what_is_no_answer_to_an_approval_is_an_error(self, answer: Any):
        with pytest.raises(TypeError, match="True, False or a Said"):
            Session(Scripted(calls("remove", n=1)), [remove], people=lambda _: answer).vibe("Go.")

    def test_an_inner_session_asks_whom_the_outer_asks(self):
        def clean() -> str:
            return str(Session(Scripted(calls("remove", n=1), "Cleaned."), [remove], name="inner").vibe("?"))

        asked: list[str] = []

        def answers(question: Question) -> bool:
            asked.append(question.who)
            return True

        assert Session(Scripted(calls("clean"), "Done."), [clean], people=answers, name="outer").vibe("Go.") == "Done."
        assert asked == ["inner"]


def _until(is_so: Any) -> None:
    import time

    while not is_so():
        time.sleep(0.001)


class TestAlways:
    def test_it_outlives_the_run_and_holds_for_all_who_share_the_policy(self):
        policy, asked = Policy(), list[str]()

        def answers(question: Question) -> HumanAnswer:
            asked.append(question.text)
            return HumanAnswer(always=True)

        for _ in range(2):
            here = Session(
                Scripted(calls(("remove", {"n": 1}), ("remove", {"n": 2})), "Done."),
                [remove],
                people=answers,
                policy=policy,
            )
            here.vibe("Go.")
        assert len(asked) == 1
        (decided,) = policy.decided
        assert (decided.tool, decided.allowed) == ("remove", True)
        policy.revoke_standing_decision(decided)
        Session(Scripted(calls("remove", n=1), "Done."), [remove], people=answers, policy=policy).vibe("Go.")
        assert len(asked) == 2

    @pytest.mark.parametrize("is_later", [False, True])
    def test_of_a_file_that_looks_like_a_secret_it_holds_for_that_file_alone(self, tmp_path: Path, is_later: bool):
        for name in (".env", "server.pem"):
            (tmp_path / name).write_text("s3cret")
        asked: list[Question] = []

        def answers(question: Question) -> HumanAnswer:
            asked.append(question)
            return HumanAnswer(always=True)

        names = (".env", ".env", "server.pem")
        reader = next(each for each in file_tools([tmp_path]) if each.name == "read_file")
        script = [each for name in names for each in (calls("read_file", path=name), "Done.")]
        here = Session(Scripted(*script), [reader], people=None if is_later else answers)
        for _ in names:
            try:
                here.vibe("Read.")
            except NeedsHuman as waiting:
                asked += here.pending_questions
                here.allow(waiting.run.waiting[0].id, always=True)
                here.resume()
        assert [each.call.arguments["path"] for each in asked if each.call] == [".env", "server.pem"]
        assert [str(each.always) for each in asked] == [str(each) for each in here.policy.decided]
        assert all(each.arguments is not None for each in here.policy.decided)

    @pytest.mark.parametrize("allowed", [True, False])
    def test_it_answers_those_who_wait_for_their_turn(self, allowed: bool):
        desk = Desk()
        people, policy = HumanInput(desk), Policy()
        runs = [
            Session(Scripted(calls("remove", n=n), "Done."), [remove], people=people, policy=policy).start("Go.")
            for n in range(4)
        ]
        within(60, lambda: _until(lambda: len(people.open) == 4 and desk.shown))
        desk.answer(0, HumanAnswer(allowed=allowed, always=True))
        records = [within(60, run.wait).tool_calls[0] for run in runs]
        assert [each.error is None for each in records] == [allowed] * 4
        assert len(desk.shown) == 1

    @pytest.mark.parametrize("allowed", [True, False])
    def test_also_when_it_is_said_later(self, allowed: bool):
        script = [calls("remove", n=1), "Done.", calls("remove", n=2), "Done."]
        here = Session(Scripted(*script), [remove])
        with pytest.raises(NeedsHuman) as caught:
            here.vibe("Go.")
        (question,) = caught.value.run.waiting
        here.allow(question.id, always=True) if allowed else here.deny(question.id, "never", always=True)
        here.resume()
        result = here.vibe("Another.")
        assert (result.tool_calls[0].error is None) is allowed
        assert [each.allowed for each in here.policy.decided] == [allowed]


class TestTime:
    def test_people_may_think_as_long_as_they_like(self, monkeypatch: pytest.MonkeyPatch):
        now = [0.0]

        class Time:
            @staticmethod
            def monotonic() -> float:
                return now[0]

        monkeypatch.setattr(clock, "time", Time)

        def answers(_: Question) -> bool:
            now[0] += 3_600
            return True

        def work() -> str:
            now[0] += 6
            return "worked"

        script = [calls("remove", n=1), calls("work"), calls("work"), "Done."]
        here = Session(Scripted(*script), [remove, work], people=answers, limits=Limits(seconds=10))
        with pytest.raises(LimitReached, match="10 seconds") as caught:
            here.vibe("Go.")
        assert [each.tool for each in caught.value.run.tool_calls] == ["remove", "work", "work"]

    def test_nor_does_a_run_that_waits_take_time(self, monkeypatch: pytest.MonkeyPatch):
        now = [0.0]

        class Time:
            @staticmethod
            def monotonic() -> float:
                return now[0]

        monkeypatch.setattr(clock, "time", Time)
        here = Session(Scripted(calls("remove", n=1), "Done."), [remove], limits=Limits(seconds=10))
        run = here.start("Go.")
        with pytest.raises(NeedsHuman):
            within(60, run.wait)
        now[0] += 86_400
        run.allow(run.waiting[0].id)
        assert within(60, run.wait) == "Done."


class TestNobodyThere:
    def waiting(self, *script: Any, **settings: Any) -> tuple[Session, NeedsHuman]:
        here = Session(Scripted(*script), [remove, consult, *settings.pop("tools", [])], **settings)
        with pytest.raises(NeedsHuman) as caught:
            here.vibe("Go.")
        return here, caught.value

    def test_all_that_can_be_done_is_done_and_all_that_is_asked_is_named(self):
        def look() -> str:
            return "seen"

        wanted = calls(("remove", {"n": 1}), ("look", {}), ("consult", {"n": 2}), ("remove", {"n": 3}))
        here, waiting = self.waiting(wanted, tools=[look])
        assert waiting.run is not None
        assert sorted(each.text for each in waiting.run.waiting) == [
            'May `remove` run with {"n":1}?',
            'May `remove` run with {"n":3}?',
            "which 2?",
        ]
        assert [each.tool for each in waiting.run.tool_calls] == ["look"]
        assert len(here.conversation.open_calls) == 3
        assert {each.id for each in here.pending_questions} == {each.id for each in waiting.run.waiting}
        assert all(each.call is not None for each in here.pending_questions)

    def test_people_who_are_not_there_now_are_the_same_as_nobody(self):
        here = Session(Scripted(calls("remove", n=1)), [remove], people=lambda _: None)
        with pytest.raises(NeedsHuman):
            here.vibe("Go.")
        assert here.pending_questions

    def test_going_on_too_early_waits_again(self):
        here, _ = self.waiting(calls(("remove", {"n": 1}), ("consult", {"n": 2})), "Done.")
        first, second = here.pending_questions
        here.allow(first.id) if first.kind == "approval" else here.answer(first.id, "this")
        with pytest.raises(NeedsHuman) as caught:
            here.resume()
        assert [each.id for each in caught.value.run.waiting] == [second.id]
        here.allow(second.id) if second.kind == "approval" else here.answer(second.id, "this")
        assert here.resume() == "Done."

    def test_a_new_prompt_leaves_what_was_asked(self):
        here, _ = self.waiting(calls("remove", n=1), "Never mind.")
        assert here.chat("Forget it.") == "Never mind."
        assert here.pending_questions == ()

    def test_a_typed_run_waits_and_goes_on_typed(self):
        here = Session(Scripted(calls("consult", n=1), '{"value": 4}'), [consult])
        with pytest.raises(NeedsHuman):
            here.vibe("How many?", returns=int)
        here.answer(here.pending_questions[0].id, "four")
        assert here.resume(returns=int).value == 4
        assert [turn.text for turn in here.conversation.turns if isinstance(turn, UserTurn)] == ["How many?", "four"]

    def test_an_answer_that_nobody_waits_for(self):
        here, _ = self.waiting(calls("remove", n=1))
        with pytest.raises(NotReadyError, match="no question 'c9' is open; open: 'c"):
            here.allow("c9")

    def test_what_a_tool_asked_twice_is_answered_with_its_question(self):
        here, _ = self.waiting(calls(("consult", {"n": 1}), ("consult", {"n": 2})), "Done.")
        for question in here.pending_questions:
            here.answer(question.id, f"answer to {question.text}")
        here.resume()
        assert here.conversation.turns[-2].text.split("\n\n") == [
            "To the question 'which 1?': answer to which 1?",
            "To the question 'which 2?': answer to which 2?",
        ]


ELSEWHERE = """
import sys
from antiphon.conversation import Conversation
from antiphon.session import Session
from tests.session.scripted import Scripted
from tests.session.test_people import consult, remove

conversation = Conversation.load(sys.argv[1])
here = Session(Scripted("Done."), [remove, consult], conversation=conversation)
for question in here.pending_questions:
    if question.kind == "question":
        here.answer(question.id, "this one")
    elif question.call.arguments == {"n": 1}:
        here.allow(question.id)
    else:
        here.deny(question.id, "not that one")
result = here.resume()
print(result, [(each.tool, each.result) for each in result.tool_calls])
conversation.save(sys.argv[1])
"""


def test_saved_here_answered_and_gone_on_with_in_another_process(tmp_path: Path):
    wanted = calls(("remove", {"n": 1}), ("remove", {"n": 2}), ("consult", {"n": 3}))
    here = Session(Scripted(wanted), [remove, consult])
    with pytest.raises(NeedsHuman):
        here.vibe("Go.")
    path = tmp_path / "waiting.json"
    here.conversation.save(path)
    assert Conversation.load(path) == here.conversation
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.stderr) == ("Done. [('remove', 'removed 1')]\n", "")
    went_on = Conversation.load(path)
    assert went_on.ready().reason == "the model has answered; add a user turn"
    results = {each.text for turn in went_on.turns for each in getattr(turn, "results", ())}
    assert results == {"removed 1", "not run: the call was denied: not that one", "asked; the answer follows"}
    assert went_on.turns[-2].text == "this one"


class TestAskUser:
    """A short result, and the answer as the human's words in the same message, live and later, on all wires."""

    MODELS: ClassVar[dict[str, str]] = {
        "anthropic": "anthropic/claude-sonnet-5",
        "openai-chat": "openai-chat/gpt-4o",
        "openai-responses": "openai/gpt-5",
        "gemini": "google/gemini-3-pro",
    }

    @pytest.mark.parametrize("is_live", [True, False])
    @pytest.mark.parametrize("api", MODELS)
    def test_as_the_providers_see_it(self, api: str, is_live: bool):
        with Fake() as fake:
            fake.play(Answer(calls=[call("ask_user", question="Which?"), call("look")]), "Fine.")

            def look() -> str:
                return "seen"

            people = (lambda _: "The blue one, please.") if is_live else None
            here = Session(fake.connect(self.MODELS[api]), [ask_user_tool(), look], people=people)
            if is_live:
                assert here.vibe("Go.") == "Fine."
            else:
                with pytest.raises(NeedsHuman):
                    here.vibe("Go.")
                here.answer(here.pending_questions[0].id, "The blue one, please.")
                assert here.resume() == "Fine."
            request = fake.requests[-1]
            assert request.rejected == ""
            assert rules.check(request.body, api, TARGETS[api].model) == []
            sent = json.dumps(request.body)
            assert sent.count("The blue one, please.") == 1
            assert sent.count("asked; the answer follows") == 1
        turn = here.conversation.turns[-2]
        assert (type(turn), turn.text) == (UserTurn, "The blue one, please.")
        if api == "anthropic":
            # One message of the user's holds both the results and what was said.
            last = request.body["messages"][-1]
            assert last["role"] == "user"
            assert all(text in json.dumps(last) for text in ("The blue one", "asked; the answer", "seen"))

    def test_people_are_shown_both(self):
        here = Session(Scripted(calls("ask_user", question="Which?"), "Done."), [ask_user_tool()], people=lambda _: "B")
        with here.stream("Go.") as events:
            (done,) = [event.body.result for event in events if isinstance(event.body, CallFinished)]
        assert done.semantic is not None
        assert (done.semantic.kind, done.semantic.data["answer"]) == ("question", "B")

    def test_no_answer_is_said_as_such(self):
        here = Session(Scripted(calls("ask_user", question="Which?"), "Done."), [ask_user_tool()], people=lambda _: " ")
        here.vibe("Go.")
        assert here.conversation.turns[-2].text == "(no answer)"


class TestFinish:
    def test_a_tool_ends_the_run_with_its_value(self):
        def submit(text: str) -> None:
            raise FinishRun({"text": text}, "submitted")

        model = Scripted(calls(("submit", {"text": "a"}), ("submit", {"text": "b"})), "Next.")
        here = Session(model, [submit])
        result = here.vibe("Go.")
        assert result.value == {"text": "a"}
        assert [each.result for each in result.tool_calls] == ["submitted", "submitted"]
        assert here.chat("And?") == "Next."

    def test_the_value_is_of_the_type_that_was_asked_for(self):
        def submit(age: Any) -> None:
            raise FinishRun({"name": "Al", "age": age})

        wanted = {"name": str, "age": int}
        here = Session(Scripted(calls("submit", age=3)), [submit])
        assert here.vibe("Go.", returns=wanted).value == {"name": "Al", "age": 3}
        last = here.conversation.turns[-1]
        assert isinstance(last, AssistantTurn)
        assert [each.text for each in last.results] == ["finished"]
        with pytest.raises(ReturnError, match="a tool ended the run with"):
            Session(Scripted(calls("submit", age="old")), [submit]).vibe("Go.", returns=wanted)

    def test_what_others_wait_for_is_given_up(self):
        def submit() -> None:
            raise FinishRun(4)

        here = Session(Scripted(calls(("remove", {"n": 1}), ("submit", {}))), [remove, submit])
        assert here.vibe("Go.") == 4
        assert here.conversation.open_calls == ()


def test_pairs_stay_whole_on_every_wire_while_it_waits_and_after():
    here = Session(Scripted(calls(("remove", {"n": 1}), ("consult", {"n": 2}))), [remove, consult])
    with pytest.raises(NeedsHuman):
        here.vibe("Go.")
    for question in here.pending_questions:
        here.deny(question.id, "no") if question.kind == "approval" else here.answer(question.id, "two")
    here.conversation.add_user("And hurry.")
    for api, target in TARGETS.items():
        assert (
            rules.check(json.loads(wire(api).encode(here.conversation, target, Options()).body), api, target.model)
            == []
        )


def test_an_approver_may_be_asynchronous_and_wait():
    async def answers(question: Question) -> HumanAnswer:
        await asyncio.sleep(0)
        return HumanAnswer(allowed=question.kind == "approval")

    tools = Toolset([remove]).requiring_approval()
    ret = Session(Scripted(calls("remove", n=1), "Done."), tools, people=answers).vibe("Go.")
    assert ret.tool_calls[0].result == "removed 1"
    assert isinstance(ret.run.conversation.turns[1].results[0], ToolResult)  # type: ignore[union-attr]


async def _ended(run: Any) -> Any:
    while run.state in ("running", "waiting"):
        await asyncio.sleep(0.01)
    return run.state


def test_the_clock_stands_still_until_the_last_of_several_questions_is_answered() -> None:
    async def ask_twice() -> None:
        timer = RunTimer(60)
        async with timer:
            first, second = timer.paused(), timer.paused()
            first.__enter__()
            second.__enter__()
            first.__exit__(None, None, None)
            before = timer.elapsed
            await asyncio.sleep(0.01)
            assert timer.elapsed == before
            second.__exit__(None, None, None)
            await asyncio.sleep(0.01)
            assert timer.elapsed > before

    asyncio.run(ask_twice())


def test_a_question_does_not_give_the_run_its_whole_time_again() -> None:
    async def ask_often() -> None:
        timer = RunTimer(0.5)
        async with timer:
            for _ in range(500):
                await asyncio.sleep(0.01)
                with timer.paused():
                    pass

    with pytest.raises(TimeoutError):
        asyncio.run(ask_often())


def test_a_call_whose_link_leads_elsewhere_by_now_is_asked_about_again(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("harmless.txt")
    (write,) = [each for each in file_tools([tmp_path]) if each.name == "write_file"]
    here = Session(Scripted(calls("write_file", path="link", content="x"), "Done."), [write])
    with pytest.raises(NeedsHuman):
        here.vibe("Write.")
    (question,) = here.pending_questions
    here.allow(question.id)
    link.unlink()
    link.symlink_to("precious.txt")
    with pytest.raises(NeedsHuman, match=r"leads to `precious\.txt`"):
        here.resume()
    assert not (tmp_path / "precious.txt").exists()
