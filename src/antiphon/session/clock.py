"""The time a run takes, without the time in which people think."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager


class Clock:
    """Runs while the run does, and stops the run when the `seconds` are over."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._spent = 0.0
        self._since: float | None = None
        self._pauses = 0
        self._limit: asyncio.Timeout | None = None

    @property
    def spent(self) -> float:
        """Seconds up to now."""
        return self._spent + (time.monotonic() - self._since if self._since is not None else 0.0)

    @property
    def is_over(self) -> bool:
        """Whether it has stopped the run."""
        return self._limit is not None and self._limit.expired()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """While this goes on, time counts; a TimeoutError where it is over."""
        self._since = time.monotonic()
        try:
            if self._seconds is None:
                yield
                return
            async with asyncio.timeout(self._seconds - self._spent) as self._limit:
                yield
        finally:
            self._stop()

    @contextmanager
    def paused(self) -> Generator[None]:
        """While a person is asked. Several may be asked at once."""
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
            self._spent, self._since = self.spent, None
