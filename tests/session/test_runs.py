"""Runs as things: watched from any point by anybody, nested, cancelled, left alone, and told of without loss."""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from antiphon.conversation import Conversation
from antiphon.effects import Limits
from antiphon.errors import NotReadyError, ServerFailed
from antiphon.session import (
    AIResult,
    CallFinished,
    CallStarted,
    Cancelled,
    Event,
    LimitReached,
    NeedsHuman,
    QuestionAnswered,
    QuestionAsked,
    RequestEnded,
    RequestStarted,
    Run,
    RunEnded,
    RunStarted,
    RunWaits,
    Session,
    UsageChanged,
    current_run,
)
from antiphon.tools import Toolset, tool
from antiphon.wire import Reply, TextDelta, Usage
from tests.session.scripted import Scripted, calls, within


def weather(city: str) -> str:
    """The weather."""
    return f"Rain in {city}"


class Gate:
    """A tool that begins, and ends when it is told to."""

    def __init__(self) -> None:
        self.begun, self.over = threading.Event(), threading.Event()

    def hold(self) -> str:
        """Waits."""
        self.begun.set()
        assert self.over.wait(60)
        return "held"


def read(run: Run[Any], since: int = 0) -> list[Event]:
    return within(60, lambda: list(run.events(since)))


def facts(events: list[Event]) -> list[Event]:
    return [event for event in events if not isinstance(event.body, TextDelta)]


def names(events: list[Event]) -> list[str]:
    return [type(event.body).__name__ for event in facts(events)]


ROUND = ["RequestStarted", "RequestEnded", "UsageChanged"]


