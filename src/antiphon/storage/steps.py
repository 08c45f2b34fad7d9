"""The steps of sessions as rows: queries, and the writes of the owner of a session."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, NamedTuple

from antiphon.errors import NotSavedError
from antiphon.storage.database import Database, LeasedWrite, make_assignments
from antiphon.storage.leases import transact_at_epoch

#: The number of steps that a generator reads at once.
_PAGE = 500
#: The stored outcome of a step without a value.
NO_VALUE = '{"value":null}'


class StepRow(NamedTuple):
    """A stored step. `request` and `outcome` are JSON, encrypted, or references to large texts."""

    seq: int
    path: str
    kind: str
    hash: str
    request: str
    state: str
    outcome: str | None
    began: float
    ended: float | None
    cost: float | None
    attempt: int


class OpenQuestionRow(NamedTuple):
    """A session with an open question, and the question."""

    session: str
    title: str
    step: StepRow


class StepCount(NamedTuple):
    """The numbers of steps: as noted at the last release, by the last step, and as stored."""

    noted: int
    last: int
    stored: int


_COLUMNS = ", ".join(StepRow._fields)
_JOINED_COLUMNS = ", ".join(f"steps.{each}" for each in StepRow._fields)
_SELECT = f"SELECT {_COLUMNS} FROM steps WHERE session = ?"
_OPEN_SESSION = "sessions.state IN ('waiting', 'ready', 'running', 'interrupted')"


# Queries


def find_step(database: Database, session: str, path: str) -> StepRow | None:
    """Return a step by its path."""
    return _make_first(database.query(f"{_SELECT} AND path = ?", (session, path)))


def find_step_by_seq(database: Database, session: str, seq: int) -> StepRow | None:
    """Return a step by its number."""
    return _make_first(database.query(f"{_SELECT} AND seq = ?", (session, seq)))


def find_last_step(database: Database, session: str) -> StepRow | None:
    """Return the last step of a session."""
    return _make_first(database.query(f"{_SELECT} ORDER BY seq DESC LIMIT 1", (session,)))


def list_messages(database: Database, session: str) -> list[StepRow]:
    """Return the messages of a session in order."""
    rows = database.query(f"{_SELECT} AND kind = 'message' ORDER BY seq", (session,))
    return [StepRow._make(row) for row in rows]


def find_last_message(database: Database, session: str) -> StepRow | None:
    """Return the last message of a session."""
    return _make_first(database.query(f"{_SELECT} AND kind = 'message' ORDER BY seq DESC LIMIT 1", (session,)))


def get_step(database: Database, session: str, path: str) -> StepRow:
    """Return a step by its path, or raise NotSavedError."""
    found = find_step(database, session, path)
    if found is None:
        raise NotSavedError(f"session {session!r} has no step {path!r}")
    return found


def list_steps(
    database: Database, session: str, after: int = -1, limit: int | None = None, *, before: int | None = None
) -> list[StepRow]:
    """Return the steps of a session in order, of those with numbers after `after` and, if given, before `before`."""
    upper = "" if before is None else f" AND seq < {int(before)}"
    most = "" if limit is None else f" LIMIT {int(limit)}"
    rows = database.query(f"{_SELECT} AND seq > ?{upper} ORDER BY seq{most}", (session, after))
    return [StepRow._make(row) for row in rows]


def iterate_steps(database: Database, session: str, page: int = _PAGE) -> Generator[StepRow]:
    """Yield the steps of a session in order."""
    last = -1
    while rows := list_steps(database, session, last, page):
        yield from rows
        last = rows[-1].seq


def iterate_step_keys(database: Database, session: str) -> Generator[tuple[str, int, str, str, str]]:
    """Yield path, number, kind, hash and state of each step, in order."""
    last = -1
    while found := database.query(
        "SELECT path, seq, kind, hash, state FROM steps WHERE session = ? AND seq > ? ORDER BY seq LIMIT 2000",
        (session, last),
    ):
        yield from found
        last = found[-1][1]


def count_steps(database: Database, session: str) -> StepCount:
    """Return the numbers of steps of a session, which differ if steps are missing."""
    found = database.query(
        "SELECT (SELECT step_count FROM sessions WHERE id = ?), max(seq) + 1, count(*) FROM steps WHERE session = ?",
        (session, session),
    )
    noted, last, stored = found[0] if found else (None, None, 0)
    return StepCount(noted or 0, last or 0, stored)


def find_first_gap(database: Database, session: str) -> str:
    """Return the path of the first step that follows a missing one, or nothing."""
    rows = database.query(
        "SELECT path, seq FROM steps AS here WHERE session = ? AND seq > 0 AND NOT EXISTS"
        " (SELECT 1 FROM steps WHERE session = here.session AND seq = here.seq - 1) ORDER BY seq LIMIT 1",
        (session,),
    )
    return rows[0][0] if rows else ""


def list_questions(
    database: Database, session: str, limit: int | None = None, *, path: str | None = None
) -> list[tuple[str, str]]:
    """Return path and request of the open questions of a session, or of the one at a `path`."""
    most = "" if limit is None else f" LIMIT {int(limit)}"
    there, values = ("", (session,)) if path is None else (" AND path = ?", (session, path))
    return database.query(
        f"SELECT path, request FROM steps WHERE session = ? AND state = 'waiting' AND kind = 'person'{there}"
        f" ORDER BY seq{most}",
        values,
    )


def list_open_questions(database: Database, limit: int) -> list[OpenQuestionRow]:
    """Return the oldest open questions of all sessions but the turns of teams, which ask through their team."""
    rows = database.query(
        f"SELECT id, title, {_JOINED_COLUMNS} FROM steps JOIN sessions ON id = session"
        " WHERE steps.kind = 'person' AND steps.state = 'waiting'"
        f" AND {_OPEN_SESSION} AND sessions.kind <> 'turn' ORDER BY steps.began, session, seq LIMIT {int(limit)}",
        (),
    )
    return [OpenQuestionRow(id, title, StepRow._make(row)) for id, title, *row in rows]


def list_request_notes(database: Database, session: str) -> list[tuple[str, str]]:
    """Return path and note of the model requests of a session that have a note and no outcome yet."""
    return database.query(
        "SELECT path, outcome FROM steps WHERE session = ? AND kind = 'request' AND state IN ('waiting', 'begun')"
        " AND outcome IS NOT NULL ORDER BY seq",
        (session,),
    )


def list_open_batches(database: Database, session: str) -> list[StepRow]:
    """Return the batches that a session has sent to providers and not read yet."""
    rows = database.query(f"{_SELECT} AND kind = 'batch' AND state IN ('begun', 'waiting') ORDER BY seq", (session,))
    return [StepRow._make(row) for row in rows]


def list_answers(database: Database, session: str) -> list[tuple[str, str, str | None, str]]:
    """Return path, state and outcome of the questions of a session, newest first, each with the session's state."""
    return database.query(
        "SELECT path, steps.state, outcome, sessions.state FROM steps JOIN sessions ON id = session"
        " WHERE session = ? AND steps.kind = 'person' ORDER BY seq DESC",
        (session,),
    )


