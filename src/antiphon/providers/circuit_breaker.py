"""The circuit breaker: it refuses requests to a server that keeps failing, until a probe succeeds."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field

from antiphon.errors import CircuitOpen, ConnectionFailed, OptionError, ProviderError, ServerFailed, TimedOut

#: The errors that say that the server does not work. Others are its answer to this request.
_FAILURES = (ServerFailed, ConnectionFailed, TimedOut)


@dataclass(slots=True)
class Circuit:
    """The recent failures of one server. Threads may share it."""

    provider: str
    failures: int
    within: float
    pause: float
    _failed_at: deque[float] = field(default_factory=deque[float])
    #: When the next probe may be sent, while the server counts as failed.
    _probe_at: float | None = None
    _last: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def is_open(self) -> bool:
        """True while requests are refused."""
        return self._probe_at is not None

    def check(self) -> None:
        """Raise `CircuitOpen` while requests are refused. After the pause, let one of them pass as a probe."""
        with self._lock:
            if self._probe_at is None:
                return
            now = time.monotonic()
            if now < self._probe_at:
                raise self._make_error(self._probe_at - now)
            # If the probe is given up, another one may be sent after the same time.
            self._probe_at = now + self.pause

    def record(self, error: ProviderError | None) -> None:
        """Count an attempt that failed, or that the server answered."""
        with self._lock:
            if not isinstance(error, _FAILURES):
                self._failed_at.clear()
                self._probe_at = None
                return
            now = time.monotonic()
            self._failed_at.append(now)
            while self._failed_at[0] < now - self.within:
                self._failed_at.popleft()
            if self._probe_at is not None or len(self._failed_at) >= self.failures:
                self._probe_at, self._last = now + self.pause, str(error)

    def _make_error(self, seconds: float) -> CircuitOpen:
        until = time.time() + seconds
        at = time.strftime("%H:%M:%S", time.localtime(until))
        message = f"{self.provider} is not asked until {at}, because its last requests failed: {self._last}"
        return CircuitOpen(message, provider=self.provider, until=until)


class CircuitBreaker:
    """Refuses requests to servers that keep failing; all models of `connect(…, breaker=…)` share what is known.

    After `failures` failed attempts within `within` seconds, requests to that address raise `CircuitOpen` at once.
    After `pause` seconds, one request is sent as a probe. Its answer lets all pass again. Failures are errors of the
    server, of the connection, and silence; a rejected request or a rate limit is an answer.
    """

    def __init__(self, failures: int = 5, *, within: float = 60.0, pause: float = 30.0) -> None:
        if not isinstance(failures, int) or isinstance(failures, bool) or failures < 1:
            raise OptionError(f"`failures` of a breaker is a whole number from 1, not {failures!r:.60}")
        for name, value in (("within", within), ("pause", pause)):
            if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
                raise OptionError(f"`{name}` of a breaker is a number of seconds above 0, not {value!r:.60}")
        self._settings = failures, within, pause
        self._circuits: dict[tuple[str, str], Circuit] = {}
        self._lock = threading.Lock()

    def get_circuit(self, provider: str, url: str) -> Circuit:
        """Return what is known about a server."""
        with self._lock:
            return self._circuits.setdefault((provider, url), Circuit(provider, *self._settings))
