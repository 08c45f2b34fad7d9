"""Runs and steps of the journal as JSON for the page, without private values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_object
from antiphon.durable.encryption import ENCRYPTED_MARK
from antiphon.durable.run_owner import is_owner_alive
from antiphon.durable.secret_refs import parse_redacted_json
from antiphon.errors import NotSavedError, StoreError

if TYPE_CHECKING:
    from antiphon.durable import Journal

#: The most runs in a list, newest first.
LISTED = 200
#: The columns of a step, in the order of `steps`.
STEP = "seq, path, kind, hash, effect, state, outcome, began, ended, cost, attempt"
_RUN = (
    "id, state, kind, title, created, updated, parent, number, wake_at, fork_of, fork_at, owner, ending,"
    " (SELECT sum(cost) FROM effects WHERE run = id AND kind = 'request'),"
    " (SELECT count(*) FROM effects WHERE run = id AND kind = 'request' AND state = 'done' AND cost IS NULL),"
    " (SELECT count(*) FROM effects WHERE run = id),"
    " (SELECT count(*) FROM effects WHERE run = id AND state = 'waiting' AND kind = 'person'),"
    " (SELECT count(*) FROM runs AS inner_ WHERE inner_.parent = runs.id)"
)
#: Superseded attempts are excluded: their reused steps are recorded again with their cost.
_COST_OF_PARTS = (
    "WITH RECURSIVE below (id) AS (SELECT id FROM runs WHERE parent = ? AND kind != 'earlier'"
    " UNION SELECT runs.id FROM runs JOIN below ON parent = below.id WHERE kind != 'earlier')"
    " SELECT sum(cost), count(*) - count(cost) FROM effects JOIN below ON run = below.id"
    " WHERE kind = 'request' AND state = 'done'"
)
_NAMES = ("id", "state", "kind", "title", "created", "updated", "parent", "number", "wakeAt", "forkOf", "forkAt")

#: The condition for runs without a parent.
_ALONE: tuple[str, tuple[Any, ...]] = ("parent IS NULL", ())


def runs(journal: Journal, which: tuple[str, tuple[Any, ...]] = _ALONE) -> list[dict[str, Any]]:
    """Return runs, newest first. `which` is an SQL condition and its values."""
    where, values = which
    rows = journal.query(f"SELECT {_RUN} FROM runs WHERE {where} ORDER BY created DESC, id DESC LIMIT {LISTED}", values)
    return [_run(journal, row) for row in rows]


def parts(journal: Journal, parent: str, after: int = 0) -> list[dict[str, Any]]:
    """Return the nested runs of a run, from the number `after` on."""
    part = f"LIMIT {LISTED} OFFSET {int(after)}"
    rows = journal.query(f"SELECT {_RUN} FROM runs WHERE parent = ? ORDER BY number, id {part}", (parent,))
    return [_run(journal, row) for row in rows]


def run(journal: Journal, id: str) -> dict[str, Any]:
    """Return a run as JSON."""
    rows = journal.query(f"SELECT {_RUN} FROM runs WHERE id = ?", (id,))
    if not rows:
        raise NotSavedError(f"session {id!r} does not exist")
    known = _run(journal, rows[0])
    return {**known, **_parts(journal, id)} if known["parts"] else known


def _parts(journal: Journal, parent: str) -> dict[str, Any]:
    """Return the number of nested runs by state, and the cost of all below."""
    ((cost, unpriced),) = journal.query(_COST_OF_PARTS, (parent,))
    return {"partStates": dict(journal.count_by_state(parent)), "partsCost": cost, "partsUnpriced": unpriced}


def changes(journal: Journal) -> tuple[Any, ...]:
    """Return a value that changes when a run or a question does."""
    waiting = journal.query(
        "SELECT count(*), max(began) FROM effects JOIN runs ON id = run WHERE effects.state = 'waiting'"
        " AND effects.kind = 'person' AND runs.state IN ('waiting', 'ready', 'running', 'interrupted')",
        (),
    )
    # Questions of teams are messages, which a shared journal does not have.
    said = [] if journal.is_shared else journal.query("SELECT max(id) FROM messages", ())
    return (
        *waiting,
        *said,
        *(
            (journal.determine_state(state, owner), *rest)
            for state, owner, *rest in journal.query(
                "SELECT state, owner, id, updated, (SELECT max(seq) FROM effects WHERE run = id),"
                " (SELECT count(*) FROM effects WHERE run = id AND state = 'waiting' AND kind = 'person')"
                f" FROM runs WHERE parent IS NULL ORDER BY created DESC, id DESC LIMIT {LISTED}",
                (),
            )
        ),
    )


def row_at(journal: Journal, run: str, path: str) -> tuple[Any, ...]:
    """Return the row of a step."""
    rows = journal.query(f"SELECT {STEP} FROM effects WHERE run = ? AND path = ?", (run, path))
    if not rows:
        raise NotSavedError(f"session {run!r} has no step {path!r}")
    return rows[0]


def rows_after(journal: Journal, run: str, after: int, most: int) -> list[tuple[Any, ...]]:
    """Return the rows of the next steps of a run."""
    return journal.query(
        f"SELECT {STEP} FROM effects WHERE run = ? AND seq > ? ORDER BY seq LIMIT {int(most)}", (run, after)
    )


def is_sealed(journal: Journal, kept: str | None) -> bool:
    """Return whether a stored value is encrypted."""
    return kept is not None and journal.load_raw_text(kept).startswith(ENCRYPTED_MARK)


def _run(journal: Journal, row: tuple[Any, ...]) -> dict[str, Any]:
    known = dict(zip(_NAMES, row[:11], strict=True))
    known["state"] = journal.determine_state(known["state"], row[11])
    owner, ending, cost, unpriced, steps, waiting, parts = row[11:]
    is_run = bool(owner) and is_owner_alive(owner)
    told = {"cost": cost, "unpriced": unpriced, "steps": steps, "waiting": waiting, "parts": parts, "isRun": is_run}
    return {**known, **told, **_ending(journal, row[0], known["state"], ending)}


#: States in which a run has not failed, whatever error it recorded.
_GOING = ("running", "waiting", "ready", "done")


def _ending(journal: Journal, id: str, state: str, kept: str | None) -> dict[str, Any]:
    if kept is None:
        return {}
    try:
        if is_sealed(journal, kept):
            return {"isPrivate": True}
        ending = parse_redacted_json(journal.load_text(kept), f"session {id}")
    except StoreError as error:
        return {"failure": str(error)}
    error = as_object(ending.get("error")) if state not in _GOING else {}
    return {"failure": str(error["message"])[:2000]} if "message" in error else {}
