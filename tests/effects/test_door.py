"""Who stands in the door: paths, what is known already, what is refused, a budget that many share."""

import asyncio
import threading
from typing import Any

import pytest

from antiphon.effects import (
    AskModel,
    Budget,
    BudgetExceeded,
    EffectCall,
    EffectContext,
    Limits,
    Middleware,
    ModelReplied,
    Outcome,
    PathCounter,
    Print,
    Recording,
    aperform,
    child_context,
    current_context,
    perform,
    use_context,
)
from antiphon.errors import Suspended
from antiphon.wire import Reply


class Notes(Middleware):
    """Stands in the door and takes notes."""

    def __init__(self, known: Outcome | None = None) -> None:
        self.known = known
        self.seen: list[str] = []

    def before(self, step: EffectCall) -> Outcome | None:
        self.seen.append(f"before {step.path}")
        return self.known

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        self.seen.append(f"after {step.path} {outcome.error or outcome.value}")


def test_a_thread_of_work_counts_its_effects():
    node = PathCounter("3[7].")
    assert [node.next(), node.next()] == ["3[7].1", "3[7].2"]


def test_below_a_path_the_same_people_stand_in_the_door():
    notes = Notes()
    with use_context(EffectContext(performers=(notes,))):
        with use_context(child_context("1/c1/")) as inside:
            assert current_context() is inside
            assert inside.performers == (notes,)
            assert inside.node.next() == "1/c1/1"
        assert current_context().node.next() == "1"
    assert current_context().performers == ()


@pytest.mark.parametrize("is_async", [False, True])
class TestPerforming:
    def do(self, is_async: bool, work: Any, *performers: Any) -> Any:
        step = EffectCall("1", Print("x"))

        async def later() -> Any:
            return work()

        async def main() -> Any:
            return await aperform(step, later)

        with use_context(EffectContext(performers=performers)):
            return asyncio.run(main()) if is_async else perform(step, work)

    def test_those_outside_are_told_last(self, is_async: bool):
        seen: list[str] = []
        outer, inner = Notes(), Notes()
        outer.seen = inner.seen = seen
        assert self.do(is_async, lambda: 4, outer, inner) == 4
        assert seen == ["before 1", "before 1", "after 1 4", "after 1 4"]

    def test_what_is_known_is_not_done_and_told_only_outside(self, is_async: bool):
        outer, knows, inner = Notes(), Notes(Outcome(7)), Notes()
        assert self.do(is_async, lambda: 1 / 0, outer, knows, inner) == 7
        assert (outer.seen, knows.seen, inner.seen) == (["before 1", "after 1 7"], ["before 1"], [])

    def test_an_error_is_an_outcome_too(self, is_async: bool):
        notes = Notes()
        with pytest.raises(ZeroDivisionError):
            self.do(is_async, lambda: 1 / 0, notes)
        assert notes.seen == ["before 1", "after 1 division by zero"]

    def test_what_is_not_settled_is_told_as_such(self, is_async: bool):
        notes, recording = Notes(), Recording()

        def waits() -> None:
            raise Suspended("somebody is asked")

        with pytest.raises(Suspended):
            self.do(is_async, waits, notes, recording)
        assert notes.seen == ["before 1", "after 1 somebody is asked"]
        assert recording.effects == {}


ASK = AskModel("m", "", ())


def asked(budget: Budget, cost: float | None = 0.0) -> None:
    with use_context(EffectContext(performers=(budget,))):
        perform(EffectCall("1", ASK), lambda: ModelReplied(Reply((), "end"), cost))


class TestBudget:
    def test_threads_side_by_side_share_what_is_left(self):
        budget, refused = Budget(Limits(requests=50)), list[Exception]()
        ready = threading.Barrier(8)

        def work() -> None:
            ready.wait(60)
            for _ in range(20):
                try:
                    asked(budget, 0.5)
                except BudgetExceeded as error:
                    refused.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert (budget.spent.requests, budget.spent.cost, len(refused)) == (50, 25.0, 110)

    def test_a_cost_that_is_reached_or_not_known_ends_it(self):
        budget = Budget(Limits(cost=1.0))
        asked(budget, 1.0)
        with pytest.raises(BudgetExceeded, match=r"\$1 is reached"):
            asked(budget)
        unknown = Budget(Limits(cost=1.0))
        asked(unknown, None)
        with pytest.raises(BudgetExceeded, match="not known"):
            asked(unknown)

    def test_only_models_are_counted(self):
        budget = Budget(Limits(requests=0))
        with use_context(EffectContext(performers=(budget,))):
            assert perform(EffectCall("1", Print("x")), lambda: "printed") == "printed"
        with pytest.raises(BudgetExceeded):
            asked(budget)
