"""Large texts, stored once by hash, and the turns of conversations, each stored once with the turn before it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Sequence
from typing import Any

from antiphon.errors import StoreError
from antiphon.storage.database import Database, LeasedWrite

#: Longer texts are stored once, by hash.
LARGE_TEXT = 8_192
#: The prefix of references to large texts.
REFERENCE_MARK = "@"
#: A stored turn: its key, the key of the turn before it, and its JSON.
TurnRow = tuple[str, str, str]
#: These statements repair damaged rows.
_INSERT_TEXT = (
    "INSERT INTO blobs VALUES (?, ?) ON CONFLICT (hash) DO UPDATE SET body = excluded.body"
    " WHERE blobs.body <> excluded.body"
)
_INSERT_TURN = (
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
    connection.execute(_INSERT_TEXT, (hash, text))
    return hash


def store_text(connection: Any, text: str) -> None:
    """Store a text if it is large."""
    if len(text) > LARGE_TEXT:
        store_blob(connection, text)


def split_large_texts(write: LeasedWrite, turns: Sequence[TurnRow]) -> tuple[LeasedWrite, list[LeasedWrite]]:
    """Return a write with references in place of large texts, and the writes that store these and some turns."""
    large = {
        each: make_text_ref(each)
        for each in write.values
        if isinstance(each, str) and len(each) > LARGE_TEXT and each[0] in "{!~"
    }
    extra = [LeasedWrite(_INSERT_TEXT, (name[1:], text)) for text, name in large.items()]
    extra += [LeasedWrite(_INSERT_TURN, row) for row in turns]
    return (write._replace(values=tuple(large.get(each, each) for each in write.values)) if large else write), extra


def read_text(query: Callable[[str, tuple[str]], Any], kept: str) -> str:
    """Return a text that may be stored apart; `query` executes a statement."""
    if not isinstance(kept, str):  # type: ignore[unreachable]
        raise StoreError(f"the database is damaged: {kept!r} is not a text")
    if not kept.startswith(REFERENCE_MARK):
        return kept
    for (body,) in query("SELECT body FROM blobs WHERE hash = ?", (kept[1:],)):
        if isinstance(body, str):
            return body
    raise StoreError(f"the database is damaged: the text {kept[1:13]}… is gone")


def insert_turns(connection: Any, turns: Sequence[TurnRow]) -> None:
    """Store turns, each once, and repair damaged ones."""
    for row in turns:
        connection.execute(_INSERT_TURN, row)


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
    for table, columns in (("steps", ("request", "outcome")), ("sessions", ("launch", "result", "head")))
    for column in columns
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
