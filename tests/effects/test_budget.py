"""Budgets: limits of a scope and of those around it, counters, warnings."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from antiphon.effects import (
    AskModel,
    Budget,
    BudgetExceeded,
    CallTool,
    Counter,
    EffectContext,
    Limits,
    ModelReplied,
    Spending,
    perform,
    use_context,
)
from antiphon.effects.pipeline import EffectCall
from antiphon.wire import Reply, Usage

UNLIMITED: dict[str, Any] = {"requests": None, "tool_calls": None}


def ask(budget: Budget, cost: float | None = 0.0, tokens: int = 0) -> None:
    reply = Reply((), "end", usage=Usage(tokens, 0))
    with use_context(EffectContext(performers=(budget,))):
        perform(EffectCall("1", AskModel("m", "", ())), lambda: ModelReplied(reply, cost))


def call(budget: Budget) -> None:
    with use_context(EffectContext(performers=(budget,))):
        perform(EffectCall("1", CallTool("t", {})), lambda: "done")


def refused(budget: Budget) -> BudgetExceeded:
    with pytest.raises(BudgetExceeded) as caught:
        ask(budget)
    return caught.value


def test_it_tells_the_scope_the_limit_and_what_was_used():
    budget = Budget(Limits(**UNLIMITED, cost=1.0), "batch:x")
    ask(budget, 0.6)
    ask(budget, 0.6)
    error = refused(budget)
    assert (error.scope, error.name, error.limit, error.used) == ("batch:x", "cost", 1.0, 1.2)
    assert str(error) == "the limit of $1 is reached"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(requests=1, tool_calls=None), "the limit of 1 requests is reached"),
        (Limits(**UNLIMITED, tokens=7_000), "the limit of 7,000 tokens is reached"),
        (Limits(**UNLIMITED, cost=2.5), "the limit of $2.5 is reached"),
        (Limits(**UNLIMITED, seconds=0.0), "the limit of 0 seconds is reached"),
    ],
)
def test_each_limit_holds(limits: Limits, said: str):
    budget = Budget(limits)
    if limits.seconds is None:
        ask(budget, 2.5, 7_000)
    assert str(refused(budget)) == said


def test_output_tokens_have_their_own_limit():
    budget = Budget(Limits(**UNLIMITED, output_tokens=100))
    with use_context(EffectContext(performers=(budget,))):
        for usage in (Usage(5_000, 60), Usage(5_000, 60)):
            answered = ModelReplied(Reply((), "end", usage=usage), 0.0)
            perform(EffectCall("1", AskModel("m", "", ())), partial(replace, answered))
    error = refused(budget)
    assert (error.name, error.limit, error.used) == ("output_tokens", 100, 120)
    assert str(error) == "the limit of 100 output tokens is reached"


def test_calls_of_tools_have_their_own_limit():
    budget = Budget(Limits(requests=1, tool_calls=2))
    call(budget)
    call(budget)
    with pytest.raises(BudgetExceeded, match="2 tool calls"):
        call(budget)
    ask(budget)
    assert (budget.spent.requests, budget.spent.tool_calls) == (1, 2)


def test_a_counter_starts_with_what_was_used_before():
    budget = Budget(Limits(requests=3, tool_calls=None), counter=Counter(Spending(requests=2)))
    ask(budget)
    assert refused(budget).used == 3


class TestParents:
    def test_what_passes_is_added_to_all_and_held_by_all(self):
        team = Budget(Limits(requests=3, tool_calls=2), "team:x")
        first, second = (Budget(Limits(requests=2, tool_calls=None), f"team:x/{n}", parent=team) for n in (1, 2))
        ask(first, 0.5)
        ask(first, 0.5)
        assert refused(first).scope == "team:x/1"
        ask(second, 0.5)
        assert refused(second).scope == "team:x"
        assert (team.spent.requests, team.spent.cost, second.spent.requests) == (3, 1.5, 1)
        call(first)
        call(second)
        with pytest.raises(BudgetExceeded) as caught:
            call(second)
        assert caught.value.scope == "team:x"

    def test_a_session_is_held_by_the_cost_around_it_and_not_by_its_requests(self):
        around = Budget(Limits(requests=1, tool_calls=None, tokens=100, seconds=0.0), "session:a")
        inside = Budget(Limits(requests=2, tool_calls=None), "session:b", parent=around)
        inside.add(Spending(requests=1, usage=Usage(50, 10)))
        inside.check(1, 0.0)
        inside.add(Spending(requests=1, usage=Usage(30, 10)))
        with pytest.raises(BudgetExceeded) as caught:
            inside.check(1, 0.0)
        assert (caught.value.scope, caught.value.name) == ("session:a", "tokens")
        with pytest.raises(BudgetExceeded) as caught:
            inside.check(2, 0.0)
        assert caught.value.scope == "session:b"

    def test_a_request_is_counted_where_it_is_allowed(self):
        budget = Budget(Limits(requests=2, tool_calls=None), "session:a")
        budget.start_request()
        budget.start_request()
        with pytest.raises(BudgetExceeded):
            budget.start_request()
        assert budget.spent.requests == 2
        assert budget.add(Spending(usage=Usage(3, 4))) == budget.spent == Spending(2, 0, Usage(3, 4))


class TestWarnings:
    def test_it_warns_once_when_little_is_left(self):
        told: list[str] = []
        team = Budget(Limits(**UNLIMITED, cost=10.0), label="for all of it")
        budget = Budget(Limits(**UNLIMITED, cost=1.0), parent=team, label="for task 1", on_warning=told.append)
        ask(budget, 0.79)
        assert told == []
        ask(budget, 0.01)
        ask(budget, 0.01)
        assert told == ["80% of $1 for task 1 is used"]

    def test_a_limit_around_it_warns_too(self):
        told: list[str] = []
        team = Budget(Limits(requests=4, tool_calls=None), label="for all of it")
        budget = Budget(Limits(**UNLIMITED), parent=team, warn_at=0.5, on_warning=told.append)
        ask(budget)
        ask(budget)
        assert told == ["50% of 4 requests for all of it is used"]

    def test_what_is_reached_is_no_warning(self):
        told: list[str] = []
        ask(Budget(Limits(requests=1, tool_calls=None), on_warning=told.append))
        assert told == []


def test_limits_may_change():
    limits = [Limits(requests=1, tool_calls=None)]
    budget = Budget(lambda: limits[0])
    ask(budget)
    refused(budget)
    limits[0] = Limits(requests=2, tool_calls=None)
    ask(budget)
