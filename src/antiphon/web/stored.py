"""Runs and steps of the journal as JSON for the page, without private values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_object
from antiphon.durable.run_owner import is_owner_alive
from antiphon.errors import NotSavedError, StoreError
from antiphon.storage.encryption import ENCRYPTED_MARK
from antiphon.storage.posts import find_last_post
from antiphon.storage.secret_refs import parse_redacted_json
from antiphon.storage.sessions import (
    ALL,
    SessionFilter,
    SessionSummary,
    find_summary,
    fingerprint_newest,
    list_child_summaries,
    list_summaries,
    sum_descendant_costs,
)
from antiphon.storage.steps import StepRow, get_step

if TYPE_CHECKING:
    from antiphon.durable import Journal

#: The most runs in a list, newest first.
LISTED = 200
_NAMES = ("id", "state", "kind", "title", "created", "updated", "parent", "number", "wakeAt", "forkOf", "forkAt")


def runs(journal: Journal, which: SessionFilter = ALL) -> list[dict[str, Any]]:
    """Return runs, newest first."""
    return [_run(journal, row) for row in list_summaries(journal.database, which, LISTED)]


def parts(journal: Journal, parent: str, after: int = 0) -> list[dict[str, Any]]:
    """Return the nested runs of a run, from the number `after` on."""
    return [_run(journal, row) for row in list_child_summaries(journal.database, parent, after, LISTED)]


def run(journal: Journal, id: str) -> dict[str, Any]:
    """Return a run as JSON."""
    found = find_summary(journal.database, id)
    if found is None:
        raise NotSavedError(f"session {id!r} does not exist")
    known = _run(journal, found)
    return {**known, **_parts(journal, id)} if known["parts"] else known


def _parts(journal: Journal, parent: str) -> dict[str, Any]:
    """Return the number of nested runs by state, and the cost of all below."""
    cost, unpriced = sum_descendant_costs(journal.database, parent)
    return {"partStates": dict(journal.count_by_state(parent)), "partsCost": cost, "partsUnpriced": unpriced}


def changes(journal: Journal) -> tuple[Any, ...]:
    """Return a value that changes when a run or a question does."""
    waiting, newest = fingerprint_newest(journal.database, LISTED)
    # Questions of teams are messages.
    last_post = find_last_post(journal.database)
    return (*waiting, last_post, *((journal.determine_state(state, owner), *rest) for state, owner, *rest in newest))


def row_at(journal: Journal, run: str, path: str) -> StepRow:
    """Return the row of a step."""
    return get_step(journal.database, run, path)


def is_sealed(journal: Journal, kept: str | None) -> bool:
    """Return whether a stored value is encrypted."""
    return kept is not None and journal.load_raw_text(kept).startswith(ENCRYPTED_MARK)


def _run(journal: Journal, row: SessionSummary) -> dict[str, Any]:
    known = dict(zip(_NAMES, row[:11], strict=True))
    known["state"] = journal.determine_state(row.state, row.owner)
    told = {
        "cost": row.cost,
        "unpriced": row.unpriced,
        "steps": row.steps,
        "waiting": row.questions,
        "parts": row.children,
        "isRun": bool(row.owner) and is_owner_alive(row.owner),
    }
    return {**known, **told, **_ending(journal, row.id, known["state"], row.result)}


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
