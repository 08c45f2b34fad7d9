"""Queries of a journal: runs, effects and open questions."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from antiphon.conversation import Conversation, Turn
from antiphon.durable.encryption import ENCRYPTED_MARK, JournalCipher
from antiphon.durable.live_output import LiveOutput
from antiphon.durable.postgres import PostgresDatabase, is_postgres_url
from antiphon.durable.run_entries import (
    RUN_COLUMNS,
    EffectEntry,
    QuestionEntry,
    RunEntry,
    read_effect_entry,
    read_question_entry,
    read_run_entry,
)
from antiphon.durable.run_owner import is_owner_alive
from antiphon.durable.secret_refs import SecretMissing, SecretRefs, parse_redacted_json
from antiphon.durable.turn_history import load_last_turns, load_session_request
from antiphon.errors import NotReadyError, NotSavedError, StoreError
from antiphon.storage.database import Database
from antiphon.storage.secret_matcher import find_known_secrets
from antiphon.storage.sqlite import SqliteDatabase
from antiphon.storage.store_location import get_database_url, get_store_path, is_saving_off

#: If saving is off, a file that cannot exist, so that nothing is found in it.
_OFF_PATH = Path(os.devnull, "off")


class JournalReader:
    """Reads the file or database of a journal."""

    def __init__(self, place: str | PathLike[str] | None = None) -> None:
        place = get_database_url() if place is None else place
        #: True if it is in PostgreSQL. Then `url` is its address, with the password.
        self.is_shared = is_postgres_url(place)
        self.url = str(place) if self.is_shared else ""
        self._database: Database = (
            PostgresDatabase(self.url)
            if self.is_shared
            else SqliteDatabase(
                Path(place) if place is not None else _OFF_PATH if is_saving_off() else get_store_path()
            )
        )

    @property
    def file(self) -> SqliteDatabase:
        """The SQLite file; a NotReadyError if the journal is in PostgreSQL."""
        if not isinstance(self._database, SqliteDatabase):
            raise NotReadyError(f"{self.name} is not a file")
        return self._database

    @cached_property
    def cipher(self) -> JournalCipher:
        """The cipher for private data."""
        home = self._database.path if isinstance(self._database, SqliteDatabase) else get_store_path()
        return JournalCipher(home.with_suffix(".key"))

    @cached_property
    def secret_refs(self) -> SecretRefs:
        """References for API keys and for environment variables with the name of a secret."""
        found = SecretRefs(self.cipher)
        for name, value in find_known_secrets().items():
            found.add(name, value)
        return found

    @cached_property
    def live_output(self) -> LiveOutput | None:
        """The live output of this machine; None if many machines share the journal."""
        return (
            LiveOutput(self._database.path.with_suffix(".live")) if isinstance(self._database, SqliteDatabase) else None
        )

    @property
    def name(self) -> str:
        """The path or URL, without a password."""
        return self._database.name

    # Runs

    def list_runs(
        self, *, parent: str | None = None, state: str | None = None, limit: int | None = None
    ) -> list[RunEntry]:
        """Return runs, newest first; with a `parent`, its children in order. `state` selects runs in that state."""
        which, order = ("parent IS NULL", "created DESC, id DESC") if parent is None else ("parent = ?", "number, id")
        standing, values = ("", ()) if state is None else self.make_state_condition(state)
        which += f" AND {standing}" if standing else ""
        most = "" if limit is None else f" LIMIT {int(limit)}"
        values = values if parent is None else (parent, *values)
        rows = self.query(f"SELECT {RUN_COLUMNS} FROM runs WHERE {which} ORDER BY {order}{most}", values)
        return [read_run_entry(self, row) for row in rows]

    def determine_state(self, state: str, owner: str) -> str:
        """Return the effective state of a run: `interrupted` instead of `running` if its process has died.

        In a shared journal the stored state counts, because workers decide by it.
        """
        return "interrupted" if state == "running" and not self.is_shared and not is_owner_alive(owner) else state

    def make_state_condition(self, state: str) -> tuple[str, tuple[str, ...]]:
        """Return an SQL condition for runs in a state, and its values. In a file it depends on living owners."""
        if self.is_shared or state not in ("running", "interrupted"):
            return "state = ?", (state,)
        owners = [str(owner) for (owner,) in self.query("SELECT owner FROM runs WHERE state = 'running'", ())]
        gone = tuple(owner for owner in owners if not is_owner_alive(owner))
        left = f"owner IN ({', '.join('?' * len(gone))})"
        if state == "running":
            return f"(state = 'running' AND NOT {left})", gone
        return f"(state = 'interrupted' OR state = 'running' AND {left})", gone

    def count_by_state(self, parent: str, kind: str | None = None) -> list[tuple[str, int]]:
        """Return how many child runs are in each state."""
        rows = self.query(
            "SELECT state, owner, count(*) FROM runs WHERE parent = ? AND kind = coalesce(?, kind)"
            " GROUP BY state, owner",
            (parent, kind),
        )
        found = Counter[str]()
        for state, owner, count in rows:
            found[self.determine_state(state, owner)] += count
        return sorted(found.items())

    def compute_silence(self, entry: RunEntry) -> float:
        """Return the seconds since the last step of a run, or the last heartbeat of its worker."""
        rows = self.query("SELECT max(began), max(ended) FROM effects WHERE run = ?", (entry.id,))
        if self.is_shared:
            rows += self.query("SELECT seen, seen FROM workers WHERE process = ?", (entry.owner.rpartition(":")[0],))
        signs = [moment for row in rows for moment in row if isinstance(moment, int | float)]
        return max(self.now() - max([entry.updated, *signs]), 0.0)

    def find(self, which: str) -> RunEntry:
        """Return the run with this id, or the only one whose id begins with it; `last` is the newest."""
        if which == "last":
            rows = self.query(
                f"SELECT {RUN_COLUMNS} FROM runs WHERE parent IS NULL ORDER BY created DESC, id DESC LIMIT 1", ()
            )
            if not rows:
                raise NotSavedError("there is no session yet")
            return read_run_entry(self, rows[0])
        rows = self.query(f"SELECT {RUN_COLUMNS} FROM runs WHERE id = ?", (which,))
        rows = rows or self.query(
            f"SELECT {RUN_COLUMNS} FROM runs WHERE substr(id, 1, ?) = ? AND parent IS NULL LIMIT 2", (len(which), which)
        )
        if len(rows) != 1 or not which:
            raise NotSavedError(f"{'several sessions begin' if rows else 'no session begins'} with {which!r}")
        return read_run_entry(self, rows[0])

    def load_ending(self, id: str) -> dict[str, Any]:
        """Return how a run ended. References to unchanged environment variables are resolved."""
        ((kept,),) = self.query("SELECT ending FROM runs WHERE id = ?", (id,)) or [(None,)]
        if kept is None:
            return {}
        try:
            return self.secret_refs.parse_with_values(self.load_text(kept), f"session {id}")
        except SecretMissing:
            return parse_redacted_json(self.load_text(kept), f"session {id}")

    def has_run(self, id: str) -> bool:
        """Return whether a run with this id exists."""
        return bool(self.query("SELECT 1 FROM runs WHERE id = ?", (id,)))

    def iterate_effects(self, id: str) -> Generator[EffectEntry]:
        """Yield the steps of a run in the order in which they started."""
        last = -1
        while rows := self.query(
            "SELECT seq, path, kind, hash, effect, state, outcome, began, ended, cost, attempt FROM effects"
            " WHERE run = ? AND seq > ? ORDER BY seq LIMIT 500",
            (id, last),
        ):
            yield from (read_effect_entry(self, row[1:]) for row in rows)
            last = rows[-1][0]

    def find_effect(self, id: str, path: str) -> EffectEntry:
        """Return one step of a run."""
        found = self.query(
            "SELECT path, kind, hash, effect, state, outcome, began, ended, cost, attempt FROM effects"
            " WHERE run = ? AND path = ?",
            (id, path),
        )
        if not found:
            raise NotReadyError(f"session {id!r} has no step {path!r}; `antiphon show {id}` lists them")
        return read_effect_entry(self, found[0])

    def list_questions(
        self, id: str, limit: int | None = None, *, path: str | None = None
    ) -> tuple[QuestionEntry, ...]:
        """Return the open questions of a run, or the one at a `path`."""
        most = "" if limit is None else f" LIMIT {int(limit)}"
        there, values = ("", (id,)) if path is None else (" AND path = ?", (id, path))
        rows = self.query(
            f"SELECT path, effect FROM effects WHERE run = ? AND state = 'waiting' AND kind = 'person'{there}"
            f" ORDER BY seq{most}",
            values,
        )
        return tuple(read_question_entry(self, path, effect) for path, effect in rows)

    def iterate_rows(self, parent: str) -> Generator[RunEntry]:
        """Yield the rows of a batch in order."""
        last = -1
        while found := self.query(
            f"SELECT {RUN_COLUMNS} FROM runs WHERE parent = ? AND kind = 'row' AND number > ?"
            " ORDER BY number LIMIT 200",
            (parent, last),
        ):
            for each in found:
                yield read_run_entry(self, each)
            last = found[-1][7]

    def load_request(self, id: str) -> tuple[Conversation, Any, Any]:
        """Return what a session was asked in a run: the conversation before it, the mode and the prompt."""
        entry = self.find(id)
        found = self.query("SELECT said FROM runs WHERE id = ?", (entry.id,))
        if "mode" not in entry.begun_as:
            raise NotReadyError(f"session {id!r} has no request of a model")
        return load_session_request(self, entry.begun_as, found[0][0] or "")

    def load_shown_turns(self, id: str, path: str, most: int, before: str = "") -> tuple[list[Turn], str]:
        """Return the last `most` turns of a model request, and the key of the turns before them, for `before`.

        There are none if the request is private.
        """
        ((last,),) = self.query("SELECT said FROM effects WHERE run = ? AND path = ?", (id, path)) or [(None,)]
        return load_last_turns(self, (before or last) if last else "", most)

    def close(self) -> None:
        """Close the database; it is opened again when needed."""
        self._database.close()

    def now(self) -> float:
        """Return the time in seconds since 1970; a shared journal uses the clock of its server."""
        return self._database.now()

    def query(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        """Return the rows of a statement; none if nothing was ever written."""
        return self._database.query(statement, values)

    def load_text(self, kept: str) -> str:
        """Return a text that may be stored apart or encrypted."""
        text = self.load_raw_text(kept)
        return self.cipher.decrypt(text) if text.startswith(ENCRYPTED_MARK) else text

    def load_raw_text(self, kept: str) -> str:
        """Return a text that may be stored apart; an encrypted one stays encrypted."""
        if not isinstance(kept, str):  # type: ignore[unreachable]
            raise StoreError(f"the database is damaged: {kept!r} is not a text")
        if not kept.startswith("@"):
            return kept
        found = self.query("SELECT body FROM texts WHERE hash = ?", (kept[1:],))
        if not found:
            raise StoreError(f"the database is damaged: the text {kept[1:13]}… is gone")
        return found[0][0]
