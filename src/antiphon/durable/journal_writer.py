"""Writes to a journal: fenced by the epoch of a run, with large texts stored once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.durable.journal_middleware import JournalFailed
from antiphon.durable.journal_reader import JournalReader
from antiphon.durable.run_owner import describe_owner, is_owner_alive, make_owner_id
from antiphon.effects import Outcome, outcome_to_json
from antiphon.effects.codec import dump_ascii_json, encode_value
from antiphon.errors import StoreError
from antiphon.storage import leases, sessions, steps, texts
from antiphon.storage.encryption import ENCRYPTED_MARK
from antiphon.storage.leases import LeasedWrite
from antiphon.storage.texts import TurnRow


class JournalWriter(JournalReader):
    """Writes runs and effects. A write is rejected if another process has taken the run."""

    def encode_outcome(self, id: str, path: str, outcome: Outcome) -> str:
        """Return the stored form of an outcome that was given for a step; it is encrypted if the step is private."""
        body = self.secret_refs.insert_references(dump_ascii_json(outcome_to_json(outcome)))
        step = steps.find_step(self.database, id, path)
        is_private = step is not None and self.load_raw_text(step.request).startswith(ENCRYPTED_MARK)
        return self.cipher.encrypt(body) if is_private else body

    def encode_launch_data(self, id: str, data: Mapping[str, Any]) -> str:
        """Return the stored form of launch data; it is encrypted if that of this run is."""
        body = self.withhold_in_request(data)
        kept = sessions.find_launch(self.database, id)
        is_private = kept is not None and self.load_raw_text(kept).startswith(ENCRYPTED_MARK)
        return self.cipher.encrypt(body) if is_private else body

    def withhold_in_request(self, data: Mapping[str, Any]) -> str:
        """Return launch data as JSON, with references in place of secrets if it is that of a session.

        The inputs of programs are withheld by encryption.
        """
        body = dump_ascii_json(data)
        return self.secret_refs.insert_references(body) if "mode" in data else body

    def write_at_epoch(
        self, run: str, epoch: int, write: LeasedWrite, turns: Sequence[TurnRow] = (), is_durable: bool = False
    ) -> None:
        """Change a run, or raise LeaseLost if another process took it. Large texts are stored apart.

        `turns` holds the rows of new turns. If `is_durable`, the write survives a power failure.
        """
        statement, values = write
        values, extra = texts.split_large_texts(values)
        if turns:
            extra = [*extra, *texts.insert_turns_later(turns)]
        try:
            if not self.database.write_at_epoch(run, epoch, statement, values, extra, is_durable):
                leases.require_epoch(self.database, run, epoch)
        except StoreError as error:
            raise JournalFailed(
                f"session {run!r} stops, because its steps cannot be written to the database: {error}"
            ) from error

    def add_rows(
        self, batch: str, epoch: int, rows: Sequence[tuple[int, Mapping[str, Any]]], is_private: bool = False
    ) -> None:
        """Write rows of a batch that is `preparing`, in the order of their numbers. They cannot run yet."""
        close = self.cipher.encrypt if is_private else str
        bodies = [(number, close(dump_ascii_json({"inputs": encode_value(inputs)}))) for number, inputs in rows]
        sessions.add_rows(self.database, batch, epoch, bodies, self.now())

    def complete_batch(self, batch: str, epoch: int) -> None:
        """Make a batch and its rows ready to run, in one transaction."""
        sessions.complete_batch(self.database, batch, epoch)

    def _acquire(self, id: str, *, into: str = "running", by_force: bool = False, reopens: bool = False) -> int:
        """Acquire a run for this process, and return its new epoch."""

        def describe_alive(owner: str) -> str:
            return describe_owner(owner, id) if is_owner_alive(owner) else ""

        return leases.acquire(
            self.database,
            id,
            make_owner_id(),
            into=into,
            by_force=by_force,
            reopens=reopens,
            describe_alive=describe_alive,
        )
