"""A lock for the runs of a worker: they run concurrently, except one that may have killed workers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager


class IsolationLock:
    """A lock that admits any number of runs, or one exclusive run. Exclusive runs have priority."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._is_alone = False
        self._want_alone = 0

    @contextmanager
    def enter(self, alone: bool, note_waiting: Callable[[bool], None]) -> Generator[None]:
        """Hold the lock inside the block. If that takes waiting, call `note_waiting` before and after the wait."""
        if has_waited := not self._try_enter(alone):
            note_waiting(True)
            self._wait(alone)
        try:
            if has_waited:
                note_waiting(False)
            yield
        finally:
            self._leave()

    def _try_enter(self, alone: bool) -> bool:
        with self._changed:
            if not self._is_free(alone):
                return False
            self._mark_entered(alone)
            return True

    def _wait(self, alone: bool) -> None:
        with self._changed:
            self._want_alone += alone
            self._changed.wait_for(lambda: self._is_free(alone))
            self._want_alone -= alone
            self._mark_entered(alone)

    def _is_free(self, alone: bool) -> bool:
        return self._inside == 0 if alone else not self._is_alone and not self._want_alone

    def _mark_entered(self, alone: bool) -> None:
        self._inside += 1
        self._is_alone = alone

    def _leave(self) -> None:
        with self._changed:
            self._inside -= 1
            self._is_alone = False
            self._changed.notify_all()
