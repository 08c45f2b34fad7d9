"""What the models of a run have used in all, and how much they may."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from antiphon.lang.run.errors import Stopped, VibeError

if TYPE_CHECKING:
    from antiphon.conversation import Conversation
    from antiphon.session import Asks, UsageChanged


class Spending:
    """Counts for a whole run. Rounds that run side by side, and tools that ask models themselves, share it."""

    def __init__(self, max_cost: float | None = None, max_turns: int | None = None) -> None:
        self.input_tokens = 0
        self.output_tokens = 0
        self.cost: float | None = 0.0
        self.requests = 0
        self._max_cost = max_cost
        self._max_turns = max_turns
        self._lock = threading.Lock()

    def admit(self) -> None:
        """Count a request before it is sent. One that would be too many ends the run, whatever the program catches."""
        with self._lock:
            if self._max_turns is not None and self.requests >= self._max_turns:
                raise Stopped(VibeError("V0922", f"the limit of {self._max_turns} requests is reached"))
            if self._max_cost is not None and (self.cost is None or self.cost >= self._max_cost):
                known = "is reached" if self.cost is not None else "cannot be kept: the cost of a model is not known"
                raise Stopped(VibeError("V0922", f"the limit of ${self._max_cost:g} {known}"))
            self.requests += 1

    def count(self, now: UsageChanged, before: UsageChanged | None) -> None:
        """Add what one call has used since it was counted last."""
        used, had = now.usage, before.usage if before else None
        spent = before.cost if before else 0.0
        with self._lock:
            self.input_tokens += (used.input_tokens or 0) - ((had.input_tokens or 0) if had else 0)
            self.output_tokens += (used.output_tokens or 0) - ((had.output_tokens or 0) if had else 0)
            known = self.cost is not None and now.cost is not None and spent is not None
            self.cost = self.cost + now.cost - spent if known else None  # type: ignore[operator]

    def to_json(self) -> dict[str, Any]:
        """All of it; a cost that is not known is null."""
        return {
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "cost": self.cost,
            "requests": self.requests,
        }


class Metered:
    """A model whose requests are counted before they are sent."""

    def __init__(self, model: Asks, spending: Spending) -> None:
        self._model = model
        self._spending = spending

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def astream(self, conversation: Conversation, **options: Any) -> Any:
        """As the model itself does."""
        self._spending.admit()
        return self._model.astream(conversation, **options)
