"""The migration of runs that answered one message each: they become messages of the session of their conversation."""

from __future__ import annotations

import json
from typing import Any

from antiphon._base.json_access import as_object
from antiphon.effects import Outcome, outcome_to_json
from antiphon.effects.codec import dump_ascii_json
from antiphon.errors import NotReadyError, StoreError
from antiphon.storage.encryption import ENCRYPTED_MARK
from antiphon.storage.secret_refs import REFERENCES_MARK
from antiphon.storage.texts import make_text_ref, read_text, store_text

_KINDS = ("ask", "chat", "agui")
_ENDED = ("done", "failed", "cancelled")
_RUN_COLUMNS = "id, state, kind, title, created, updated, launch, result, last_turn"


def move_message_runs(connection: Any) -> None:
    """Make each run of a message a step of its conversation. Unfinished messages are stopped."""
    marks = ", ".join("?" * len(_KINDS))
    runs = connection.execute(
        f"SELECT {_RUN_COLUMNS} FROM sessions WHERE kind IN ({marks}) AND parent IS NULL ORDER BY created, id", _KINDS
    ).fetchall()
    for run in runs:
        data = _load_launch(connection, run[6])
        owner = data[1].get("conversation")
        if isinstance(owner, str) and owner != run[0] and _can_have_messages(connection, owner):
            _move(connection, run, owner, *data)


def _load_launch(connection: Any, kept: object) -> tuple[str, dict[str, Any]]:
    """Return the mark of references and the launch data; it is empty if it cannot be read."""
    try:
        text = read_text(connection.execute, kept) if isinstance(kept, str) else ""
        if text.startswith(ENCRYPTED_MARK):
            return "", {}
        mark = REFERENCES_MARK if text.startswith(REFERENCES_MARK) else ""
        return mark, as_object(json.loads(text.removeprefix(mark)))
    except (StoreError, ValueError, RecursionError):
        return "", {}


def _can_have_messages(connection: Any, id: str) -> bool:
    """Return whether a session is a conversation whose steps, if any, are messages."""
    return bool(
        connection.execute(
            "SELECT 1 FROM sessions WHERE id = ? AND revision IS NOT NULL AND (kind IN ('conversation', 'ask', 'chat',"
            " 'agui')) AND (NOT EXISTS (SELECT 1 FROM steps WHERE session = id)"
            " OR EXISTS (SELECT 1 FROM steps WHERE session = id AND kind = 'message'))",
            (id,),
        ).fetchone()
    )


def _move(connection: Any, run: tuple[Any, ...], owner: str, mark: str, launch: dict[str, Any]) -> None:
    id, state, kind, title, created, updated, kept_launch, result, last_turn = run
    messages, base = connection.execute(
        "SELECT count(*) FILTER (WHERE kind = 'message'), coalesce(max(seq), -1) + 1 FROM steps WHERE session = ?",
        (owner,),
    ).fetchone()
    number = messages + 1
    state = state if state in _ENDED else "cancelled"
    asked = {
        "kind": "message",
        "text": title,
        **{name: launch.get(name) for name in ("mode", "prompt", "head")},
        "turn": launch.get("turn", 0),
        "model": launch.get("model") or "",
        "key": launch.get("runId") or "",
    }
    request = mark + dump_ascii_json(asked)
    store_text(connection, request)
    failed = Outcome(error=NotReadyError(_read_error(result)))
    ending = {"outcome": "done" if state == "done" else "stopped"}
    outcome = outcome_to_json(failed) if state == "failed" else {"value": ending}
    connection.execute(
        "INSERT INTO steps (session, path, seq, kind, hash, request, state, outcome, began, ended, attempt, turn)"
        " VALUES (?, ?, ?, 'message', '', ?, ?, ?, ?, ?, 1, ?)",
        (
            owner, str(number), base, make_text_ref(request), "failed" if state == "failed" else "done",
            dump_ascii_json(outcome), created, updated, last_turn,
        ),
    )  # fmt: skip
    connection.execute(
        "UPDATE steps SET session = ?, path = ? || substr(path, 2), seq = seq + ? WHERE session = ?",
        (owner, str(number), base + 1, id),
    )
    unanswered = dump_ascii_json(outcome_to_json(Outcome(error=NotReadyError("nobody answered before the end"))))
    connection.execute(
        "UPDATE steps SET state = 'failed', outcome = ?, ended = ? WHERE session = ? AND kind = 'person'"
        " AND state = 'waiting'",
        (unanswered, updated, owner),
    )
    connection.execute("UPDATE sessions SET parent = ? WHERE parent = ?", (owner, id))
    connection.execute("UPDATE sessions SET forked_from = ? WHERE forked_from = ?", (owner, id))
    connection.execute(
        "UPDATE sessions SET kind = ?, state = ?, launch = ?, result = ?, last_turn = ?, owner = '', epoch = epoch + 1,"
        " step_count = NULL, created = min(created, ?), updated = max(updated, ?) WHERE id = ?",
        (kind, state, kept_launch, result, last_turn, created, updated, owner),
    )
    connection.execute("DELETE FROM sessions WHERE id = ?", (id,))


def _read_error(result: object) -> str:
    """Return the error of a failed run, as far as it can be read."""
    try:
        error = as_object(json.loads(result)).get("error") if isinstance(result, str) else ""
    except (ValueError, RecursionError):
        error = ""
    return error if isinstance(error, str) and error else "it failed"
