"""Where the store lies: in the user's data directory, or where `ANTIPHON_LOGS` says."""

from __future__ import annotations

import os
from pathlib import Path

from antiphon._places import user_directory
from antiphon.errors import StoreError

#: The environment variable that names another file, or is one of `OFF`.
VARIABLE = "ANTIPHON_LOGS"
#: What turns saving off; the conversations of before can still be read.
OFF = frozenset({"off", "no", "false", "0"})


def is_off() -> bool:
    """Whether the user wants nothing saved."""
    return os.environ.get(VARIABLE, "").strip().lower() in OFF


def default_path() -> Path:
    """The file that the environment names, or else the platform's place for it."""
    named = os.environ.get(VARIABLE, "").strip()
    try:
        if named and not is_off():
            return Path(named).expanduser().absolute()
        return user_directory("data") / "logs.db"
    except (RuntimeError, OSError) as error:
        raise StoreError(f"there is no place for the store of conversations: {error}; set `{VARIABLE}`") from None
