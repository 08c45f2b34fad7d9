"""The SQLite file: opened when first used, brought up to date, one transaction at a time, errors in plain words."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from antiphon.errors import StoreError
from antiphon.storage.schema import APPLICATION_ID, AT_EPOCH, CREATE_INDEX, MIGRATIONS
from antiphon.storage.store_location import STORE_VARIABLE, read_synchronous_level

T = TypeVar("T")

_OTHER_FILE_HINT = f"`{STORE_VARIABLE}` names another file, `{STORE_VARIABLE}=off` saves nothing"
_REASONS = {
    "NOTADB": f"is not a database; {_OTHER_FILE_HINT}",
    "CORRUPT": "is damaged; `sqlite3 FILE .recover` may save the rest. Move it away to start again, or "
    + _OTHER_FILE_HINT,
    "READONLY": f"cannot be written: the file or its directory is read-only; {_OTHER_FILE_HINT}",
    "PERM": f"cannot be opened: permission denied; {_OTHER_FILE_HINT}",
    "CANTOPEN": f"cannot be opened: its directory cannot be written or it is no file; {_OTHER_FILE_HINT}",
    "FULL": f"cannot be written: the disk is full; nothing was changed. {_OTHER_FILE_HINT}",
    "IOERR": f"cannot be read or written: the disk fails or is full; nothing was changed. {_OTHER_FILE_HINT}",
}

_FAILURES = (sqlite3.Error, UnicodeDecodeError, OSError)


class SqliteDatabase:
    """One file and one connection, which threads may share: each transaction has it alone."""

    #: Added to a `SELECT` where rows have locks; here one who writes has all of them.
    taken = ""

    def __init__(self, path: Path, *, timeout: float = 5.0, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
        if "\0" in str(path):
            raise StoreError(f"the store of conversations cannot lie in {str(path)!r}: no file has such a name")
        self.path = path
        #: Whether the words of the turns are in a full-text index.
        self.has_index = False
        self._timeout = timeout
        self._migrations = migrations
        self._connection: sqlite3.Connection | None = None
        #: What was chosen for this connection, and what it does just now.
        self._chosen = self._level = ""
        self._lock = RLock()

    @contextmanager
    def read_transaction(self) -> Generator[sqlite3.Connection]:
        """One state of the database, whatever others write meanwhile. The file must be there."""
        with self._lock, self._translate_errors():
            connection = self._open()
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                _roll_back(connection)

    @contextmanager
    def write_transaction(self) -> Generator[sqlite3.Connection]:
        """All of what is done inside, or nothing. The file is made where there is none."""
        with self._lock, self._translate_errors():
            connection = self._open_or_create()
            with _transaction(connection):
                yield connection

    def query(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """Rows; none, where nothing was ever written. One statement sees one state, without a transaction."""
        if not self.path.exists():
            return []
        with self._lock, self._translate_errors():
            return self._open().execute(statement, values).fetchall()

    def transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What comes of a transaction."""
        with self.write_transaction() as connection:
            return work(connection)

    def write_at_epoch(
        self,
        run: str,
        epoch: int,
        statement: str,
        values: Sequence[Any],
        kept: Sequence[tuple[str, Sequence[str]]] = (),
        is_durable: bool = False,
    ) -> bool:
        """Whether something was changed by a statement that takes its run from `at`: a run that is at this epoch.

        What it names is `kept` with it, by statements of its own, so that nobody finds it unused in between. What is
        durable outlasts a power cut from here on.
        """
        if kept:
            with self._lock, self._translate_errors():
                self._synchronise(self._open_or_create(), is_durable)
            with self.write_transaction() as connection:
                is_changed = _execute_at_epoch(connection, run, epoch, statement, values)
                for keep, row in kept if is_changed else ():
                    connection.execute(keep, row)
                return is_changed
        # Every effect of a run comes by here twice: one statement, and no more around it than it needs.
        try:
            with self._lock:
                connection = self._open_or_create()
                self._synchronise(connection, is_durable)
                return _execute_at_epoch(connection, run, epoch, statement, values)
        except _FAILURES as error:
            raise self._make_error(error) from None

    def insert_rows(self, connection: Any, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Add many rows to a table."""
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)

    def announce_ready(self, connection: Any, run: str) -> None:
        """Tell whoever waits that a run is ready: here nobody does."""

    def finish_batch_of(self, row: str) -> None:
        """End the batch of a row that has ended: here whoever runs the batch does it."""

    def now(self, connection: Any = None) -> float:  # noqa: ARG002
        """The time of this machine, which alone has the file."""
        return time.time()

    def find_reserved_time(self, connection: Any, run: str) -> float | None:
        """When the first request of a run may be sent that waits for a limit of all machines: here there are none."""

    def vacuum(self) -> None:
        """Overwrite what was removed, in the index and in the log of changes too, and give the space back."""
        with self._lock, self._translate_errors():
            connection = self._open()
            if self.has_index:
                connection.execute("INSERT INTO words (words) VALUES ('optimize')")
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Let go of the file; it is opened again when it is needed."""
        with self._lock, self._translate_errors():
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    # Opening

    def _open_or_create(self) -> sqlite3.Connection:
        if self._connection is None:
            self._make_file()
        return self._open()

    def _make_file(self) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # One that is there is not opened: closing it would let go of the locks that this process has on it elsewhere.
        if not self.path.exists():
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        if not self.path.stat().st_size:
            os.chmod(self.path, 0o600)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self._connection = self._connect("mode=rw")
            except sqlite3.OperationalError as error:
                if _get_error_name(error) not in ("READONLY", "CANTOPEN") or self._has_wal():
                    raise
                # SQLite keeps a file beside one that it reads, unless it is told that nobody writes it.
                self._connection = self._connect("immutable=1")
        return self._connection

    def _has_wal(self) -> bool:
        log = self.path.with_name(self.path.name + "-wal")
        return not self.path.is_file() or (log.exists() and log.stat().st_size > 0)

    def _connect(self, how: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?{how}",
            uri=True,
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        # A damaged text must not hide the rows around it.
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        self._chosen, self._level = read_synchronous_level(), ""
        self._synchronise(connection, False)
        for setting in ("foreign_keys = ON", "secure_delete = ON"):
            connection.execute(f"PRAGMA {setting}")
        if self._version(connection) < len(self._migrations):
            self._migrate(connection)
        self.has_index = _ensure_index(connection)

    def _synchronise(self, connection: sqlite3.Connection, is_durable: bool) -> None:
        """Choose whether the next commit waits for the disk, and with it all commits before."""
        level = "FULL" if self._chosen == "full" or (is_durable and self._chosen == "effects") else "NORMAL"
        if level != self._level:
            connection.execute(f"PRAGMA synchronous = {level}")
            self._level = level

    def _version(self, connection: sqlite3.Connection) -> int:
        """The number of the newest migration in it; a file that is not ours, or newer than we know, is an error."""
        # One statement sees one state: another process may be making the tables just now.
        whose, tables = connection.execute(
            "SELECT (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_master)"
        ).fetchone()
        if whose != APPLICATION_ID:
            if tables:
                raise StoreError(f"{self.path} is a database of another program; {_OTHER_FILE_HINT}")
            return 0
        (version,) = connection.execute("SELECT max(version) FROM schema").fetchone()
        if not isinstance(version, int) or version < 1:
            raise StoreError(f"{self.path} {_REASONS['CORRUPT']}")
        if version > len(self._migrations):
            raise StoreError(
                f"{self.path} was written by a newer release (schema {version}, this one knows"
                f" {len(self._migrations)}); update antiphon, or {_OTHER_FILE_HINT}"
            )
        return version

    def _migrate(self, connection: sqlite3.Connection) -> None:
        self._enable_wal(connection)
        version = 0
        while version < len(self._migrations):
            with _transaction(connection):
                # Asked again with the lock in hand: another process may have been faster.
                version = self._version(connection)
                if version < len(self._migrations):
                    for statement in self._migrations[version]:
                        connection.execute(statement)
                    version += 1
                    connection.execute("INSERT INTO schema VALUES (?)", (version,))

    def _enable_wal(self, connection: sqlite3.Connection) -> None:
        """WAL mode, which the file remembers. Here SQLite does not wait by itself for another process to let go."""
        end = time.monotonic() + self._timeout
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if _get_error_name(error) != "BUSY" or time.monotonic() > end:
                    raise
            time.sleep(0.02)

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        try:
            yield
        except _FAILURES as error:
            raise self._make_error(error) from None

    def _make_error(self, error: sqlite3.Error | UnicodeDecodeError | OSError) -> StoreError:
        return StoreError(f"{self.path} {self._reason(error)}")

    def _reason(self, error: sqlite3.Error | UnicodeDecodeError | OSError) -> str:
        if isinstance(error, OSError):
            return f"cannot be opened: {error.strerror or error}; {_OTHER_FILE_HINT}"
        if isinstance(error, UnicodeDecodeError):
            # SQLite quotes the damage in its message, which Python then cannot read.
            return _REASONS["CORRUPT"]
        if _get_error_name(error) in ("BUSY", "LOCKED"):
            return f"is in use: another program has not let go of it for {self._timeout:g} s; try again"
        return _REASONS.get(
            _get_error_name(error), f"cannot be used as the store of conversations: {error}; {_OTHER_FILE_HINT}"
        )


def _get_error_name(error: sqlite3.Error) -> str:
    """SQLite's word for what went wrong, without what it adds to it: `SQLITE_IOERR_WRITE` is `IOERR`."""
    return (getattr(error, "sqlite_errorname", None) or "SQLITE_ERROR").split("_")[1]


def _execute_at_epoch(
    connection: sqlite3.Connection, run: str, epoch: int, statement: str, values: Sequence[Any]
) -> bool:
    before = connection.total_changes
    connection.execute(f"{AT_EPOCH} {statement}", (run, epoch, *values))
    return connection.total_changes > before


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Generator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        _roll_back(connection)
        raise


def _roll_back(connection: sqlite3.Connection) -> None:
    # After some errors SQLite has done it already.
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _ensure_index(connection: sqlite3.Connection) -> bool:
    """Whether there is a full-text index, which is made or completed here; without one, search looks at every turn."""
    try:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone():
            _make_index(connection)
        connection.execute("SELECT rowid FROM words LIMIT 0")
        if connection.execute("SELECT 1 FROM unindexed").fetchone():
            _complete_index(connection)
    except sqlite3.OperationalError:
        return False
    return True


def _make_index(connection: sqlite3.Connection) -> None:
    with _transaction(connection):
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone():
            connection.execute(CREATE_INDEX)
            connection.execute("INSERT INTO words (words) VALUES ('rebuild')")
            connection.execute("DELETE FROM unindexed")


def _complete_index(connection: sqlite3.Connection) -> None:
    with _transaction(connection):
        connection.execute(
            "INSERT INTO words (rowid, text) SELECT key, text FROM turns WHERE key IN (SELECT key FROM unindexed)"
        )
        connection.execute("DELETE FROM unindexed")
