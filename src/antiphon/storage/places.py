"""Places of databases: a file, a PostgreSQL server, or the memory of this process."""

from __future__ import annotations

from functools import cache
from os import PathLike, fspath
from pathlib import Path
from typing import cast

from antiphon.errors import StoreError
from antiphon.storage.database import Database
from antiphon.storage.default_database import DefaultDatabase
from antiphon.storage.encryption import JournalCipher
from antiphon.storage.postgres import PostgresDatabase, is_postgres_url
from antiphon.storage.sqlite import MEMORY, SqliteDatabase
from antiphon.storage.store_location import (
    find_old_path,
    get_database_url,
    get_store_path,
    is_saving_off,
    to_database_path,
)


def open_database(place: str | PathLike[str] | None, *, timeout: float = 5.0) -> Database:
    """Return the database at a file, at a URL or at `":memory:"`; without a place, at the user's location.

    If saving is off, that is the memory. All users of `":memory:"` in a process share one database, which lives as
    long as the process.
    """
    if place is None:
        place = MEMORY if is_saving_off() else get_database_url()
    if not isinstance(cast(object, place), str | PathLike | None):
        raise StoreError(f"a store is a file or a PostgreSQL URL, such as `Store('sessions.db')`, not {place!r:.60}")
    if isinstance(place, str) and is_postgres_url(place):
        return PostgresDatabase(place)
    if place is not None and fspath(place) == MEMORY:
        return _open_memory()
    return open_file(place, timeout=timeout)


def open_file(place: str | PathLike[str] | None, *, timeout: float = 5.0) -> SqliteDatabase:
    """Return the database in a file; without a place, in the user's file."""
    path = to_database_path(place) if place is not None else get_store_path()
    return (SqliteDatabase if find_old_path(path) is None else DefaultDatabase)(path, timeout=timeout)


def get_local_path(database: Database) -> Path:
    """Return the file of a database; for one without a file, the user's default file."""
    return database.path if isinstance(database, SqliteDatabase) and not database.is_memory else get_store_path()


def open_cipher(database: Database) -> JournalCipher:
    """Return the cipher for the private data of a database."""
    if isinstance(database, SqliteDatabase) and database.is_memory:
        return _make_passing_cipher()
    return JournalCipher(get_local_path(database).with_suffix(".key"))


@cache
def _open_memory() -> SqliteDatabase:
    return SqliteDatabase(Path(MEMORY))


@cache
def _make_passing_cipher() -> JournalCipher:
    return JournalCipher(None)
