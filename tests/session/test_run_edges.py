"""Runs at their edges: nesting, cancellation, limits, people, circles, and the sync face."""

import asyncio
import contextvars
import copy
import gc
import multiprocessing
import pickle
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest

from antiphon.conversation import Conversation, ToolCall
from antiphon.effects import HumanAnswer, Limits
from antiphon.errors import NotReadyError
from antiphon.fakes import Fake, call
from antiphon.session import (
    AIResult,
    CallFinished,
    CallStarted,
    Cancelled,
    LimitReached,
    LoopDetected,
    ModelUnknown,
    NeedsHuman,
    Question,
    QuestionAsked,
    Run,
    Session,
    TextOrJson,
)
from antiphon.session import run as run_module
from antiphon.session import sync_bridge as portal_module
from antiphon.session.sync_bridge import get_event_loop_thread
from antiphon.tools import NeedsHumanInput, ToolFailure, Toolset, tool
from antiphon.tools.execution import value_to_text
from antiphon.wire import Reply, TextDelta, Usage
from tests.session.scripted import Scripted, answering, calls, ended, within


def weather(city: str) -> str:
    """The weather."""
    if city == "Atlantis":
        raise ToolFailure("no such city")
    return f"Rain in {city}"


def results(conversation: Conversation) -> list[str]:
    return [result.text for turn in conversation.turns for result in getattr(turn, "results", ())]


class TestNesting:
    """Sessions inside tools: whichever face, in whichever kind of function, they come to an end."""

    def inner(self) -> Session:
        return Session(Scripted(calls("weather", city="Oslo"), "It rains."), [weather])

    def test_the_sync_face_in_an_ordinary_tool(self):
        def research() -> str:
            return str(self.inner().vibe("?"))

        here = Session(Scripted(calls("research"), "Done."), [research])
        assert within(60, lambda: here.vibe("Go.")).tool_calls[0].result == "It rains."

    @pytest.mark.parametrize("name", ["do", "vibe", "chat", "stream", "close"])
    def test_the_sync_face_in_an_event_loop_is_an_error_that_names_the_other(self, name: str):
        here = Session("ollama/any") if name == "close" else self.inner()

        async def main() -> None:
            getattr(here, name)(*([] if name == "close" else ["?"]))

        with pytest.raises(NotReadyError, match=f"`{name}` would block the running event loop; .*a{name}"):
            asyncio.run(main())

    def test_async_tools_within_async_tools(self):
        async def deepest() -> str:
            return str(await self.inner().avibe("?"))

        async def deeper() -> str:
            return str(await Session(Scripted(calls("deepest"), "Deep."), [deepest]).avibe("?"))

        here = Session(Scripted(calls("deeper"), "Done."), [deeper])
        assert within(60, lambda: here.vibe("Go.")).tool_calls[0].result == "Deep."

    def test_many_at_once_do_not_wait_for_each_others_threads(self):
        def research() -> str:
            return str(self.inner().vibe("?"))

        here = Session(Scripted(calls(*[("research", {})] * 40), "Done."), [research])
        assert [record.result for record in within(60, lambda: here.vibe("Go.")).tool_calls] == ["It rains."] * 40

    def test_a_tool_may_return_what_a_session_gave(self):
        def research() -> AIResult:
            return self.inner().vibe("?")

        def several() -> list[AIResult]:
            return [AIResult({"a": 1}), AIResult("b")]

        ret = Session(Scripted(calls(("research", {}), ("several", {})), "Done."), [research, several]).vibe("Go.")
        assert [record.result for record in ret.tool_calls] == ["It rains.", '[{"a":1},"b"]']

    def test_a_session_does_one_thing_at_a_time(self):
        def again() -> str:
            return str(here.vibe("And?"))

        here = Session(Scripted(calls("again"), "Done."), [again])
        ret = within(60, lambda: here.vibe("Go."))
        assert ret == "Done."
        assert "already" in str(ret.tool_calls[0].error)

    def test_two_runs_at_once_in_one_session(self):
        begun, over = threading.Event(), threading.Event()

        def slow() -> str:
            begun.set()
            assert over.wait(60)
            return "slow"

        here = Session(Scripted(calls("slow"), "Done.", "Again."), [slow])

        async def main() -> AIResult:
            first = asyncio.create_task(here.avibe("Go."))
            assert await asyncio.to_thread(begun.wait, 60)
            with pytest.raises(NotReadyError, match="already"):
                await here.avibe("And?")
            over.set()
            return await first

        assert asyncio.run(main()).tool_calls[0].result == "slow"
        assert here.chat("Again?") == "Again."


