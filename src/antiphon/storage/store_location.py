"""Where the store lies: in the user's data directory, or where `ANTIPHON_LOGS` says."""

from __future__ import annotations

import os
from pathlib import Path

from antiphon._base.user_dirs import user_directory
from antiphon.errors import StoreError

#: The environment variable that names another file, or is one of `OFF`.
STORE_VARIABLE = "ANTIPHON_LOGS"
#: What turns saving off; the conversations of before can still be read.
OFF_WORDS = frozenset({"off", "no", "false", "0"})
#: The environment variable that says when SQLite waits until the disk has what was written.
SYNCHRONOUS_VARIABLE = "ANTIPHON_SYNCHRONOUS"
_LEVELS = ("effects", "full", "normal")


def is_saving_off() -> bool:
    """Whether the user wants nothing saved."""
    return os.environ.get(STORE_VARIABLE, "").strip().lower() in OFF_WORDS


def read_synchronous_level() -> str:
    """Return when SQLite waits for the disk: before `effects` that cannot be repeated, always, or never by itself."""
    named = os.environ.get(SYNCHRONOUS_VARIABLE, "").strip().lower() or "effects"
    if named not in _LEVELS:
        raise StoreError(f"`{SYNCHRONOUS_VARIABLE}` is {named!r}; it can be {', '.join(_LEVELS[:-1])} or {_LEVELS[-1]}")
    return named


def get_store_path() -> Path:
    """The file that the environment names, or else the platform's place for it."""
    named = os.environ.get(STORE_VARIABLE, "").strip()
    try:
        if named and not is_saving_off():
            return Path(named).expanduser().absolute()
        return user_directory("data") / "logs.db"
    except (RuntimeError, OSError) as error:
        raise StoreError(f"there is no place for the store of conversations: {error}; set `{STORE_VARIABLE}`") from None
