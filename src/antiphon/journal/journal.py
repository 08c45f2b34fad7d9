"""The journal: runs in the user's database, each begun, left and gone on with by its name."""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from antiphon.effects import Node, Outcome, Place, RunPython, Said, Step, Unsettled, at, outcome_json, perform, place
from antiphon.effects.written import as_text
from antiphon.errors import AntiphonError, NotReadyError
from antiphon.journal.entries import Entries
from antiphon.store.database import Database
from antiphon.store.place import default_path

P = ParamSpec("P")
R = TypeVar("R")


class TakenOver(AntiphonError):
    """Somebody else goes on with this run; nothing that is done here from now on is written down."""


class Unfinished(AntiphonError):
    """A run that somebody else is at."""


@dataclass(frozen=True, slots=True)
class RunEntry:
    """What the journal knows of a run; `waiting` are the paths and texts of its open questions."""

    id: str
    state: str
    created: float
    updated: float
    cost: float | None
    effects: int
    waiting: tuple[tuple[str, str], ...]


class Journal:
    """Runs, and what each has done. Without a path it is the file in which conversations are kept.

    `with journal.run("nightly-7"):` begins a run or goes on with it: what it has done already gives the outcomes of
    then, errors included, and only the rest is done. Requests and calls of sessions, and all that programs do, are
    written down by themselves; `step` does it for a function of your own.
    """

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        self._database = Database(Path(path) if path is not None else default_path())

    @contextmanager
    def run(self, id: str) -> Generator[None]:
        """Be in this run. Whatever is raised passes through, and the run can be gone on with."""
        epoch = self._take(id)
        entries = Entries(self, id, epoch)
        state = "failed"
        try:
            with at(Place(Node(), (*place().performers, entries))):
                yield
            state = "done"
        except Unsettled:
            state = "waiting"
            raise
        except Exception:
            raise
        except BaseException:
            state = "interrupted"
            raise
        finally:
            self._leave(id, epoch, state)

    def step(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function, once for all: the next time its value is that of now. Its value has a JSON form."""
        where = place()
        if not any(isinstance(each, Entries) for each in where.performers):
            raise NotReadyError("`step` belongs into `with journal.run(…):`")
        name = f"{function.__module__}.{function.__qualname__}"
        effect = RunPython(name, {"args": list(args), **({"kwargs": kwargs} if kwargs else {})})
        return perform(Step(where.node.next(), effect), lambda: function(*args, **kwargs))

    def runs(self) -> list[RunEntry]:
        """All runs, the newest first."""
        rows = self.read(
            "SELECT id, state, created, updated, (SELECT sum(cost) FROM effects WHERE run = id),"
            " (SELECT count(*) FROM effects WHERE run = id) FROM runs ORDER BY created DESC, rowid DESC",
            (),
        )
        return [RunEntry(*row[:6], waiting=self._questions(row[0])) for row in rows]

    def answer(self, id: str, path: str, said: Said) -> None:
        """Answer a question of a run that waits; it counts when the run is gone on with."""
        body = as_text(outcome_json(Outcome(said)))
        with self._database.writing() as connection:
            changed = connection.execute(
                "UPDATE effects SET state = 'done', outcome = ?, ended = ?"
                " WHERE run = ? AND path = ? AND kind = 'person' AND state = 'waiting'",
                (body, time.time(), id, path),
            ).rowcount
        if not changed:
            open_paths = ", ".join(each for each, _ in self._questions(id)) or "none"
            raise NotReadyError(f"run {id!r} has no open question {path!r}; open: {open_paths}")

    def forget(self, id: str) -> None:
        """Remove a run and all that it has done."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM runs WHERE id = ?", (id,))

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    # For the entries

    def read(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        """Rows; none, where nothing was ever written."""
        if not self._database.path.exists():
            return []
        with self._database.reading() as connection:
            return connection.execute(statement, values).fetchall()

    def text(self, kept: str) -> str:
        """A text that may be kept apart."""
        if not kept.startswith("@"):
            return kept
        ((text,),) = self.read("SELECT body FROM texts WHERE hash = ?", (kept[1:],))
        return text

    def write(self, run: str, epoch: int, statement: str, values: tuple[Any, ...]) -> None:
        """Write, unless somebody else has taken the run over."""
        with self._database.writing() as connection:
            ((now,),) = connection.execute("SELECT epoch FROM runs WHERE id = ?", (run,)).fetchall() or [(None,)]
            if now != epoch:
                raise TakenOver(f"run {run!r} is gone on with elsewhere")
            connection.execute(statement, values)

    # Inside

    def _take(self, id: str) -> int:
        """Take a run, new or old; nobody may be at it who is still there."""
        if not id or len(id) > 200:
            raise NotReadyError("a run needs a name of at most 200 characters")
        me = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        now = time.time()
        with self._database.writing() as connection:
            found = connection.execute("SELECT epoch, owner FROM runs WHERE id = ?", (id,)).fetchone()
            if found is None:
                connection.execute(
                    "INSERT INTO runs (id, state, created, updated, epoch, owner, kind, title, begun_as)"
                    " VALUES (?, 'running', ?, ?, 1, ?, 'python', ?, '{}')",
                    (id, now, now, me, id),
                )
                return 1
            epoch, owner = found
            if owner and _is_there(owner):
                raise Unfinished(f"run {id!r} is being run by process {owner.split(':')[1]}; wait for it, or end it")
            connection.execute(
                "UPDATE runs SET state = 'running', epoch = ?, owner = ?, updated = ? WHERE id = ?",
                (epoch + 1, me, now, id),
            )
            return epoch + 1

    def _leave(self, id: str, epoch: int, state: str) -> None:
        with self._database.writing() as connection:
            connection.execute(
                "UPDATE runs SET state = ?, owner = '', updated = ? WHERE id = ? AND epoch = ?",
                (state, time.time(), id, epoch),
            )

    def _questions(self, id: str) -> tuple[tuple[str, str], ...]:
        rows = self.read("SELECT path, effect FROM effects WHERE run = ? AND state = 'waiting' ORDER BY seq", (id,))
        return tuple((path, json.loads(self.text(effect))["text"]) for path, effect in rows)


def _is_there(owner: str) -> bool:
    """Whether the process that holds a run still lives; of another machine's nothing is known, so it may."""
    host, process, _ = owner.split(":")
    if host != socket.gethostname():
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
