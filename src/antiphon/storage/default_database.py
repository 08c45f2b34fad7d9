"""The user's default file, `antiphon.db`. A `logs.db` of an earlier version is migrated to it once."""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from antiphon.errors import StoreError
from antiphon.storage.encryption import adopt_old_key
from antiphon.storage.sqlite import SqliteDatabase, get_error_name, set_journal_mode
from antiphon.storage.store_location import find_old_path

#: How long a process waits for another one that migrates the file.
_MIGRATION_TIMEOUT = 600.0
_READ_ONLY_ERRORS = ("READONLY", "CANTOPEN", "PERM", "EACCES", "EPERM", "EROFS")


class DefaultDatabase(SqliteDatabase):
    """The user's default file. Its first use migrates the file of an earlier version, which is kept as a backup.

    The steps are: copy the key; write `antiphon.db.new`; rename `logs.db` to `logs.db.bak`; rename `antiphon.db.new`
    to `antiphon.db`. If there is no `logs.db`, a file `antiphon.db.new` is therefore complete.
    """

    def __init__(self, path: Path, *, timeout: float = 5.0) -> None:
        super().__init__(path, timeout=timeout)
        self._old = find_old_path(path) or path
        self._backup = self._old.with_name(f"{self._old.name}.bak")
        self._new = path.with_name(f"{path.name}.new")

    @property
    def exists(self) -> bool:
        return super().exists or self._is_unfinished()

    def _make_file(self) -> None:
        self._migrate_old_file()
        super()._make_file()

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._migrate_old_file()
        return super()._open()

    def _is_unfinished(self) -> bool:
        return not self.path.exists() and (self._old.exists() or (self._new.exists() and self._backup.exists()))

    def _migrate_old_file(self) -> None:
        if not self._is_unfinished():
            return
        try:
            with self._hold_lock():
                # Check again under the lock: another process may have migrated.
                if self._is_unfinished():
                    if self._old.exists():
                        self._replace_old_file()
                    os.replace(self._new, self.path)
                    _synchronise(self.path.parent)
        except (sqlite3.Error, OSError) as error:
            # SQLite fails to lock a file that the process before has just deleted.
            if self._is_unfinished():
                raise self._make_migration_error(error) from None

    @contextmanager
    def _hold_lock(self) -> Generator[None]:
        """Hold a lock of SQLite, which ends with its process."""
        file = self.path.with_name(f"{self.path.name}.lock")
        with closing(sqlite3.connect(file, timeout=_MIGRATION_TIMEOUT, isolation_level=None)) as lock:
            lock.execute("BEGIN EXCLUSIVE")
            yield
        # Only after success: then a process with a lock on the deleted file finds nothing to do.
        with suppress(OSError):
            file.unlink()

    def _replace_old_file(self) -> None:
        if self._backup.exists():
            raise StoreError(
                f"{self._old} of an earlier version was not migrated: {self._backup} exists; move one of them away"
            )
        if not _is_writable(self._old):
            # SQLite would make read-only files beside it, and then fail.
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self._old))
        adopt_old_key(self.path.with_suffix(".key"))
        self._remove_unfinished()
        source = sqlite3.connect(
            f"{self._old.absolute().as_uri()}?mode=rw", uri=True, timeout=self._timeout, isolation_level=None
        )
        with closing(source):
            # This fails while another process has the file open, and it removes the write-ahead log.
            set_journal_mode(source, "DELETE", self._timeout)
            # Until the end of this transaction, no other process can commit.
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()
            try:
                self._write_new_file(source)
            except BaseException:
                self._remove_unfinished()
                raise
            self._rename_history()
            if sys.platform == "win32":
                # Windows renames no open file. Elsewhere SQLite refuses to write to a file that was renamed.
                source.close()
            os.replace(self._old, self._backup)
        _synchronise(self.path.parent)

    def _write_new_file(self, source: sqlite3.Connection) -> None:
        os.close(os.open(self._new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(sqlite3.connect(self._new, isolation_level=None)) as target:
            source.backup(target)
            set_journal_mode(target, "WAL", self._timeout)
        try:
            with closing(SqliteDatabase(self._new, timeout=self._timeout)) as database, database.write_transaction():
                pass
        except StoreError as error:
            raise StoreError(f"{self._old} of an earlier version was not migrated: {error}") from None
        if self._new.with_name(f"{self._new.name}-wal").exists():
            raise StoreError(f"{self._old} was not migrated: its copy {self._new} is in use; try again")
        _synchronise(self._new)
        _synchronise(self.path.parent)

    def _remove_unfinished(self) -> None:
        for ending in ("-journal", "-wal", "-shm", ""):
            self._new.with_name(self._new.name + ending).unlink(missing_ok=True)

    def _rename_history(self) -> None:
        """Keep the messages that were typed in chats."""
        old, new = self._old.with_suffix(".history"), self.path.with_suffix(".history")
        if old.exists() and not new.exists():
            os.replace(old, new)

    def _make_migration_error(self, error: sqlite3.Error | OSError) -> StoreError:
        task = f"{self._old} of an earlier version cannot be migrated to {self.path.name}"
        name = get_error_name(error) if isinstance(error, sqlite3.Error) else errno.errorcode.get(error.errno or 0, "")
        if name in _READ_ONLY_ERRORS and self._old.is_file():
            return StoreError(
                f"{task}: it or its directory is read-only; make both writable, or copy it to a directory where you"
                " can write and name the copy with `--db FILE`"
            )
        if name in ("BUSY", "LOCKED"):
            return StoreError(f"{task} while another process uses it; stop that process and try again")
        return StoreError(f"{task}: {SqliteDatabase(self._old)._make_error(error)}")


def _synchronise(path: Path) -> None:
    """Wait until the disk has a file, or the names in a directory."""
    if sys.platform == "win32" and path.is_dir():
        return
    # Windows synchronises only files that are open for writing.
    opened = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
