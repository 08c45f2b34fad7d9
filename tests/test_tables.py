"""Tables that belong together: a name in one of them is in the others, as the recipes of CONTRIBUTING say."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any, get_args

import pytest

from antiphon.effects import Budget, BudgetExceeded, Limits
from antiphon.effects.budget import NO_LIMITS, Spending
from antiphon.lang.runtime import methods
from antiphon.lang.runtime.builtins_table import make_module_globals
from antiphon.lang.typecheck.methods import BUILTINS
from antiphon.session.exceptions import EXCEPTIONS_BY_ENDING
from antiphon.session.result import RunEnding
from antiphon.wire import Usage


def test_each_ending_without_a_value_has_an_exception() -> None:
    # A wrong answer is a ReturnError with its faults, and a failure is the error itself.
    assert {*get_args(RunEnding)} == {"done", "wrong", "failed", *EXCEPTIONS_BY_ENDING}


@pytest.mark.parametrize("name", [each.name for each in fields(Limits)])
def test_each_limit_is_enforced(name: str) -> None:
    budget = Budget(Limits(**{**{each.name: None for each in fields(Limits)}, name: 1}))
    budget.add(Spending(requests=2, tool_calls=2, usage=Usage(2, 2), cost=2.0))
    if name == "tool_calls":
        # Calls beyond it are not run; the budget counts them.
        assert budget.spent.tool_calls == 2
        return
    with pytest.raises(BudgetExceeded, match="is reached"):
        budget.check(seconds=2.0)
    Budget(NO_LIMITS).check(seconds=1e9)


def test_each_builtin_has_a_function() -> None:
    source = inspect.getsource(make_module_globals) + inspect.getsource(
        inspect.getmodule(make_module_globals) or object
    )
    assert [name for name in BUILTINS if f'"_vb_{name}"' not in source] == []


@pytest.mark.parametrize("value", ["text", 1, True, [1], {"a": 1}], ids=lambda each: type(each).__name__)
def test_each_method_has_a_function(value: Any) -> None:
    signatures, functions = methods._get_method_tables(value)
    assert [name for name in signatures if name not in functions] == []
