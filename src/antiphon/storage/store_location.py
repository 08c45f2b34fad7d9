"""The location of the store: the user's data directory, or the path in `ANTIPHON_LOGS`."""

from __future__ import annotations

import os
from pathlib import Path

from antiphon._base.user_dirs import user_directory
from antiphon.errors import StoreError

#: The environment variable with the path of another file, or one of `OFF_WORDS`.
STORE_VARIABLE = "ANTIPHON_LOGS"
#: Values that turn saving off; saved conversations can still be read.
OFF_WORDS = frozenset({"off", "no", "false", "0"})
#: The environment variable that selects when SQLite waits for the disk.
SYNCHRONOUS_VARIABLE = "ANTIPHON_SYNCHRONOUS"
_LEVELS = ("effects", "full", "normal")


def is_saving_off() -> bool:
    """Return whether the user has turned saving off."""
    return os.environ.get(STORE_VARIABLE, "").strip().lower() in OFF_WORDS


def read_synchronous_level() -> str:
    """Return when SQLite waits for the disk: before `effects` that cannot be repeated, always, or never by itself."""
    named = os.environ.get(SYNCHRONOUS_VARIABLE, "").strip().lower() or "effects"
    if named not in _LEVELS:
        raise StoreError(f"`{SYNCHRONOUS_VARIABLE}` is {named!r}; it can be {', '.join(_LEVELS[:-1])} or {_LEVELS[-1]}")
    return named


def get_store_path() -> Path:
    """Return the path from the environment, or the default path of the platform."""
    named = os.environ.get(STORE_VARIABLE, "").strip()
    try:
        if named and not is_saving_off():
            return Path(named).expanduser().absolute()
        return user_directory("data") / "logs.db"
    except (RuntimeError, OSError) as error:
        raise StoreError(f"the store of conversations has no location: {error}; set `{STORE_VARIABLE}`") from None
