"""Where files lie that belong to the user: settings, data, what programs remember, and what can be fetched again."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

_UNIX = {"config": ".config", "data": ".local/share", "state": ".local/state", "cache": ".cache"}


def user_directory(
    what: Literal["config", "data", "state", "cache"], environment: Mapping[str, str] | None = None
) -> Path:
    """Our own directory for such files: below `$XDG_…_HOME` where that is set, else where the platform wants it."""
    variables = os.environ if environment is None else environment
    base = variables.get(f"XDG_{what.upper()}_HOME", "")
    # The specification wants relative paths ignored.
    if os.path.isabs(base):
        return Path(base) / "antiphon"
    home = user_home(environment)
    if sys.platform == "darwin":
        return home / "Library" / ("Caches" if what == "cache" else "Application Support") / "antiphon"
    if sys.platform == "win32":
        variable, name = ("APPDATA", "Roaming") if what == "config" else ("LOCALAPPDATA", "Local")
        own = Path(variables.get(variable) or home / "AppData" / name) / "antiphon"
        return own / "cache" if what == "cache" else own
    return home / _UNIX[what] / "antiphon"


def user_home(environment: Mapping[str, str] | None = None) -> Path:
    """The user's home, or a place that does not exist: some containers have users without one."""
    if environment is not None and environment.get("HOME"):
        return Path(environment["HOME"])
    try:
        return Path.home()
    except RuntimeError:
        return Path("/nonexistent")
