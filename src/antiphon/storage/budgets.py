"""Sums of cost that all machines share, and reserved moments of requests, in PostgreSQL."""

from __future__ import annotations

from antiphon.storage.postgres import PostgresConnection, PostgresDatabase
from antiphon.storage.steps import COST_OF_ROWS

_LOAD = "SELECT cost FROM budgets WHERE scope = ?"
_BEGIN = (
    f"INSERT INTO budgets SELECT ?, CASE WHEN unknown = 0 THEN known END FROM ({COST_OF_ROWS}) AS rows (known, unknown)"
    " ON CONFLICT DO NOTHING"
)
_ADD = "UPDATE budgets SET cost = cost + CAST(? AS DOUBLE PRECISION) WHERE scope = ? RETURNING cost"
_NOW = "extract(epoch FROM clock_timestamp())"
#: Each request reserves the next free moment in one statement, without waiting for a lock.
_RESERVE = (
    f"INSERT INTO rate_limits VALUES (?, {_NOW} + ?) ON CONFLICT (name)"
    f" DO UPDATE SET free_at = greatest(rate_limits.free_at, {_NOW}) + ?"
    f" RETURNING (free_at - ? - {_NOW})::float8"
)


def load_or_begin_sum(database: PostgresDatabase, batch: str) -> float | None:
    """Return the cost of a batch, which begins with that of its saved steps; None if a price is unknown."""

    def load(connection: PostgresConnection) -> float | None:
        found = connection.execute(_LOAD, (batch,)).fetchone()
        if found is None:
            connection.execute(_BEGIN, (batch, batch))
            found = connection.execute(_LOAD, (batch,)).fetchone()
        return found[0] if found else 0.0

    return database.transact(load)


def add_to_sum(database: PostgresDatabase, batch: str, cost: float | None) -> tuple[float | None] | None:
    """Add to the cost of a batch. Return the new sum, None if a price is unknown; nothing if there is no sum."""
    return database.transact(lambda connection: connection.execute(_ADD, (cost, batch)).fetchone())


def reserve_moment(
    database: PostgresDatabase, limit: str, gap: float, run: str, path: str, longest_wait: float
) -> float:
    """Return the seconds until the moment of a request.

    That is the one that was reserved for it, or the next free one of its limit. With a `run`, a moment that is further
    away than `longest_wait` stays reserved.
    """

    def reserve(connection: PostgresConnection) -> float:
        kept = f"DELETE FROM reservations WHERE session = ? AND path = ? RETURNING (until - {_NOW})::float8"
        found = connection.execute(kept, (run, path)).fetchone() if run else None
        (wait,) = found or connection.execute(_RESERVE, (limit, gap, gap, gap)).fetchall()[0]
        if run and wait > longest_wait:
            connection.execute(f"INSERT INTO reservations VALUES (?, ?, {_NOW} + ?)", (run, path, wait))
        return wait

    return database.transact(reserve)
