"""The duration of a run, without the time that people take to answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


class RunTimer:
    """Measures the time of a run, and cancels the run after `seconds`."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._spent = 0.0
        self._since: float | None = None
        self._pauses = 0
        self._limit: asyncio.Timeout | None = None

    @property
    def elapsed(self) -> float:
        """The seconds so far."""
        return self._spent + (time.monotonic() - self._since if self._since is not None else 0.0)

    @property
    def is_over(self) -> bool:
        """True if the timer has cancelled the run."""
        return self._limit is not None and self._limit.expired()

    async def __aenter__(self) -> None:
        """Start the timer."""
        self._since = time.monotonic()
        if self._seconds is not None:
            self._limit = asyncio.timeout(self._seconds - self._spent)
            await self._limit.__aenter__()

    async def __aexit__(self, *raised: Any) -> None:
        """Stop the timer. Raise a TimeoutError if it has expired."""
        self._stop()
        if self._limit is not None:
            await self._limit.__aexit__(*raised)

    @contextmanager
    def paused(self) -> Generator[None]:
        """Pause the timer while a person is asked. Pauses may overlap."""
        self._pauses += 1
        self._stop()
        if self._limit is not None:
            self._limit.reschedule(None)
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._since = time.monotonic()
                if self._limit is not None and self._seconds is not None:
                    now = asyncio.get_running_loop().time()
                    self._limit.reschedule(now + self._seconds - self._spent)

    def _stop(self) -> None:
        if self._since is not None:
            self._spent, self._since = self.elapsed, None
