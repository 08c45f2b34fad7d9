"""Sessions as rows: queries over them and their children, their creation, copies and removal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from antiphon.errors import NotReadyError, RunInUse, StoreError
from antiphon.storage.conversation_entry import find_unused_id
from antiphon.storage.database import Database
from antiphon.storage.leases import PREPARING, check_epoch, transact_at_epoch
from antiphon.storage.schema import ACTIVE, CONVERSATION, IS_RUN, SHOWN_TITLE
from antiphon.storage.steps import NO_VALUE
from antiphon.storage.texts import delete_unused, make_text_ref, store_text


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """A choice of sessions: in one of the states, of one of the kinds, older than the session `after`, or by `ids`.

    In a file, the owners that have died decide about the states `running` and `interrupted`.
    """

    states: Sequence[str] = ()
    kinds: Sequence[str] = ()
    after: str = ""
    dead_owners: Sequence[str] | None = None
    ids: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class StateFilter:
    """A choice of sessions by state: those in `states`, and with `owned` the running and the prepared ones.

    Of the latter, those whose owner is among `owners`, or is not. `failed_rows` adds the finished batches with failed
    rows, or excludes them.
    """

    states: Sequence[str] = ()
    owned: bool = False
    owners: Sequence[str] = ()
    is_owner_named: bool = True
    failed_rows: bool | None = None


@dataclass(frozen=True, slots=True)
class ListFilter:
    """A choice of sessions for a list. `model` is a part of the name of a model; `since` a time of the last change."""

    kinds: Sequence[str] = ()
    state: StateFilter | None = None
    model: str = ""
    since: float | None = None


class SessionRow(NamedTuple):
    """A stored session. `launch` and `result` are JSON, encrypted, or references to large texts.

    `cost` is that of its own model requests and `steps` their number, without those of its children. Lists for a page
    have no `launch`, but the numbers of unpriced requests, open questions and children, the names of the models, and a
    `revision` if there is a transcript.
    """

    id: str
    state: str
    kind: str
    title: str
    created: float
    updated: float
    parent: str | None
    number: int | None
    wake_at: float | None
    forked_from: str | None
    forked_at: str | None
    owner: str
    result: str | None
    cost: float | None
    steps: int
    launch: str = ""
    unpriced: int = 0
    questions: int = 0
    children: int = 0
    revision: int | None = None
    models: str | None = None


class NewSession(NamedTuple):
    """The first values of a new session. `turn` is the last turn before its request."""

    kind: str
    title: str
    launch: str
    state: str
    owner: str = ""
    parent: str | None = None
    number: int | None = None
    turn: str | None = None


class PrintedRow(NamedTuple):
    """A line that was printed before its session existed: path, request and hash of its step."""

    path: str
    request: str
    hash: str


#: The filter that every session passes.
ALL = SessionFilter()
_BOTH = (
    f"id, state, kind, {SHOWN_TITLE}, created, updated, parent, number, wake_at, forked_from, forked_at, owner, result,"
    f" CASE kind WHEN '{CONVERSATION}' THEN cost ELSE"
    " (SELECT sum(cost) FROM steps WHERE session = id AND kind = 'request') END,"
    " (SELECT count(*) FROM steps WHERE session = id)"
)
_COLUMNS = f"{_BOTH}, launch"
_COUNTS = (
    f"{_BOTH}, '',"
    " (SELECT count(*) FROM steps WHERE session = id AND kind = 'request' AND state = 'done' AND cost IS NULL),"
    " (SELECT count(*) FROM steps WHERE session = id AND state = 'waiting' AND kind = 'person'),"
    " (SELECT count(*) FROM sessions AS inner_ WHERE inner_.parent = sessions.id),"
    " revision, models"
)
_ALONE = f"parent IS NULL AND {IS_RUN}"
_IS_CONVERSATION = f"revision IS NOT NULL AND updated >= 0 AND kind = '{CONVERSATION}'"
_NEWEST = "ORDER BY created DESC, id DESC"


# Queries


def list_sessions(
    database: Database,
    which: SessionFilter = ALL,
    *,
    parent: str | None = None,
    limit: int | None = None,
    offset: int = 0,
    with_counts: bool = False,
) -> list[SessionRow]:
    """Return sessions without a parent, newest first; with a `parent`, its children in order."""
    condition, values = _make_condition(which)
    whose, order = (_ALONE, _NEWEST) if parent is None else ("parent = ?", "ORDER BY number, id")
    most = "" if limit is None else f" LIMIT {int(limit)} OFFSET {int(offset)}"
    values = values if parent is None else (parent, *values)
    return _select(database, f"{whose}{condition} {order}{most}", values, with_counts=with_counts)


def find_session(database: Database, id: str) -> SessionRow | None:
    """Return a session by its id."""
    return next(iter(_select(database, f"id = ? AND {IS_RUN}", (id,))), None)


def find_summary(database: Database, id: str) -> SessionRow | None:
    """Return a session or a mere conversation by its id, for a page."""
    return next(iter(_select(database, "id = ?", (id,), with_counts=True)), None)


def list_summaries(database: Database, which: SessionFilter, limit: int) -> list[SessionRow]:
    """Return sessions without a parent and mere conversations, newest first, for a page; or those with `ids`."""
    return [SessionRow(*row) for row in _select_newest(database, _COUNTS, which, limit)]


def list_heads(database: Database, which: SessionFilter, limit: int) -> list[tuple[Any, ...]]:
    """Return id, state, kind, title and revision of sessions without a parent, newest first."""
    rows = _select_newest(database, f"id, state, kind, {SHOWN_TITLE}, created, revision", which, limit)
    return [(*row[:4], row[5]) for row in rows]


def _select_newest(database: Database, columns: str, which: SessionFilter, limit: int) -> list[tuple[Any, ...]]:
    """Return columns of sessions without a parent, newest first. The first is the id, the fifth the time."""
    condition, values = _make_condition(which)
    if which.ids is not None:
        return database.query(f"SELECT {columns} FROM sessions WHERE true{condition} {_NEWEST}", values)
    end = f"{condition} {_NEWEST} LIMIT {int(limit)}"
    runs = database.query(f"SELECT {columns} FROM sessions WHERE {_ALONE}{end}", values)
    # No index has both: mere conversations are few, and found by their own.
    more = database.query(f"SELECT {columns} FROM sessions WHERE {_IS_CONVERSATION}{end}", values)
    return sorted([*runs, *more], key=lambda row: (row[4], row[0]), reverse=True)[:limit]


def find_by_prefix(database: Database, prefix: str) -> list[SessionRow]:
    """Return up to four sessions without a parent whose ids begin like this, the newest first."""
    return _select(database, f"substr(id, 1, ?) = ? AND {_ALONE} ORDER BY id DESC LIMIT 4", (len(prefix), prefix))


def list_rows(database: Database, parent: str, after: int, limit: int) -> list[SessionRow]:
    """Return the rows of a batch with numbers after `after`, in order."""
    which = f"parent = ? AND kind = 'row' AND number > ? ORDER BY number LIMIT {int(limit)}"
    return _select(database, which, (parent, after))


def _select(database: Database, which: str, values: tuple[Any, ...], *, with_counts: bool = False) -> list[SessionRow]:
    rows = database.query(f"SELECT {_COUNTS if with_counts else _COLUMNS} FROM sessions WHERE {which}", values)
    return [SessionRow(*row) for row in rows]


def has_session(database: Database, id: str, kind: str = "") -> bool:
    """Return whether there is a session with this id, and of this kind if one is given."""
    of_kind, values = (" AND kind = ?", (id, kind)) if kind else ("", (id,))
    return bool(database.query(f"SELECT 1 FROM sessions WHERE id = ? AND {IS_RUN}{of_kind}", values))


def find_state(database: Database, id: str) -> tuple[str, str, float | None] | None:
    """Return the state, the owner and the wake time of a session."""
    rows = database.query(f"SELECT state, owner, wake_at FROM sessions WHERE id = ? AND {IS_RUN}", (id,))
    return (str(rows[0][0]), str(rows[0][1]), rows[0][2]) if rows else None


def find_text(database: Database, id: str, column: Literal["launch", "result", "last_turn"]) -> str | None:
    """Return the launch data or the result of a session as it is stored, or the key of the last turn before it."""
    rows = database.query(f"SELECT {column} FROM sessions WHERE id = ?", (id,))
    return rows[0][0] if rows else None


def list_running_owners(database: Database) -> list[str]:
    """Return the owners of the running sessions."""
    return [
        str(owner)
        for (owner,) in database.query(f"SELECT owner FROM sessions WHERE {ACTIVE} AND state = 'running'", ())
    ]


def count_children(database: Database, parent: str, kind: str) -> int:
    """Return the number of children of a kind."""
    rows = database.query("SELECT count(*) FROM sessions WHERE parent = ? AND kind = ?", (parent, kind))
    return rows[0][0] if rows else 0


def count_child_states(database: Database, parent: str, kind: str | None = None) -> list[tuple[str, str, int]]:
    """Return how many children are in each state, by owner."""
    return database.query(
        "SELECT state, owner, count(*) FROM sessions WHERE parent = ? AND kind = coalesce(?, kind)"
        " GROUP BY state, owner",
        (parent, kind),
    )


def list_child_ids(database: Database, parent: str, after: str, limit: int) -> list[str]:
    """Return ids of children after the id `after`, in order."""
    rows = database.query(
        f"SELECT id FROM sessions WHERE parent = ? AND id > ? ORDER BY id LIMIT {int(limit)}", (parent, after)
    )
    return [id for (id,) in rows]


def find_last_signs(database: Database, id: str, process: str) -> list[float]:
    """Return the times of the last step of a session and, in a shared database, of its worker's last heartbeat."""
    rows = database.query("SELECT max(began), max(ended) FROM steps WHERE session = ?", (id,))
    rows += database.list_heartbeats(process)
    return [moment for row in rows for moment in row if isinstance(moment, int | float)]