class TestPortal:
    def test_a_tool_that_exits_does_not_end_the_sync_face(self):
        async def leaves() -> None:
            raise SystemExit(3)

        ret = within(60, lambda: Session(Scripted(calls("leaves"), "Done."), [leaves]).vibe("Go."))
        assert ret.tool_calls[0].error == "SystemExit: 3"

    def test_code_that_exits_does_not_end_it_either(self):
        async def leave() -> None:
            raise SystemExit(3)

        async def stay() -> str:
            return "here"

        with pytest.raises(SystemExit):
            within(60, lambda: get_event_loop_thread().run(leave()))
        assert within(60, lambda: get_event_loop_thread().run(stay())) == "here"

    def test_context_variables_reach_tools(self):
        user = contextvars.ContextVar("user", default="nobody")

        async def who() -> str:
            return user.get()

        user.set("ada")
        assert Session(Scripted(calls("who"), "Done."), [who]).vibe("Go.").tool_calls[0].result == "ada"

    def test_a_run_left_open_does_not_keep_the_interpreter(self):
        script = (
            "from antiphon.session import Session\n"
            "from tests.session.scripted import Scripted\n"
            "events = Session(Scripted('x')).stream('Go.')\n"
            "steps = iter(events)\n"
            "next(steps)\n"
        )
        done = subprocess.run([sys.executable, "-c", script], timeout=60, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
    def test_ctrl_c_at_any_line_of_a_wait_leaves_a_session_that_goes_on(self, stream: bool):
        def work(here: Session) -> None:
            if stream:
                with here.stream("Go.", cancel=True) as events:
                    for _ in events:
                        pass
            else:
                here.vibe("Go.")

        lines = 0
        while True:
            here = Session(Scripted(calls("weather", city="Oslo"), "Done."), [weather])
            try:
                with _ctrl_c_after(lines):
                    work(here)
            except KeyboardInterrupt:
                lines += 1
            else:
                break
            assert here.conversation.open_calls == ()
            here.model = Scripted("Still here.")
            assert within(60, lambda here=here: here.chat("?")) == "Still here."
        assert lines > 3

    def test_it_works_in_a_forked_process(self):
        assert Session(Scripted("x")).chat("Go.") == "x"
        context = multiprocessing.get_context("fork")
        child = context.Process(target=_chat)
        child.start()
        child.join(60)
        code = child.exitcode
        child.kill()
        assert code == 0


@contextmanager
def _ctrl_c_after(lines: int) -> Iterator[None]:
    """Interrupts this thread when it has gone through so many lines of a wait."""
    left = lines

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        # Elsewhere there are lines, such as a `try`, at which Python never looks for signals.
        places = (portal_module.__file__, run_module.__file__)
        if frame.f_code.co_filename not in places or frame.f_code.co_name not in ("run", "begin", "start", "_read"):
            return None
        if event == "line":
            left -= 1
            if left == -1:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def _chat() -> None:
    assert Session(Scripted("y")).chat("Go.") == "y"


class TestCancellation:
    def run_and_cancel(self, steps: int, stream: bool) -> tuple[Session, bool]:
        """Cancel after so many turns of the event loop; says whether it had ended before."""

        async def quick() -> str:
            await asyncio.sleep(0)
            return "quick"

        async def slow() -> str:
            for _ in range(5):
                await asyncio.sleep(0)
            return "slow"

        async def answers(_: Question) -> bool:
            await asyncio.sleep(0)
            return True

        two = calls(("quick", {}), ("slow", {}))
        tools = Toolset([quick, slow]).requiring_approval()
        here = Session(Scripted(two, calls(("quick", {}), ("gone", {})), "Done.", "Still here."), tools, people=answers)

        async def work() -> None:
            if stream:
                async with here.astream("Go.", cancel=True) as events:
                    async for _ in events:
                        pass
            else:
                await here.avibe("Go.")

        async def main() -> bool:
            task = asyncio.create_task(work())
            for _ in range(steps):
                await asyncio.sleep(0)
            ended = task.done()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            others = asyncio.all_tasks() - {asyncio.current_task()}
            assert not others
            return ended

        return here, asyncio.run(main())

    @pytest.mark.parametrize("stream", [False, True])
    def test_at_every_step_the_conversation_stays_whole(self, stream: bool):
        for steps in range(200):
            here, ended = self.run_and_cancel(steps, stream)
            assert here.conversation.open_calls == ()
            here.model = Scripted("Still here.")
            assert here.chat("?") == "Still here."
            if ended:
                return
        pytest.fail("it never ended")

    def test_what_was_finished_keeps_its_result(self):
        async def quick() -> str:
            return "quick"

        async def slow() -> str:
            await asyncio.sleep(60)
            return ""

        here = Session(Scripted(calls(("slow", {}), ("quick", {}))), [quick, slow])
        with here.stream("Go.", cancel=True) as events:
            for event in events:
                if isinstance(event.body, CallFinished):
                    break
        first, second = results(here.conversation)
        assert first.startswith("Interrupted")
        assert second == "quick"

    def test_leaving_early_waits_until_all_is_cleaned_up(self):
        begun, stopped = threading.Event(), list[str]()

        async def forever() -> None:
            try:
                begun.set()
                await asyncio.sleep(60)
            finally:
                stopped.append("forever")

        here = Session(Scripted(calls("forever")), [forever])
        with here.stream("Go.", cancel=True) as events:
            for event in events:
                if isinstance(event.body, CallStarted):
                    assert begun.wait(60)
                    break
        assert stopped == ["forever"]

    def test_leaving_early_closes_the_models_stream(self):
        model = Scripted("x")
        opened: list[Any] = []
        made = model.astream
        model.astream = lambda *a, **k: opened.append(made(*a, **k)) or opened[-1]  # type: ignore[method-assign]

        async def main() -> bool:
            async with Session(model).astream("Go.", cancel=True) as events:
                async for event in events:
                    if isinstance(event.body, TextDelta):
                        break
            return opened[0].left

        assert asyncio.run(main())

    def test_a_conversation_with_open_calls_is_continued(self):
        conversation = Conversation()
        conversation.add_user("Go.")
        conversation.add_assistant_tool_calls([ToolCall("c1", "weather", {"city": "Oslo"})])
        assert Session(Scripted("Fine."), conversation=conversation).chat("Still there?") == "Fine."
        assert results(conversation)[0].startswith("Interrupted")


class TestLimits:
    def test_calls_beyond_the_limit_are_not_run(self):
        ran: list[int] = []

        def note(n: int) -> None:
            ran.append(n)

        here = Session(Scripted(calls(*[("note", {"n": n}) for n in range(9)])), [note], limits=Limits(tool_calls=3))
        with pytest.raises(LimitReached, match="the limit of 3 tool calls is reached"):
            here.vibe("Go.")
        assert sorted(ran) == [0, 1, 2]
        assert "limit of 3 tool calls" in results(here.conversation)[3]

    def test_with_all_calls_used_the_model_may_still_answer(self):
        ret = Session(Scripted(calls("weather", city="Oslo"), "Rain."), [weather], limits=Limits(tool_calls=1)).vibe(
            "Go."
        )
        assert (ret.run.outcome, ret.value) == ("done", "Rain.")

    @pytest.mark.parametrize("stream", [False, True])
    def test_time_is_up_also_while_a_tool_runs(self, stream: bool):
        async def forever() -> None:
            await asyncio.sleep(60)

        here = Session(Scripted(calls("forever"), "Fine."), [forever], limits=Limits(seconds=0.1))
        if stream:
            with here.stream("Go.") as events:
                for _ in events:
                    pass
            run = ended(lambda: events.result)
        else:
            run = ended(lambda: here.vibe("Go."))
        assert (run.outcome, run.detail) == ("limit", "the limit of 0.1 seconds is reached")
        assert results(here.conversation)[0].startswith("Interrupted")
        assert here.chat("And now?") == "Fine."

    def test_a_limit_of_cost_needs_a_price(self):
        script = [calls("weather", city=f"C{n}") for n in range(5)]
        here = Session(Scripted(*script, price=None), [weather], limits=Limits(cost=1.0))
        with pytest.raises(LimitReached, match=r"cost.*not known") as caught:
            here.vibe("Go.")
        assert len(caught.value.run.tool_calls) == 1

    def test_do_does_not_go_on_for_ever(self):
        model = Scripted(*[calls("weather", city=f"C{n}") for n in range(40)])
        with pytest.raises(LoopDetected):
            Session(model, [weather]).do("Go.")
        assert len(model.options) < 8


class TestBreaker:
    def test_the_spelling_of_arguments_does_not_matter(self):
        spellings = ['{"city":"Atlantis"}', '{ "city": "Atlantis" }', '{"city" :"Atlantis"}'] * 3
        run = ended(lambda: Session(Scripted(*[calls(("weather", text)) for text in spellings]), [weather]).vibe("Go."))
        assert (run.outcome, len(run.tool_calls)) == ("stuck", 5)

    def test_the_model_is_told_before_the_run_ends(self):
        many = calls(*[("weather", {"city": "Atlantis"})] * 9)
        ret = Session(Scripted(many, "I see."), [weather]).vibe("Go.")
        assert (ret.run.outcome, ret.value) == ("done", "I see.")


class TestPeople:
    def test_always_holds_for_all_runs_until_it_is_revoked(self):
        asked: list[str] = []

        def answers(question: Question) -> HumanAnswer:
            asked.append(question.text)
            return HumanAnswer(always=True)

        again = calls("weather", city="Oslo")
        script = [again, again, "Done.", again, "Done.", again, "Done."]
        here = Session(Scripted(*script), Toolset([weather]).requiring_approval(), people=answers)
        here.vibe("Go.")
        here.vibe("Go.")
        assert len(asked) == 1
        here.policy.revoke_standing_decision(*here.policy.decided)
        here.vibe("Go.")
        assert len(asked) == 2

    def test_an_approver_that_blocks_holds_up_nobody_else(self):
        asked, answered = threading.Event(), threading.Event()

        def answers(_: Question) -> bool:
            asked.set()
            return answered.wait(120)

        here = Session(
            Scripted(calls("weather", city="Oslo"), "Done."), Toolset([weather]).requiring_approval(), people=answers
        )
        outcome: list[AIResult] = []
        thread = threading.Thread(target=lambda: outcome.append(here.vibe("Go.")), daemon=True)
        thread.start()
        assert asked.wait(60)
        try:
            assert within(60, lambda: Session(Scripted("Me too.")).chat("?")) == "Me too."
        finally:
            answered.set()
        thread.join(60)
        assert outcome[0] == "Done."

    def test_questions_come_one_at_a_time(self):
        waiting = most = 0

        async def answers(question: Question) -> str:
            nonlocal waiting, most
            waiting += 1
            most = max(most, waiting)
            await asyncio.sleep(0.01)
            waiting -= 1
            return question.text.upper()

        def consult(n: int) -> str:
            raise NeedsHumanInput(f"which {n}?")

        two = calls(("consult", {"n": 1}), ("consult", {"n": 2}))
        here = Session(Scripted(two, "Done."), [consult], people=answers)
        here.vibe("Go.")
        said = here.conversation.turns[-2].text
        assert sorted(said.split("\n\n")) == [
            "To the question 'which 1?': WHICH 1?",
            "To the question 'which 2?': WHICH 2?",
        ]
        assert most == 1

    def test_an_error_of_who_is_asked_is_raised_as_it_is(self):
        def consult() -> str:
            raise NeedsHumanInput("which?")

        def answers(_: Question) -> str:
            raise EOFError("no terminal")

        here = Session(Scripted(calls("consult"), "Fine."), [consult], people=answers)
        with pytest.raises(EOFError, match="no terminal"):
            here.vibe("Go.")
        assert here.chat("?") == "Fine."

    def test_without_an_answer_nothing_that_was_asked_about_runs(self):
        ran: list[str] = []

        @tool(destructive=True)
        def delete(path: str) -> None:
            ran.append(path)

        here = Session(Scripted(calls(("delete", {"path": "a"}), ("delete", {"path": "b"}))), [delete])
        with here.stream("Go.") as events:
            asked = [event.body.question.call for event in events if isinstance(event.body, QuestionAsked)]
        assert [each.arguments["path"] for each in asked if each] == ["a", "b"]
        with pytest.raises(NeedsHuman):
            _ = events.result
        assert ran == []


def test_each_kind_of_tokens_is_summed_with_its_own():
    class Counting(Scripted):
        def _reply(self, conversation: Conversation) -> Reply:
            return replace(super()._reply(conversation), usage=Usage(1, 20, 300, 4000, 50000))

    ret = Session(Counting(calls("weather", city="Oslo"), "Done."), [weather]).vibe("Go.")
    assert ret.run.usage == Usage(2, 40, 600, 8000, 100000)


class TestFaults:
    def test_a_tool_that_is_cancelled_from_within_has_a_result(self):
        async def gives_up() -> None:
            raise asyncio.CancelledError

        ret = Session(
            Scripted(calls(("gives_up", {}), ("weather", {"city": "Oslo"})), "Done."), [gives_up, weather]
        ).vibe("Go.")
        assert [record.error for record in ret.tool_calls] == ["CancelledError", None]

    @pytest.mark.parametrize(("strategy", "own"), [("native", []), ("prompted", []), ("tool", ["answer"])])
    def test_the_tools_are_the_same_in_every_request(self, strategy: Any, own: list[str]):
        here = Session(Scripted(answering(strategy, value=4), "Hello."), [weather], strategy=strategy)
        here.do("2+2?", returns=int)
        declared = [spec.name for spec in here.conversation.tools]
        assert declared == ["weather", "read_result", *own]
        here.chat("Hi.")
        assert [spec.name for spec in here.conversation.tools] == declared


class TestAIResult:
    def test_more_of_what_values_can_do(self):
        assert [10, 20, 30][AIResult(1)] == 20
        assert (round(AIResult(1.26), 1), divmod(AIResult(7), 2), divmod(7, AIResult(2))) == (1.3, (3, 1), (3, 1))
        assert (AIResult({1, 2}) & {2}, {1} | AIResult({2}), AIResult({"a": 1}) | {"b": 2}) == (
            {2},
            {1, 2},
            {"a": 1, "b": 2},
        )
        assert (+AIResult(1), ~AIResult(1), AIResult(2) ** 3, 2 ** AIResult(3), 7 % AIResult(4)) == (1, -2, 8, 8, 3)
        assert AIResult(2) - AIResult(1) == AIResult(1)

    def test_backwards_it_does_not_iterate_either(self):
        with pytest.raises(TypeError, match="Cannot iterate over AIResult"):
            reversed(AIResult([1]))

    def test_copies_and_pickles(self):
        ret = Session(Scripted(calls("weather", city="Oslo"), '{"items": 1}'), [weather], returns=TextOrJson).vibe(
            "Go."
        )
        for other in (copy.copy(ret), copy.deepcopy(ret), pickle.loads(pickle.dumps(ret))):
            assert (other.value, other.items, other.tool_calls) == (ret.value, 1, ret.tool_calls)
            assert other.run.conversation == ret.run.conversation

    def test_one_half_made_has_no_attributes(self):
        with pytest.raises(AttributeError):
            _ = AIResult.__new__(AIResult).unknown_effects

    def test_as_json_it_is_its_value(self):
        assert value_to_text({"answers": [AIResult("a"), AIResult({"b": 1})]}) == '{"answers":["a",{"b":1}]}'
        assert value_to_text([AIResult([AIResult(1)])]) == "[[1]]"


def test_hundreds_of_sessions_at_once_leave_no_memory_behind():
    @tool
    async def rain(city: str) -> str:
        await asyncio.sleep(0.01)
        return f"Rain in {city}" * 50

    async def one(n: int) -> str:
        model = Scripted(calls("rain", city=f"C{n}"), f"n{n}")
        return str((await Session(model, [rain]).avibe("Go.")).value)

    async def batch() -> int:
        assert await asyncio.gather(*(one(n) for n in range(300))) == [f"n{n}" for n in range(300)]
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    async def main() -> list[int]:
        await batch()
        tracemalloc.start()
        return [await batch(), await batch()]

    try:
        second, third = asyncio.run(main())
    finally:
        tracemalloc.stop()
    # A session that stayed would be some 10 KB.
    assert third - second < 200_000


def test_who_no_longer_waits_hears_nothing_of_how_a_run_ended():
    told: list[dict[str, Any]] = []

    async def slow() -> str:
        """Take long."""
        await asyncio.sleep(30)
        return "done"

    async def waits(run: Run[Any]) -> None:
        await run

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        run = await Session(Scripted(calls("slow")), [slow]).astart("Go.")
        waiting = asyncio.create_task(waits(run))
        await asyncio.sleep(0.05)
        waiting.cancel()
        await asyncio.wait([waiting])
        run.cancel()
        with suppress(Cancelled):
            await run

    asyncio.run(main())
    gc.collect()
    assert told == []


def test_an_unknown_model_is_told_once_in_a_run() -> None:
    def look() -> str:
        """Look."""
        return "seen"

    for steps in (["Done."], [call("look"), call("look"), "Done."]):
        with Fake(steps) as fake:
            session = Session(fake.connect("openai/gpt-99"), [look])
            with session.stream("Go.") as events:
                told = [event.body for event in events]
        assert [body for body in told if isinstance(body, ModelUnknown)] == [ModelUnknown("openai/gpt-99", "gpt")]
