"""Where the store lies: in the user's data directory, or where `ANTIPHON_LOGS` says."""

from __future__ import annotations

import os
import sys
from pathlib import Path

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
        return _data_directory() / "antiphon" / "logs.db"
    except (RuntimeError, OSError) as error:
        raise StoreError(f"there is no place for the store of conversations: {error}; set `{VARIABLE}`") from None


def _data_directory() -> Path:
    base = os.environ.get("XDG_DATA_HOME", "")
    if os.path.isabs(base):
        return Path(base)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path.home() / ".local" / "share"
