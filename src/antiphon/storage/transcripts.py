"""Conversations as rows: a head, full results, and a list of turns. A save writes only what has changed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, cast

from antiphon._base.json import dump_json, load_json
from antiphon.conversation import Conversation, DerivedKey, OpenQuestion, ProviderState, ToolSpec
from antiphon.conversation.serialization import conversation_from_json, conversation_to_json, turn_to_json
from antiphon.conversation.turns import Turn
from antiphon.effects.codec import dump_ascii_json
from antiphon.errors import ContentError, FormatError, StoreError, VersionError
from antiphon.storage.database import Database
from antiphon.storage.search import extract_turn_text
from antiphon.storage.secret_matcher import SecretMatcher, map_json
from antiphon.storage.secret_refs import REFERENCES_MARK, SecretRefs, name_references
from antiphon.storage.texts import (
    TurnRow,
    hash_turn,
    insert_turns,
    make_text_ref,
    read_text,
    store_blob,
    store_text,
)

_TRANSCRIPT_COLUMNS = ("session", "position", "turn", "text_key")
_HEAD = "the system text and the tools"


@dataclass(frozen=True, slots=True)
class SavedState:
    """The saved state of a conversation, attached to it. Turns are immutable, so identical objects need no writing.

    `keys` are the keys of the stored turns.
    """

    place: str
    id: str
    revision: int
    turns: tuple[Turn, ...]
    keys: tuple[str, ...]
    system: str
    tools: tuple[ToolSpec, ...]
    kept: dict[str, str]
    questions: dict[str, OpenQuestion]
    state: ProviderState

    @classmethod
    def attach(cls, conversation: Conversation, place: str, id: str, revision: int, keys: Sequence[str]) -> None:
        """Attach the current state to a conversation as its saved state."""
        parts = conversation.turns, tuple(keys), conversation.system, conversation.tools, conversation.kept
        noted = cls(place, id, revision, *parts, conversation.questions, conversation.state.copy())
        conversation.derived.set(_SAVED_STATE, noted)

    @classmethod
    def find(cls, conversation: Conversation, place: str, id: str | None) -> SavedState | None:
        """Return the saved state for this store and id, if the conversation has one."""
        noted = conversation.derived.get(_SAVED_STATE)
        return noted if noted is not None and (noted.place, noted.id) == (place, id) else None


_SAVED_STATE = DerivedKey[SavedState]("written")


class TranscriptRows:
    """Reads and writes the transcripts of a database, without the values of secrets."""

    def __init__(self, database: Database, secrets: SecretMatcher, refs: SecretRefs) -> None:
        self._database = database
        self._secrets = secrets
        self._refs = refs

    # Turns

    def count_unchanged(
        self, connection: Any, id: str, turns: Sequence[Turn], written: SavedState | None
    ) -> tuple[int, tuple[str, ...]]:
        """Return how many of the first turns are stored unchanged, and their keys."""
        count = 0
        if written is not None:
            for old, new in zip(written.turns, turns, strict=False):
                if old is not new:
                    break
                count += 1
            return count, written.keys[:count]
        stored = connection.execute(
            "SELECT position, turn, body FROM transcript LEFT JOIN turns ON hash = turn WHERE session = ?"
            " ORDER BY position",
            (id,),
        ).fetchall()
        for row, known in zip(self._encode(turns[: len(stored)]), stored, strict=False):
            if tuple(known) != (count + 1, row[0], row[2]):
                break
            count += 1
        return count, tuple(key for _, key, _ in stored[:count])

    def write_turns(self, connection: Any, id: str, turns: Sequence[Turn], keys: tuple[str, ...]) -> tuple[str, ...]:
        """Replace the turns after those with these keys, and return the keys of all."""
        same = len(keys)
        gone = self._delete_turns(connection, id, same)
        rows = self._encode(turns[same:], keys[-1] if keys else "")
        if rows:
            insert_turns(connection, rows)
            texts = [self._secrets.redact(extract_turn_text(turn)) for turn in turns[same:]]
            text_keys = self._database.insert_turn_texts(connection, texts)
            added = [
                (id, position, row[0], text_key)
                for position, (row, text_key) in enumerate(zip(rows, text_keys, strict=True), same + 1)
            ]
            self._database.insert_rows(connection, "transcript", _TRANSCRIPT_COLUMNS, added)
        if gone:
            self._database.delete_unlisted_texts(connection, gone)
        return (*keys, *(row[0] for row in rows))

    def _delete_turns(self, connection: Any, id: str, keep: int) -> list[int]:
        """Delete the turns after the first `keep` ones, and return the keys of their texts."""
        where = "FROM transcript WHERE session = ? AND position > ?"
        gone = [key for (key,) in connection.execute(f"SELECT text_key {where}", (id, keep)).fetchall()]
        if gone:
            connection.execute(f"DELETE {where}", (id, keep))
        return gone

    def _encode(self, turns: Sequence[Turn], before: str = "") -> list[TurnRow]:
        """Return the rows of turns that follow the turn `before`."""
        rows: list[TurnRow] = []
        for turn in turns:
            body = dump_json(turn_to_json(turn), "the turn")
            if not body.isascii():
                # As journals write it, so that they share it.
                body = dump_ascii_json(load_json(body))
            body = self._refs.insert_references(body)
            rows.append((hash_turn(before, body), before, body))
            before = rows[-1][0]
        return rows

    # Heads and full results

    def encode_head(self, connection: Any, conversation: Conversation, written: SavedState | None) -> str | None:
        """Return the system text, the tools, the open questions and the provider state; None if they are unchanged."""
        asked = conversation.questions
        known = written and (written.system, written.tools, written.questions, written.state)
        if known == (conversation.system, conversation.tools, asked, conversation.state):
            return None
        data = conversation_to_json(conversation.fork(0))
        head = {key: value for key, value in data.items() if key not in ("turns", "kept")}
        if asked:
            head["questions"] = {id: asdict(each) for id, each in asked.items()}
        body = self._secrets.redact_json(dump_json(head, _HEAD))
        store_text(connection, body)
        return make_text_ref(body)

    def write_full_results(self, connection: Any, id: str, kept: dict[str, str], written: SavedState | None) -> None:
        """Write new full results, and delete those that are gone."""
        if written is not None:
            gone = [handle for handle in written.kept if handle not in kept]
            new = {handle: text for handle, text in kept.items() if written.kept.get(handle) != text}
        else:
            stored = connection.execute("SELECT handle FROM full_results WHERE session = ?", (id,)).fetchall()
            gone, new = [handle for (handle,) in stored if handle not in kept], kept
        for handle in gone:
            connection.execute("DELETE FROM full_results WHERE session = ? AND handle = ?", (id, handle))
        for handle, text in new.items():
            connection.execute(
                "INSERT INTO full_results VALUES (?, ?, ?) ON CONFLICT (session, handle) DO UPDATE SET"
                " blob = excluded.blob",
                (id, handle, store_blob(connection, self._secrets.redact(text))),
            )

    def copy(self, connection: Any, source: str, target: str, turns: int) -> None:
        """List the first turns of a session in another one too, with its full results."""
        connection.execute(
            "INSERT INTO transcript SELECT ?, position, turn, text_key FROM transcript"
            " WHERE session = ? AND position <= ?",
            (target, source, turns),
        )
        connection.execute(
            "INSERT INTO full_results SELECT ?, handle, blob FROM full_results WHERE session = ?", (target, source)
        )

    # Loading

    def read(self, connection: Any, id: str, count: int) -> tuple[Conversation, tuple[str, ...]]:
        """Return a conversation as it was saved, without secrets, and the keys of its turns.

        A FormatError says what is damaged.
        """
        try:
            data, keys = self._load_json_data(connection, id)
            conversation, changes = conversation_from_json(data)
        except VersionError as error:
            raise VersionError(f"saved conversation {id!r}: {error}") from None
        except (FormatError, ContentError) as error:
            raise _make_damage_error(id, str(error)) from None
        if changes:
            raise _make_damage_error(id, f"{changes[0].where}: {changes[0].found}")
        if len(conversation.turns) != count:
            raise _make_damage_error(id, f"{len(conversation.turns)} of {count} turns are there")
        return conversation, keys

    def _load_json_data(self, connection: Any, id: str) -> tuple[dict[str, Any], tuple[str, ...]]:
        ((head,),) = connection.execute("SELECT head FROM sessions WHERE id = ?", (id,)).fetchall()
        head, stored = None, head
        with suppress(StoreError):
            head = read_text(connection.execute, stored)
        turns = connection.execute(
            "SELECT turn, body FROM transcript JOIN turns ON hash = turn WHERE session = ? ORDER BY position", (id,)
        ).fetchall()
        kept = connection.execute(
            "SELECT handle, body FROM full_results LEFT JOIN blobs ON hash = blob WHERE session = ?", (id,)
        ).fetchall()
        data = {
            **self._parse_body(head, _HEAD),
            "turns": [self._parse_body(body, f"turn {number}") for number, (_, body) in enumerate(turns, 1)],
            # Older versions stored secrets.
            "kept": {handle: self._secrets.redact(text) if isinstance(text, str) else text for handle, text in kept},
        }
        return data, tuple(key for key, _ in turns)

    def _parse_body(self, body: object, what: str) -> dict[str, Any]:
        data: object = None
        if isinstance(body, str):
            data = load_json(self._secrets.redact_json(body.removeprefix(REFERENCES_MARK)), what)
            if body.startswith(REFERENCES_MARK):
                data = map_json(data, name_references)
        if not isinstance(data, dict):
            raise FormatError(f"{what} is not a JSON object")
        return cast(dict[str, Any], data)


def _make_damage_error(id: str, what: str) -> FormatError:
    return FormatError(f"saved conversation {id!r} is damaged: {what}; `antiphon delete {id}` deletes it")
