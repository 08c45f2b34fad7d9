"""What is in a journal, for whoever looks: its runs, what they did, and what they wait for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from antiphon.conversation import Conversation, Turn
from antiphon.durable.asks import ask_from_json, shown_turns
from antiphon.durable.live import Live
from antiphon.durable.looking import (
    COLUMNS,
    EffectEntry,
    QuestionEntry,
    RunEntry,
    effect_entry,
    question_entry,
    run_entry,
)
from antiphon.durable.owner import is_there
from antiphon.durable.postgres import Postgres, is_url
from antiphon.durable.seal import MARK, Seal
from antiphon.durable.withheld import NotThere, Withheld, shown
from antiphon.errors import NotReadyError, NotSavedError, StoreError
from antiphon.storage.database import Database
from antiphon.storage.place import default_path
from antiphon.storage.withheld import known_secrets


class Records:
    """The file or the database of a journal, and what is read there."""

    def __init__(self, place: str | PathLike[str] | None = None) -> None:
        #: Whether many machines share it; then `url` is where it is, with its password.
        self.is_shared = is_url(place)
        self.url = str(place) if self.is_shared else ""
        if self.is_shared:
            self._database = Postgres(self.url)
        else:
            self._database = Database(Path(place) if place is not None else default_path())

    @property
    def file(self) -> Database:
        """The file it is in, where that is one of this machine alone."""
        if isinstance(self._database, Postgres):
            raise NotReadyError(f"{self.name} is no file")
        return self._database

    @cached_property
    def seal(self) -> Seal:
        """What closes and opens what is private."""
        home = self._database.path if isinstance(self._database, Database) else default_path()
        return Seal(home.with_suffix(".key"))

    @cached_property
    def withheld(self) -> Withheld:
        """What nobody writes down: the keys of models, and what the environment has under the name of a secret."""
        found = Withheld(self.seal)
        for name, value in known_secrets().items():
            found.learn(name, value)
        return found

    @cached_property
    def live(self) -> Live | None:
        """Where answers stand while they come; nowhere, where many machines share the journal."""
        return Live(self._database.path.with_suffix(".live")) if isinstance(self._database, Database) else None

    @property
    def name(self) -> str:
        """Where it is, without a password."""
        return self._database.name if isinstance(self._database, Postgres) else str(self._database.path)

    # Runs

    def runs(self, *, parent: str | None = None, state: str | None = None, limit: int | None = None) -> list[RunEntry]:
        """Runs, the newest first; with a `parent`, those that are part of it, in order; only those in one `state`."""
        which, order = ("parent IS NULL", "created DESC, id DESC") if parent is None else ("parent = ?", "number, id")
        standing, values = ("", ()) if state is None else self.in_state(state)
        which += f" AND {standing}" if standing else ""
        most = "" if limit is None else f" LIMIT {int(limit)}"
        values = values if parent is None else (parent, *values)
        rows = self.read(f"SELECT {COLUMNS} FROM runs WHERE {which} ORDER BY {order}{most}", values)
        return [run_entry(self, row) for row in rows]

    def state_of(self, state: str, owner: str) -> str:
        """How a run stands: one whose process is gone without a word is no longer running, whatever it wrote down.

        Where many machines share the journal that holds as it is written: who takes it over goes by that.
        """
        return "interrupted" if state == "running" and not self.is_shared and not is_there(owner) else state

    def in_state(self, state: str) -> tuple[str, tuple[str, ...]]:
        """A condition on runs that they are in a state, and its values; of a file, by who is still there."""
        if self.is_shared or state not in ("running", "interrupted"):
            return "state = ?", (state,)
        owners = [str(owner) for (owner,) in self.read("SELECT owner FROM runs WHERE state = 'running'", ())]
        gone = tuple(owner for owner in owners if not is_there(owner))
        left = f"owner IN ({', '.join('?' * len(gone))})"
        if state == "running":
            return f"(state = 'running' AND NOT {left})", gone
        return f"(state = 'interrupted' OR state = 'running' AND {left})", gone

    def counts(self, parent: str, kind: str | None = None) -> list[tuple[str, int]]:
        """How many of the runs that are part of one are in which state."""
        rows = self.read(
            "SELECT state, owner, count(*) FROM runs WHERE parent = ? AND kind = coalesce(?, kind)"
            " GROUP BY state, owner",
            (parent, kind),
        )
        found = Counter[str]()
        for state, owner, count in rows:
            found[self.state_of(state, owner)] += count
        return sorted(found.items())

    def heard(self, entry: RunEntry) -> float:
        """For how many seconds nothing was heard of who has a run: no step, and no sign of life of a worker."""
        rows = self.read("SELECT max(began), max(ended) FROM effects WHERE run = ?", (entry.id,))
        if self.is_shared:
            rows += self.read("SELECT seen, seen FROM workers WHERE process = ?", (entry.owner.rpartition(":")[0],))
        signs = [moment for row in rows for moment in row if isinstance(moment, int | float)]
        return max(self.now() - max([entry.updated, *signs]), 0.0)

    def find(self, which: str) -> RunEntry:
        """The run with this id, or the only one whose id begins so; `last` is the newest."""
        if which == "last":
            rows = self.read(
                f"SELECT {COLUMNS} FROM runs WHERE parent IS NULL ORDER BY created DESC, id DESC LIMIT 1", ()
            )
            if not rows:
                raise NotSavedError("there is no run yet")
            return run_entry(self, rows[0])
        rows = self.read(f"SELECT {COLUMNS} FROM runs WHERE id = ?", (which,))
        rows = rows or self.read(
            f"SELECT {COLUMNS} FROM runs WHERE substr(id, 1, ?) = ? AND parent IS NULL LIMIT 2", (len(which), which)
        )
        if len(rows) != 1 or not which:
            raise NotSavedError(f"{'several runs begin' if rows else 'no run begins'} with {which!r}")
        return run_entry(self, rows[0])

    def ending(self, id: str) -> dict[str, Any]:
        """How a run ended, with values of the environment in it where they are still those of then."""
        ((kept,),) = self.read("SELECT ending FROM runs WHERE id = ?", (id,)) or [(None,)]
        if kept is None:
            return {}
        try:
            return self.withheld.filled(self.text(kept), f"run {id}")
        except NotThere:
            return shown(self.text(kept), f"run {id}")

    def has(self, id: str) -> bool:
        """Whether there is a run of this name."""
        return bool(self.read("SELECT 1 FROM runs WHERE id = ?", (id,)))

    def effects(self, id: str) -> Generator[EffectEntry]:
        """What a run has done, in the order in which it was begun."""
        last = -1
        while rows := self.read(
            "SELECT seq, path, kind, hash, effect, state, outcome, began, ended, cost, attempt FROM effects"
            " WHERE run = ? AND seq > ? ORDER BY seq LIMIT 500",
            (id, last),
        ):
            yield from (effect_entry(self, row[1:]) for row in rows)
            last = rows[-1][0]

    def effect(self, id: str, path: str) -> EffectEntry:
        """One step of a run."""
        found = self.read(
            "SELECT path, kind, hash, effect, state, outcome, began, ended, cost, attempt FROM effects"
            " WHERE run = ? AND path = ?",
            (id, path),
        )
        if not found:
            raise NotReadyError(f"run {id!r} has no step {path!r}; `antiphon runs show {id}` lists them")
        return effect_entry(self, found[0])

    def questions(self, id: str, limit: int | None = None, *, path: str | None = None) -> tuple[QuestionEntry, ...]:
        """What a run waits for people to say; at a `path`, what it waits for there."""
        most = "" if limit is None else f" LIMIT {int(limit)}"
        there, values = ("", (id,)) if path is None else (" AND path = ?", (id, path))
        rows = self.read(
            f"SELECT path, effect FROM effects WHERE run = ? AND state = 'waiting' AND kind = 'person'{there}"
            f" ORDER BY seq{most}",
            values,
        )
        return tuple(question_entry(self, path, effect) for path, effect in rows)

    def rows(self, parent: str) -> Generator[RunEntry]:
        """The runs of a run's rows, in order, a few at a time."""
        last = -1
        while found := self.read(
            f"SELECT {COLUMNS} FROM runs WHERE parent = ? AND kind = 'row' AND number > ? ORDER BY number LIMIT 200",
            (parent, last),
        ):
            for each in found:
                yield run_entry(self, each)
            last = found[-1][7]

    def asked(self, id: str) -> tuple[Conversation, Any, Any]:
        """What a session was asked in a run: the conversation as it was, the mode, and the prompt."""
        entry = self.find(id)
        found = self.read("SELECT said FROM runs WHERE id = ?", (entry.id,))
        if "mode" not in entry.begun_as:
            raise NotReadyError(f"run {id!r} is none of a session")
        return ask_from_json(self, entry.begun_as, found[0][0] or "")

    def shown(self, id: str, path: str, most: int, before: str = "") -> tuple[list[Turn], str]:
        """So many of the last turns that a model was shown with a request, and the name of what is `before` them.

        None, where it is private.
        """
        ((last,),) = self.read("SELECT said FROM effects WHERE run = ? AND path = ?", (id, path)) or [(None,)]
        return shown_turns(self, (before or last) if last else "", most)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def now(self) -> float:
        """The time, as all who share the journal have it, in seconds since 1970."""
        return self._database.now()

    # What is written down

    def read(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        """Rows; none, where nothing was ever written."""
        return self._database.read(statement, values)

    def text(self, kept: str) -> str:
        """A text that may be kept apart, or sealed."""
        text = self.raw(kept)
        return self.seal.open(text) if text.startswith(MARK) else text

    def raw(self, kept: str) -> str:
        """A text that may be kept apart; what is sealed stays so."""
        if not isinstance(kept, str):  # type: ignore[unreachable]
            raise StoreError(f"the journal is damaged: {kept!r} is no text")
        if not kept.startswith("@"):
            return kept
        found = self.read("SELECT body FROM texts WHERE hash = ?", (kept[1:],))
        if not found:
            raise StoreError(f"the journal is damaged: the text {kept[1:13]}… is gone")
        return found[0][0]
