"""Leases: one process at a time owns a session, at an epoch that grows with each takeover."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from antiphon.errors import LeaseLost, NotReadyError, NotSavedError, RunInUse, StoreError
from antiphon.storage.database import Database, LeasedWrite, T, make_assignments
from antiphon.storage.schema import AT_EPOCH, ENDED_STATES, IS_RUN
from antiphon.storage.texts import make_text_ref, store_text

#: The state of a batch and its rows until all of them are written.
PREPARING = "preparing"
#: How a session was taken from its process, by its new state.
_STOPPED_BY = {"cancelled": "was stopped for good", "interrupted": "was stopped"}


class ClosedStep(NamedTuple):
    """The state and the outcome that a step gets when its session is released."""

    path: str
    state: str
    outcome: str | None


def fence_write(session: str, epoch: int, write: LeasedWrite) -> LeasedWrite:
    """Return a write as a statement of its own, which changes nothing at another epoch."""
    return LeasedWrite(f"{AT_EPOCH} {write.statement}", (session, epoch, *write.values))


def update_session(**columns: object) -> LeasedWrite:
    """Return a write of these columns of a session."""
    return LeasedWrite(
        f"UPDATE sessions SET {make_assignments(columns)} WHERE id = (SELECT session FROM at)", (*columns.values(),)
    )


def acquire(
    database: Database,
    id: str,
    owner: str,
    *,
    into: str,
    by_force: bool,
    reopens: bool,
    describe_alive: Callable[[str], str],
) -> int:
    """Acquire a session for an owner, and return its new epoch. A cancelled one is an error, unless it `reopens`.

    `describe_alive` returns words about another owner that is alive, and nothing about one that is gone.
    """

    def take(connection: Any) -> int:
        asked = f"SELECT epoch, owner, state, parent FROM sessions WHERE id = ? AND {IS_RUN}" + database.lock_clause
        found = connection.execute(asked, (id,)).fetchone()
        if found is None:
            raise NotSavedError(f"there is no session {id!r}; `antiphon list` lists them")
        epoch, other, state, parent = found
        if not isinstance(epoch, int):
            raise StoreError(f"the database is damaged: session {id!r} has {epoch!r} for its epoch")
        if state == "cancelled" and not reopens:
            raise RunInUse(f"session {id!r} was stopped for good; `antiphon resume {id} --fork` continues a copy")
        if other and other != owner and not by_force and (alive := describe_alive(other)):
            raise RunInUse(f"session {id!r} is running in {alive}")
        if state == PREPARING and into != PREPARING:
            raise RunInUse(
                f"session {id!r} cannot run yet: not all rows of its batch are written;"
                f" `antiphon resume {parent or id}` writes the rest"
            )
        connection.execute(
            "UPDATE sessions SET state = ?, epoch = ?, owner = ?, updated = ?, wake_at = NULL WHERE id = ?",
            (into, epoch + 1, owner, database.now(connection), id),
        )
        return epoch + 1

    return database.transact(take)


def release(
    database: Database,
    id: str,
    epoch: int,
    state: str,
    result: str | None,
    compute_wake_time: Callable[[list[tuple[float, str]]], float | None],
    *,
    is_held: bool = False,
    step: ClosedStep | None = None,
) -> None:
    """Release a session that is still owned at this epoch; one that was answered in the meantime is ready.

    One that `is_held` keeps its owner. `step` is closed in the same transaction.
    `compute_wake_time` takes the beginnings and requests of its unfinished sleeps.
    """

    def let_go(connection: Any) -> None:
        if result is not None:
            store_text(connection, result)
        if step is not None:
            ended = database.now(connection)
            connection.execute(_CLOSE_STEP, (step.state, step.outcome, ended, id, step.path, id, epoch))
        as_now = "ready" if state == "waiting" and connection.execute(_ANSWERED, (id,)).fetchone() else state
        now = database.now(connection)
        sleeps = connection.execute(
            "SELECT began, request FROM steps WHERE session = ? AND state = 'waiting' AND kind = 'sleep'", (id,)
        ).fetchall()
        moments = compute_wake_time(sleeps), database.find_reserved_time(connection, id)
        wakes = min((each for each in moments if each is not None), default=None)
        connection.execute(_RELEASE, (as_now, is_held, now, result and make_text_ref(result), wakes, id, epoch))
        if state == "done":
            connection.execute(_DISCARD_SET_ASIDE, (id,))

    database.transact(let_go)


def revoke(database: Database, id: str) -> None:
    """Take a session and its children from their owners."""
    with database.write_transaction() as connection:
        connection.execute(
            "UPDATE sessions SET state = 'interrupted', owner = '', epoch = epoch + 1, updated = ?"
            " WHERE (id = ? OR parent = ?) AND state = 'running'",
            (database.now(connection), id, id),
        )
        connection.execute(
            "UPDATE sessions SET owner = '', epoch = epoch + 1 WHERE id = ? AND state = ?", (id, PREPARING)
        )


def cancel(database: Database, id: str) -> None:
    """Cancel a session, so that its owner can write no more."""
    with database.write_transaction() as connection:
        asked = f"SELECT state FROM sessions WHERE id = ? AND {IS_RUN}" + database.lock_clause
        found = connection.execute(asked, (id,)).fetchone()
        if found is None:
            raise NotSavedError(f"there is no session {id!r}")
        if found[0] in ENDED_STATES:
            raise NotReadyError(f"session {id!r} has already ended: {found[0]}")
        connection.execute(
            "UPDATE sessions SET state = 'cancelled', owner = '', epoch = epoch + 1, updated = ?, wake_at = NULL"
            " WHERE id = ?",
            (database.now(connection), id),
        )
    database.finish_batch_of(id)


def transact_at_epoch(database: Database, id: str, epoch: int, work: Callable[[Any], T]) -> T:
    """Return the result of a transaction, or raise LeaseLost if another process took the session."""

    def fenced(connection: Any) -> T:
        check_epoch(database, connection, id, epoch)
        return work(connection)

    return database.transact(fenced)


def check_epoch(database: Database, connection: Any, id: str, epoch: int) -> None:
    """Raise LeaseLost inside a transaction if another process took a session."""
    asked = "SELECT epoch, state FROM sessions WHERE id = ?" + database.lock_clause
    found = connection.execute(asked, (id,)).fetchone()
    if found is None or found[0] != epoch:
        how = "was deleted" if found is None else _STOPPED_BY.get(found[1], "was resumed by another process")
        raise LeaseLost(f"session {id!r} {how}")


_CLOSE_STEP = (
    "UPDATE steps SET state = ?, outcome = ?, ended = ? WHERE session = ? AND path = ?"
    " AND EXISTS (SELECT 1 FROM sessions WHERE id = ? AND epoch = ?)"
)
#: The number of steps never decreases, so that a lost last step is noticed.
_RELEASE = (
    "UPDATE sessions SET state = ?, owner = CASE WHEN ? THEN owner ELSE '' END, updated = ?, result = ?, wake_at = ?,"
    " step_count = (SELECT CASE"
    " WHEN sessions.step_count > coalesce(max(seq), -1) THEN sessions.step_count ELSE max(seq) + 1 END"
    " FROM steps WHERE session = sessions.id)"
    " WHERE id = ? AND epoch = ?"
)
#: Set-aside steps of a finished session are not needed any more.
_DISCARD_SET_ASIDE = (
    "UPDATE sessions SET state = 'replaced' WHERE parent = ? AND kind = 'earlier' AND state = 'shelved'"
)
#: An answer that arrived while the session was being suspended.
_ANSWERED = (
    "SELECT 1 FROM steps JOIN sessions ON id = session WHERE session = ? AND steps.kind = 'person'"
    " AND steps.state = 'done' AND ended >= updated LIMIT 1"
)
