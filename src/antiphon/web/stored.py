"""Sessions and steps as JSON for the page, without private values."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_object
from antiphon.durable.run_owner import may_owner_be_alive
from antiphon.errors import NotSavedError, StoreError
from antiphon.storage.conversation_entry import parse_model_names
from antiphon.storage.leases import PREPARING
from antiphon.storage.posts import count_team_questions, find_last_post
from antiphon.storage.sessions import (
    ALL,
    SessionFilter,
    SessionRow,
    find_summary,
    fingerprint_newest,
    list_sessions,
    list_summaries,
    sum_descendant_costs,
)
from antiphon.storage.steps import StepRow, get_step
from antiphon.views.session_words import MESSAGE_KINDS, to_session_kind, to_session_state
from antiphon.web.session_values import describe_values, load_public_json

if TYPE_CHECKING:
    from antiphon.durable import Journal

#: Stored kinds of sessions that a process of this machine can resume.
RESUMABLE_KINDS = ("program", "map", "team", "ask", "chat")
#: The most sessions in a list, newest first.
LISTED = 200
_NAMES = ("id", "state", "kind", "title", "created", "updated", "parent", "number", "wakeAt", "forkOf", "forkAt")


def list_sessions_json(journal: Journal, which: SessionFilter = ALL) -> list[dict[str, Any]]:
    """Return sessions, newest first."""
    found = list_summaries(journal.database, which, LISTED)
    return [_listed_json(journal, row) for row in found if not _is_message(journal, row)]


def list_children_json(journal: Journal, parent: str, after: int = 0) -> list[dict[str, Any]]:
    """Return the children of a session, from the number `after` on."""
    return [
        _listed_json(journal, row)
        for row in list_sessions(journal.database, parent=parent, limit=LISTED, offset=after, with_counts=True)
    ]


def session_json(journal: Journal, id: str) -> dict[str, Any]:
    """Return a session as JSON."""
    found = find_summary(journal.database, id)
    if found is None:
        raise NotSavedError(f"session {id!r} does not exist")
    known = _session_json(journal, found)
    return {**known, **_children_json(journal, id)} if known["parts"] else known


def find_session_id(journal: Journal, which: str) -> str:
    """Return the id of the session with this id, or of the only one that begins with it; `last` is the newest."""
    if find_summary(journal.database, which) is not None:
        return which
    if which == "last":
        newest = list_summaries(journal.database, ALL, 1)
        if not newest:
            raise NotSavedError("there is no session yet")
        return newest[0].id
    base, dot, number = which.rpartition(".")
    try:
        return journal.find(which).id
    except NotSavedError:
        child = f"{find_session_id(journal, base)}.{number}" if base and dot and number.isdigit() else which
        if child != which and find_summary(journal.database, child) is not None:
            return child
        raise


def _children_json(journal: Journal, parent: str) -> dict[str, Any]:
    """Return the number of children by state, and the cost of all below."""
    cost, unpriced = sum_descendant_costs(journal.database, parent)
    states = Counter[str]()
    for state, count in journal.count_by_state(parent):
        states[to_session_state(state)] += count
    return {"partStates": dict(states), "partsCost": cost, "partsUnpriced": unpriced}


def _is_message(journal: Journal, row: SessionRow) -> bool:
    """Return whether this is a part of a conversation: in older files, each message has a run of its own."""
    if row.revision is not None or row.kind not in MESSAGE_KINDS:
        return False
    try:
        owner = journal.load_launch(row.id).get("conversation")
    except StoreError:
        return False
    if not isinstance(owner, str) or owner in ("", row.id):
        return False
    found = find_summary(journal.database, owner)
    return found is not None and found.revision is not None


def changes(journal: Journal) -> tuple[Any, ...]:
    """Return a value that changes when a session or a question does."""
    waiting, newest = fingerprint_newest(journal.database, LISTED)
    # Questions of teams are messages.
    last_post = find_last_post(journal.database)
    return (*waiting, last_post, *((journal.determine_state(state, owner), *rest) for state, owner, *rest in newest))


def row_at(journal: Journal, run: str, path: str) -> StepRow:
    """Return the row of a step."""
    return get_step(journal.database, run, path)


def _listed_json(journal: Journal, row: SessionRow) -> dict[str, Any]:
    """Return a session with its inputs and its output in one line each."""
    return {**_session_json(journal, row), **describe_values(journal, row)}


def _session_json(journal: Journal, row: SessionRow) -> dict[str, Any]:
    known = dict(zip(_NAMES, row[:11], strict=True))
    is_run = bool(row.owner) and may_owner_be_alive(row.owner)
    stored = journal.determine_state(row.state, row.owner)
    known["kind"] = to_session_kind(row.kind)
    known["state"] = ("running" if is_run else "stopped") if stored == PREPARING else to_session_state(stored)
    if row.kind == "map" and stored == "done" and dict(journal.count_by_state(row.id, kind="row")).get("failed"):
        known["state"] = "failed"
    waiting = row.questions
    if row.kind == "team" and stored != "done":
        waiting += count_team_questions(journal.database, row.id)
        known["state"] = "running" if is_run else "waiting" if waiting else known["state"]
    told = {
        "cost": row.cost,
        "unpriced": row.unpriced,
        "steps": row.steps,
        "waiting": waiting,
        "parts": row.children,
        "isRun": is_run,
        "canResume": not is_run and stored in _RESUMABLE_STATES and row.kind in RESUMABLE_KINDS,
        "hasTranscript": row.revision is not None,
        "isSuperseded": row.kind == "earlier",
        "models": list(parse_model_names(row.models)) if row.models else [],
    }
    return {**known, **told, **_ending(journal, row.id, stored, row.result)}


#: States of sessions that a process can resume.
_RESUMABLE_STATES = ("ready", PREPARING, "interrupted")
#: States in which a run has not failed, whatever error it recorded.
_GOING = ("running", "waiting", "ready", "done")


def _ending(journal: Journal, id: str, state: str, kept: str | None) -> dict[str, Any]:
    if kept is None:
        return {}
    try:
        ending = load_public_json(journal, kept, id)
    except StoreError as error:
        return {"failure": str(error)}
    if ending is None:
        return {"isPrivate": True}
    error = as_object(ending.get("error")) if state not in _GOING else {}
    return {"failure": str(error["message"])[:2000]} if "message" in error else {}
