"""Programs as runs of a journal: started, resumed, forked, and run for each row of a batch.

This package knows the language and the journal, but not commands, workers or displays.
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
