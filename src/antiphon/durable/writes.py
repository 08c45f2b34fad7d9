"""Writing to a journal: only while a run is ours, large texts once, and batches that count when they are whole."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from antiphon.durable.asks import SaidRow
from antiphon.durable.entries import JournalFailed
from antiphon.durable.owner import is_there, owner_here, told_of
from antiphon.durable.records import Records
from antiphon.durable.seal import MARK
from antiphon.effects import Outcome, outcome_to_json
from antiphon.effects.codec import dump_ascii_json, encode_value
from antiphon.errors import AntiphonError, NotSavedError, SessionAborted, StoreError
from antiphon.storage.schema import KEEP, KEEP_SAID

T = TypeVar("T")
#: Larger texts are kept once, by their content.
LARGE = 8_192
#: The state of a batch, and of its rows, until all of them are written.
PREPARING = "preparing"
_ROW = ("id", "state", "created", "updated", "epoch", "owner", "kind", "title", "begun_as", "parent", "number")


class TakenOver(SessionAborted):
    """Somebody else goes on with this run, or has ended it; nothing that is done here from now on is written down."""


class Unfinished(AntiphonError):
    """A run that somebody else is at."""


class FencedWrites(Records):
    """What is written to a journal by whoever is at a run."""

    def closed_as(self, id: str, path: str, outcome: Outcome) -> str:
        """What somebody says came of a step, as it is written down: sealed, where the step is private."""
        body = self.withheld.out(dump_ascii_json(outcome_to_json(outcome)))
        asked = self.read("SELECT effect FROM effects WHERE run = ? AND path = ?", (id, path))
        return self.seal.close(body) if asked and self.raw(asked[0][0]).startswith(MARK) else body

    def begun_like(self, id: str, body: str) -> str:
        """How a run was begun, as it is written down: sealed, where that of this one is."""
        kept = self.read("SELECT begun_as FROM runs WHERE id = ?", (id,))
        return self.seal.close(body) if kept and self.raw(kept[0][0]).startswith(MARK) else body

    def write(
        self,
        run: str,
        epoch: int,
        statement: str,
        values: tuple[Any, ...],
        said: Sequence[SaidRow] = (),
        is_durable: bool = False,
    ) -> None:
        """Write, unless somebody else has taken the run over. Large texts of JSON among the values are kept apart.

        `said` are the rows of turns that are new. What is durable outlasts a power cut from here on.
        """
        large = {
            each: name_of(each) for each in values if isinstance(each, str) and len(each) > LARGE and each[0] in "{!~"
        }
        kept = [*((KEEP, (name[1:], text)) for text, name in large.items()), *((KEEP_SAID, row) for row in said)]
        if large:
            values = tuple(large.get(each, each) for each in values)
        try:
            if not self._database.write_at(run, epoch, statement, values, kept, is_durable):
                self._database.write(lambda connection: self._check_epoch(connection, run, epoch))
        except StoreError as error:
            raise JournalFailed(f"run {run!r} stops, because what it does cannot be written down: {error}") from error

    def forget_failure(self, run: str, epoch: int) -> None:
        """Remove the last step of a run if it is a request that failed; the run then has had no such step."""

        def remove(connection: Any) -> None:
            removed = connection.execute(
                "DELETE FROM effects WHERE run = ? AND kind = 'request' AND state = 'failed'"
                " AND seq = (SELECT max(seq) FROM effects WHERE run = ?)",
                (run, run),
            )
            if removed.rowcount:
                connection.execute("UPDATE runs SET steps = steps - 1 WHERE id = ?", (run,))

        self._write_fenced(run, epoch, remove)

    # Batches

    def add_rows(
        self, batch: str, epoch: int, rows: Sequence[tuple[int, Mapping[str, Any]]], is_private: bool = False
    ) -> None:
        """Write some rows of a batch that is `preparing`, in the order of their numbers. None of them can run yet."""
        now, close = self.now(), self.seal.close if is_private else str
        bodies = [(number, close(dump_ascii_json({"inputs": encode_value(inputs)}))) for number, inputs in rows]
        records = [
            (f"{batch}.{number}", PREPARING, now, now, 0, "", "row", f"row {number}", name_of(body), batch, number)
            for number, body in bodies
        ]

        def add(connection: Any) -> None:
            # A server that went away may have committed these rows before.
            connection.execute(
                "DELETE FROM runs WHERE parent = ? AND kind = 'row' AND number BETWEEN ? AND ?",
                (batch, bodies[0][0], bodies[-1][0]),
            )
            for _, body in bodies:
                self._keep(connection, body)
            self._database.insert(connection, "runs", _ROW, records)

        self._write_fenced(batch, epoch, add)

    def complete_batch(self, batch: str, epoch: int) -> None:
        """Make a batch and its rows ready, all at once: from now on they can run."""

        def complete(connection: Any) -> None:
            now = self._database.now(connection)
            connection.execute(
                "UPDATE runs SET state = 'ready', updated = ? WHERE parent = ? AND kind = 'row' AND state = ?",
                (now, batch, PREPARING),
            )
            connection.execute(
                "UPDATE runs SET state = 'ready', owner = '', updated = ? WHERE id = ? AND state = ?",
                (now, batch, PREPARING),
            )

        self._write_fenced(batch, epoch, complete)

    # Inside

    def _take(self, id: str, *, into: str = "running", by_force: bool = False) -> int:
        """Take a run for this process, and return its new epoch."""
        me = owner_here()

        def take(connection: Any) -> int:
            asked = "SELECT epoch, owner, state, parent FROM runs WHERE id = ?" + self._database.taken
            found = connection.execute(asked, (id,)).fetchone()
            if found is None:
                raise NotSavedError(f"there is no run {id!r}; `antiphon runs` lists them")
            epoch, owner, state, parent = found
            if not isinstance(epoch, int):
                raise StoreError(f"the journal is damaged: run {id!r} has {epoch!r} for its epoch")
            if state == "cancelled":
                raise Unfinished(f"run {id!r} was cancelled; `antiphon runs fork` begins another where it stood")
            if owner and owner != me and not by_force and is_there(owner):
                raise Unfinished(f"run {id!r} is being run by {told_of(owner, id)}")
            if state == PREPARING and into != PREPARING:
                raise Unfinished(
                    f"run {id!r} cannot run yet: not all rows of its batch are written;"
                    f" `antiphon runs resume {parent or id}` writes the rest"
                )
            connection.execute(
                "UPDATE runs SET state = ?, epoch = ?, owner = ?, updated = ?, wake_at = NULL WHERE id = ?",
                (into, epoch + 1, me, self._database.now(connection), id),
            )
            return epoch + 1

        return self._database.write(take)

    def _write_fenced(self, run: str, epoch: int, work: Callable[[Any], T]) -> T:
        """Do a transaction, unless somebody else has taken the run over."""

        def fenced(connection: Any) -> T:
            self._check_epoch(connection, run, epoch)
            return work(connection)

        return self._database.write(fenced)

    def _check_epoch(self, connection: Any, run: str, epoch: int) -> None:
        asked = "SELECT epoch, state FROM runs WHERE id = ?" + self._database.taken
        found = connection.execute(asked, (run,)).fetchone()
        if found is None or found[0] != epoch:
            how = "was removed" if found is None else "was cancelled" * (found[1] == "cancelled")
            raise TakenOver(f"run {run!r} {how or 'is gone on with elsewhere'}")

    def _keep(self, connection: Any, text: str) -> None:
        if len(text) > LARGE:
            connection.execute(KEEP, (name_of(text)[1:], text))


def name_of(text: str) -> str:
    """What stands for a text in a row: itself, or its hash."""
    return text if len(text) <= LARGE else f"@{hashlib.sha256(text.encode()).hexdigest()}"
