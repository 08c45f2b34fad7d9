"""Limits on the size and duration of an answer."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from antiphon.errors import AnswerTooLong, ProviderError, TimedOut

#: More than any answer of today's models needs: the longest take some 40 MB as a stream, and an hour.
MAX_BYTES, MAX_SECONDS = 256_000_000, 3600.0
#: For error responses, which are short and not worth a long wait.
ERROR_BYTES, ERROR_SECONDS = 16_000_000, 30.0


@dataclass(frozen=True, slots=True)
class ResponseLimits:
    """Maximum bytes of an answer, decompressed, and maximum seconds from request to end. None is no limit."""

    bytes: int | None
    seconds: float | None


@dataclass(slots=True)
class ResponseMeter:
    """Progress of one answer against its limits, and the error that ended it."""

    bounds: ResponseLimits
    provider: str
    size: int = 0
    broken: ProviderError | None = None
    began: float = field(default_factory=time.monotonic)

    def add(self, count: int) -> bool:
        """Count received bytes and return whether more may come."""
        self.size += count
        most, seconds = self.bounds.bytes, self.bounds.seconds
        if most is not None and self.size > most:
            self.broken = self._error(f"is larger than {most:,} bytes", "max_bytes")
        elif seconds is not None and time.monotonic() - self.began > seconds:
            self.broken = self._error(f"took longer than {seconds:g} s", "max_seconds")
        return self.broken is None

    def map_timeout(self, error: ProviderError) -> ProviderError:
        """Return the error for a server that stopped sending: its own timeout, or the limit of the whole
        answer.
        """
        seconds = self.bounds.seconds
        if isinstance(error, TimedOut) and seconds is not None and time.monotonic() - self.began >= seconds:
            return self._error(f"took longer than {seconds:g} s", "max_seconds")
        return error

    def _error(self, what: str, option: str) -> AnswerTooLong:
        message = f"the answer of {self.provider} {what} and was given up; `{option}` of `connect` allows more"
        return AnswerTooLong(message, provider=self.provider)
