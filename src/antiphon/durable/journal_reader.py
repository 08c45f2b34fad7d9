"""Queries of a journal: runs, effects and open questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from functools import cached_property
from os import PathLike
from typing import Any

from antiphon._base.json_access import as_integer, as_string
from antiphon.conversation import Conversation, Turn
from antiphon.durable.live_output import LiveOutput
from antiphon.durable.run_entries import (
    EffectEntry,
    QuestionEntry,
    RunEntry,
    SentBatch,
    read_effect,
    read_effect_entry,
    read_question_entry,
    read_run_entry,
)
from antiphon.durable.run_owner import may_owner_be_alive
from antiphon.durable.turn_history import load_last_turns, load_session_request
from antiphon.effects import Outcome, SendBatch, outcome_from_json
from antiphon.errors import NotReadyError, NotSavedError
from antiphon.storage import sessions, steps, texts
from antiphon.storage.encryption import ENCRYPTED_MARK, JournalCipher
from antiphon.storage.places import open_cipher, open_database
from antiphon.storage.postgres import is_postgres_url
from antiphon.storage.secret_matcher import find_known_secrets
from antiphon.storage.secret_refs import SecretMissing, SecretRefs, parse_redacted_json
from antiphon.storage.sessions import SessionFilter
from antiphon.storage.sqlite import SqliteDatabase
from antiphon.storage.store_location import get_database_url, is_saving_off

#: The most ids in one query.
_MAX_IDS = 500


class JournalReader:
    """Reads the file or database of a journal."""

    def __init__(self, place: str | PathLike[str] | None = None) -> None:
        place = get_database_url() if place is None and not is_saving_off() else place
        #: True if it is in PostgreSQL. Then `url` is its address, with the password.
        self.is_shared = is_postgres_url(place)
        self.url = str(place) if self.is_shared else ""
        #: The database with the tables.
        self.database = open_database(place)

    @property
    def is_file(self) -> bool:
        """True if it is in a file, which other processes of this machine can open."""
        return isinstance(self.database, SqliteDatabase) and not self.database.is_memory

    @property
    def file(self) -> SqliteDatabase:
        """The SQLite file; a NotReadyError if the journal is in PostgreSQL."""
        if not isinstance(self.database, SqliteDatabase) or self.database.is_memory:
            raise NotReadyError(f"{self.name} is not a file")
        return self.database

    @cached_property
    def cipher(self) -> JournalCipher:
        """The cipher for private data."""
        return open_cipher(self.database)

    @cached_property
    def secret_refs(self) -> SecretRefs:
        """References for API keys and for environment variables with the name of a secret."""
        found = SecretRefs(self.cipher)
        for name, value in find_known_secrets().items():
            found.add(name, value)
        return found

    @cached_property
    def live_output(self) -> LiveOutput | None:
        """The live output of this machine; None if many machines share the journal or none reads it."""
        if not isinstance(self.database, SqliteDatabase) or self.database.is_memory:
            return None
        return LiveOutput(self.database.path.with_suffix(".live"))

    def check_writable(self) -> None:
        """Raise a StoreError with advice if the place cannot be opened and written."""
        self.database.check_writable()

    @property
    def name(self) -> str:
        """The path or URL, without a password."""
        return self.database.name

    @property
    def location(self) -> str:
        """The path or the URL with its password, to open the same database again."""
        return self.url or self.database.name

    # Runs

    def list_runs(
        self, *, parent: str | None = None, state: str | None = None, limit: int | None = None
    ) -> list[RunEntry]:
        """Return runs, newest first; with a `parent`, its children in order. `state` selects runs in that state."""
        which = self.make_filter([state] if state else ())
        rows = sessions.list_sessions(self.database, which, parent=parent, limit=limit)
        return [read_run_entry(self, row) for row in rows]

    def find_all(self, ids: Sequence[str]) -> list[RunEntry]:
        """Return the runs with these ids that exist."""
        pages = (ids[first : first + _MAX_IDS] for first in range(0, len(ids), _MAX_IDS))
        found = (row for page in pages for row in sessions.list_sessions(self.database, SessionFilter(ids=page)))
        return [read_run_entry(self, row) for row in found]

    def determine_state(self, state: str, owner: str) -> str:
        """Return the effective state of a run: `interrupted` instead of `running` if its process has died.

        In a shared journal the stored state counts, because workers decide by it.
        """
        return "interrupted" if state == "running" and not self.is_shared and not may_owner_be_alive(owner) else state

    def make_filter(
        self,
        states: Sequence[str] = (),
        *,
        kinds: Sequence[str] = (),
        after: str = "",
        ids: Sequence[str] | None = None,
    ) -> SessionFilter:
        """Return a filter of runs by their effective states and kinds, or by `ids`; they are older than `after`."""
        gone = None
        if {"running", "interrupted"} & {*states} and not self.is_shared:
            gone = [each for each in sessions.list_running_owners(self.database) if not may_owner_be_alive(each)]
        return SessionFilter(states, kinds, after, gone, ids)

    def count_by_state(self, parent: str, kind: str | None = None) -> list[tuple[str, int]]:
        """Return how many child runs are in each state."""
        found = Counter[str]()
        for state, owner, count in sessions.count_child_states(self.database, parent, kind):
            found[self.determine_state(state, owner)] += count
        return sorted(found.items())

    def compute_silence(self, entry: RunEntry) -> float:
        """Return the seconds since the last step of a run, or the last heartbeat of its worker."""
        signs = sessions.find_last_signs(self.database, entry.id, entry.owner.rpartition(":")[0])
        return max(self.now() - max([entry.updated, *signs]), 0.0)

    def find(self, which: str) -> RunEntry:
        """Return the run with this id, or the only one whose id begins with it; `last` is the newest."""
        if which == "last":
            newest = sessions.list_sessions(self.database, limit=1)
            if not newest:
                raise NotSavedError("there is no session yet")
            return read_run_entry(self, newest[0])
        exact = sessions.find_session(self.database, which)
        rows = [exact] if exact is not None else sessions.find_by_prefix(self.database, which)
        if not rows or not which:
            raise NotSavedError(f"no session begins with {which!r}")
        if len(rows) > 1:
            raise NotSavedError(sessions.describe_ambiguous_id(which, [row.id for row in rows]))
        return read_run_entry(self, rows[0])

    def load_ending(self, id: str) -> dict[str, Any]:
        """Return how a run ended. References to unchanged environment variables are resolved."""
        return self._load_with_values(sessions.find_text(self.database, id, "result"), id)

    def load_launch(self, id: str) -> dict[str, Any]:
        """Return the launch data of a run. References to unchanged environment variables are resolved."""
        return self._load_with_values(sessions.find_text(self.database, id, "launch"), id)

    def _load_with_values(self, kept: str | None, id: str) -> dict[str, Any]:
        if kept is None:
            return {}
        text = self.load_text(kept)
        try:
            return self.secret_refs.parse_with_values(text, f"session {id}")
        except SecretMissing:
            return parse_redacted_json(text, f"session {id}")

    def has_run(self, id: str) -> bool:
        """Return whether a run with this id exists."""
        return sessions.has_session(self.database, id)

    def iterate_effects(self, id: str) -> Iterator[EffectEntry]:
        """Yield the steps of a run in the order in which they started."""
        return (read_effect_entry(self, row) for row in steps.iterate_steps(self.database, id))

    def find_effect(self, id: str, path: str) -> EffectEntry:
        """Return one step of a run."""
        found = steps.find_step(self.database, id, path)
        if found is None:
            raise NotReadyError(f"session {id!r} has no step {path!r}; `antiphon show {id}` lists them")
        return read_effect_entry(self, found)

    def load_outcome(self, id: str, path: str) -> Outcome:
        """Return the outcome of a step that has ended, with the values of environment variables."""
        kept = steps.get_step(self.database, id, path).outcome or ""
        return outcome_from_json(self.secret_refs.parse_with_values(self.load_text(kept), f"step {path}"))

    def list_questions(
        self, id: str, limit: int | None = None, *, path: str | None = None
    ) -> tuple[QuestionEntry, ...]:
        """Return the open questions of a run, or the one at a `path`."""
        rows = steps.list_questions(self.database, id, limit, path=path)
        return tuple(read_question_entry(self, path, effect) for path, effect in rows)

    def iterate_rows(self, parent: str) -> Generator[RunEntry]:
        """Yield the rows of a batch in order."""
        last = -1
        while found := sessions.list_rows(self.database, parent, last, 200):
            for each in found:
                yield read_run_entry(self, each)
            last = found[-1].number or 0

    def list_noted_batches(self, id: str) -> list[str]:
        """Return the keys of the batches that the model requests of a run wait for."""
        notes = [
            parse_redacted_json(self.load_text(kept), f"step {path}")
            for path, kept in steps.list_request_notes(self.database, id)
        ]
        return [note["batch"] for note in notes if isinstance(note.get("batch"), str)]

    def list_open_batches(self, id: str) -> list[SentBatch]:
        """Return the batches that a run has sent to providers and not read yet."""
        found: list[SentBatch] = []
        for row in steps.list_open_batches(self.database, id):
            effect = read_effect(self, row.kind, row.request)
            note = parse_redacted_json(self.load_text(row.outcome), f"step {row.path}") if row.outcome else {}
            assert isinstance(effect, SendBatch)
            id, done = as_string(note.get("id")), as_integer(note.get("done")) or 0
            found.append(SentBatch(row.path, effect, id, done, row.began))
        return found

    def list_messages(self, id: str) -> list[EffectEntry]:
        """Return the messages of a session, which are steps of its run, in order."""
        return [read_effect_entry(self, row) for row in steps.list_messages(self.database, id)]

    def find_last_message(self, id: str) -> EffectEntry | None:
        """Return the last message of a session, or None if its run does not exist or has none."""
        found = steps.find_last_message(self.database, id)
        return None if found is None else read_effect_entry(self, found)

    def load_request(self, id: str, message: str | None = None) -> tuple[Conversation, Any, Any]:
        """Return what a session was asked: the conversation before it, the mode and the prompt.

        In a run with several messages, this is the one at the path `message`, or else the last one.
        """
        entry = self.find(id)
        found = (
            steps.find_last_message(self.database, entry.id)
            if message is None
            else steps.find_step(self.database, entry.id, message)
        )
        if found is not None:
            data = self.secret_refs.parse_with_values(self.load_text(found.request), f"a message of session {id}")
            return load_session_request(self, data, steps.find_turn_of(self.database, entry.id, found.path) or "")
        if "mode" not in entry.begun_as:
            raise NotReadyError(f"session {id!r} has no request of a model")
        last = sessions.find_text(self.database, entry.id, "last_turn") or ""
        return load_session_request(self, self.load_launch(entry.id), last)

    def load_shown_turns(self, id: str, path: str, most: int, before: str = "") -> tuple[list[Turn], str]:
        """Return the last `most` turns of a model request, and the key of the turns before them, for `before`.

        There are none if the request is private.
        """
        last = steps.find_turn_of(self.database, id, path)
        return load_last_turns(self, (before or last) if last else "", most)

    def close(self) -> None:
        """Close the database; it is opened again when needed."""
        self.database.close()

    def now(self) -> float:
        """Return the time in seconds since 1970; a shared journal uses the clock of its server."""
        return self.database.now()

    def load_text(self, kept: str) -> str:
        """Return a text that may be stored apart or encrypted."""
        text = self.load_raw_text(kept)
        return self.cipher.decrypt(text) if text.startswith(ENCRYPTED_MARK) else text

    def load_raw_text(self, kept: str) -> str:
        """Return a text that may be stored apart; an encrypted one stays encrypted."""
        return texts.read_text(self.database.query, kept)
