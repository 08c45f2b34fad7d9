"""Large modules that are imported by the tests that use them, not by all who only collect those."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Lazily:
    """A module that is imported when something of it is first wanted."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            # Whoever collects the tests looks at what everything is.
            raise AttributeError(name)
        return getattr(import_module(self._name), name)
