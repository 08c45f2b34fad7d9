"""Programs as runs of a journal: begun, gone on with, and run for each of many rows.

This room knows the language and the journal, and nothing of who looks on or how: commands and workers do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports

if TYPE_CHECKING:
    from antiphon.programs.batch import RowResult, map

_HOMES = {"RowResult": "batch", "map": "batch"}

__all__ = ["RowResult", "map"]

publish_exports(globals())
__getattr__ = make_lazy_getattr(__name__, _HOMES)
