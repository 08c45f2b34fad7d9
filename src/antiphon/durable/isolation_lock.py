"""Runs side by side in a worker, and one alone where it may be what kills workers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager


class IsolationLock:
    """Lets any number of runs be at work at once, or one alone. Whoever wants to be alone is let in before others."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._is_alone = False
        self._want_alone = 0

    @contextmanager
    def enter(self, alone: bool, note_waiting: Callable[[bool], None]) -> Generator[None]:
        """Be at work, once that may be; where it has to be waited for, note that, and when it is over."""
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
