"""The migration of conversations from tables of their own into sessions, with each distinct turn stored once."""

from __future__ import annotations

import json
from typing import Any

from antiphon.effects.codec import dump_ascii_json
from antiphon.storage.texts import hash_turn, make_text_ref, store_blob, store_text


def move_conversations(connection: Any) -> None:
    """Move all conversations. An id that a run has too becomes one session."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone():
        # The index is made again for the moved texts.
        connection.execute("DROP TABLE words")
    connection.execute(
        "INSERT INTO sessions (id, kind, state, owner, epoch, launch, title, models, command, created, updated,"
        " turn_count, input_tokens, output_tokens, cost, forked_from, shared_turns, tools, revision)"
        " SELECT id, 'conversation', 'saved', '', 0, '{}', title, models, command, created, updated,"
        " turns, input_tokens, output_tokens, cost, parent, parent_turns, tools, revision FROM conversations WHERE true"
        " ON CONFLICT (id) DO UPDATE SET models = excluded.models, command = excluded.command,"
        " turn_count = excluded.turn_count, input_tokens = excluded.input_tokens,"
        " output_tokens = excluded.output_tokens, cost = excluded.cost,"
        " shared_turns = excluded.shared_turns, tools = excluded.tools,"
        " revision = excluded.revision, updated = max(sessions.updated, excluded.updated),"
        " forked_from = coalesce(sessions.forked_from, excluded.forked_from)"
    )
    for session, body in connection.execute("SELECT conversation, body FROM heads"):
        connection.execute("UPDATE sessions SET head = ? WHERE id = ?", (_store(connection, body), session))
    for session, handle, text in connection.execute("SELECT conversation, handle, text FROM kept"):
        blob = store_blob(connection, text) if isinstance(text, str) else ""
        connection.execute("INSERT INTO full_results VALUES (?, ?, ?)", (session, handle, blob))
    connection.execute(
        "INSERT INTO cache_reports (key, session, model, report)"
        " SELECT key, conversation, model, report FROM old_cache_reports"
    )
    _move_turns(connection)


def _move_turns(connection: Any) -> None:
    rows = connection.execute("SELECT conversation, number, body, text FROM old_turns ORDER BY conversation, number")
    at, before = None, ""
    for session, position, body, text in rows:
        before = before if session == at else ""
        body = _normalize(body)
        at, previous, before = session, before, hash_turn(before, str(body))
        connection.execute("INSERT INTO turns VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (before, previous, body))
        key = connection.execute(
            "INSERT INTO turn_texts (text) VALUES (?)", (text if isinstance(text, str) else "",)
        ).lastrowid
        connection.execute("INSERT INTO transcript VALUES (?, ?, ?, ?)", (session, position, before, key))


def _normalize(body: object) -> object:
    """Return the JSON of a turn as journals write it, so that they share it; damaged JSON stays as it is."""
    try:
        return dump_ascii_json(json.loads(body)) if isinstance(body, str) else body
    except (ValueError, RecursionError):
        return body


def _store(connection: Any, text: object) -> object:
    if not isinstance(text, str):
        return text
    store_text(connection, text)
    return make_text_ref(text)
