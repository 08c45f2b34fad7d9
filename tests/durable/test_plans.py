"""PostgreSQL answers idle workers, and whoever looks at the numbers, from its indexes, however much there is.

The tables have 10,000 rows of each kind. To the planner they have a million: its statistics say so, and a page that is
read in turn costs as much as the hundred that it stands for. `ANTIPHON_ROWS=1000000` writes them, which takes minutes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from antiphon.durable import Dispatcher, Journal
from antiphon.durable.metrics import measure_metrics
from antiphon.storage import run_queue
from antiphon.storage.postgres import PostgresConnection, PostgresDatabase

MANY = int(os.environ.get("ANTIPHON_ROWS", "10000"))
MILLION = 1_000_000
#: A table that is read as a whole; one that is counted by state is read from the index alone.
_WHOLE = re.compile(r"Seq Scan on (sessions|steps)\b")


class Explaining(PostgresConnection):
    """Explains each statement before it is done."""

    def __init__(self, raw: Any, plans: list[tuple[str, str]]) -> None:
        super().__init__(raw)
        self._plans = plans

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Any:
        if statement.lstrip().startswith(("SELECT", "UPDATE", "INSERT", "DELETE", "WITH")):
            lines = super().execute(f"EXPLAIN {statement}", values).fetchall()
            self._plans.append((statement, "\n".join(line for (line,) in lines)))
        return super().execute(statement, values)


class ExplainingPostgres(PostgresDatabase):
    """A database whose statements are explained."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.plans: list[tuple[str, str]] = []

    @contextmanager
    def write_transaction(self) -> Generator[PostgresConnection]:
        with super().write_transaction() as connection:
            yield Explaining(connection.raw, self.plans)

    @contextmanager
    def read_transaction(self) -> Generator[PostgresConnection]:
        with super().read_transaction() as connection:
            yield Explaining(connection.raw, self.plans)


@pytest.fixture
def crowded(postgres: str) -> str:
    """A journal with many runs that sleep, many that are done, and what they did an hour ago and before."""
    Dispatcher(postgres).make_ready([])
    runs = (
        "INSERT INTO sessions (id, state, created, updated, epoch, owner, kind, title, launch, wake_at)"
        " SELECT '{state}-' || n, '{state}', n, n, 1, '', 'program', 'p', '{{}}', {wake_at}"
        f" FROM generate_series(1, {MANY}) AS n"
    )
    soon = "extract(epoch FROM now()) + 86400 + n"
    effects = (
        "INSERT INTO steps (session, path, seq, kind, hash, request, state, began, cost, attempt)"
        f" SELECT 'done-' || n, '1', 0, 'request', '', '{{}}', 'done', "
        f"extract(epoch FROM now()) - 7200 - {MANY} + n, 1, 1 FROM generate_series(1, {MANY}) AS n"
    )
    with psycopg.connect(postgres, options="-c search_path=antiphon", autocommit=True) as connection:
        for statement in (
            runs.format(state="waiting", wake_at=soon),
            runs.format(state="done", wake_at="NULL"),
            effects,
            "VACUUM ANALYZE sessions, steps, procrastinate_jobs",
            # Nobody counts them anew.
            "ALTER TABLE sessions SET (autovacuum_enabled = false)",
            "ALTER TABLE steps SET (autovacuum_enabled = false)",
            f"UPDATE pg_class SET reltuples = reltuples * {MILLION // MANY} WHERE reltuples > 0 AND oid IN"
            " (SELECT unnest(ARRAY[indrelid, indexrelid]) FROM pg_index"
            " WHERE indrelid IN ('sessions'::regclass, 'steps'::regclass))",
        ):
            connection.execute(statement.encode())
    return f"{postgres}?options=-c%20seq_page_cost%3D{MILLION // MANY}"


def test_idle_workers_and_numbers_read_no_table_as_a_whole(crowded: str) -> None:
    database = ExplainingPostgres(crowded)
    database.transact(run_queue.wake_runs)
    database.transact(lambda connection: run_queue.requeue_lost_runs(connection, 30))
    database.transact(run_queue.repair_queue)
    database.transact(lambda connection: run_queue.send_heartbeat(connection, None, "host:1:1", 8))
    run_queue.finish_batches(database, ["done-1"])
    metrics = measure_metrics(database, 30)
    assert (metrics.runs, metrics.oldest, metrics.cost) == ({"waiting": MANY, "done": MANY}, None, 0.0)
    assert len(database.plans) > 10
    counted = [plan for statement, plan in database.plans if "GROUP BY state" in statement]
    assert "Index Only Scan" in counted[0]
    whole = [each for each in database.plans if _WHOLE.search(each[1])]
    assert whole == []


def test_a_run_that_is_due_is_found_among_many_that_sleep(crowded: str) -> None:
    journal, database = Journal(crowded), ExplainingPostgres(crowded)
    with psycopg.connect(crowded) as connection:
        connection.execute(
            "UPDATE antiphon.sessions SET wake_at = extract(epoch FROM now()) - 1 WHERE id = 'waiting-7'"
        )
    assert database.transact(run_queue.wake_runs) == 1
    assert journal.find("waiting-7").state == "ready"
    ((_, plan),) = database.plans
    assert "sessions_wake" in plan
    assert "Index Cond: (wake_at" in plan