def list_set_aside(database: Database, id: str) -> list[tuple[str, str]]:
    """Return the children with steps that a session set aside and has not replayed yet, newest first, with results."""
    return database.query(
        "SELECT id, result FROM sessions WHERE parent = ? AND kind = 'earlier' AND state = 'shelved'"
        " ORDER BY length(id) DESC, id DESC",
        (id,),
    )


# Queries for lists


def list_newest_ids(
    database: Database, which: ListFilter, limit: int, after: tuple[float, str] | None = None
) -> list[tuple[str, float]]:
    """Return the ids of sessions without a parent, with the time of their last change, newest first."""
    conditions, values = ["parent IS NULL"], list[Any]()
    if which.kinds:
        conditions.append(f"kind IN ({', '.join('?' * len(which.kinds))})")
        values += which.kinds
    if which.state is not None:
        conditions.append(_make_state_condition(which.state, values))
    if which.since is not None:
        conditions.append("updated >= ?")
        values.append(which.since)
    if which.model:
        # The launch data of a run names its model. It may be stored apart or encrypted, so its reader decides.
        position = database.position_function
        conditions.append(
            f"({position}(lower(coalesce(models, '')), lower(?)) > 0 OR {position}(lower(launch), lower(?)) > 0"
            " OR substr(launch, 1, 1) IN ('@', '!'))"
        )
        values += [which.model, json.dumps(which.model)[1:-1]]
    if after is not None:
        conditions.append("(updated, id) < (?, ?)")
        values += after
    return database.query(
        f"SELECT id, updated FROM sessions WHERE {' AND '.join(conditions)}"
        f" ORDER BY updated DESC, id DESC LIMIT {int(limit)}",
        values,
    )


