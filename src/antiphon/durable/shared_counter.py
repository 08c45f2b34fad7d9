"""The counter of a budget that all machines share, in PostgreSQL."""

from __future__ import annotations

from antiphon.durable.journal_reader import JournalReader
from antiphon.durable.postgres import PostgresConnection, PostgresDatabase
from antiphon.effects.budget import Counter, Spending

#: The cost of the answered requests of a batch's rows, and how many of them have no known price.
COST_OF_ROWS = (
    "SELECT coalesce(sum(effects.cost), 0), count(*) - count(effects.cost) FROM effects JOIN runs ON id = run"
    " WHERE parent = ? AND runs.kind = 'row' AND effects.kind = 'request' AND effects.state = 'done'"
)
_LOAD = "SELECT cost FROM spent WHERE batch = ?"
_BEGIN = (
    f"INSERT INTO spent SELECT ?, CASE WHEN unknown = 0 THEN known END FROM ({COST_OF_ROWS}) AS rows (known, unknown)"
    " ON CONFLICT DO NOTHING"
)
_ADD = "UPDATE spent SET cost = cost + CAST(? AS DOUBLE PRECISION) WHERE batch = ? RETURNING cost"


def load_batch_cost(journal: JournalReader, id: str) -> float | None:
    """Return the cost of all rows of a batch, or None if the price of a request is unknown."""
    ((cost, unknown),) = journal.query(COST_OF_ROWS, (id,)) or [(0.0, 0)]
    return None if unknown else cost


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
            self._spent, self._is_loaded = Spending(cost=self._database.transact(self._read_or_begin)), True
        return self._spent

    def add(self, spent: Spending) -> None:
        """Add to the sum of all machines."""
        if spent.cost == 0:
            return
        values = (spent.cost, self._batch)
        found = self._database.transact(lambda connection: connection.execute(_ADD, values).fetchone())
        if found is not None:
            self._spent = Spending(cost=found[0])

    def _read_or_begin(self, connection: PostgresConnection) -> float | None:
        found = connection.execute(_LOAD, (self._batch,)).fetchone()
        if found is None:
            connection.execute(_BEGIN, (self._batch, self._batch))
            found = connection.execute(_LOAD, (self._batch,)).fetchone()
        return found[0] if found else 0.0
