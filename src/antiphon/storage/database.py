"""The base class of databases for journals; statements use the SQL and the placeholders of SQLite."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class LeasedWrite(NamedTuple):
    """A statement that changes a session only at the epoch of its owner, and its values."""

    statement: str
    values: tuple[Any, ...]


def make_assignments(columns: Iterable[str]) -> str:
    """Return the part of an `UPDATE` that sets these columns."""
    return ", ".join(f"{column} = ?" for column in columns)


class Database(ABC):
    """A database with the tables of runs."""

    #: The path or URL, without a password.
    name: str
    #: The name of the function that finds a text in another.
    position_function = "instr"
    #: The expression of the time in seconds since 1970, and the name of the function for the larger value.
    now_expression = "((julianday('now') - 2440587.5) * 86400.0)"
    greatest_function = "max"
    #: Whether many machines share it.
    is_shared = False
    #: Appended to a `SELECT` to lock its rows until the end of the transaction.
    lock_clause = ""

    @property
    def exists(self) -> bool:
        """True if there is something to read."""
        return True

    @abstractmethod
    def read_transaction(self) -> AbstractContextManager[Any]:
        """Start a read transaction, which sees one snapshot."""

    @abstractmethod
    def write_transaction(self) -> AbstractContextManager[Any]:
        """Start a write transaction."""

    @abstractmethod
    def query(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """Return the rows of a statement."""

    def transact(self, work: Callable[[Any], T]) -> T:
        """Return the result of a write transaction, which may be retried."""
        with self.write_transaction() as connection:
            return work(connection)

    @abstractmethod
    def write_at_epoch(
        self, run: str, epoch: int, write: LeasedWrite, kept: Sequence[LeasedWrite] = (), is_durable: bool = False
    ) -> bool:
        """Execute a statement that reads its run from `at`; return False if the run is at another epoch.

        The `kept` statements run in the same transaction, so that nobody removes their texts as unused. If
        `is_durable`, the write survives a power failure; a server decides that itself.
        """

    def insert_rows(self, connection: Any, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Insert many rows."""
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)

    @abstractmethod
    def insert_turn_texts(self, connection: Any, texts: Sequence[str]) -> list[int]:
        """Store the searchable texts of turns, and return their keys."""

    @abstractmethod
    def delete_unlisted_texts(self, connection: Any, keys: Sequence[int] | None = None) -> None:
        """Delete the searchable texts with these keys, or of all, whose turns are in no transcript."""

    @abstractmethod
    def find_turns(self, connection: Any, term: str) -> Iterable[tuple[str, int]]:
        """Return the sessions and positions of the turns that contain a term."""

    @abstractmethod
    def check_writable(self) -> None:
        """Raise a StoreError if the database cannot be opened and written."""

    def vacuum(self) -> None:  # noqa: B027
        """Overwrite removed data, if that is not the task of a server."""

    @abstractmethod
    def now(self, connection: Any = None) -> float:
        """Return the time in seconds since 1970, by the clock that all processes share."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections; they are opened again when needed."""

    def announce_ready(self, connection: Any, run: str) -> None:
        """Queue a ready run for workers in this transaction, if there is a queue."""
        del connection, run

    def finish_batch_of(self, row: str) -> None:
        """Mark the batch of an ended row as done if it was the last row, and no process runs the batch."""
        del row

    def list_heartbeats(self, process: str) -> list[tuple[float]]:
        """Return when a worker process was last seen, if there are workers."""
        del process
        return []

    def find_reserved_time(self, connection: Any, run: str) -> float | None:
        """Return the earliest reserved moment of a run's requests, or None."""
        del connection, run
