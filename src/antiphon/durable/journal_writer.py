"""Writing to a journal: only while a run is ours, large texts once, and batches that count when they are whole."""

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
#: Larger texts are kept once, by their content.
LARGE_TEXT = 8_192
#: The state of a batch, and of its rows, until all of them are written.
PREPARING = "preparing"
_ROW_COLUMNS = ("id", "state", "created", "updated", "epoch", "owner", "kind", "title", "begun_as", "parent", "number")


class LeaseLost(SessionAborted):
    """Somebody else goes on with this run, or has ended it; nothing that is done here from now on is written down."""


class RunInUse(AntiphonError):
    """A run that somebody else is at."""


class JournalWriter(JournalReader):
    """What is written to a journal by whoever is at a run."""

    def encode_outcome(self, id: str, path: str, outcome: Outcome) -> str:
        """What somebody says came of a step, as it is written down: sealed, where the step is private."""
        body = self.secret_refs.insert_references(dump_ascii_json(outcome_to_json(outcome)))
        asked = self.query("SELECT effect FROM effects WHERE run = ? AND path = ?", (id, path))
        return (
            self.cipher.encrypt(body) if asked and self.load_raw_text(asked[0][0]).startswith(ENCRYPTED_MARK) else body
        )

    def encode_launch_data(self, id: str, body: str) -> str:
        """How a run was begun, as it is written down: sealed, where that of this one is."""
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
        """Write, unless somebody else has taken the run over. Large texts of JSON among the values are kept apart.

        `said` are the rows of turns that are new. What is durable outlasts a power cut from here on.
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
            raise JournalFailed(f"run {run!r} stops, because what it does cannot be written down: {error}") from error

    def remove_failed_request(self, run: str, epoch: int) -> None:
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
            # A server that went away may have committed these rows before.
            connection.execute(
                "DELETE FROM runs WHERE parent = ? AND kind = 'row' AND number BETWEEN ? AND ?",
                (batch, bodies[0][0], bodies[-1][0]),
            )
            for _, body in bodies:
                self._store_text(connection, body)
            self._database.insert_rows(connection, "runs", _ROW_COLUMNS, records)

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

    def _acquire(self, id: str, *, into: str = "running", by_force: bool = False) -> int:
        """Take a run for this process, and return its new epoch."""
        me = make_owner_id()

        def take(connection: Any) -> int:
            asked = "SELECT epoch, owner, state, parent FROM runs WHERE id = ?" + self._database.taken
            found = connection.execute(asked, (id,)).fetchone()
            if found is None:
                raise NotSavedError(f"there is no run {id!r}; `antiphon runs` lists them")
            epoch, owner, state, parent = found
            if not isinstance(epoch, int):
                raise StoreError(f"the journal is damaged: run {id!r} has {epoch!r} for its epoch")
            if state == "cancelled":
                raise RunInUse(f"run {id!r} was cancelled; `antiphon runs fork` begins another where it stood")
            if owner and owner != me and not by_force and is_owner_alive(owner):
                raise RunInUse(f"run {id!r} is being run by {describe_owner(owner, id)}")
            if state == PREPARING and into != PREPARING:
                raise RunInUse(
                    f"run {id!r} cannot run yet: not all rows of its batch are written;"
                    f" `antiphon runs resume {parent or id}` writes the rest"
                )
            connection.execute(
                "UPDATE runs SET state = ?, epoch = ?, owner = ?, updated = ?, wake_at = NULL WHERE id = ?",
                (into, epoch + 1, me, self._database.now(connection), id),
            )
            return epoch + 1

        return self._database.transact(take)

    def _write_fenced(self, run: str, epoch: int, work: Callable[[Any], T]) -> T:
        """Do a transaction, unless somebody else has taken the run over."""

        def fenced(connection: Any) -> T:
            self._check_epoch(connection, run, epoch)
            return work(connection)

        return self._database.transact(fenced)

    def _check_epoch(self, connection: Any, run: str, epoch: int) -> None:
        asked = "SELECT epoch, state FROM runs WHERE id = ?" + self._database.taken
        found = connection.execute(asked, (run,)).fetchone()
        if found is None or found[0] != epoch:
            how = "was removed" if found is None else "was cancelled" * (found[1] == "cancelled")
            raise LeaseLost(f"run {run!r} {how or 'is gone on with elsewhere'}")

    def _store_text(self, connection: Any, text: str) -> None:
        if len(text) > LARGE_TEXT:
            connection.execute(INSERT_TEXT, (make_text_ref(text)[1:], text))


def make_text_ref(text: str) -> str:
    """What stands for a text in a row: itself, or its hash."""
    return text if len(text) <= LARGE_TEXT else f"@{hashlib.sha256(text.encode()).hexdigest()}"
