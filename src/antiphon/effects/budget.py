"""Middleware that limits the total cost and number of model requests."""

from __future__ import annotations

import threading

from antiphon._base.optional_deps import format_price_hint
from antiphon.effects.pipeline import EffectCall, Middleware
from antiphon.effects.types import AskModel, ModelReplied, Outcome
from antiphon.errors import AntiphonError


class OverBudget(AntiphonError):
    """A request was not sent, because the shared budget is exhausted."""


def format_cost_limit(limit: float, cost: float | None) -> str:
    """Return the message for a cost limit that is reached, or that cannot be enforced without known costs.

    `limit` is in US dollars.
    """
    if cost is None:
        return f"the limit of ${limit:g} cannot be kept: the cost of a model is not known{format_price_hint()}"
    return f"the limit of ${limit:g} is reached"


class Budget(Middleware):
    """Middleware that rejects requests beyond `max_turns`, and requests after `max_cost` US dollars are spent."""

    def __init__(self, max_cost: float | None = None, max_turns: int | None = None) -> None:
        self.cost: float | None = 0.0
        self.requests = 0
        self._max_cost = max_cost
        self._max_turns = max_turns
        self._lock = threading.Lock()

    def before(self, step: EffectCall) -> None:
        """Count a request before it is sent, because concurrent iterations share the budget."""
        if not isinstance(step.effect, AskModel):
            return
        with self._lock:
            if self._max_turns is not None and self.requests >= self._max_turns:
                raise OverBudget(f"the limit of {self._max_turns} requests is reached")
            if self._max_cost is not None and (self.cost is None or self.cost >= self._max_cost):
                raise OverBudget(format_cost_limit(self._max_cost, self.cost))
            self.requests += 1

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        """Add the cost of the request."""
        del step
        if not isinstance(outcome.value, ModelReplied):
            return
        with self._lock:
            cost = outcome.value.cost
            self.cost = None if cost is None or self.cost is None else self.cost + cost
