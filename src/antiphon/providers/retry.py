"""The retry policy: which errors are retried, how often, and after which delay."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from antiphon.errors import ConnectionFailed, ProviderError, RateLimited, ServerFailed


@dataclass(frozen=True, slots=True)
class Retry:
    """Up to `attempts` attempts within `deadline` seconds of the first, with exponential backoff and
    jitter.

    A provider's `Retry-After` replaces the delay; one beyond the deadline ends the attempts at once.
    """

    attempts: int = 5
    first_wait: float = 0.5
    longest_wait: float = 30.0
    deadline: float = 600.0

    def wait(self, attempt: int, error: ProviderError, elapsed: float) -> float | None:
        """Return the seconds until the next attempt after attempt number `attempt` failed, or None if it
        was the last.
        """
        if attempt >= self.attempts or not isinstance(error, RateLimited | ServerFailed | ConnectionFailed):
            return None
        asked = getattr(error, "retry_after", None)
        from random import uniform

        wait = min(self.first_wait * 2 ** (attempt - 1), self.longest_wait) * uniform(0.5, 1.0)
        wait = wait if asked is None else asked + wait * 0.1
        return wait if elapsed + wait < self.deadline else None


NO_RETRY = Retry(attempts=1)
#: The policy for a model that has a substitute: waiting longer would only delay the answer.
BRIEF_RETRY = Retry(attempts=2, deadline=20.0)


def parse_retry_after(headers: Mapping[str, str], said: float | None = None) -> float | None:
    """Return the seconds that a provider asks to wait, from any header in use, else `said` from its error."""
    milliseconds = _parse_non_negative(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = _parse_non_negative(value)
    if seconds is not None or not value:
        return said if seconds is None else seconds
    from email.utils import parsedate_to_datetime

    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return None


def _parse_non_negative(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None
