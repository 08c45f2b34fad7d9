"""The SQLite file: opened on first use, migrated, with one transaction at a time and readable errors."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any

from antiphon.errors import StoreError
from antiphon.storage.database import Database, LeasedWrite
from antiphon.storage.schema import APPLICATION_ID, AT_EPOCH, CREATE_INDEX, MIGRATIONS, Migration
from antiphon.storage.search import is_indexed, is_prefix
from antiphon.storage.store_location import read_synchronous_level

#: The place of a database in memory.
MEMORY = ":memory:"

_OTHER_FILE_HINT = "`--db FILE` uses another file, `--db off` saves nothing"
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


class SqliteDatabase(Database):
    """A SQLite file with one connection, which threads share; transactions exclude each other."""

    def __init__(self, path: Path, *, timeout: float = 5.0, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        if "\0" in str(path):
            raise StoreError(f"the store of conversations cannot be {str(path)!r}: this is not a valid file name")
        self.path = path
        self.name = str(path)
        #: Whether it lives in the memory of this process.
        self.is_memory = str(path) == MEMORY
        #: Whether the full-text index exists.
        self.has_index = False
        self._timeout = timeout
        self._migrations = migrations
        self._connection: sqlite3.Connection | None = None
        #: The chosen synchronous mode, and the current one of the connection.
        self._chosen = self._level = ""
        self._lock = RLock()

    @property
    def exists(self) -> bool:
        """True if there is something to read."""
        return self._connection is not None if self.is_memory else self.path.exists()

    @contextmanager
    def read_transaction(self) -> Generator[sqlite3.Connection]:
        """Start a read transaction, which sees one snapshot. The file must exist."""
        with self._lock, self._translate_errors():
            connection = self._open()
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                _roll_back(connection)

    @contextmanager
    def write_transaction(self) -> Generator[sqlite3.Connection]:
        """Start a write transaction. The file is created if needed."""
        with self._lock, self._translate_errors():
            connection = self._open_or_create()
            with _transaction(connection):
                yield connection

    def query(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """Return the rows of a statement; none if the file does not exist."""
        if not self.exists:
            return []
        with self._lock, self._translate_errors():
            return self._open().execute(statement, values).fetchall()

    def write_at_epoch(
        self, run: str, epoch: int, write: LeasedWrite, kept: Sequence[LeasedWrite] = (), is_durable: bool = False
    ) -> bool:
        if kept:
            with self._lock, self._translate_errors():
                self._synchronise(self._open_or_create(), is_durable)
            with self.write_transaction() as connection:
                is_changed = _execute_at_epoch(connection, run, epoch, write)
                for keep, row in kept if is_changed else ():
                    connection.execute(keep, row)
                return is_changed
        # This is the hot path: every effect comes here twice, so it is a single statement.
        try:
            with self._lock:
                connection = self._open_or_create()
                self._synchronise(connection, is_durable)
                return _execute_at_epoch(connection, run, epoch, write)
        except _FAILURES as error:
            raise self._make_error(error) from None

    def insert_turn_texts(self, connection: Any, texts: Sequence[str]) -> list[int]:
        keys: list[int] = []
        for text in texts:
            keys.append(connection.execute("INSERT INTO turn_texts (text) VALUES (?)", (text,)).lastrowid)
            if self.has_index:
                connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (keys[-1], text))
            else:
                connection.execute("INSERT INTO unindexed VALUES (?)", (keys[-1],))
        return keys

    def delete_unlisted_texts(self, connection: Any, keys: Sequence[int] | None = None) -> None:
        unlisted = "FROM turn_texts WHERE NOT EXISTS (SELECT 1 FROM transcript WHERE text_key = key)"
        for which, values in [("", ())] if keys is None else [(" AND key = ?", (key,)) for key in keys]:
            if self.has_index:
                # The index has no copy of the text, so a deletion must supply it.
                connection.execute(
                    f"INSERT INTO words (words, rowid, text) SELECT 'delete', key, text {unlisted}{which}"
                    " AND key NOT IN (SELECT key FROM unindexed)",
                    values,
                )
            connection.execute(f"DELETE FROM unindexed WHERE key IN (SELECT key {unlisted}{which})", values)
            connection.execute(f"DELETE {unlisted}{which}", values)

    def find_turns(self, connection: Any, term: str) -> Iterable[tuple[str, int]]:
        if self.has_index and is_indexed(term):
            quoted = f'"{term}"{"*" if is_prefix(term) else ""}'
            return connection.execute(
                "SELECT session, position FROM words JOIN transcript ON text_key = words.rowid WHERE words MATCH ?",
                (quoted,),
            )
        # LIKE would limit the length of the pattern and has wildcards.
        return connection.execute(
            "SELECT session, position FROM turn_texts JOIN transcript ON text_key = key"
            " WHERE instr(lower(text), lower(?))",
            (term,),
        )

    def check_writable(self) -> None:
        """Raise a StoreError if the file cannot be opened and written, or created if it does not exist."""
        if self.is_memory or self.exists:
            with self.write_transaction() as connection:
                # For a file that can only be read, SQLite begins a transaction without an error.
                connection.execute("DELETE FROM schema WHERE version < 0")
            return
        if self.path.is_dir():
            raise StoreError(f"{self.path} {_describe_directory(self.path)}")
        place = next(each for each in self.path.parents if each.exists())
        if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
            raise StoreError(f"{self.path} {_REASONS['CANTOPEN']}")

    def now(self, connection: Any = None) -> float:  # noqa: ARG002
        """Return the time of this machine."""
        return time.time()

    def vacuum(self) -> None:
        """Overwrite removed data, also in the index and the write-ahead log, and shrink the file."""
        with self._lock, self._translate_errors():
            connection = self._open()
            if self.has_index:
                connection.execute("INSERT INTO words (words) VALUES ('optimize')")
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file; it is opened again when needed. A database in memory stays as it is."""
        if self.is_memory:
            return
        with self._lock, self._translate_errors():
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open_or_create(self) -> sqlite3.Connection:
        if self._connection is None and not self.is_memory:
            self._make_file()
        return self._open()

    def _make_file(self) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Do not open an existing file: closing it would drop the POSIX locks of this process.
        if not self.path.exists():
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        if not self.path.stat().st_size:
            os.chmod(self.path, 0o600)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self._connection = self._connect("mode=rw")
            except sqlite3.OperationalError as error:
                if get_error_name(error) not in ("READONLY", "CANTOPEN") or self._has_wal():
                    raise
                # In a read-only directory SQLite cannot create its side files, so open it as immutable.
                self._connection = self._connect("immutable=1")
        return self._connection

    def _has_wal(self) -> bool:
        log = self.path.with_name(self.path.name + "-wal")
        return not self.path.is_file() or (log.exists() and log.stat().st_size > 0)

    def _connect(self, how: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            MEMORY if self.is_memory else f"{self.path.absolute().as_uri()}?{how}",
            uri=not self.is_memory,
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
        # A damaged text must not prevent reading the other rows.
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        self._chosen, self._level = read_synchronous_level(), ""
        self._synchronise(connection, False)
        for setting in ("foreign_keys = ON", "secure_delete = ON"):
            connection.execute(f"PRAGMA {setting}")
        if self._version(connection) < len(self._migrations):
            self._migrate(connection)
        self.has_index = _ensure_index(connection)

    def _synchronise(self, connection: sqlite3.Connection, is_durable: bool) -> None:
        """Choose whether the next commit waits for the disk."""
        level = "FULL" if self._chosen == "full" or (is_durable and self._chosen == "effects") else "NORMAL"
        if level != self._level:
            connection.execute(f"PRAGMA synchronous = {level}")
            self._level = level

    def _version(self, connection: sqlite3.Connection) -> int:
        """Return the schema version. A file of another program or of a newer release is an error."""
        # One statement sees one snapshot, even if another process is creating the tables.
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
        set_journal_mode(connection, "WAL", self._timeout)
        with _transaction(connection):
            # Check again under the lock: another process may have migrated.
            for version in range(self._version(connection), len(self._migrations)):
                for step in self._migrations[version]:
                    if isinstance(step, str):
                        connection.execute(step)
                    else:
                        step(connection)
                connection.execute("INSERT INTO schema VALUES (?)", (version + 1,))

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
            # SQLite quotes the damaged text in its message, which Python cannot decode.
            return _REASONS["CORRUPT"]
        if get_error_name(error) == "CANTOPEN" and self.path.is_dir():
            return _describe_directory(self.path)
        if get_error_name(error) in ("BUSY", "LOCKED"):
            return f"is in use: another program has locked it for {self._timeout:g} s; try again"
        return _REASONS.get(
            get_error_name(error), f"cannot be used as the store of conversations: {error}; {_OTHER_FILE_HINT}"
        )


def _describe_directory(path: Path) -> str:
    return f"cannot be opened: it is a directory; name a file in it: `--db {path / 'sessions.db'}`"


def set_journal_mode(connection: sqlite3.Connection, mode: str, timeout: float) -> None:
    """Switch to a journal mode. SQLite does not wait for locks here, so retry until the timeout."""
    end = time.monotonic() + timeout
    while True:
        try:
            connection.execute(f"PRAGMA journal_mode = {mode}")
            return
        except sqlite3.OperationalError as error:
            if get_error_name(error) != "BUSY" or time.monotonic() > end:
                raise
        time.sleep(0.02)


def get_error_name(error: sqlite3.Error) -> str:
    """Return the primary error name of SQLite: `IOERR` for `SQLITE_IOERR_WRITE`."""
    return (getattr(error, "sqlite_errorname", None) or "SQLITE_ERROR").split("_")[1]


def _execute_at_epoch(connection: sqlite3.Connection, run: str, epoch: int, write: LeasedWrite) -> bool:
    before = connection.total_changes
    connection.execute(f"{AT_EPOCH} {write.statement}", (run, epoch, *write.values))
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
    # After some errors SQLite has rolled back already.
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _ensure_index(connection: sqlite3.Connection) -> bool:
    """Create or complete the full-text index. Return False if SQLite has no full-text search."""
    has_index = "SELECT 1 FROM sqlite_master WHERE name = 'words'"
    try:
        if not connection.execute(has_index).fetchone():
            with _transaction(connection):
                # Check again under the lock: another process may have created it.
                if not connection.execute(has_index).fetchone():
                    connection.execute(CREATE_INDEX)
                    connection.execute("INSERT INTO words (words) VALUES ('rebuild')")
                    connection.execute("DELETE FROM unindexed")
        connection.execute("SELECT rowid FROM words LIMIT 0")
        if connection.execute("SELECT 1 FROM unindexed").fetchone():
            with _transaction(connection):
                connection.execute(
                    "INSERT INTO words (rowid, text)"
                    " SELECT key, text FROM turn_texts WHERE key IN (SELECT key FROM unindexed)"
                )
                connection.execute("DELETE FROM unindexed")
    except sqlite3.OperationalError:
        return False
    return True