def _make_state_condition(which: StateFilter, values: list[Any]) -> str:
    """Return the condition for a state as SQL, and add its values."""
    states, owners = which.states, which.owners
    conditions = [f"state IN ({', '.join('?' * len(states))})"] if states else []
    values += states
    if which.owned:
        held = f"owner IN ({', '.join('?' * len(owners))})" if owners else "false"
        conditions.append(f"state IN ('running', '{PREPARING}') AND {'' if which.is_owner_named else 'NOT '}{held}")
        values += owners
    found = f"({' OR '.join(conditions)})"
    has_failed = (
        "kind = 'map' AND state = 'done' AND EXISTS"
        " (SELECT 1 FROM sessions AS row_ WHERE row_.parent = sessions.id AND row_.state = 'failed'"
        " AND row_.kind = 'row')"
    )
    match which.failed_rows:
        case True:
            return f"({found} OR {has_failed})"
        case False:
            return f"({found} AND NOT ({has_failed}))"
        case None:
            return found


def list_owners(database: Database) -> list[str]:
    """Return the owners of the sessions without a parent that run or are prepared."""
    rows = database.query(
        f"SELECT owner FROM sessions WHERE {ACTIVE} AND state = 'running' AND parent IS NULL UNION"
        f" SELECT owner FROM sessions WHERE kind = 'map' AND state = '{PREPARING}' AND parent IS NULL",
        (),
    )
    return [str(owner) for (owner,) in rows]


