"""The store: conversations saved as they grow, listed, searched, loaded, forked and removed."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import cached_property
from itertools import islice
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from antiphon._base.json import dump_json, load_json, sanitize_unicode
from antiphon.conversation import Conversation
from antiphon.conversation.serialization import conversation_to_json
from antiphon.errors import ContentError, NotSavedError, StoreError
from antiphon.storage import conversation_rows
from antiphon.storage.conversation_entry import (
    ENTRY_COLUMNS,
    ID_TABLES,
    ConversationEntry,
    find_unused_id,
    make_title,
    parse_model_names,
)
from antiphon.storage.conversation_rows import SavedState
from antiphon.storage.search import find_matches, make_excerpt, parse_search_query
from antiphon.storage.secret_matcher import SecretMatcher, find_known_secrets, make_secret_matcher
from antiphon.storage.sqlite import SqliteDatabase
from antiphon.storage.store_location import DATABASE_VARIABLE, get_store_path, is_saving_off

if TYPE_CHECKING:
    from antiphon.wire import CacheReport, Usage

# Far above real counts, and the sum of two still fits SQLite's integers.
_MAX_TOKENS = 2**61


class Store:
    """The conversations of a user in one SQLite file.

    The file is `path`, or the default one, and is created by the first save. Several processes and threads may use it
    at once. API keys and environment variables with the name of a secret are not saved; their names replace the values.
    With `ANTIPHON_DB=off` and no `path`, nothing is saved or found. Errors are `StoreError`. A conversation is named by
    the beginning of its id, or by `"last"`, the one that was changed last.
    """

    def __init__(self, path: str | PathLike[str] | None = None, *, timeout: float = 5.0) -> None:
        self.path = Path(path) if path is not None else get_store_path()
        #: False if saving is off.
        self.is_saving = path is not None or not is_saving_off()
        self._database = SqliteDatabase(self.path, timeout=timeout)

    @cached_property
    def _secrets(self) -> SecretMatcher:
        """The matcher for secrets, which are not saved."""
        return make_secret_matcher({value: name for name, value in find_known_secrets().items()})

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        self._database.close()

    def save(
        self,
        conversation: Conversation,
        *,
        id: str | None = None,
        is_new: bool = False,
        model: str,
        command: str,
        usage: Usage | None = None,
        cost: float | None = None,
        tools: Mapping[str, Any] | None = None,
        reports: Sequence[tuple[str, CacheReport]] = (),
    ) -> str:
        """Save a conversation as a new one, or as the new state of the one with this `id`, and return its id.

        With `is_new`, the `id` need not exist yet.

        Only changes since the last save or load are written. `usage` and `cost` since then are added up. `tools` is the
        current selection of tools, and `reports` are cache reports with their model. If another process changed the
        saved conversation in the meantime, this one becomes a fork with its own id. The id is empty if saving is off.
        """
        if not self.is_saving:
            return ""
        # A run may change the conversation meanwhile, so save a snapshot.
        conversation = conversation.fork_for_request()
        with self._database.write_transaction() as connection:
            written = SavedState.find(conversation, self.path, id)
            if id is not None and is_new and _get_revision(connection, id) is None:
                id, written = _insert_conversation(connection, command, id=id), None
            else:
                id, written = self._choose_row(connection, conversation, id, written, command)
            same = conversation_rows.count_unchanged_turns(connection, id, conversation.turns, written, self._secrets)
            conversation_rows.write_turns(
                connection, id, conversation.turns, same, self._secrets, indexed=self._database.has_index
            )
            conversation_rows.write_head(connection, id, conversation, written, self._secrets)
            conversation_rows.write_full_results(connection, id, conversation.kept, written, self._secrets)
            revision = _update_entry(
                connection, id, self._secrets.redact(make_title(conversation)), conversation, model
            )
            _add_usage(connection, id, usage, cost)
            connection.executemany(
                "INSERT INTO cache_reports (conversation, model, report) VALUES (?, ?, ?)",
                [(id, name, dump_json(asdict(report))) for name, report in reports],
            )
            if tools is not None:
                sql = "UPDATE conversations SET tools = json_patch(coalesce(tools, '{}'), ?) WHERE id = ?"
                connection.execute(sql, (dump_json(dict(tools)), id))
        SavedState.attach(conversation, self.path, id, revision)
        return id

    def fork(self, which: str, turns: int | None = None) -> str:
        """Save a second conversation that starts with the first `turns` turns of this one (default: all)."""
        self._require_file(which)
        with self._database.write_transaction() as connection:
            entry = _find_entry(connection, which)
            count = entry.turns if turns is None else turns
            if not 0 <= count <= entry.turns:
                raise ContentError(f"there are {entry.turns} turns, so a fork cannot start with {count}")
            id = _insert_conversation(connection, entry.command, parent=entry.id, parent_turns=count)
            conversation_rows.copy_conversation(connection, entry.id, id, count, indexed=self._database.has_index)
            connection.execute(
                "UPDATE conversations SET title = ?, models = ?, turns = ?, tools = ? WHERE id = ?",
                (entry.title, dump_json(entry.models), count, entry.tools and dump_json(dict(entry.tools)), id),
            )
        return id

    def remove(self, *which: str) -> None:
        """Remove conversations, all or none of them, and overwrite their texts in the file."""
        self._require_file(*which)
        with self._database.write_transaction() as connection:
            for id in {_find_entry(connection, each).id for each in which}:
                conversation_rows.delete_turns(connection, id, 0, indexed=self._database.has_index)
                connection.execute("DELETE FROM conversations WHERE id = ?", (id,))
        try:
            self._database.vacuum()
        except StoreError as error:
            raise StoreError(f"removed, but traces of it are still in the file: {error}") from None

    def list(
        self,
        limit: int | None = None,
        *,
        query: str | None = None,
        model: str | None = None,
        since: datetime | None = None,
        after: str | None = None,
    ) -> Sequence[ConversationEntry]:
        """Return conversations, newest first, that contain all words and "quoted phrases" of `query`.

        `model` is a part of a model's name, `since` the earliest time of the last change. `after` is the last entry of
        the previous page.
        """
        if not self._has_file():
            return []
        wanted = parse_search_query(query or "")
        with self._database.read_transaction() as connection:
            if not wanted:
                return [
                    ConversationEntry.from_row(row)
                    for row in islice(_select_newest(connection, model, since, after), limit)
                ]
            places = find_matches(connection, wanted, indexed=self._database.has_index)
            chosen = (row for row in _select_newest(connection, model, since, after) if row[0] in places)
            return [
                ConversationEntry.from_row(
                    row, make_excerpt(_load_turn_text(connection, row[0], places[row[0]]), wanted)
                )
                for row in islice(chosen, limit)
            ]

    def find(self, which: str) -> ConversationEntry:
        """Return the metadata of a conversation."""
        self._require_file(which)
        with self._database.read_transaction() as connection:
            return _find_entry(connection, which)

    def cache_reports(self, which: str) -> Sequence[tuple[str, CacheReport]]:
        """Return the cache report of each request of a conversation, with the model, in order."""
        from antiphon.wire import CacheReport

        self._require_file(which)
        sql = "SELECT model, report FROM cache_reports WHERE conversation = ? ORDER BY key"
        with self._database.read_transaction() as connection:
            found = connection.execute(sql, (_find_entry(connection, which).id,)).fetchall()
        return [(model, CacheReport.from_json(load_json(report))) for model, report in found]

    def load(self, which: str) -> Conversation:
        """Return a conversation as it was saved, without secrets. A `FormatError` says what is damaged."""
        self._require_file(which)
        with self._database.read_transaction() as connection:
            entry = _find_entry(connection, which)
            conversation = conversation_rows.read_conversation(connection, entry.id, entry.turns, self._secrets)
            SavedState.attach(conversation, self.path, entry.id, _get_revision(connection, entry.id) or 0)
        return conversation

    def export(self, which: str) -> dict[str, Any]:
        """Return the metadata and, under `conversation`, the conversation as JSON data."""
        entry = self.find(which)
        return {**entry.to_json(), "conversation": conversation_to_json(self.load(entry.id))}

    def _require_file(self, *which: str) -> None:
        """Raise a NotSavedError if the file does not exist, instead of creating it."""
        if not self._has_file():
            names = ", ".join(map(repr, which))
            reason = f"{self.path} does not exist" if self.is_saving else f"`{DATABASE_VARIABLE}` is off"
            raise NotSavedError(f"there is no session {names}: {reason}")

    def _has_file(self) -> bool:
        return self.is_saving and self.path.exists()

    def _choose_row(
        self,
        connection: sqlite3.Connection,
        conversation: Conversation,
        id: str | None,
        written: SavedState | None,
        command: str,
    ) -> tuple[str, SavedState | None]:
        """Return the id to save under and the saved state there; insert a row if needed."""
        revision = None if id is None else _get_revision(connection, id)
        if id is None:
            return _insert_conversation(connection, command), None
        if revision is None and written is None:
            raise NotSavedError(f"there is no session {id!r}, so it cannot be saved again under this id")
        if revision is None:
            # It was removed in the meantime. The id is still free, because ids are unique.
            return _insert_conversation(connection, command, id=id), None
        if written and written.revision != revision:
            shared = conversation_rows.count_unchanged_turns(connection, id, conversation.turns, None, self._secrets)
            return _insert_conversation(connection, command, parent=id, parent_turns=shared), None
        return id, written


def _insert_conversation(
    connection: sqlite3.Connection,
    command: str,
    *,
    id: str = "",
    parent: str | None = None,
    parent_turns: int | None = None,
) -> str:
    now = time.time()
    if not id or _get_revision(connection, id) is not None:
        id = find_unused_id(connection, ID_TABLES)
    connection.execute(
        "INSERT INTO conversations VALUES (?, '', '[]', ?, ?, ?, 0, NULL, NULL, NULL, ?, ?, 0, NULL)",
        (id, sanitize_unicode(command), now, now, parent, parent_turns),
    )
    return id


def _get_revision(connection: sqlite3.Connection, id: str) -> int | None:
    row = connection.execute("SELECT revision FROM conversations WHERE id = ?", (id,)).fetchone()
    return row[0] if row else None


def _update_entry(connection: sqlite3.Connection, id: str, title: str, conversation: Conversation, model: str) -> int:
    """Update the metadata of a conversation, and return its new revision."""
    (stored,) = connection.execute("SELECT models FROM conversations WHERE id = ?", (id,)).fetchone()
    newest = sanitize_unicode(model)
    names = [*(name for name in parse_model_names(stored) if name != newest), *([newest] if newest else [])]
    connection.execute(
        "UPDATE conversations SET title = ?, models = ?, updated = ?, turns = ?, revision = revision + 1 WHERE id = ?",
        (title, dump_json(names), time.time(), len(conversation.turns), id),
    )
    return _get_revision(connection, id) or 0


def _add_usage(connection: sqlite3.Connection, id: str, usage: Usage | None, cost: float | None) -> None:
    """Add known usage and cost; unknown values change nothing."""
    tokens = (usage.input_tokens, usage.output_tokens) if usage else (None, None)
    spent = {
        "input_tokens": None if tokens[0] is None else min(tokens[0], _MAX_TOKENS),
        "output_tokens": None if tokens[1] is None else min(tokens[1], _MAX_TOKENS),
        "cost": cost if cost is not None and math.isfinite(cost) else None,
    }
    for column, amount in spent.items():
        if amount is not None:
            sql = f"UPDATE conversations SET {column} = coalesce({column}, 0) + ? WHERE id = ?"
            connection.execute(sql, (amount, id))


def _select_newest(
    connection: sqlite3.Connection, model: str | None, since: datetime | None, after: str | None
) -> Iterator[tuple[Any, ...]]:
    rest = " AND (updated, id) < (SELECT updated, id FROM conversations WHERE id = :after)" if after else ""
    return connection.execute(
        f"SELECT {ENTRY_COLUMNS} FROM conversations"
        " WHERE (:model IS NULL OR instr(lower(models), lower(:model))) AND (:since IS NULL OR updated >= :since)"
        f"{rest} ORDER BY updated DESC, id DESC",
        {"model": model and sanitize_unicode(model), "since": since and since.timestamp(), "after": after},
    )


def _find_entry(connection: sqlite3.Connection, which: str) -> ConversationEntry:
    wanted = sanitize_unicode(which).strip().lower()
    if wanted == "last":
        found = connection.execute(f"SELECT {ENTRY_COLUMNS} FROM conversations ORDER BY updated DESC, id DESC LIMIT 1")
    else:
        # Every id with this prefix sorts between the two bounds.
        where = "id >= ? AND id < ? || '~' ORDER BY id != ?, id DESC LIMIT 6"
        found = connection.execute(f"SELECT {ENTRY_COLUMNS} FROM conversations WHERE {where}", (wanted,) * 3)
    entries = [ConversationEntry.from_row(row) for row in found]
    if not entries or not wanted:
        raise NotSavedError(f"there is no session {which!r}; `antiphon list` lists them")
    if len(entries) > 1 and entries[0].id != wanted:
        ids = ", ".join(entry.id for entry in entries[:5]) + (", …" if len(entries) > 5 else "")
        raise NotSavedError(f"several sessions begin with {which!r}: {ids}")
    return entries[0]


def _load_turn_text(connection: sqlite3.Connection, id: str, number: int) -> str:
    row = connection.execute("SELECT text FROM turns WHERE conversation = ? AND number = ?", (id, number)).fetchone()
    return row[0] if row and isinstance(row[0], str) else ""