def list_tool_results_with(database: Database, session: str, text: str) -> list[StepRow]:
    """Return the finished tool calls of a session whose outcome contains a text."""
    rows = database.query(
        f"SELECT {_JOINED_COLUMNS} FROM steps LEFT JOIN blobs ON outcome = '@' || blobs.hash"
        " WHERE session = ? AND kind = 'tool' AND state = 'done' AND coalesce(body, outcome) LIKE ? ORDER BY seq",
        (session, f"%{text}%"),
    )
    return [StepRow._make(row) for row in rows]


def find_turn_of(database: Database, session: str, path: str) -> str:
    """Return the key of the last turn of a model request; nothing if it is private or missing."""
    found = database.query("SELECT turn FROM steps WHERE session = ? AND path = ?", (session, path))
    return (found[0][0] or "") if found else ""


# Writes


def insert_step(row: StepRow, turn: str | None) -> LeasedWrite:
    """Return a write of a new step; `turn` is the key of its last turn."""
    return LeasedWrite(_INSERT, (*row, turn))


def restart_step(path: str, state: str) -> LeasedWrite:
    """Return a write that begins another attempt of a step."""
    return LeasedWrite(f"UPDATE steps SET attempt = attempt + 1, state = ? {_AT_PATH}", (state, path))


def update_step(path: str, **columns: object) -> LeasedWrite:
    """Return a write of these columns of a step."""
    return LeasedWrite(f"UPDATE steps SET {make_assignments(columns)} {_AT_PATH}", (*columns.values(), path))