def find_ids(database: Database, prefix: str) -> list[str]:
    """Return the session with this id or name, or the newest four without a parent whose ids begin like this."""
    for column in ("id", "name"):
        if found := database.query(f"SELECT id FROM sessions WHERE {column} = ?", (prefix,)):
            return [found[0][0]]
    rows = database.query(
        "SELECT id FROM sessions WHERE substr(id, 1, ?) = ? AND parent IS NULL ORDER BY id DESC LIMIT 4",
        (len(prefix), prefix),
    )
    return [id for (id,) in rows]


def describe_ambiguous_id(prefix: str, found: Sequence[str]) -> str:
    """Return the message for the beginning of an id that several sessions share."""
    shown = ", ".join(found[:3]) + (" and others" if len(found) > 3 else "")
    return (
        f"{prefix!r} names no session, and the ids of several begin with it: {shown}; write more of one, its name, or "
        "`last`; `antiphon list` lists them"
    )


def rename(database: Database, id: str, name: str) -> str:
    """Give a session a name, or take it away with an empty one. Return the id of the session that has it already."""

    def write(connection: Any) -> str:
        taken = connection.execute(
            "SELECT id FROM sessions WHERE (name = ? OR id = ?) AND id <> ?", (name, name, id)
        ).fetchone()
        if taken is None:
            connection.execute("UPDATE sessions SET name = ? WHERE id = ?", (name or None, id))
        return "" if taken is None else str(taken[0])

    return database.transact(write)


def sum_descendant_costs(database: Database, parent: str) -> tuple[float | None, int]:
    """Return the cost of all sessions below a session, and the number of requests without a known price."""
    # Superseded attempts are excluded: their reused steps are recorded again with their cost.
    rows = database.query(
        "WITH RECURSIVE below (id) AS (SELECT id FROM sessions WHERE parent = ? AND kind != 'earlier'"
        " UNION SELECT sessions.id FROM sessions JOIN below ON parent = below.id WHERE kind != 'earlier')"
        " SELECT sum(cost), count(*) - count(cost) FROM steps JOIN below ON session = below.id"
        " WHERE kind = 'request' AND state = 'done'",
        (parent,),
    )
    return rows[0] if rows else (None, 0)


def fingerprint_newest(database: Database, limit: int) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """Return values that change with the open questions, and the changing columns of the newest sessions.

    Each of the latter begins with state and owner.
    """
    questions = database.query(
        "SELECT count(*), max(began) FROM steps JOIN sessions ON id = session WHERE steps.state = 'waiting'"
        " AND steps.kind = 'person' AND sessions.state IN ('waiting', 'ready', 'running', 'interrupted')",
        (),
    )
    newest = database.query(
        "SELECT state, owner, id, updated, (SELECT max(seq) FROM steps WHERE session = id),"
        " (SELECT count(*) FROM steps WHERE session = id AND state = 'waiting' AND kind = 'person')"
        f" FROM sessions WHERE {_ALONE} {_NEWEST} LIMIT {int(limit)}",
        (),
    )
    saved = database.query("SELECT max(updated) FROM sessions WHERE revision IS NOT NULL", ())
    return [*questions, *saved], newest


# Creation


def create(database: Database, new: NewSession, now: float, printed: Sequence[PrintedRow] = (), *, id: str = "") -> str:
    """Create a session at epoch 1, with the lines that it has printed, and return its id."""
    tried: list[str] = []

    def make(connection: Any) -> str:
        # After a lost connection this runs again, and the first attempt may have been committed.
        for each in tried:
            if connection.execute("SELECT 1 FROM sessions WHERE id = ? AND created = ?", (each, now)).fetchone():
                return each
        store_text(connection, new.launch)
        launch = make_text_ref(new.launch)
        while True:
            chosen = id or find_unused_id(connection)
            tried.append(chosen)
            made = connection.execute(
                "INSERT INTO sessions"
                " (id, state, created, updated, epoch, owner, kind, title, launch, parent, number, last_turn)"
                " VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?)"
                # A saved conversation becomes a run too.
                " ON CONFLICT (id) DO UPDATE SET state = excluded.state, updated = excluded.updated, epoch = 1,"
                " owner = excluded.owner, kind = excluded.kind, launch = excluded.launch, parent = excluded.parent,"
                " number = excluded.number, last_turn = excluded.last_turn"
                f" WHERE sessions.kind = '{CONVERSATION}'",
                (chosen, new.state, now, now, new.owner, new.kind, new.title, launch, new.parent, new.number, new.turn),
            ).rowcount
            if made:
                _insert_lines(database, connection, chosen, printed, now)
                return chosen
            if id:
                raise RunInUse(f"another process has just started session {id!r}; resume that one")

    return database.transact(make)


