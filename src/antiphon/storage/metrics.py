"""The numbers of the sessions, steps and workers of a shared database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from antiphon.storage.postgres import PostgresConnection, PostgresDatabase
from antiphon.storage.run_queue import LOST_ENDING
from antiphon.storage.schema import SAVED

#: The time of the transaction; unlike the clock, PostgreSQL can use it with an index.
_NOW = "extract(epoch FROM now())::float8"
#: Workers execute rows, not batches.
_OLDEST_READY = f"SELECT {_NOW} - min(updated) FROM sessions WHERE state = 'ready' AND kind <> 'map'"


class Counts(NamedTuple):
    """Sessions by state, those lost with their workers, the age of the oldest ready one, and current numbers.

    `begun` steps are of the last minute, `cost` is of the last hour. A worker has a process, its number of slots and
    the seconds since its last heartbeat.
    """

    states: Mapping[str, int]
    lost: int
    oldest: float | None
    begun: float
    cost: float
    workers: list[tuple[str, int, float]]


def read_counts(database: PostgresDatabase, lease: float) -> Counts:
    """Read all numbers in one transaction."""
    with database.read_transaction() as connection:
        states = dict(connection.execute("SELECT state, count(*) FROM sessions GROUP BY state").fetchall())
        (lost,) = _fetch_one(
            connection, f"SELECT count(*) FROM sessions WHERE state = 'failed' AND result LIKE '{LOST_ENDING}%'"
        )
        (oldest,) = _fetch_one(connection, _OLDEST_READY)
        (begun,) = _fetch_one(connection, f"SELECT count(*) FROM steps WHERE began > {_NOW} - 60")
        (cost,) = _fetch_one(
            connection, f"SELECT sum(cost) FROM steps WHERE began > {_NOW} - 3600 AND kind = 'request'"
        )
        workers = connection.execute(
            f"SELECT process, slots, {_NOW} - seen FROM workers WHERE seen > {_NOW} - ? AND slots > 0 ORDER BY process",
            (lease,),
        ).fetchall()
    # Saved conversations are no work.
    states.pop(SAVED, None)
    return Counts(states, int(lost or 0), oldest, begun or 0, cost or 0.0, workers)


def _fetch_one(connection: PostgresConnection, statement: str) -> tuple[float | None, ...]:
    return connection.execute(statement).fetchall()[0]
