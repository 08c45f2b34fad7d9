"""How much of an answer is taken in, and for how long."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from antiphon.errors import AnswerTooLong, ProviderError, TimedOut

#: As much as no answer of today's models needs: the longest come to some 40 MB as a stream, and to an hour.
MAX_BYTES, MAX_SECONDS = 256_000_000, 3600.0
#: Of an answer that says no: its words are short, and nobody waits long for them.
ERROR_BYTES, ERROR_SECONDS = 16_000_000, 30.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most bytes of an answer, unpacked, and the most seconds from its request to its end; `None` is no bound."""

    bytes: int | None
    seconds: float | None


@dataclass(slots=True)
class Meter:
    """What has come of one answer, and what broke it off."""

    bounds: Bounds
    provider: str
    size: int = 0
    broken: ProviderError | None = None
    began: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        """Seconds since the request."""
        return time.monotonic() - self.began

    def add(self, count: int) -> bool:
        """Count bytes that came, and say whether more may come."""
        self.size += count
        most, seconds = self.bounds.bytes, self.bounds.seconds
        if most is not None and self.size > most:
            self.broken = self._error(f"is larger than {most:,} bytes", "max_bytes")
        elif seconds is not None and self.elapsed > seconds:
            self.broken = self._error(f"took longer than {seconds:g} s", "max_seconds")
        return self.broken is None

    def silence(self, error: ProviderError) -> ProviderError:
        """The error for a server that said nothing any more: which of the two times was up."""
        seconds = self.bounds.seconds
        if isinstance(error, TimedOut) and seconds is not None and self.elapsed >= seconds:
            return self._error(f"took longer than {seconds:g} s", "max_seconds")
        return error

    def _error(self, what: str, option: str) -> AnswerTooLong:
        message = f"the answer of {self.provider} {what} and was given up; `{option}` of `connect` allows more"
        return AnswerTooLong(message, provider=self.provider)
