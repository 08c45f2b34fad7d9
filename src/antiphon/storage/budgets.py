"""Sums of cost that all machines share in PostgreSQL, and reserved moments of requests in any database."""

from __future__ import annotations

from typing import Any

from antiphon.storage.database import Database
from antiphon.storage.postgres import PostgresConnection, PostgresDatabase
from antiphon.storage.steps import COST_OF_ROWS

_LOAD = "SELECT cost FROM budgets WHERE scope = ?"
_BEGIN = (
    f"INSERT INTO budgets SELECT ?, CASE WHEN unknown = 0 THEN known END FROM ({COST_OF_ROWS}) AS rows (known, unknown)"
    " ON CONFLICT DO NOTHING"
)
_ADD = "UPDATE budgets SET cost = cost + CAST(? AS DOUBLE PRECISION) WHERE scope = ? RETURNING cost"
#: Each request reserves the next free moment in one statement, without waiting for a lock.
_RESERVE = (
    "INSERT INTO rate_limits VALUES (?, {now} + ?) ON CONFLICT (name)"
    " DO UPDATE SET free_at = {greatest}(rate_limits.free_at, {now}) + ?"
    " RETURNING free_at - {now}"
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


def reserve_moment(database: Database, limit: str, gap: float, run: str, path: str, longest_wait: float) -> float:
    """Return the seconds until the moment of a request.

    That is the one that was reserved for it, or the next free one of its limit. With a `run`, which a database of
    many machines has, a moment that is further away than `longest_wait` stays reserved.
    """
    now = database.now_expression

    def reserve(connection: Any) -> float:
        kept = f"DELETE FROM reservations WHERE session = ? AND path = ? RETURNING until - {now}"
        found = connection.execute(kept, (run, path)).fetchone() if run else None
        wait = found[0] if found else _add_seconds(database, connection, limit, gap) - gap
        if run and wait > longest_wait:
            connection.execute(f"INSERT INTO reservations VALUES (?, ?, {now} + ?)", (run, path, wait))
        return wait

    return database.transact(reserve)


def add_used_seconds(database: Database, limit: str, seconds: float) -> None:
    """Note that what a request has used takes so many seconds of a limit."""
    database.transact(lambda connection: _add_seconds(database, connection, limit, seconds))


def get_used_seconds(database: Database, limit: str) -> float:
    """Return how many seconds of a limit the requests so far have used in advance; negative if none."""
    found = database.query(f"SELECT free_at - {database.now_expression} FROM rate_limits WHERE name = ?", (limit,))
    return found[0][0] if found else 0.0


def _add_seconds(database: Database, connection: Any, limit: str, seconds: float) -> float:
    """Add to the moment of a limit, and return the seconds until then."""
    statement = _RESERVE.format(now=database.now_expression, greatest=database.greatest_function)
    return connection.execute(statement, (limit, seconds, seconds)).fetchall()[0][0]
