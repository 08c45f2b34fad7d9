"""Pausing Python's garbage collector while trees are built."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

#: After this many uncollected objects a full collection runs. In a large heap it waits
#: for a quarter of all objects, as Python's collector does.
_MIN_OBJECTS, _HEAP_FRACTION = 300_000, 4
_uncollected, _collect_threshold = 0, _MIN_OBJECTS


@contextmanager
def gc_paused() -> Generator[None]:
    """Disable garbage collection in the block.

    Trees are many objects and no garbage: collecting meanwhile would take longer than compiling.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            _promote_young_objects()
            gc.enable()


def _promote_young_objects() -> None:
    """Move new objects to the oldest generation, so that the next collection does not traverse them."""
    global _uncollected, _collect_threshold
    _uncollected += gc.get_count()[0]
    if _uncollected > _collect_threshold:
        gc.collect()
        _uncollected, _collect_threshold = 0, max(_MIN_OBJECTS, len(gc.get_objects()) // _HEAP_FRACTION)
    elif not gc.get_freeze_count():
        # Freezing and unfreezing moves all objects to the oldest generation. Objects that the caller froze stay frozen.
        gc.freeze()
        gc.unfreeze()