class TestWatching:
    def test_start_returns_at_once_and_the_result_is_waited_for(self):
        gate = Gate()
        run = Session(Scripted(calls("hold"), "Done."), [gate.hold]).start("Go.")
        assert gate.begun.wait(60)
        assert (run.state, run.kind, run.title, run.parent) == ("running", "vibe", "Go.", None)
        gate.over.set()
        assert within(60, run.wait) == "Done."
        assert (run.state, run.cost, run.usage) == ("done", 0.0, Usage(20, 10))

    def test_events_are_numbered_facts_from_the_beginning(self):
        run = Session(Scripted(calls("weather", city="Oslo"), "Done."), [weather]).start("Go.")
        within(60, run.wait)
        events = read(run)
        assert names(events) == ["RunStarted", *ROUND, "CallStarted", "CallFinished", *ROUND, "RunEnded"]
        assert [event.seq for event in events] == sorted({event.seq for event in events})
        assert {event.run for event in events} == {run.id}
        assert [event.at for event in events] == sorted(event.at for event in events)

    def test_from_any_number_on(self):
        run = Session(Scripted(calls("weather", city="Oslo"), "Done."), [weather]).start("Go.")
        events = read(run)
        for event in events:
            assert facts(read(run, event.seq)) == [each for each in facts(events) if each.seq >= event.seq]
        assert read(run, events[-1].seq + 1) == []

    def test_readers_who_look_from_the_start_see_each_piece_and_late_ones_the_whole(self):
        gate = Gate()

        class Slow(Scripted):
            def astream(self, conversation: Conversation, **options: Any) -> Any:
                self.options.append(options)
                return _Pieces(self, conversation, gate)

        run = Session(Slow("abc")).start("Go.")
        early = run.events()
        assert gate.begun.wait(60)
        in_the_middle = run.events()
        gate.over.set()
        assert within(60, run.wait) == "abc"
        for reader in (early, in_the_middle):
            said = "".join(each.body.text for each in reader if isinstance(each.body, TextDelta))
            assert said == "abc"
        late = read(run)
        assert [each.body for each in late if isinstance(each.body, TextDelta)] == []
        assert [each.body.text for each in late if isinstance(each.body, RequestEnded)] == ["abc"]

    def test_a_stream_misses_nothing_however_late_it_is_read(self):
        for _ in range(20):
            with Session(Scripted("Hello.")).stream("Go.") as events:
                within(60, events.run.wait)
                assert any(isinstance(event.body, TextDelta) for event in events)

    def test_many_readers_in_threads_and_loops_see_the_same(self):
        script = [calls("weather", city=str(n)) for n in range(20)]
        run = Session(Scripted(*script, "Done."), [weather]).start("Go.")
        seen: list[list[int]] = []

        async def aread() -> list[int]:
            return [event.seq async for event in run.aevents()]

        readers: list[Callable[[], list[int]]] = [lambda: [event.seq for event in facts(list(run.events()))]] * 6
        readers += [lambda: asyncio.run(aread())] * 3
        threads = [threading.Thread(target=lambda each=each: seen.append(each())) for each in readers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        told = {event.seq for event in facts(read(run))}
        assert len(seen) == 9
        assert all(told <= set(each) and each == sorted(set(each)) for each in seen)

    def test_a_listener_that_raises_is_not_called_again_and_harms_nobody(self, caplog: pytest.LogCaptureFixture):
        gate, heard = Gate(), list[Event]()

        def bad(event: Event) -> None:
            heard.append(event)
            raise ZeroDivisionError

        run = Session(Scripted(calls("hold"), "Done."), [gate.hold]).start("Go.")
        assert gate.begun.wait(60)
        with caplog.at_level(logging.ERROR, "antiphon.session"):
            run.subscribe(bad)
            gate.over.set()
            assert within(60, run.wait) == "Done."
        assert len(heard) == 1
        assert "a listener of a run failed" in caplog.text

    def test_who_leaves_is_not_called_any_more(self):
        gate, heard = Gate(), list[Event]()
        run = Session(Scripted(calls("hold"), "Done."), [gate.hold]).start("Go.")
        leave = run.subscribe(heard.append)
        assert gate.begun.wait(60)
        leave()
        count = len(heard)
        gate.over.set()
        within(60, run.wait)
        assert len(heard) == count > 0

    def test_states_in_place_of_exceptions(self):
        run = Session(Scripted(*[calls("weather", city="Oslo")] * 3), [weather], limits=Limits(requests=1)).start("Go.")
        assert within(60, lambda: run.wait(raises=False)) is None
        assert run.state == "failed"
        with pytest.raises(LimitReached):
            run.wait()

    @pytest.mark.parametrize("name", ["wait", "events"])
    def test_waiting_in_an_event_loop_is_an_error_that_names_the_other(self, name: str):
        async def main() -> Any:
            run = await Session(Scripted("Done.")).astart("Go.")
            with pytest.raises(NotReadyError, match="would block the running event loop"):
                getattr(run, name)()
            return await run

        assert asyncio.run(main()) == "Done."

    def test_what_failed_is_told_too(self):
        class Down(Scripted):
            def _reply(self, conversation: Conversation) -> Reply:
                assert conversation.ready()
                raise ServerFailed("down")

        run = Session(Down()).start("Go.")
        with pytest.raises(ServerFailed) as caught:
            within(60, run.wait)
        assert caught.value.run.id == run.id
        *_, request, end = read(run)
        assert isinstance(request.body, RequestEnded)
        assert request.body.failed == "down"
        assert isinstance(end.body, RunEnded)
        assert (end.body.state, end.body.error) == ("failed", caught.value)


class _Pieces:
    def __init__(self, model: Scripted, conversation: Conversation, gate: Gate) -> None:
        self.model, self.conversation, self.gate = model, conversation, gate

    async def __aiter__(self) -> Any:
        yield TextDelta("a")
        await asyncio.to_thread(self.gate.hold)
        yield TextDelta("b")
        yield TextDelta("c")
        self.reply = self.model._reply(self.conversation)

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: object) -> None: ...


