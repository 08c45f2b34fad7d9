"""The location of the database: `--db`, `ANTIPHON_DB`, or a file in the user's data directory."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path

from antiphon._base.user_dirs import user_directory
from antiphon.errors import StoreError

#: The environment variable with the path of another file, a PostgreSQL URL, or one of `OFF_WORDS`.
DATABASE_VARIABLE = "ANTIPHON_DB"
#: Values that turn saving off; then there are no saved sessions either.
OFF_WORDS = frozenset({"off", "no", "false", "0"})
#: The environment variable that selects when SQLite waits for the disk.
SYNCHRONOUS_VARIABLE = "ANTIPHON_SYNCHRONOUS"
_LEVELS = ("effects", "full", "normal")
#: The name of the default file in the user's data directory, and its name in earlier versions, without suffix.
_NAME, _OLD_NAME = "antiphon", "logs"
_POSTGRES_PREFIXES = ("postgresql://", "postgres://")
#: The location that the command line names, which precedes the environment.
_named: list[str] = []


@contextmanager
def use_location(location: str) -> Generator[None]:
    """Use another database inside the block, in all threads."""
    _named.append(location)
    try:
        yield
    finally:
        _named.pop()


def get_location() -> str:
    """Return the named location: a path, a PostgreSQL URL, one of `OFF_WORDS`, or "" for the default file."""
    return (_named[-1] if _named else os.environ.get(DATABASE_VARIABLE, "")).strip()


def is_saving_off() -> bool:
    """Return whether the user has turned saving off."""
    return get_location().lower() in OFF_WORDS


def get_database_url() -> str | None:
    """Return the URL of the named PostgreSQL database, or None if a file is used."""
    return location if (location := get_location()).startswith(_POSTGRES_PREFIXES) else None


def read_synchronous_level() -> str:
    """Return when SQLite waits for the disk: before `effects` that cannot be repeated, always, or never by itself."""
    named = os.environ.get(SYNCHRONOUS_VARIABLE, "").strip().lower() or "effects"
    if named not in _LEVELS:
        raise StoreError(f"`{SYNCHRONOUS_VARIABLE}` is {named!r}; it can be {', '.join(_LEVELS[:-1])} or {_LEVELS[-1]}")
    return named


def to_database_path(location: str | PathLike[str]) -> Path:
    """Return the path of a database file. Raise a StoreError for the URL of an unknown kind of database."""
    scheme, mark, _ = fspath(location).partition("://")
    if mark:
        # The rest of the URL may hold a password.
        raise StoreError(
            f"`{scheme}://…` is no database; use a file, or a URL that begins with `{_POSTGRES_PREFIXES[0]}`"
        )
    return Path(location)


def get_store_path() -> Path:
    """Return the path of the named file, or the default one of the platform."""
    named = get_location()
    try:
        if named and not is_saving_off() and get_database_url() is None:
            return to_database_path(named).expanduser().absolute()
        return user_directory("data") / f"{_NAME}.db"
    except (RuntimeError, OSError) as error:
        raise StoreError(f"the database has no location: {error}; set `{DATABASE_VARIABLE}`") from None


def find_old_path(path: Path) -> Path | None:
    """Return the path that an earlier version used for the default file or one beside it, such as the key."""
    if path.with_suffix("") != user_directory("data") / _NAME:
        return None
    return path.with_name(_OLD_NAME + path.suffix)
