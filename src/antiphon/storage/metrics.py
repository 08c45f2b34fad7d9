"""The numbers of the sessions, steps and workers of a shared database."""

from __future__ import annotations

from typing import Any

from antiphon.storage.postgres import PostgresDatabase
from antiphon.storage.run_queue import LOST_ENDING
from antiphon.storage.schema import SAVED

#: The time of the transaction; unlike the clock, PostgreSQL can use it with an index.
_NOW = "extract(epoch FROM now())::float8"
_NUMBERS = (
    f"SELECT (SELECT count(*) FROM sessions WHERE state = 'failed' AND result LIKE '{LOST_ENDING}%'),"
    # Workers execute rows, not batches.
    f" (SELECT {_NOW} - min(updated) FROM sessions WHERE state = 'ready' AND kind <> 'map'),"
    f" (SELECT count(*) FROM steps WHERE began > {_NOW} - 60),"
    f" (SELECT sum(cost) FROM steps WHERE began > {_NOW} - 3600 AND kind = 'request')"
)


def read_counts(
    database: PostgresDatabase, lease: float
) -> tuple[dict[str, int], tuple[int, float | None, float, float], list[tuple[str, int, float]]]:
    """Read all numbers in one transaction: the sessions by state, current numbers, and the live workers.

    The numbers are those of lost sessions, the age of the oldest ready one, the steps of the last minute and the cost
    of the last hour. A worker has a process, its number of slots and the seconds since its last heartbeat.
    """
    with database.read_transaction() as connection:
        counted: Any = connection.execute("SELECT state, count(*) FROM sessions GROUP BY state").fetchall()
        ((lost, oldest, begun, cost),) = connection.execute(_NUMBERS).fetchall()
        workers: Any = connection.execute(
            f"SELECT process, slots, {_NOW} - seen FROM workers WHERE seen > {_NOW} - ? AND slots > 0 ORDER BY process",
            (lease,),
        ).fetchall()
    # Saved conversations are no work.
    states = {state: number for state, number in counted if state != SAVED}
    return states, (lost, oldest, begun, cost or 0.0), workers