class TestNesting:
    def test_tools_that_ask_are_runs_inside(self):
        def research() -> str:
            assert (run := current_run()) is not None
            assert run.kind == "vibe"
            return str(Session(Scripted(calls("weather", city="Oslo"), "It rains."), [weather]).do("Look it up"))

        async def aresearch() -> str:
            return str(await Session(Scripted("Sunny."), name="helper").achat("?"))

        outer = Scripted(calls(("research", {}), ("aresearch", {})), "Done.")
        run = Session(outer, [research, aresearch]).start("Go.")
        assert within(60, run.wait).run.usage == Usage(50, 25)
        assert run.usage == Usage(50, 25)
        assert sorted((each.kind, each.title, each.usage) for each in run.children) == [
            ("chat", "helper", Usage(10, 5)),
            ("do", "Look it up", Usage(20, 10)),
        ]
        assert all(each.parent is run for each in run.children)
        events = read(run)
        started = [each.body for each in events if isinstance(each.body, RunStarted)]
        assert [each.parent for each in started] == [None, run.id, run.id]
        inner = next(each for each in run.children if each.kind == "do")
        assert {each.run for each in read(inner)} == {inner.id}
        assert names(read(inner))[-1] == "RunEnded"
        assert [each.seq for each in events] == sorted({each.seq for each in events})

    def test_usage_counts_upwards_also_when_something_fails(self):
        class Down(Scripted):
            def _reply(self, conversation: Conversation) -> Reply:
                if not self.script:
                    raise ServerFailed("down")
                return super()._reply(conversation)

        def research() -> str:
            return str(Session(Down(calls("weather", city="Oslo"), price=0.25), [weather]).vibe("?"))

        here = Session(Down(calls("research"), price=0.5), [research])
        run = here.start("Go.")
        with pytest.raises(ServerFailed) as caught:
            within(60, run.wait)
        assert (run.usage, run.cost) == (Usage(20, 10), 0.75)
        assert (caught.value.run.usage, caught.value.run.cost) == (Usage(20, 10), 0.75)

    def test_limits_count_what_is_inside(self):
        def research() -> str:
            return str(Session(Scripted("a", price=2.0)).chat("?"))

        here = Session(Scripted(*[calls("research")] * 9, price=0.0), [research], limits=Limits(cost=3.0))
        with pytest.raises(LimitReached, match=r"limit of \$3 is"):
            here.vibe("Go.")

    def test_a_run_begun_inside_is_part_of_the_one_around(self):
        def begin() -> str:
            begun.append(Session(Scripted("Later.")).start("?"))
            return "begun"

        begun: list[Run[Any]] = []
        run = Session(Scripted(calls("begin"), "Done."), [begin]).start("Go.")
        within(60, run.wait)
        assert within(60, begun[0].wait) == "Later."
        assert run.children == begun


