"""Per-user directories: configuration, data, state and cache."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

_UNIX_DIRECTORIES = {"config": ".config", "data": ".local/share", "state": ".local/state", "cache": ".cache"}


def user_directory(
    what: Literal["config", "data", "state", "cache"], environment: Mapping[str, str] | None = None
) -> Path:
    """Return Antiphon's directory of this kind, below `$XDG_…_HOME` if set, otherwise at the platform's default."""
    variables = os.environ if environment is None else environment
    base = variables.get(f"XDG_{what.upper()}_HOME", "")
    # The XDG specification says to ignore relative paths.
    if os.path.isabs(base):
        return Path(base) / "antiphon"
    home = user_home(environment)
    if sys.platform == "darwin":
        return home / "Library" / ("Caches" if what == "cache" else "Application Support") / "antiphon"
    if sys.platform == "win32":
        variable, name = ("APPDATA", "Roaming") if what == "config" else ("LOCALAPPDATA", "Local")
        own = Path(variables.get(variable) or home / "AppData" / name) / "antiphon"
        return own / "cache" if what == "cache" else own
    return home / _UNIX_DIRECTORIES[what] / "antiphon"


def user_home(environment: Mapping[str, str] | None = None) -> Path:
    """Return the user's home directory, or a path that does not exist if the user has none (some containers)."""
    if environment is not None and environment.get("HOME"):
        return Path(environment["HOME"])
    try:
        return Path.home()
    except RuntimeError:
        return Path("/nonexistent")
