"""A bound on what all models of a run may cost, whoever asks them."""

from __future__ import annotations

import threading

from antiphon._extras import price_hint
from antiphon.effects.door import Performer, Step
from antiphon.effects.values import Answered, AskModel, Outcome
from antiphon.errors import AntiphonError


class OverBudget(AntiphonError):
    """A request that is not sent, because what all requests together may use is used up."""


def reached(limit: float, cost: float | None) -> str:
    """Why nothing more is asked for, where a limit in US dollars is reached, or nobody can tell whether it is."""
    if cost is None:
        return f"the limit of ${limit:g} cannot be kept: the cost of a model is not known{price_hint()}"
    return f"the limit of ${limit:g} is reached"


class Budget(Performer):
    """Stands in the door: refuses requests beyond `max_turns`, and those after `max_cost` US dollars are spent."""

    def __init__(self, max_cost: float | None = None, max_turns: int | None = None) -> None:
        self.cost: float | None = 0.0
        self.requests = 0
        self._max_cost = max_cost
        self._max_turns = max_turns
        self._lock = threading.Lock()

    def before(self, step: Step) -> None:
        """Count a request before it is sent: rounds that run side by side share what is left."""
        if not isinstance(step.effect, AskModel):
            return
        with self._lock:
            if self._max_turns is not None and self.requests >= self._max_turns:
                raise OverBudget(f"the limit of {self._max_turns} requests is reached")
            if self._max_cost is not None and (self.cost is None or self.cost >= self._max_cost):
                raise OverBudget(reached(self._max_cost, self.cost))
            self.requests += 1

    def after(self, step: Step, outcome: Outcome) -> None:
        """Add what it cost."""
        del step
        if not isinstance(outcome.value, Answered):
            return
        with self._lock:
            cost = outcome.value.cost
            self.cost = None if cost is None or self.cost is None else self.cost + cost