class TestEnding:
    def test_a_run_left_alone_goes_on(self):
        gate = Gate()
        here = Session(Scripted(calls("hold"), "Done.", "Next."), [gate.hold])
        with here.stream("Go.") as events:
            for event in events:
                if isinstance(event.body, CallStarted):
                    break
        gate.over.set()
        assert within(60, events.run.wait) == "Done."
        assert here.chat("And?") == "Next."

    def test_asynchronously_too(self):
        async def main() -> AIResult:
            here = Session(Scripted(calls("weather", city="Oslo"), "Done."), [weather])
            async with here.astream("Go.") as events:
                async for event in events:
                    if isinstance(event.body, RequestStarted):
                        break
            return await events.run

        assert asyncio.run(main()) == "Done."

    def test_a_stream_that_nobody_reads_has_a_result(self):
        async def main() -> AIResult:
            return await Session(Scripted("Done.")).astream("Go.").result

        assert asyncio.run(main()) == "Done."

    @pytest.mark.parametrize("when", ["at once", "in a tool"])
    def test_cancelling_from_another_thread(self, when: str):
        begun, stopped = threading.Event(), threading.Event()

        async def forever() -> str:
            begun.set()
            try:
                await asyncio.sleep(600)
            finally:
                stopped.set()
            return ""

        for _ in range(30 if when == "at once" else 1):
            here = Session(Scripted(calls("forever"), "Fine.", "Fine."), [forever])
            run = here.start("Go.")
            if when == "in a tool":
                assert begun.wait(60)
            threading.Thread(target=run.cancel).start()
            with pytest.raises(Cancelled) as caught:
                within(60, run.wait)
            assert run.state == "cancelled"
            assert caught.value.run.conversation is here.conversation
            assert isinstance(read(run)[-1].body, RunEnded)
            assert here.conversation.open_calls == ()
            here.model = Scripted("Fine.")
            assert within(60, lambda here=here: here.chat("And now?")) == "Fine."
        assert stopped.is_set() or when == "at once"

    def test_cancelling_on_a_loop_before_anything_began(self):
        async def main() -> None:
            run = await Session(Scripted("Done.")).astart("Go.")
            run.cancel()
            with pytest.raises(Cancelled):
                await run

        asyncio.run(main())

    @pytest.mark.parametrize("parent", ["goes on", "is over"])
    def test_cancelling_reaches_the_runs_that_tools_have_started(self, parent: str):
        begun, stopped = threading.Event(), threading.Event()
        inner: list[Run[Any]] = []

        async def forever() -> str:
            begun.set()
            try:
                await asyncio.sleep(600)
            finally:
                stopped.set()
            return ""

        def delegate() -> str:
            inner.append(Session(Scripted(calls("forever")), [forever]).start("Work."))
            assert begun.wait(60)
            return "started"

        gate = Gate()
        script = [calls("delegate"), *([calls("hold")] if parent == "goes on" else []), "Done."]
        run = Session(Scripted(*script), [delegate, gate.hold]).start("Go.")
        if parent == "is over":
            assert within(60, run.wait) == "Done."
        else:
            assert gate.begun.wait(60)
        run.cancel()
        with pytest.raises(Cancelled):
            within(60, inner[0].wait)
        assert stopped.is_set()
        gate.over.set()
        within(60, lambda: run.wait(raises=False))
        assert run.state == ("cancelled" if parent == "goes on" else "done")

    def test_cancelling_reaches_the_runs_inside_that_wait_for_a_person(self):
        inner: list[Run[Any]] = []

        def delegate() -> str:
            inner.append(Session(Scripted(calls("remove", n=1)), [remove]).start("Work."))
            inner[0].wait(raises=False)
            return "started"

        run = Session(Scripted(calls("delegate"), "Done."), [delegate]).start("Go.")
        assert within(60, run.wait) == "Done."
        assert inner[0].state == "waiting"
        run.cancel()
        assert (inner[0].state, inner[0].waiting) == ("cancelled", ())

    def test_what_a_tool_starts_after_the_run_was_cancelled_ends_too(self):
        gate, model = Gate(), Scripted("Never said.")
        late: list[Run[Any]] = []
        started = threading.Event()

        def delegate() -> str:
            gate.hold()
            late.append(Session(model).start("Work."))
            started.set()
            return ""

        run = Session(Scripted(calls("delegate")), [delegate]).start("Go.")
        assert gate.begun.wait(60)
        run.cancel()
        gate.over.set()
        assert started.wait(60)
        with pytest.raises(Cancelled):
            within(60, late[0].wait)
        assert model.seen == []

    def test_cancelling_twice_or_after_the_end_does_nothing(self):
        run = Session(Scripted("Done.")).start("Go.")
        within(60, run.wait)
        run.cancel()
        run.cancel()
        assert (run.state, run.wait()) == ("done", "Done.")

    def test_who_was_told_of_the_end_can_go_on_at_once(self):
        here = Session(Scripted(*["Done."] * 300))
        for number in range(50):
            assert within(60, here.start(f"n{number}").wait) == "Done."
            assert here.chat("And?") == "Done."
            for event in here.start(f"m{number}").events():
                if isinstance(event.body, RunEnded):
                    assert here.chat("?") == "Done."

    def test_two_sessions_on_one_conversation_are_an_error(self):
        gate, conversation = Gate(), Conversation()
        run = Session(Scripted(calls("hold"), "Done."), [gate.hold], conversation=conversation).start("Go.")
        assert gate.begun.wait(60)
        other = Session(Scripted("Mine."), conversation=conversation)
        for ask in (lambda: other.chat("?"), lambda: other.start("?"), lambda: other.resume()):
            with pytest.raises(NotReadyError, match="already in a run"):
                ask()
        gate.over.set()
        assert within(60, run.wait) == "Done."
        assert other.chat("?") == "Mine."

    def test_of_many_who_begin_at_once_one_has_it(self):
        gate, conversation = Gate(), Conversation()
        begun, refused = list[Run[Any]](), list[Exception]()
        ready = threading.Barrier(8)

        def begin() -> None:
            here = Session(Scripted(calls("hold"), "Done."), [gate.hold], conversation=conversation)
            ready.wait(60)
            try:
                begun.append(here.start("Go."))
            except NotReadyError as error:
                refused.append(error)

        threads = [threading.Thread(target=begin) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        gate.over.set()
        assert (len(begun), len(refused)) == (1, 7)
        assert within(60, begun[0].wait) == "Done."


@tool(destructive=True)
def remove(n: int) -> str:
    """Remove one."""
    return f"removed {n}"


class TestAnswersToRunsThatWait:
    def here(self, count: int = 2) -> Session:
        return Session(Scripted(calls(*[("remove", {"n": n}) for n in range(count)]), "Done."), [remove])

    def told_once(self, run: Run[Any], count: int) -> None:
        events = [event.body for event in read(run)]
        for kind in (QuestionAsked, QuestionAnswered, CallFinished):
            assert sum(isinstance(each, kind) for each in events) == count
        assert isinstance(events[-1], RunEnded)

    @pytest.mark.parametrize("moment", ["as they are asked", "at the first", "when it waits", "in threads"])
    def test_whenever_they_come_it_goes_on_and_nothing_is_told_twice(self, moment: str):
        for _ in range(10):
            run = self.here().start("Go.")
            asked: list[str] = []
            for event in run.events():
                if isinstance(event.body, QuestionAsked):
                    asked.append(event.body.question.id)
                    if moment == "as they are asked":
                        run.allow(asked[-1])
                    if moment == "at the first" and len(asked) == 1:
                        run.allow(asked[0])
                    if moment == "in threads":
                        threading.Thread(target=run.allow, args=(asked[-1],)).start()
                if isinstance(event.body, RunWaits) and moment in ("when it waits", "at the first"):
                    for question in run.waiting if moment == "when it waits" else run.waiting[-1:]:
                        run.allow(question.id)
            result = within(60, lambda run=run: _settled(run))
            assert [each.result for each in result.tool_calls] == ["removed 0", "removed 1"]
            self.told_once(run, 2)

    def test_from_many_threads_one_answer_counts(self):
        for _ in range(20):
            run = self.here(1).start("Go.")
            within(60, lambda run=run: run.wait(raises=False))
            id, taken, ready = run.waiting[0].id, list[str](), threading.Barrier(6)

            def answer(how: str, run: Run[Any] = run, id: str = id, taken: Any = taken, ready: Any = ready) -> None:
                ready.wait(60)
                try:
                    run.allow(id) if how == "allow" else run.deny(id, "no")
                    taken.append(how)
                except NotReadyError:
                    pass

            threads = [threading.Thread(target=answer, args=(how,)) for how in ("allow", "deny") * 3]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            result = within(60, lambda run=run: _settled(run))
            assert len(taken) == 1
            assert (result.tool_calls[0].error is None) == (taken == ["allow"])
            self.told_once(run, 1)

    def test_cancelling_a_run_that_waits(self):
        run = self.here().start("Go.")
        with pytest.raises(NeedsHuman):
            within(60, run.wait)
        assert [type(event.body).__name__ for event in read(run)][-1] == "RunWaits"
        run.cancel()
        with pytest.raises(Cancelled) as caught:
            within(60, run.wait)
        assert caught.value.run.outcome == "cancelled"
        assert (run.state, run.waiting) == ("cancelled", ())
        with pytest.raises(NotReadyError, match="no question"):
            run.allow("c1")

    def test_somebody_else_may_have_gone_on_meanwhile(self):
        gate = Gate()
        here = Session(Scripted(calls("remove", n=1), calls("hold"), "Done."), [remove, gate.hold])
        waits = here.start("Go.")
        with pytest.raises(NeedsHuman):
            within(60, waits.wait)
        id = waits.waiting[0].id
        here.allow(id)
        other = here.start()
        assert gate.begun.wait(60)
        waits.allow(id)
        with pytest.raises(NotReadyError, match="already in a run"):
            within(60, waits.wait)
        gate.over.set()
        assert within(60, other.wait) == "Done."

    def test_it_goes_on_in_its_own_loop_and_context(self):
        async def main() -> AIResult:
            run = await self.here(1).astart("Go.")
            with pytest.raises(NeedsHuman):
                await run
            await asyncio.to_thread(run.allow, run.waiting[0].id)
            return await run

        assert asyncio.run(main()) == "Done."

    @pytest.mark.parametrize("name", ["answer", "allow", "deny"])
    def test_an_answer_of_the_wrong_kind_decides_nothing(self, name: str):
        from antiphon.tools import NeedsHumanInput

        def consult() -> str:
            raise NeedsHumanInput("which?")

        made = [consult] if name != "answer" else Toolset([weather]).requiring_approval()
        script = calls("consult") if name != "answer" else calls("weather", city="Oslo")
        here = Session(Scripted(script, "Done."), made)
        run = here.start("Go.")
        with pytest.raises(NeedsHuman):
            within(60, run.wait)
        id = run.waiting[0].id
        for side in (run, here):
            with pytest.raises(NotReadyError, match="so use"):
                getattr(side, name)(*([id, "yes"] if name == "answer" else [id]))
        assert here.conversation.open_calls


def _settled(run: Run[Any]) -> AIResult:
    """The result of a run that somebody makes go on."""
    while True:
        try:
            return run.wait()
        except NeedsHuman:
            for _ in run.events():
                pass


def test_usage_is_told_as_it_grows():
    run = Session(Scripted(calls("weather", city="Oslo"), "Done.", price=0.5), [weather]).start("Go.")
    told = [event.body for event in read(run) if isinstance(event.body, UsageChanged)]
    assert told == [UsageChanged(Usage(10, 5), 0.5), UsageChanged(Usage(20, 10), 1.0)]
