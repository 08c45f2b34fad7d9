"""Large texts, stored once by hash, and the turns of conversations, each stored once with the turn before it."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence
from typing import Any

from antiphon.errors import StoreError
from antiphon.storage.database import Database

#: Longer texts are stored once, by hash.
LARGE_TEXT = 8_192
#: The prefix of references to large texts.
REFERENCE_MARK = "@"
#: A stored turn: its key, the key of the turn before it, and its JSON.
TurnRow = tuple[str, str, str]
#: A statement that stores a referenced text or turn, and its values.
ExtraInsert = tuple[str, tuple[str, ...]]
_INSERT_TEXT = "INSERT INTO blobs VALUES (?, ?) ON CONFLICT DO NOTHING"
_REPAIR_TEXT = (
    "INSERT INTO blobs VALUES (?, ?) ON CONFLICT (hash) DO UPDATE SET body = excluded.body"
    " WHERE blobs.body <> excluded.body"
)
_INSERT_TURN = "INSERT INTO turns VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_REPAIR_TURN = (
    "INSERT INTO turns VALUES (?, ?, ?) ON CONFLICT (hash) DO UPDATE SET body = excluded.body"
    " WHERE turns.body <> excluded.body"
)


def make_text_ref(text: str) -> str:
    """Return the text for a row: itself, or a reference with its hash if it is large."""
    return text if len(text) <= LARGE_TEXT else f"{REFERENCE_MARK}{hashlib.sha256(text.encode()).hexdigest()}"


def hash_turn(previous: str, body: str) -> str:
    """Return the key of a turn: it depends on the turn before it."""
    return hashlib.sha256(f"{previous} {body}".encode()).hexdigest()


def store_blob(connection: Any, text: str) -> str:
    """Store a text, however long, and return its hash."""
    hash = hashlib.sha256(text.encode()).hexdigest()
    # A damaged text is repaired.
    connection.execute(_REPAIR_TEXT, (hash, text))
    return hash


def store_text(connection: Any, text: str) -> None:
    """Store a text if it is large."""
    if len(text) > LARGE_TEXT:
        connection.execute(_INSERT_TEXT, (make_text_ref(text)[1:], text))


def split_large_texts(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[ExtraInsert]]:
    """Return values with references in place of large texts, and the statements that store these."""
    large = {
        each: make_text_ref(each)
        for each in values
        if isinstance(each, str) and len(each) > LARGE_TEXT and each[0] in "{!~"
    }
    if not large:
        return values, []
    return tuple(large.get(each, each) for each in values), [
        (_INSERT_TEXT, (name[1:], text)) for text, name in large.items()
    ]


def insert_turns_later(turns: Sequence[TurnRow]) -> list[ExtraInsert]:
    """Return the statements that store turns."""
    return [(_INSERT_TURN, row) for row in turns]


def read_text(connection: Any, reference: str) -> str:
    """Return the text of a reference."""
    found = connection.execute("SELECT body FROM blobs WHERE hash = ?", (reference[1:],)).fetchone()
    if found is None or not isinstance(found[0], str):
        raise StoreError(f"the database is damaged: the text {reference[1:13]}… is gone")
    return found[0]


def load_text(database: Database, kept: str) -> str:
    """Return a text that may be stored apart."""
    if not isinstance(kept, str):  # type: ignore[unreachable]
        raise StoreError(f"the database is damaged: {kept!r} is not a text")
    if not kept.startswith(REFERENCE_MARK):
        return kept
    found = database.query("SELECT body FROM blobs WHERE hash = ?", (kept[1:],))
    if not found:
        raise StoreError(f"the database is damaged: the text {kept[1:13]}… is gone")
    return found[0][0]


def insert_turns(connection: Any, turns: Sequence[TurnRow]) -> None:
    """Store turns, each once, and repair damaged ones."""
    for row in turns:
        connection.execute(_REPAIR_TURN, row)


def save_turns(database: Database, turns: Sequence[TurnRow]) -> None:
    """Save turns, each once."""

    def insert(connection: Any) -> None:
        for row in turns:
            connection.execute(_INSERT_TURN, row)

    database.transact(insert)


def iterate_turn_bodies(database: Database, key: str) -> Generator[tuple[str, str]]:
    """Yield the stored turns of a history, newest first, each with the key of the turn before it."""
    while key:
        found = database.query("SELECT previous, body FROM turns WHERE hash = ?", (key,))
        if not found:
            raise StoreError(f"the database is damaged: the turn {key[:12]}… is gone")
        key = found[0][0]
        yield found[0]


def delete_unused(connection: Any) -> None:
    """Delete the large texts and the turns that nothing refers to."""
    connection.execute(_DELETE_UNUSED_TEXTS)
    connection.execute(_DELETE_UNUSED_TURNS)


_USED = " UNION ".join(
    f"SELECT {column} FROM {table} WHERE {column} LIKE '@%'"
    for table, column in (
        ("steps", "request"),
        ("steps", "outcome"),
        ("sessions", "launch"),
        ("sessions", "result"),
        ("sessions", "head"),
    )
)
_DELETE_UNUSED_TEXTS = (
    f"DELETE FROM blobs WHERE '@' || hash NOT IN ({_USED}) AND hash NOT IN (SELECT blob FROM full_results)"
)
_DELETE_UNUSED_TURNS = (
    "DELETE FROM turns WHERE hash NOT IN (WITH RECURSIVE used (hash) AS ("
    "SELECT last_turn FROM sessions WHERE last_turn IS NOT NULL UNION SELECT turn FROM steps WHERE turn IS NOT NULL"
    " UNION SELECT turn FROM transcript UNION SELECT previous FROM turns JOIN used ON turns.hash = used.hash"
    ") SELECT hash FROM used)"
)
