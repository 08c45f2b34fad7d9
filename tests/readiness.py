"""Waiting for descriptors: `select` takes none above 1023, and a worker may have more open after many tests."""

from __future__ import annotations

import select
from collections.abc import Iterable


def wait_readable(descriptors: Iterable[int], seconds: float) -> list[int]:
    """Return those of the descriptors that can be read, or are closed at the other end, within so many seconds."""
    waiting = select.poll()
    for each in descriptors:
        waiting.register(each, select.POLLIN)
    return [descriptor for descriptor, _ in waiting.poll(seconds * 1000)]