_INSERT = (
    f"INSERT INTO steps (session, {_COLUMNS}, turn)"
    # Without the cast, PostgreSQL takes `NULL` for a text.
    " SELECT session, ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS DOUBLE PRECISION), CAST(? AS DOUBLE PRECISION), ?, ? FROM at"
    " WHERE true ON CONFLICT DO NOTHING"
)
_AT_PATH = "WHERE session = (SELECT session FROM at) AND path = ?"


def remove_failed_request(database: Database, session: str, epoch: int) -> None:
    """Remove the last step of a session if it is a failed model request."""

    def remove(connection: Any) -> None:
        removed = connection.execute(
            "DELETE FROM steps WHERE session = ? AND kind = 'request' AND state = 'failed'"
            " AND seq = (SELECT max(seq) FROM steps WHERE session = ?)",
            (session, session),
        )
        if removed.rowcount:
            connection.execute("UPDATE sessions SET step_count = step_count - 1 WHERE id = ?", (session,))

    transact_at_epoch(database, session, epoch, remove)


def answer_question(database: Database, session: str, path: str, outcome: str) -> bool:
    """Answer an open question of a session and make the session ready. Return False if there is no such question."""
    with database.write_transaction() as connection:
        # The lock orders this before or after an acquisition of the session, which then sees the answer.
        connection.execute("SELECT 1 FROM sessions WHERE id = ?" + database.lock_clause, (session,))
        changed = connection.execute(
            "UPDATE steps SET state = 'done', outcome = ?, ended = ?"
            " WHERE session = ? AND path = ? AND kind = 'person' AND state = 'waiting'",
            (outcome, database.now(connection), session, path),
        ).rowcount
        connection.execute("UPDATE sessions SET state = 'ready' WHERE id = ? AND state = 'waiting'", (session,))
        database.announce_ready(connection, session)
    return changed > 0


# Sums


class UsageRow(NamedTuple):
    """The model requests of a child session: how many, their known cost, and how many have no known price."""

    number: int
    requests: int
    cost: float
    unpriced: int


def list_child_usage(database: Database, parent: str, numbers: Iterable[int] | None = None) -> list[UsageRow]:
    """Return the usage of some or all children; failed requests are counted without a cost."""
    chosen = () if numbers is None else tuple(numbers)
    which = "" if numbers is None else f" AND sessions.number IN ({', '.join('?' * len(chosen))})"
    rows = database.query(
        "SELECT sessions.number, count(*), coalesce(sum(steps.cost), 0.0),"
        " sum(steps.state = 'done' AND steps.cost IS NULL)"
        " FROM steps JOIN sessions ON sessions.id = steps.session"
        " WHERE sessions.parent = ? AND steps.kind = 'request' AND steps.state IN ('done', 'failed')"
        f"{which} GROUP BY sessions.number",
        (parent, *chosen),
    )
    return [UsageRow._make(row) for row in rows]


#: The cost of the answered requests of a batch's rows, and how many of them have no known price.
COST_OF_ROWS = (
    "SELECT coalesce(sum(steps.cost), 0), count(*) - count(steps.cost) FROM steps JOIN sessions ON id = session"
    " WHERE parent = ? AND sessions.kind = 'row' AND steps.kind = 'request' AND steps.state = 'done'"
)


def sum_row_costs(database: Database, batch: str) -> float | None:
    """Return the cost of the rows of a batch, or None if the price of a request is unknown."""
    ((cost, unpriced),) = database.query(COST_OF_ROWS, (batch,)) or [(0.0, 0)]
    return None if unpriced else cost


def _make_first(rows: list[Any]) -> StepRow | None:
    return StepRow._make(rows[0]) if rows else None