def add_rows(database: Database, batch: str, epoch: int, rows: Sequence[tuple[int, str]], now: float) -> None:
    """Write rows of a batch that is being prepared: their numbers and launch data, in order."""
    records = [
        (f"{batch}.{number}", PREPARING, now, now, 0, "", "row", f"row {number}", make_text_ref(body), batch, number)
        for number, body in rows
    ]

    def add(connection: Any) -> None:
        # After a lost connection, these rows may have been committed already.
        connection.execute(
            "DELETE FROM sessions WHERE parent = ? AND kind = 'row' AND number BETWEEN ? AND ?",
            (batch, rows[0][0], rows[-1][0]),
        )
        for _, body in rows:
            store_text(connection, body)
        database.insert_rows(connection, "sessions", _ROW_COLUMNS, records)

    transact_at_epoch(database, batch, epoch, add)


def complete_batch(database: Database, batch: str, epoch: int) -> None:
    """Make a batch and its rows ready to run, in one transaction."""

    def complete(connection: Any) -> None:
        now = database.now(connection)
        connection.execute(
            "UPDATE sessions SET state = 'ready', updated = ? WHERE parent = ? AND kind = 'row' AND state = ?",
            (now, batch, PREPARING),
        )
        connection.execute(
            "UPDATE sessions SET state = 'ready', owner = '', updated = ? WHERE id = ? AND state = ?",
            (now, batch, PREPARING),
        )

    transact_at_epoch(database, batch, epoch, complete)


def set_aside(database: Database, id: str, epoch: int, about: str) -> str:
    """Move the steps of a session to a new child, and return its id; `about` is the result of the child.

    In a session with messages, these are the steps inside the last one.
    """
    with database.write_transaction() as connection:
        check_epoch(database, connection, id, epoch)
        ((count,),) = connection.execute(
            "SELECT count(*) FROM sessions WHERE parent = ? AND kind = 'earlier'", (id,)
        ).fetchall()
        name = f"{id}~{count + 1}"
        connection.execute(
            "INSERT INTO sessions (id, state, created, updated, epoch, owner, kind, title, launch, parent, result)"
            " SELECT ?, 'shelved', created, updated, 0, '', 'earlier', title, launch, id, ? FROM sessions"
            " WHERE id = ?",
            (name, about, id),
        )
        connection.execute(
            "UPDATE steps SET session = ? WHERE session = ? AND seq > coalesce("
            "(SELECT max(seq) FROM steps WHERE session = ? AND kind = 'message'), -1)",
            (name, id, id),
        )
        # If this process dies, whoever resumes the session must not restart it again.
        connection.execute("UPDATE sessions SET result = NULL, step_count = NULL WHERE id = ?", (id,))
    return name


def fork(database: Database, id: str, at: str, now: float, *, launch: str | None, outcome: str | None) -> str:
    """Create a session with the steps of another before a step, whose `outcome` may be given, and return its id."""
    with database.write_transaction() as connection:
        found = connection.execute("SELECT seq FROM steps WHERE session = ? AND path = ?", (id, at)).fetchone()
        if found is None:
            raise NotReadyError(f"session {id!r} has no step {at!r}; `antiphon show {id}` lists them")
        asked = "SELECT count(*) FROM steps WHERE session = ? AND seq < ?"
        if connection.execute(asked, (id, found[0])).fetchall() != [(found[0],)]:
            raise StoreError(
                f"session {id!r} cannot be forked at {at}: the database is damaged, a step before it is gone"
            )
        if launch is not None:
            store_text(connection, launch)
        name = find_unused_id(connection)
        connection.execute(_INSERT_FORK, (name, now, now, launch and make_text_ref(launch), at, id))
        connection.execute(_COPY_STEPS, (name, id, found[0] + (outcome is not None), at))
        connection.execute(_REOPEN_OUTER, (name, at))
        if outcome is not None:
            store_text(connection, outcome)
            connection.execute(
                "UPDATE steps SET state = 'done', outcome = ?, ended = ? WHERE session = ? AND path = ?",
                (make_text_ref(outcome), now, name, at),
            )
    return name


