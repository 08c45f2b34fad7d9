"""Writes to a journal: fenced by the epoch of a run, with large texts stored once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from antiphon.durable.encryption import ENCRYPTED_MARK
from antiphon.durable.journal_middleware import JournalFailed
from antiphon.durable.journal_reader import JournalReader
from antiphon.durable.run_owner import describe_owner, is_owner_alive, make_owner_id
from antiphon.durable.turn_history import TurnRow
from antiphon.effects import Outcome, outcome_to_json
from antiphon.effects.codec import dump_ascii_json, encode_value
from antiphon.errors import AntiphonError, NotSavedError, SessionAborted, StoreError
from antiphon.storage.schema import INSERT_TEXT, INSERT_TURN

T = TypeVar("T")
#: Longer texts are stored once, by hash.
LARGE_TEXT = 8_192
#: The state of a batch and its rows until all of them are written.
PREPARING = "preparing"
#: How a run was taken from its process, by its new state.
_STOPPED_BY = {"cancelled": "was stopped for good", "interrupted": "was stopped"}
_ROW_COLUMNS = ("id", "state", "created", "updated", "epoch", "owner", "kind", "title", "begun_as", "parent", "number")


class LeaseLost(SessionAborted):
    """Another process took the run or cancelled it; this process can no longer write its effects."""


class RunInUse(AntiphonError):
    """A run that another process owns."""


class JournalWriter(JournalReader):
    """Writes runs and effects. A write is rejected if another process has taken the run."""

    def encode_outcome(self, id: str, path: str, outcome: Outcome) -> str:
        """Return the stored form of an outcome that was given for a step; it is encrypted if the step is private."""
        body = self.secret_refs.insert_references(dump_ascii_json(outcome_to_json(outcome)))
        asked = self.query("SELECT effect FROM effects WHERE run = ? AND path = ?", (id, path))
        return (
            self.cipher.encrypt(body) if asked and self.load_raw_text(asked[0][0]).startswith(ENCRYPTED_MARK) else body
        )

    def encode_launch_data(self, id: str, body: str) -> str:
        """Return the stored form of launch data; it is encrypted if that of this run is."""
        kept = self.query("SELECT begun_as FROM runs WHERE id = ?", (id,))
        return self.cipher.encrypt(body) if kept and self.load_raw_text(kept[0][0]).startswith(ENCRYPTED_MARK) else body

    def write_at_epoch(
        self,
        run: str,
        epoch: int,
        statement: str,
        values: tuple[Any, ...],
        said: Sequence[TurnRow] = (),
        is_durable: bool = False,
    ) -> None:
        """Execute a statement for a run, or raise LeaseLost if another process took it. Large texts are stored apart.

        `said` holds the rows of new turns. If `is_durable`, the write survives a power failure.
        """
        large = {
            each: make_text_ref(each)
            for each in values
            if isinstance(each, str) and len(each) > LARGE_TEXT and each[0] in "{!~"
        }
        kept = [
            *((INSERT_TEXT, (name[1:], text)) for text, name in large.items()),
            *((INSERT_TURN, row) for row in said),
        ]
        if large:
            values = tuple(large.get(each, each) for each in values)
        try:
            if not self._database.write_at_epoch(run, epoch, statement, values, kept, is_durable):
                self._database.transact(lambda connection: self._check_epoch(connection, run, epoch))
        except StoreError as error:
            raise JournalFailed(
                f"session {run!r} stops, because its steps cannot be written to the database: {error}"
            ) from error

    def remove_failed_request(self, run: str, epoch: int) -> None:
        """Remove the last step of a run if it is a failed model request."""

        def remove(connection: Any) -> None:
            removed = connection.execute(
                "DELETE FROM effects WHERE run = ? AND kind = 'request' AND state = 'failed'"
                " AND seq = (SELECT max(seq) FROM effects WHERE run = ?)",
                (run, run),
            )
            if removed.rowcount:
                connection.execute("UPDATE runs SET steps = steps - 1 WHERE id = ?", (run,))

        self._write_fenced(run, epoch, remove)

    def add_rows(
        self, batch: str, epoch: int, rows: Sequence[tuple[int, Mapping[str, Any]]], is_private: bool = False
    ) -> None:
        """Write rows of a batch that is `preparing`, in the order of their numbers. They cannot run yet."""
        now, close = self.now(), self.cipher.encrypt if is_private else str
        bodies = [(number, close(dump_ascii_json({"inputs": encode_value(inputs)}))) for number, inputs in rows]
        records = [
            (
                f"{batch}.{number}",
                PREPARING,
                now,
                now,
                0,
                "",
                "row",
                f"row {number}",
                make_text_ref(body),
                batch,
                number,
            )
            for number, body in bodies
        ]

        def add(connection: Any) -> None:
            # After a lost connection, these rows may have been committed already.
            connection.execute(
                "DELETE FROM runs WHERE parent = ? AND kind = 'row' AND number BETWEEN ? AND ?",
                (batch, bodies[0][0], bodies[-1][0]),
            )
            for _, body in bodies:
                self._store_text(connection, body)
            self._database.insert_rows(connection, "runs", _ROW_COLUMNS, records)

        self._write_fenced(batch, epoch, add)

    def complete_batch(self, batch: str, epoch: int) -> None:
        """Make a batch and its rows ready to run, in one transaction."""

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

    def _acquire(self, id: str, *, into: str = "running", by_force: bool = False) -> int:
        """Acquire a run for this process, and return its new epoch."""
        me = make_owner_id()

        def take(connection: Any) -> int:
            asked = "SELECT epoch, owner, state, parent FROM runs WHERE id = ?" + self._database.lock_clause
            found = connection.execute(asked, (id,)).fetchone()
            if found is None:
                raise NotSavedError(f"there is no session {id!r}; `antiphon list` lists them")
            epoch, owner, state, parent = found
            if not isinstance(epoch, int):
                raise StoreError(f"the database is damaged: session {id!r} has {epoch!r} for its epoch")
            if state == "cancelled":
                raise RunInUse(f"session {id!r} was stopped for good; `antiphon resume {id} --fork` continues a copy")
            if owner and owner != me and not by_force and is_owner_alive(owner):
                raise RunInUse(f"session {id!r} is running in {describe_owner(owner, id)}")
            if state == PREPARING and into != PREPARING:
                raise RunInUse(
                    f"session {id!r} cannot run yet: not all rows of its batch are written;"
                    f" `antiphon resume {parent or id}` writes the rest"
                )
            connection.execute(
                "UPDATE runs SET state = ?, epoch = ?, owner = ?, updated = ?, wake_at = NULL WHERE id = ?",
                (into, epoch + 1, me, self._database.now(connection), id),
            )
            return epoch + 1

        return self._database.transact(take)

    def _write_fenced(self, run: str, epoch: int, work: Callable[[Any], T]) -> T:
        """Run a transaction, or raise LeaseLost if another process took the run."""

        def fenced(connection: Any) -> T:
            self._check_epoch(connection, run, epoch)
            return work(connection)

        return self._database.transact(fenced)

    def _check_epoch(self, connection: Any, run: str, epoch: int) -> None:
        asked = "SELECT epoch, state FROM runs WHERE id = ?" + self._database.lock_clause
        found = connection.execute(asked, (run,)).fetchone()
        if found is None or found[0] != epoch:
            how = "was deleted" if found is None else _STOPPED_BY.get(found[1], "was resumed by another process")
            raise LeaseLost(f"session {run!r} {how}")

    def _store_text(self, connection: Any, text: str) -> None:
        if len(text) > LARGE_TEXT:
            connection.execute(INSERT_TEXT, (make_text_ref(text)[1:], text))


def make_text_ref(text: str) -> str:
    """Return the text for a row: itself, or a reference with its hash if it is large."""
    return text if len(text) <= LARGE_TEXT else f"@{hashlib.sha256(text.encode()).hexdigest()}"
