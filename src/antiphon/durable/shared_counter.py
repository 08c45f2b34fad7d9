"""The counter of a budget that all machines share, in PostgreSQL."""

from __future__ import annotations

from antiphon.effects.budget import Counter, Spending
from antiphon.storage.budgets import add_to_sum, load_or_begin_sum
from antiphon.storage.postgres import PostgresDatabase


class SharedCounter(Counter):
    """Counts the cost of a batch for all machines. Its requests and tokens are not shared.

    Each model request is one atomic statement, which adds its cost and returns the sum of all. The sum starts
    with the cost of the saved steps, and is loaded once.
    """

    def __init__(self, database: PostgresDatabase, batch: str) -> None:
        super().__init__()
        self._database = database
        self._batch = batch
        self._is_loaded = False

    def load(self) -> Spending:
        """Return the sum as of the last request of this counter."""
        if not self._is_loaded:
            self._spent, self._is_loaded = Spending(cost=load_or_begin_sum(self._database, self._batch)), True
        return self._spent

    def add(self, spent: Spending) -> Spending:
        """Add to the sum of all machines and return it."""
        found = add_to_sum(self._database, self._batch, spent.cost) if spent.cost != 0 else None
        if found is not None:
            self._spent = Spending(cost=found[0])
        return self.load()
