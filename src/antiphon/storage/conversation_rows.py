"""Conversations as rows. A save writes only what has changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from antiphon._base.json import dump_json, load_json
from antiphon.conversation import Conversation, DerivedKey, OpenQuestion, ProviderState, ToolSpec
from antiphon.conversation.serialization import conversation_from_json, conversation_to_json, turn_to_json
from antiphon.conversation.turns import Turn
from antiphon.errors import ContentError, FormatError, VersionError
from antiphon.storage.search import extract_turn_text
from antiphon.storage.secret_matcher import SecretMatcher


@dataclass(frozen=True, slots=True)
class SavedState:
    """The saved state of a conversation, attached to it. Turns are immutable, so identical objects need no writing."""

    path: Path
    id: str
    revision: int
    turns: tuple[Turn, ...]
    system: str
    tools: tuple[ToolSpec, ...]
    kept: dict[str, str]
    questions: dict[str, OpenQuestion]
    state: ProviderState

    @classmethod
    def attach(cls, conversation: Conversation, path: Path, id: str, revision: int) -> None:
        """Attach the current state to a conversation as its saved state."""
        parts = conversation.turns, conversation.system, conversation.tools, conversation.kept
        noted = cls(path, id, revision, *parts, conversation.questions, conversation.state.copy())
        conversation.derived.set(_SAVED_STATE, noted)

    @classmethod
    def find(cls, conversation: Conversation, path: Path, id: str | None) -> SavedState | None:
        """Return the saved state for this store and id, if the conversation has one."""
        noted = conversation.derived.get(_SAVED_STATE)
        return noted if noted is not None and (noted.path, noted.id) == (path, id) else None


_SAVED_STATE = DerivedKey[SavedState]("written")


def count_unchanged_turns(
    connection: sqlite3.Connection, id: str, turns: tuple[Turn, ...], written: SavedState | None, secrets: SecretMatcher
) -> int:
    """Return how many of the first turns are stored unchanged."""
    if written:
        pairs: Iterable[bool] = (old is new for old, new in zip(written.turns, turns, strict=False))
    else:
        stored = connection.execute("SELECT number, body FROM turns WHERE conversation = ? ORDER BY number", (id,))
        pairs = (
            (number, body) == (place, _encode_turn(turn, secrets))
            for place, ((number, body), turn) in enumerate(zip(stored, turns, strict=False), 1)
        )
    count = 0
    for same in pairs:
        if not same:
            break
        count += 1
    return count


def write_turns(
    connection: sqlite3.Connection,
    id: str,
    turns: tuple[Turn, ...],
    same: int,
    secrets: SecretMatcher,
    *,
    indexed: bool,
) -> None:
    """Replace the stored turns after the first `same` ones."""
    delete_turns(connection, id, same, indexed=indexed)
    for number, turn in enumerate(turns[same:], same + 1):
        _insert_turn(
            connection, id, number, _encode_turn(turn, secrets), secrets.redact(extract_turn_text(turn)), indexed
        )


def delete_turns(connection: sqlite3.Connection, id: str, keep: int, *, indexed: bool) -> None:
    """Delete the turns after the first `keep` ones, and their index entries."""
    where = "FROM turns WHERE conversation = ? AND number > ?"
    if indexed:
        # The index has no copy of the text, so a deletion must supply it.
        connection.execute(
            f"INSERT INTO words (words, rowid, text) SELECT 'delete', key, text {where}"
            " AND key NOT IN (SELECT key FROM unindexed)",
            (id, keep),
        )
    connection.execute(f"DELETE FROM unindexed WHERE key IN (SELECT key {where})", (id, keep))
    connection.execute(f"DELETE {where}", (id, keep))


def copy_conversation(connection: sqlite3.Connection, source: str, target: str, turns: int, *, indexed: bool) -> None:
    """Copy the first turns of a conversation and its other data to a new one."""
    stored = connection.execute(
        "SELECT number, body, text FROM turns WHERE conversation = ? AND number <= ? ORDER BY number", (source, turns)
    ).fetchall()
    for number, body, text in stored:
        _insert_turn(connection, target, number, body, text, indexed)
    connection.execute("INSERT INTO heads SELECT ?, body FROM heads WHERE conversation = ?", (target, source))
    connection.execute("INSERT INTO kept SELECT ?, handle, text FROM kept WHERE conversation = ?", (target, source))


def write_head(
    connection: sqlite3.Connection,
    id: str,
    conversation: Conversation,
    written: SavedState | None,
    secrets: SecretMatcher,
) -> None:
    """Write the system text, the tools, the open questions and the provider state if they changed."""
    asked = conversation.questions
    known = written and (written.system, written.tools, written.questions, written.state)
    if known == (conversation.system, conversation.tools, asked, conversation.state):
        return
    head = {
        key: value for key, value in conversation_to_json(conversation.fork(0)).items() if key not in ("turns", "kept")
    }
    if asked:
        head["questions"] = {id: asdict(each) for id, each in asked.items()}
    body = secrets.redact_json(dump_json(head, "the system text and the tools"))
    connection.execute("REPLACE INTO heads VALUES (?, ?)", (id, body))


def write_full_results(
    connection: sqlite3.Connection, id: str, kept: dict[str, str], written: SavedState | None, secrets: SecretMatcher
) -> None:
    """Write new full results, and delete those that are gone."""
    if written:
        old = written.kept
    else:
        old = dict(connection.execute("SELECT handle, text FROM kept WHERE conversation = ?", (id,)).fetchall())
    gone = [(id, handle) for handle in old if handle not in kept]
    new = [(id, handle, secrets.redact(text)) for handle, text in kept.items() if old.get(handle) != text]
    connection.executemany("DELETE FROM kept WHERE conversation = ? AND handle = ?", gone)
    connection.executemany("REPLACE INTO kept VALUES (?, ?, ?)", new)


def read_conversation(connection: sqlite3.Connection, id: str, count: int, secrets: SecretMatcher) -> Conversation:
    """Return a conversation as it was saved, without secrets. A FormatError says what is damaged."""
    try:
        conversation, changes = conversation_from_json(_load_json_data(connection, id, secrets))
    except VersionError as error:
        raise VersionError(f"saved conversation {id!r}: {error}") from None
    except (FormatError, ContentError) as error:
        raise _make_damage_error(id, str(error)) from None
    if changes:
        raise _make_damage_error(id, f"{changes[0].where}: {changes[0].found}")
    if len(conversation.turns) != count:
        raise _make_damage_error(id, f"{len(conversation.turns)} of {count} turns are there")
    return conversation


def _load_json_data(connection: sqlite3.Connection, id: str, secrets: SecretMatcher) -> dict[str, Any]:
    # Older versions stored secrets.
    head = connection.execute("SELECT body FROM heads WHERE conversation = ?", (id,)).fetchone()
    turns = connection.execute("SELECT body FROM turns WHERE conversation = ? ORDER BY number", (id,))
    kept = connection.execute("SELECT handle, text FROM kept WHERE conversation = ?", (id,))
    return {
        **_parse_body(head[0] if head else None, "the system text and the tools", secrets),
        "turns": [_parse_body(body, f"turn {number}", secrets) for number, (body,) in enumerate(turns, 1)],
        "kept": {handle: secrets.redact(text) for handle, text in kept},
    }


def _parse_body(body: object, what: str, secrets: SecretMatcher) -> dict[str, Any]:
    data: object = load_json(body, what) if isinstance(body, str) else None
    if isinstance(body, str) and isinstance(data, dict):
        data = load_json(secrets.redact_json(body), what)
    if not isinstance(data, dict):
        raise FormatError(f"{what} is not a JSON object")
    return cast(dict[str, Any], data)


def _make_damage_error(id: str, what: str) -> FormatError:
    return FormatError(f"saved conversation {id!r} is damaged: {what}; `antiphon delete {id}` deletes it")


def _insert_turn(connection: sqlite3.Connection, id: str, number: int, body: str, text: str, indexed: bool) -> None:
    key = connection.execute(
        "INSERT INTO turns (conversation, number, body, text) VALUES (?, ?, ?, ?)", (id, number, body, text)
    ).lastrowid
    if indexed:
        connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (key, text))
    else:
        connection.execute("INSERT INTO unindexed VALUES (?)", (key,))


def _encode_turn(turn: Turn, secrets: SecretMatcher) -> str:
    return secrets.redact_json(dump_json(turn_to_json(turn), "the turn"))
