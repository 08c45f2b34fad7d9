"""The queue of runs in Procrastinate's tables.

A job only wakes a worker for a run; the journal holds its state. A lost job costs a minute, a duplicate one query. The
`queueing_lock` of a job is its run, so a run has at most one job that has not started.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from antiphon.effects.codec import dump_ascii_json
from antiphon.errors import NotReadyError, StoreError
from antiphon.storage.schema import ENDED_STATES

if TYPE_CHECKING:
    from antiphon.storage.postgres import PostgresConnection, PostgresDatabase

log = logging.getLogger("antiphon.durable")
QUEUE = "antiphon"
TASK = "antiphon.look"
#: From this many new jobs on, ANALYZE is run; outdated statistics make fetching 60 times slower.
_MANY = 500
#: The weight of one step of priority; it exceeds the number of rows of a batch.
_STEP = 1_000_000
_TAKEN_OVER = 1000 * _STEP
#: The number of times that a run is taken over from dead workers without progress before it counts as lost.
MAX_TAKEOVERS = 3
#: The beginning of the result of a lost run.
LOST_ENDING = '{"outcome":"lost"'

_SOON, _SET_ASIDE = object(), object()
#: The time of the transaction; with the running clock, PostgreSQL could not use indexes.
_NOW = "extract(epoch FROM now())"
_INTO = "INSERT INTO procrastinate_jobs (queue_name, task_name, queueing_lock, args, priority)"
_AS = f"'{QUEUE}', '{TASK}', id, jsonb_build_object('run', id)"
_RANK = f"- least(coalesce(number, 0), {_STEP - 1})"
_ONCE = (
    "ON CONFLICT (queueing_lock) WHERE status = 'todo'"
    " DO UPDATE SET priority = greatest(procrastinate_jobs.priority, excluded.priority)"
)
#: Mark batches as done whose rows have all ended.
_CLOSE = (
    f"UPDATE sessions SET state = 'done', updated = {_NOW} WHERE kind = 'map' AND state = 'ready' AND NOT EXISTS"
    f" (SELECT 1 FROM sessions open WHERE open.parent = sessions.id AND open.kind = 'row'"
    f" AND open.state NOT IN {ENDED_STATES})"
)
_CLOSE_OF = f"{_CLOSE} AND id IN (SELECT parent FROM sessions part WHERE part.id = ANY(?) AND part.kind = 'row')"
_LIVE = (
    "SELECT 1 FROM procrastinate_jobs job JOIN procrastinate_workers worker ON worker.id = job.worker_id"
    " WHERE job.status = 'doing' AND worker.last_heartbeat > now() - make_interval(secs => ?)"
)
#: For Procrastinate's connector: release the jobs of a worker that it does not hold.
RELEASE_UNKNOWN_JOBS = (
    "UPDATE procrastinate_jobs SET worker_id = NULL"
    " WHERE status = 'doing' AND worker_id = %(worker)s AND id <> ALL(%(held)s)"
)


def install_queue(database: PostgresDatabase) -> None:
    """Create the tables of the queue, or migrate them."""
    files = resources.files("procrastinate.sql")
    known = sorted(each.name for each in (files / "migrations").iterdir() if each.name.endswith(".sql"))

    def make(connection: PostgresConnection) -> bool:
        """Apply one migration. Return whether the tables were current already."""
        connection.execute("SELECT pg_advisory_xact_lock(1098871921)")
        ((last,),) = connection.execute("SELECT max(migration) FROM queue_schema").fetchall()
        if last == known[-1]:
            return True
        if last is not None and last > known[-1]:
            raise StoreError(
                f"the queue in {database.name} was made by a newer release of Procrastinate ({last}),"
                " than the one installed here; update `procrastinate`"
            )
        step = known[-1] if last is None else next(each for each in known if each > last)
        text = (files / "schema.sql" if last is None else files / "migrations" / step).read_text("utf-8")
        connection.raw.execute(text.encode())
        connection.execute(
            "CREATE INDEX IF NOT EXISTS queue_of_run ON procrastinate_jobs (queueing_lock)"
            " WHERE status IN ('todo', 'doing')"
        )
        connection.execute("INSERT INTO queue_schema VALUES (?)", (step,))
        return False

    while not database.transact(make):
        pass


def make_runs_ready(database: PostgresDatabase, runs: Sequence[str], priority: int) -> int:
    """Mark runs as ready and queue them; return how many were queued."""
    if not -1000 <= priority < 1000:
        raise NotReadyError(f"a priority is between -1000 and 999, not {priority}")

    def change(connection: PostgresConnection) -> int:
        connection.execute(
            f"UPDATE sessions SET state = 'ready', wake_at = NULL, updated = {_NOW}"
            " WHERE id = ANY(?) AND state NOT IN ('running', 'preparing', 'done', 'cancelled')",
            (list(runs),),
        )
        return enqueue_runs(connection, runs, priority)

    number = database.transact(change)
    if number >= _MANY:
        database.transact(lambda connection: connection.execute("ANALYZE procrastinate_jobs, sessions"))
    return number


def enqueue_runs(connection: PostgresConnection, runs: Sequence[str], priority: int) -> int:
    """Queue those of these runs that are ready; return how many they are."""
    return connection.execute(
        f"{_INTO} SELECT {_AS}, ? {_RANK} FROM sessions WHERE id = ANY(?) AND state = 'ready' ORDER BY number {_ONCE}",
        (priority * _STEP, list(runs)),
    ).rowcount


def cancel_runs(database: PostgresDatabase, runs: Sequence[str]) -> int:
    """Cancel runs that have not ended, and return how many they were. Their owners can write no more."""

    def change(connection: PostgresConnection) -> int:
        number = connection.execute(
            f"UPDATE sessions SET state = 'cancelled', epoch = epoch + 1, owner = '', wake_at = NULL, updated = {_NOW}"
            f" WHERE id = ANY(?) AND state NOT IN {ENDED_STATES}",
            (list(runs),),
        ).rowcount
        connection.execute(
            "SELECT procrastinate_cancel_job_v1(id, true, true) FROM procrastinate_jobs"
            " WHERE queueing_lock = ANY(?) AND status IN ('todo', 'doing')",
            (list(runs),),
        )
        return number

    number = database.transact(change)
    finish_batches(database, runs)
    return number


def finish_batches(database: PostgresDatabase, rows: Sequence[str]) -> None:
    """Mark the batches of these rows as done if all their rows have ended.

    This is a separate transaction, because concurrent transactions that end rows do not see each other.
    """
    database.transact(lambda connection: connection.execute(_CLOSE_OF, (list(rows),)))


def mark_job_waiting(database: PostgresDatabase, job: int, is_waiting: bool) -> None:
    """Record in a job whether its run waits to start; a waiting run cannot have killed its worker."""
    database.transact(
        lambda connection: connection.execute(
            "UPDATE procrastinate_jobs SET args = args || jsonb_build_object('waits', ?::boolean) WHERE id = ?",
            (is_waiting, job),
        )
    )


def requeue_lost_runs(connection: PostgresConnection, lease: float) -> int:
    """Queue the runs of workers without a heartbeat for the time of a lease; return how many they are.

    Their jobs are failed and replaced, so that a worker that comes back cannot end the job of another. Nothing is done
    while the server has been up for less than a lease. A job counts the workers that died with its run since the
    run last finished a step. A run that waited to start is not counted.
    """
    return connection.execute(
        "WITH ended AS (UPDATE procrastinate_jobs job SET status = 'failed', attempts = attempts + 1,"
        " abort_requested = false WHERE id IN (SELECT lost.id FROM procrastinate_jobs lost"
        " LEFT JOIN procrastinate_workers worker ON worker.id = lost.worker_id WHERE lost.status = 'doing'"
        " AND (worker.id IS NULL OR worker.last_heartbeat < now() - make_interval(secs => ?))"
        " AND pg_postmaster_start_time() < now() - make_interval(secs => ?)"
        " FOR UPDATE OF lost SKIP LOCKED) RETURNING queueing_lock AS id, args),"
        " counted AS (SELECT id, args, (SELECT count(*) FROM steps WHERE session = ended.id AND state IN"
        " ('done', 'failed')) AS steps FROM ended WHERE id IS NOT NULL)"
        f" {_INTO} SELECT DISTINCT ON (id) '{QUEUE}', '{TASK}', id, jsonb_build_object('run', id, 'steps', steps,"
        " 'lost', CASE WHEN (args->>'waits')::boolean THEN 0 ELSE 1 END"
        " + CASE WHEN (args->>'steps')::bigint = steps THEN (args->>'lost')::bigint ELSE 0 END),"
        f" {_TAKEN_OVER} FROM counted ORDER BY id, args->'lost' DESC NULLS LAST {_ONCE}, args = excluded.args",
        (lease, lease),
    ).rowcount


def wake_runs(connection: PostgresConnection) -> int:
    """Queue suspended runs that are due; return how many they are."""
    return connection.execute(
        f"WITH due AS (UPDATE sessions SET state = 'ready', wake_at = NULL, updated = {_NOW}"
        f" WHERE wake_at <= {_NOW} AND state = 'waiting' RETURNING id, number)"
        f" {_INTO} SELECT {_AS}, 0 {_RANK} FROM due {_ONCE}"
    ).rowcount


def repair_queue(connection: PostgresConnection) -> int:
    """Queue runs that are ready, or that a worker abandoned, and that have no job; return how many they are.

    Batches are skipped, because workers execute their rows. Old jobs and workers are deleted.
    """
    ((mine,),) = connection.execute("SELECT pg_try_advisory_xact_lock(1098871922)").fetchall()
    if not mine:
        return 0
    connection.execute(
        "DELETE FROM procrastinate_jobs WHERE status NOT IN ('todo', 'doing')"
        " AND id NOT IN (SELECT job_id FROM procrastinate_events WHERE at > now() - interval '1 hour')"
    )
    connection.execute(f"DELETE FROM workers WHERE seen < {_NOW} - 7 * 86400")
    connection.execute(_CLOSE)
    return connection.execute(
        f"{_INTO} SELECT {_AS}, 0 {_RANK} FROM sessions"
        " WHERE (state = 'ready' AND kind <> 'map' OR state = 'running'"
        " AND regexp_replace(owner, ':[^:]*$', '') IN (SELECT process FROM workers))"
        " AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs WHERE queueing_lock = sessions.id"
        f" AND status IN ('todo', 'doing')) {_ONCE}"
    ).rowcount


def send_heartbeat(connection: PostgresConnection, worker: int | None, process: str, slots: int) -> None:
    """Register a worker process, or renew its heartbeat, even if it was considered dead."""
    if worker is not None:
        connection.execute(
            "INSERT INTO procrastinate_workers (id, last_heartbeat) OVERRIDING SYSTEM VALUE VALUES (?, now())"
            " ON CONFLICT (id) DO UPDATE SET last_heartbeat = now()",
            (worker,),
        )
    connection.execute(
        f"INSERT INTO workers VALUES (?, ?, {_NOW}, {_NOW}) ON CONFLICT (process)"
        f" DO UPDATE SET seen = {_NOW}, slots = excluded.slots",
        (process, slots),
    )


def sign_off(connection: PostgresConnection, process: str) -> None:
    """Mark a worker process as stopped. It stays registered, because it may have abandoned sessions."""
    connection.execute("UPDATE workers SET slots = 0 WHERE process = ?", (process,))


def claim_run(database: PostgresDatabase, run: str, job: int, lease: float, lost: int = 0) -> int | None:
    """Return the epoch of a run that this worker shall execute, or None; the run of a dead worker is released.

    A run with which too many workers were `lost` is marked as failed.
    """
    while (found := _try_claim(database, run, job, lease, lost)) is _SOON:
        time.sleep(0.05)
    if found is _SET_ASIDE:
        finish_batches(database, [run])
    return found if isinstance(found, int) else None


def _lock_run(connection: PostgresConnection, run: str) -> tuple[str, str, int]:
    """Return state, owner and epoch of a run, which nobody else changes during the transaction."""
    asked = "SELECT state, owner, epoch FROM sessions WHERE id = ? FOR UPDATE"
    found: Any = connection.execute(asked, (run,)).fetchone()
    return found or ("gone", "", 0)


def _try_claim(database: PostgresDatabase, run: str, job: int, lease: float, lost: int) -> object:
    def look(connection: PostgresConnection) -> object:
        state, owner, epoch = _lock_run(connection, run)
        if state not in ("ready", "running"):
            return None
        others = connection.execute(f"{_LIVE} AND job.queueing_lock = ? AND job.id < ?", (lease, run, job)).fetchall()
        if state == "ready" and others:
            # An earlier job is about to start it, or has just ended it before it was made ready again.
            return _SOON
        process = owner.rpartition(":")[0]
        if state == "running" and (
            others or not connection.execute("SELECT 1 FROM workers WHERE process = ?", (process,)).fetchall()
        ):
            return None
        if lost > MAX_TAKEOVERS:
            _fail_lost_run(connection, run, lost)
            return _SET_ASIDE
        if state == "running":
            connection.execute(
                "UPDATE sessions SET state = 'ready', owner = '', epoch = epoch + 1 WHERE id = ?", (run,)
            )
        return epoch + (state == "running")

    return database.transact(look)


def _fail_lost_run(connection: PostgresConnection, run: str, lost: int) -> None:
    found = connection.execute(
        "SELECT path FROM steps WHERE session = ? AND state = 'begun' ORDER BY seq DESC LIMIT 1", (run,)
    ).fetchone()
    where = f" at step {found[0]}" if found else ""
    message = (
        f"{lost} workers in a row died with this run{where}, so no worker takes it any more;"
        f" when the cause is removed, run `antiphon resume {run}`"
    )
    log.error("run %s has failed: %s", run, message)
    connection.execute(
        "UPDATE sessions SET state = 'failed', owner = '', epoch = epoch + 1, wake_at = NULL, result = ?,"
        f" updated = {_NOW} WHERE id = ?",
        (dump_ascii_json({"outcome": "lost", "value": None, "error": {"message": message}}), run),
    )


def settle_run(database: PostgresDatabase, run: str, epoch: int, process: str, error: BaseException | None) -> None:
    """Queue an executed run again if it has not ended; mark it as failed if it could not be started.

    A run has not ended if its end could not be written, or if it was made ready in the meantime.
    """

    def look(connection: PostgresConnection) -> bool:
        """Return whether the run has ended."""
        state, owner, now = _lock_run(connection, run)
        if state == "ready" and now == epoch:
            if error is not None and not isinstance(error, StoreError):
                connection.execute("UPDATE sessions SET state = 'failed' WHERE id = ?", (run,))
            return error is not None
        is_mine = state == "running" and owner.rpartition(":")[0] == process
        if now == epoch + 1 and (is_mine or (state == "interrupted" and isinstance(error, StoreError))):
            connection.execute(
                "UPDATE sessions SET state = 'ready', owner = '', epoch = epoch + 1 WHERE id = ?", (run,)
            )
        elif state != "ready":
            return state in ENDED_STATES
        enqueue_runs(connection, [run], 0)
        return False

    if database.transact(look):
        finish_batches(database, [run])
