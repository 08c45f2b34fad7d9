"""What is in a journal, for whoever looks: its runs, what they did, and what they wait for."""

from __future__ import annotations

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
from antiphon.storage.secret_matcher import find_known_secrets
from antiphon.storage.sqlite import SqliteDatabase
from antiphon.storage.store_location import get_store_path


class JournalReader:
    """The file or the database of a journal, and what is read there."""

    def __init__(self, place: str | PathLike[str] | None = None) -> None:
        #: Whether many machines share it; then `url` is where it is, with its password.
        self.is_shared = is_postgres_url(place)
        self.url = str(place) if self.is_shared else ""
        if self.is_shared:
            self._database = PostgresDatabase(self.url)
        else:
            self._database = SqliteDatabase(Path(place) if place is not None else get_store_path())

    @property
    def file(self) -> SqliteDatabase:
        """The file it is in, where that is one of this machine alone."""
        if isinstance(self._database, PostgresDatabase):
            raise NotReadyError(f"{self.name} is no file")
        return self._database

    @cached_property
    def cipher(self) -> JournalCipher:
        """What closes and opens what is private."""
        home = self._database.path if isinstance(self._database, SqliteDatabase) else get_store_path()
        return JournalCipher(home.with_suffix(".key"))

    @cached_property
    def secret_refs(self) -> SecretRefs:
        """What nobody writes down: the keys of models, and what the environment has under the name of a secret."""
        found = SecretRefs(self.cipher)
        for name, value in find_known_secrets().items():
            found.add(name, value)
        return found

    @cached_property
    def live_output(self) -> LiveOutput | None:
        """Where answers stand while they come; nowhere, where many machines share the journal."""
        return (
            LiveOutput(self._database.path.with_suffix(".live")) if isinstance(self._database, SqliteDatabase) else None
        )

    @property
    def name(self) -> str:
        """Where it is, without a password."""
        return self._database.name if isinstance(self._database, PostgresDatabase) else str(self._database.path)

    # Runs

    def list_runs(
        self, *, parent: str | None = None, state: str | None = None, limit: int | None = None
    ) -> list[RunEntry]:
        """Runs, the newest first; with a `parent`, those that are part of it, in order; only those in one `state`."""
        which, order = ("parent IS NULL", "created DESC, id DESC") if parent is None else ("parent = ?", "number, id")
        standing, values = ("", ()) if state is None else self.make_state_condition(state)
        which += f" AND {standing}" if standing else ""
        most = "" if limit is None else f" LIMIT {int(limit)}"
        values = values if parent is None else (parent, *values)
        rows = self.query(f"SELECT {RUN_COLUMNS} FROM runs WHERE {which} ORDER BY {order}{most}", values)
        return [read_run_entry(self, row) for row in rows]

    def determine_state(self, state: str, owner: str) -> str:
        """How a run stands: one whose process is gone without a word is no longer running, whatever it wrote down.

        Where many machines share the journal that holds as it is written: who takes it over goes by that.
        """
        return "interrupted" if state == "running" and not self.is_shared and not is_owner_alive(owner) else state

    def make_state_condition(self, state: str) -> tuple[str, tuple[str, ...]]:
        """A condition on runs that they are in a state, and its values; of a file, by who is still there."""
        if self.is_shared or state not in ("running", "interrupted"):
            return "state = ?", (state,)
        owners = [str(owner) for (owner,) in self.query("SELECT owner FROM runs WHERE state = 'running'", ())]
        gone = tuple(owner for owner in owners if not is_owner_alive(owner))
        left = f"owner IN ({', '.join('?' * len(gone))})"
        if state == "running":
            return f"(state = 'running' AND NOT {left})", gone
        return f"(state = 'interrupted' OR state = 'running' AND {left})", gone

    def count_by_state(self, parent: str, kind: str | None = None) -> list[tuple[str, int]]:
        """How many of the runs that are part of one are in which state."""
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
        """For how many seconds nothing was heard of who has a run: no step, and no sign of life of a worker."""
        rows = self.query("SELECT max(began), max(ended) FROM effects WHERE run = ?", (entry.id,))
        if self.is_shared:
            rows += self.query("SELECT seen, seen FROM workers WHERE process = ?", (entry.owner.rpartition(":")[0],))
        signs = [moment for row in rows for moment in row if isinstance(moment, int | float)]
        return max(self.now() - max([entry.updated, *signs]), 0.0)

    def find(self, which: str) -> RunEntry:
        """The run with this id, or the only one whose id begins so; `last` is the newest."""
        if which == "last":
            rows = self.query(
                f"SELECT {RUN_COLUMNS} FROM runs WHERE parent IS NULL ORDER BY created DESC, id DESC LIMIT 1", ()
            )
            if not rows:
                raise NotSavedError("there is no run yet")
            return read_run_entry(self, rows[0])
        rows = self.query(f"SELECT {RUN_COLUMNS} FROM runs WHERE id = ?", (which,))
        rows = rows or self.query(
            f"SELECT {RUN_COLUMNS} FROM runs WHERE substr(id, 1, ?) = ? AND parent IS NULL LIMIT 2", (len(which), which)
        )
        if len(rows) != 1 or not which:
            raise NotSavedError(f"{'several runs begin' if rows else 'no run begins'} with {which!r}")
        return read_run_entry(self, rows[0])

    def load_ending(self, id: str) -> dict[str, Any]:
        """How a run ended, with values of the environment in it where they are still those of then."""
        ((kept,),) = self.query("SELECT ending FROM runs WHERE id = ?", (id,)) or [(None,)]
        if kept is None:
            return {}
        try:
            return self.secret_refs.parse_with_values(self.load_text(kept), f"run {id}")
        except SecretMissing:
            return parse_redacted_json(self.load_text(kept), f"run {id}")

    def has_run(self, id: str) -> bool:
        """Whether there is a run of this name."""
        return bool(self.query("SELECT 1 FROM runs WHERE id = ?", (id,)))

    def iterate_effects(self, id: str) -> Generator[EffectEntry]:
        """What a run has done, in the order in which it was begun."""
        last = -1
        while rows := self.query(
            "SELECT seq, path, kind, hash, effect, state, outcome, began, ended, cost, attempt FROM effects"
            " WHERE run = ? AND seq > ? ORDER BY seq LIMIT 500",
            (id, last),
        ):
            yield from (read_effect_entry(self, row[1:]) for row in rows)
            last = rows[-1][0]

    def find_effect(self, id: str, path: str) -> EffectEntry:
        """One step of a run."""
        found = self.query(
            "SELECT path, kind, hash, effect, state, outcome, began, ended, cost, attempt FROM effects"
            " WHERE run = ? AND path = ?",
            (id, path),
        )
        if not found:
            raise NotReadyError(f"run {id!r} has no step {path!r}; `antiphon runs show {id}` lists them")
        return read_effect_entry(self, found[0])

    def list_questions(
        self, id: str, limit: int | None = None, *, path: str | None = None
    ) -> tuple[QuestionEntry, ...]:
        """What a run waits for people to say; at a `path`, what it waits for there."""
        most = "" if limit is None else f" LIMIT {int(limit)}"
        there, values = ("", (id,)) if path is None else (" AND path = ?", (id, path))
        rows = self.query(
            f"SELECT path, effect FROM effects WHERE run = ? AND state = 'waiting' AND kind = 'person'{there}"
            f" ORDER BY seq{most}",
            values,
        )
        return tuple(read_question_entry(self, path, effect) for path, effect in rows)

    def iterate_rows(self, parent: str) -> Generator[RunEntry]:
        """The runs of a run's rows, in order, a few at a time."""
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
        """What a session was asked in a run: the conversation as it was, the mode, and the prompt."""
        entry = self.find(id)
        found = self.query("SELECT said FROM runs WHERE id = ?", (entry.id,))
        if "mode" not in entry.begun_as:
            raise NotReadyError(f"run {id!r} is none of a session")
        return load_session_request(self, entry.begun_as, found[0][0] or "")

    def load_shown_turns(self, id: str, path: str, most: int, before: str = "") -> tuple[list[Turn], str]:
        """So many of the last turns that a model was shown with a request, and the name of what is `before` them.

        None, where it is private.
        """
        ((last,),) = self.query("SELECT said FROM effects WHERE run = ? AND path = ?", (id, path)) or [(None,)]
        return load_last_turns(self, (before or last) if last else "", most)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def now(self) -> float:
        """The time, as all who share the journal have it, in seconds since 1970."""
        return self._database.now()

    # What is written down

    def query(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        """Rows; none, where nothing was ever written."""
        return self._database.query(statement, values)

    def load_text(self, kept: str) -> str:
        """A text that may be kept apart, or sealed."""
        text = self.load_raw_text(kept)
        return self.cipher.decrypt(text) if text.startswith(ENCRYPTED_MARK) else text

    def load_raw_text(self, kept: str) -> str:
        """A text that may be kept apart; what is sealed stays so."""
        if not isinstance(kept, str):  # type: ignore[unreachable]
            raise StoreError(f"the journal is damaged: {kept!r} is no text")
        if not kept.startswith("@"):
            return kept
        found = self.query("SELECT body FROM texts WHERE hash = ?", (kept[1:],))
        if not found:
            raise StoreError(f"the journal is damaged: the text {kept[1:13]}… is gone")
        return found[0][0]