def copy_child(connection: Any, old: str, new: str, parent: str) -> None:
    """Copy a session without its steps, as a child of `parent` that nobody owns."""
    connection.execute(
        "INSERT INTO sessions (id, state, created, updated, epoch, owner, kind, title, launch, parent, number, result,"
        " last_turn) SELECT ?, state, created, updated, 0, '', kind, title, launch, ?, number, result, last_turn"
        " FROM sessions WHERE id = ?",
        (new, parent, old),
    )


def remove(database: Database, ids: Sequence[str]) -> None:
    """Remove sessions, their steps, their children and, in a file, the channels of teams."""
    with database.write_transaction() as connection:
        for id in ids:
            connection.execute("DELETE FROM sessions WHERE id = ? OR parent = ?", (id, id))
            for table in () if database.is_shared else ("posts", "deliveries"):
                # The names of a team's channels begin with its id and a slash.
                connection.execute(f"DELETE FROM {table} WHERE channel > ? AND channel < ?", (f"{id}/", f"{id}0"))
        database.delete_unlisted_texts(connection)
        delete_unused(connection)


_ROW_COLUMNS = ("id", "state", "created", "updated", "epoch", "owner", "kind", "title", "launch", "parent", "number")
_LINE_COLUMNS = ("session", "path", "seq", "kind", "hash", "request", "state", "outcome", "began", "ended", "attempt")
#: A forked row of a batch becomes a program.
_INSERT_FORK = (
    "INSERT INTO sessions (id, state, created, updated, epoch, owner, kind, title, launch, last_turn, forked_from,"
    " forked_at) SELECT ?, 'ready', ?, ?, 0, '', CASE kind WHEN 'row' THEN 'program' ELSE kind END, title,"
    " coalesce(?, launch), last_turn, id, ? FROM sessions WHERE id = ?"
)
_STEP_COLUMNS = "path, kind, hash, request, state, outcome, began, ended, cost, attempt, turn"
#: Unfinished steps are not copied; the fork performs them itself.
_COPY_STEPS = (
    # Steps are renumbered, because a gap would count as damage.
    f"INSERT INTO steps (session, seq, {_STEP_COLUMNS})"
    f" SELECT ?, row_number() OVER (ORDER BY seq) - 1, {_STEP_COLUMNS} FROM steps"
    " WHERE session = ? AND seq < ? AND (state <> 'begun' OR path = ?)"
)
#: The enclosing steps of a step are reopened, to reach it.
_REOPEN_OUTER = (
    "UPDATE steps SET state = 'waiting', outcome = NULL, ended = NULL, cost = NULL"
    " WHERE session = ? AND substr(?, 1, length(path) + 1) = path || '/'"
)


def _insert_lines(database: Database, connection: Any, run: str, lines: Sequence[PrintedRow], now: float) -> None:
    for each in lines:
        store_text(connection, each.request)
    rows = [
        (run, each.path, seq, "print", each.hash, make_text_ref(each.request), "done", NO_VALUE, now, now, 1)
        for seq, each in enumerate(lines)
    ]
    database.insert_rows(connection, "steps", _LINE_COLUMNS, rows)


def _make_condition(which: SessionFilter) -> tuple[str, tuple[Any, ...]]:
    """Return the further conditions of a filter as SQL, and their values."""
    conditions: list[str] = []
    values: list[Any] = []
    if which.states:
        gone = () if which.dead_owners is None else tuple(which.dead_owners)
        left = f"owner IN ({', '.join('?' * len(gone))})" if gone else "false"
        choices: list[str] = []
        for state in which.states:
            match state if which.dead_owners is not None else "":
                case "running":
                    choices.append(f"state = 'running' AND NOT {left}")
                    values += gone
                case "interrupted":
                    choices.append(f"state = 'interrupted' OR state = 'running' AND {left}")
                    values += gone
                case _:
                    choices.append("state = ?")
                    values.append(state)
        conditions.append(f"({' OR '.join(choices)})")
    if which.kinds:
        conditions.append(f"kind IN ({', '.join('?' * len(which.kinds))})")
        values += which.kinds
    if which.after:
        conditions.append("(created, id) < (SELECT created, id FROM sessions WHERE id = ?)")
        values.append(which.after)
    if which.ids is not None:
        conditions.append(f"id IN ({', '.join('?' * len(which.ids))})")
        values += which.ids
    return "".join(f" AND {each}" for each in conditions), tuple(values)
