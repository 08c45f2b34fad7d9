"""Programs as runs of a journal: begun, gone on with, and run for each of many rows.

This room knows the language and the journal, and nothing of who looks on or how: commands and workers do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._public import lazy, publish

if TYPE_CHECKING:
    from antiphon.runs.mapping import RowResult, map

_HOMES = {"RowResult": "mapping", "map": "mapping"}

__all__ = ["RowResult", "map"]

publish(globals())
__getattr__ = lazy(__name__, _HOMES)
