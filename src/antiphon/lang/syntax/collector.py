"""Work on trees without Python's collector."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

#: After so many objects that it was not asked to look at, the collector looks at all. Where there are many, it waits
#: for a share of them, as it would by itself.
_FEWEST, _SHARE = 300_000, 4
_unseen, _most = 0, _FEWEST


@contextmanager
def without_collector() -> Generator[None]:
    """Trees are many objects and no garbage: collecting in the meantime would take longer than compiling."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            _age()
            gc.enable()


def _age() -> None:
    """Take what was made for old: as young objects, all of them would be gone through at the very next moment."""
    global _unseen, _most
    _unseen += gc.get_count()[0]
    if _unseen > _most:
        gc.collect()
        _unseen, _most = 0, max(_FEWEST, len(gc.get_objects()) // _SHARE)
    elif not gc.get_freeze_count():
        # Freezing takes objects of every age, and what is thawed is old. Who froze some himself keeps them so.
        gc.freeze()
        gc.unfreeze()
