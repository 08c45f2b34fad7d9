"""The store of conversations: saved as they grow, listed, searched, loaded, forked and removed."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import cached_property
from itertools import islice
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from antiphon._base.json import dump_json, load_json, sanitize_unicode
from antiphon.conversation import Conversation
from antiphon.conversation.serialization import conversation_to_json
from antiphon.errors import ContentError, NotSavedError, StoreError
from antiphon.storage.conversation_entry import (
    ENTRY_COLUMNS,
    ConversationEntry,
    find_unused_id,
    make_title,
    parse_model_names,
    parse_tool_choice,
)
from antiphon.storage.database import make_assignments
from antiphon.storage.names import rename_session
from antiphon.storage.places import get_local_path, open_cipher, open_database
from antiphon.storage.schema import CONVERSATION, SAVED
from antiphon.storage.search import find_matches, make_excerpt, parse_search_query
from antiphon.storage.secret_matcher import SecretMatcher, find_known_secrets, make_secret_matcher
from antiphon.storage.secret_refs import SecretRefs
from antiphon.storage.sessions import describe_ambiguous_id
from antiphon.storage.store_location import DATABASE_VARIABLE, is_saving_off
from antiphon.storage.texts import delete_unused
from antiphon.storage.transcripts import SavedState, TranscriptRows

if TYPE_CHECKING:
    from antiphon.wire import CacheReport, Usage

# Far above real counts, and the sum of two still fits SQLite's integers.
_MAX_TOKENS = 2**61
#: The most ids in one query.
_MAX_IDS = 500


class ConversationStore:
    """The conversations of a user in one SQLite file, or in PostgreSQL for many machines.

    The place is `path`, a URL, `":memory:"` or the default file, which the first save creates. Several processes and
    threads may use it at once. API keys and environment variables with the name of a secret are not saved; their names
    replace the values. With `ANTIPHON_DB=off` and no `path`, nothing is saved or found. Errors are `StoreError`. A
    conversation is named by the beginning of its id, or by `"last"`, the one that was changed last.
    """

    def __init__(self, path: str | PathLike[str] | None = None, *, timeout: float = 5.0) -> None:
        self.database = open_database(path, timeout=timeout)
        #: The file; for another database the default file, beside which other data of this machine lies.
        self.path = get_local_path(self.database)
        #: False if saving is off.
        self.is_saving = path is not None or not is_saving_off()

    @cached_property
    def _secrets(self) -> SecretMatcher:
        """The matcher for secrets, which are not saved."""
        return make_secret_matcher({value: name for name, value in find_known_secrets().items()})

    @cached_property
    def _transcripts(self) -> TranscriptRows:
        refs = SecretRefs(open_cipher(self.database), self._secrets)
        return TranscriptRows(self.database, self._secrets, refs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def check_writable(self) -> None:
        """Raise a StoreError with advice if the place cannot be opened and written."""
        self.database.check_writable()

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        self.database.close()

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
        conversation = conversation.snapshot()
        change = _Change(model, command, usage, cost, tools, reports)

        def write(connection: Any) -> tuple[str, int, tuple[str, ...]]:
            return self._write(connection, conversation, id, is_new, change)

        saved, revision, keys = self.database.transact(write)
        SavedState.attach(conversation, self.database.name, saved, revision, keys)
        return saved

    def _write(
        self, connection: Any, conversation: Conversation, id: str | None, is_new: bool, change: _Change
    ) -> tuple[str, int, tuple[str, ...]]:
        """Save a conversation; return its id, its new revision and the keys of its turns."""
        rows = self._transcripts
        written = SavedState.find(conversation, self.database.name, id)
        if id is not None and is_new and self._get_revision(connection, id) is None:
            id, written = self._insert(connection, change.command, id=id), None
        else:
            id, written = self._choose_row(connection, conversation, id, written, change.command)
        _, keys = rows.count_unchanged(connection, id, conversation.turns, written)
        keys = rows.write_turns(connection, id, conversation.turns, keys)
        head = rows.encode_head(connection, conversation, written)
        rows.write_full_results(connection, id, conversation.kept, written)
        title = self._secrets.redact(make_title(conversation))
        revision = self._update(connection, id, title, len(conversation.turns), head, change)
        for name, report in change.reports:
            connection.execute(
                "INSERT INTO cache_reports (session, model, report) VALUES (?, ?, ?)",
                (id, name, dump_json(asdict(report))),
            )
        return id, revision, keys

    def fork(self, which: str, turns: int | None = None) -> str:
        """Save a second conversation that starts with the first `turns` turns of this one (default: all)."""
        self._require_file(which)

        def copy(connection: Any) -> str:
            entry = _find_entry(connection, which)
            count = entry.turns if turns is None else turns
            if not 0 <= count <= entry.turns:
                raise ContentError(f"there are {entry.turns} turns, so a fork cannot start with {count}")
            id = self._insert(connection, entry.command, parent=entry.id, parent_turns=count)
            self._transcripts.copy(connection, entry.id, id, count)
            connection.execute(
                "UPDATE sessions SET title = ?, models = ?, turn_count = ?, tools = ?,"
                " head = (SELECT head FROM sessions AS other WHERE other.id = ?) WHERE id = ?",
                (
                    entry.title if count else "",
                    dump_json(entry.models),
                    count,
                    dump_json(dict(entry.tools)) if entry.tools else None,
                    entry.id,
                    id,
                ),
            )
            return id

        return self.database.transact(copy)

    def rename(self, id: str, name: str) -> str:
        """Give a session a name, which finds it like its id, and return the name. An empty one takes it away."""
        self._require_file(id)
        return rename_session(self.database, id, self._secrets.redact(sanitize_unicode(name)))

    def remove(self, *which: str) -> None:
        """Remove conversations, all or none of them, and overwrite their texts in the file."""
        self._require_file(*which)

        def delete(connection: Any) -> None:
            for id in {_find_entry(connection, each).id for each in which}:
                connection.execute("DELETE FROM sessions WHERE id = ? OR parent = ?", (id, id))
            self.database.delete_unlisted_texts(connection)
            delete_unused(connection)

        self.database.transact(delete)
        try:
            self.database.vacuum()
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
        if not self._exists:
            return []
        wanted = parse_search_query(query or "")
        with self.database.read_transaction() as connection:
            if not wanted:
                rows = self._select_newest(connection, model, since, after, limit)
                return [ConversationEntry.from_row(tuple(row)) for row in rows]
            places = find_matches(self.database, connection, wanted)
            chosen = (tuple(row) for row in self._select_newest(connection, model, since, after) if row[0] in places)
            found: list[ConversationEntry] = []
            for row in islice(chosen, limit):
                text = connection.execute(
                    "SELECT text FROM transcript JOIN turn_texts ON key = text_key WHERE session = ? AND position = ?",
                    (row[0], places[row[0]]),
                ).fetchone()
                excerpt = make_excerpt(text[0] if text and isinstance(text[0], str) else "", wanted)
                found.append(ConversationEntry.from_row(row, excerpt))
            return found

    def find(self, which: str) -> ConversationEntry:
        """Return the metadata of a conversation."""
        self._require_file(which)
        with self.database.read_transaction() as connection:
            return _find_entry(connection, which)

    def find_all(self, ids: Sequence[str]) -> dict[str, ConversationEntry]:
        """Return the metadata of those sessions with these ids that have a conversation, by id."""
        found: dict[str, ConversationEntry] = {}
        for first in range(0, len(ids), _MAX_IDS):
            part = ids[first : first + _MAX_IDS]
            rows = self.database.query(
                f"SELECT {ENTRY_COLUMNS} FROM sessions WHERE revision IS NOT NULL"
                f" AND id IN ({', '.join('?' * len(part))})",
                part,
            )
            found |= {entry.id: entry for entry in (ConversationEntry.from_row(tuple(row)) for row in rows)}
        return found

    def cache_reports(self, which: str) -> Sequence[tuple[str, CacheReport]]:
        """Return the cache report of each request of a conversation, with the model, in order."""
        from antiphon.wire import CacheReport

        self._require_file(which)
        sql = "SELECT model, report FROM cache_reports WHERE session = ? ORDER BY key"
        with self.database.read_transaction() as connection:
            found = connection.execute(sql, (_find_entry(connection, which).id,)).fetchall()
        return [(model, CacheReport.from_json(load_json(report))) for model, report in found]

    def load(self, which: str) -> Conversation:
        """Return a conversation as it was saved, without secrets. A `FormatError` says what is damaged."""
        self._require_file(which)
        with self.database.read_transaction() as connection:
            entry = _find_entry(connection, which)
            conversation, keys = self._transcripts.read(connection, entry.id, entry.turns)
            revision = self._get_revision(connection, entry.id) or 0
        SavedState.attach(conversation, self.database.name, entry.id, revision, keys)
        return conversation

    def export(self, which: str) -> dict[str, Any]:
        """Return the metadata and, under `conversation`, the conversation as JSON data."""
        entry = self.find(which)
        return {**entry.to_json(), "conversation": conversation_to_json(self.load(entry.id))}

    @property
    def _exists(self) -> bool:
        return self.is_saving and self.database.exists

    def _require_file(self, *which: str) -> None:
        """Raise a NotSavedError if the file does not exist, instead of creating it."""
        if not self._exists:
            names = ", ".join(map(repr, which))
            reason = f"{self.path} does not exist" if self.is_saving else f"`{DATABASE_VARIABLE}` is off"
            raise NotSavedError(f"there is no session {names}: {reason}")

    def _choose_row(
        self, connection: Any, conversation: Conversation, id: str | None, written: SavedState | None, command: str
    ) -> tuple[str, SavedState | None]:
        """Return the id to save under and the saved state there; insert a row if needed."""
        if id is None:
            return self._insert(connection, command), None
        # Of two machines that save it, the second sees the revision of the first.
        revision = self._get_revision(connection, id, self.database.lock_clause)
        if revision is None and written is None:
            raise NotSavedError(f"there is no session {id!r}, so it cannot be saved again under this id")
        if revision is None:
            # It was removed in the meantime. The id is still free, because ids are unique.
            return self._insert(connection, command, id=id), None
        if written is not None and written.revision != revision:
            shared, _ = self._transcripts.count_unchanged(connection, id, conversation.turns, None)
            fork = self._insert(connection, command, parent=id, parent_turns=shared)
            self._transcripts.copy(connection, id, fork, shared)
            return fork, None
        return id, written

    def _get_revision(self, connection: Any, id: str, lock: str = "") -> int | None:
        row = connection.execute(f"SELECT revision FROM sessions WHERE id = ?{lock}", (id,)).fetchone()
        return row[0] if row else None

    def _insert(
        self,
        connection: Any,
        command: str,
        *,
        id: str = "",
        parent: str | None = None,
        parent_turns: int | None = None,
    ) -> str:
        """Insert a conversation, under this id if no other has it, and return its id."""
        now = time.time()
        if id and self._get_revision(connection, id) is not None:
            id = ""
        while True:
            chosen = id or find_unused_id(connection)
            made = connection.execute(
                "INSERT INTO sessions (id, kind, state, owner, epoch, launch, title, models, command, created, updated,"
                " turn_count, forked_from, shared_turns, revision)"
                f" VALUES (?, '{CONVERSATION}', '{SAVED}', '', 0, '{{}}', '', '[]', ?, ?, ?, 0, ?, ?, 0)"
                " ON CONFLICT (id) DO UPDATE SET models = excluded.models, command = excluded.command, turn_count = 0,"
                " shared_turns = excluded.shared_turns, revision = 0 WHERE sessions.revision IS NULL",
                (chosen, sanitize_unicode(command), now, now, parent, parent_turns),
            ).rowcount
            if made:
                return chosen
            id = ""

    def _update(self, connection: Any, id: str, title: str, turns: int, head: str | None, change: _Change) -> int:
        """Update the metadata of a conversation, and return its new revision."""
        models, tools, read, written, cost, revision = connection.execute(
            "SELECT models, tools, input_tokens, output_tokens, cost, revision FROM sessions WHERE id = ?", (id,)
        ).fetchone()
        newest = sanitize_unicode(change.model)
        names = [*(name for name in parse_model_names(models) if name != newest), *([newest] if newest else [])]
        used = (change.usage.input_tokens, change.usage.output_tokens) if change.usage else (None, None)
        if change.cost is not None and math.isfinite(change.cost):
            cost = (cost if isinstance(cost, int | float) else 0.0) + change.cost
        if change.tools is not None:
            tools = dump_json(_merge(parse_tool_choice(tools) or {}, change.tools))
        changed = {
            "title": title,
            "models": dump_json(names),
            "turn_count": turns,
            "tools": tools,
            "input_tokens": _add_tokens(read, used[0]),
            "output_tokens": _add_tokens(written, used[1]),
            "cost": cost,
            "revision": revision + 1,
            **({} if head is None else {"head": head}),
        }
        # While somebody runs the session, `updated` is the time from which answers are new.
        connection.execute(
            f"UPDATE sessions SET {make_assignments(changed)}, updated = CASE owner WHEN '' THEN ? ELSE updated END"
            " WHERE id = ?",
            (*changed.values(), time.time(), id),
        )
        return revision + 1

    def _select_newest(
        self, connection: Any, model: str | None, since: datetime | None, after: str | None, limit: int | None = None
    ) -> Iterable[Any]:
        conditions, values = ["parent IS NULL AND revision IS NOT NULL"], list[Any]()
        if model:
            conditions.append(f"{self.database.position_function}(lower(models), lower(?)) > 0")
            values.append(sanitize_unicode(model))
        if since is not None:
            conditions.append("updated >= ?")
            values.append(since.timestamp())
        if after:
            conditions.append("(updated, id) < (SELECT updated, id FROM sessions WHERE id = ?)")
            values.append(after)
        most = "" if limit is None else f" LIMIT {int(limit)}"
        return connection.execute(
            f"SELECT {ENTRY_COLUMNS} FROM sessions WHERE {' AND '.join(conditions)}"
            f" ORDER BY updated DESC, id DESC{most}",
            tuple(values),
        )


class _Change(NamedTuple):
    """The additions of a save to the metadata of a conversation."""

    model: str
    command: str
    usage: Usage | None
    cost: float | None
    tools: Mapping[str, Any] | None
    reports: Sequence[tuple[str, CacheReport]]


def _add_tokens(known: object, more: int | None) -> object:
    if more is None:
        return known
    return min((known if isinstance(known, int) else 0) + more, _MAX_TOKENS)


def _merge(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of both, of the new ones if both have them; None removes a field."""
    merged = dict(old)
    for name, value in new.items():
        if isinstance(value, Mapping) and isinstance(before := merged.get(name), Mapping):
            value = _merge(cast(Mapping[str, Any], before), cast(Mapping[str, Any], value))
        merged[name] = value
    return {name: value for name, value in merged.items() if value is not None}


def _find_entry(connection: Any, which: str) -> ConversationEntry:
    wanted = sanitize_unicode(which).strip().lower()
    asked = f"SELECT {ENTRY_COLUMNS} FROM sessions WHERE revision IS NOT NULL"
    if wanted == "last":
        found = connection.execute(f"{asked} AND parent IS NULL ORDER BY updated DESC, id DESC LIMIT 1").fetchall()
    else:
        found = connection.execute(f"{asked} AND id = ?", (wanted,)).fetchall()
        found = found or connection.execute(f"{asked} AND name = ?", (sanitize_unicode(which).strip(),)).fetchall()
        found = (
            found
            or connection.execute(
                f"{asked} AND substr(id, 1, ?) = ? ORDER BY id DESC LIMIT 6", (len(wanted), wanted)
            ).fetchall()
        )
    entries = [ConversationEntry.from_row(tuple(row)) for row in found]
    if not entries or not wanted:
        raise NotSavedError(f"there is no session {which!r}; `antiphon list` lists them")
    if len(entries) > 1:
        raise NotSavedError(describe_ambiguous_id(which, [entry.id for entry in entries]))
    return entries[0]
