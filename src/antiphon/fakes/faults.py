"""Faults by chance: rate limits, server errors, broken streams and slow answers, the same ones for the same seed."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, fields, replace
from typing import cast

from antiphon.errors import OptionError
from antiphon.fakes.script import Answer, Fail

_STATUSES = (500, 503)
_SHARES = ("rate_limits", "errors", "cuts", "slow")


@dataclass(frozen=True, slots=True)
class Faults:
    """Faults that a fake makes by chance, each with its share of the requests, from 0 to 1.

    `rate_limits` are 429 with `retry_after` seconds, `errors` are 500 and 503. `cuts` break off an answer after its
    first events. The first byte of `slow` ones comes after `slow_seconds`; all others take `latency` seconds. A request
    that fails uses no step of the script, so the next attempt gets the answer. After `in_a_row` failures, one request
    succeeds. The same `seed` makes the same faults at the same requests.
    """

    rate_limits: float = 0.0
    errors: float = 0.0
    cuts: float = 0.0
    slow: float = 0.0
    seed: int = 0
    in_a_row: int = 2
    retry_after: float | None = None
    slow_seconds: float = 1.0
    latency: float = 0.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value: object = getattr(self, each.name)
            if value is None and each.name == "retry_after":
                continue
            if not isinstance(value, int | float) or isinstance(value, bool) or (value < 0 and each.name != "seed"):
                raise OptionError(f"`{each.name}` of faults is a number from 0 on, not {value!r:.60}")
        shares = [cast(float, getattr(self, name)) for name in _SHARES]
        if sum(shares) > 1:
            raise OptionError(
                f"the shares of faults are at most 1 together, and {', '.join(_SHARES)} are {sum(shares):g}"
            )


@dataclass(frozen=True, slots=True)
class Fault:
    """The fault of one request: it fails, or its answer is late or cut."""

    failure: Fail | None = None
    cut_after: int | None = None
    delay: float = 0.0

    def change(self, answer: Answer | Fail) -> Answer | Fail:
        """Return the answer with the fault."""
        if isinstance(answer, Fail):
            return answer
        cut = answer.cut_after if self.cut_after is None else self.cut_after
        return replace(answer, cut_after=cut, delay=answer.delay + self.delay)


class FaultSequence:
    """The faults of a fake, one for each request, in their order."""

    def __init__(self, faults: Faults | None) -> None:
        self._faults = faults
        self._random = random.Random(0 if faults is None else faults.seed)
        self._failures = 0
        self._lock = threading.Lock()

    def next(self) -> Fault:
        """Return the fault of the next request."""
        faults = self._faults
        if faults is None:
            return Fault()
        with self._lock:
            # Always as many numbers, so that a changed share moves no other fault.
            drawn, kind, place = self._random.random(), self._random.choice(_STATUSES), self._random.randint(1, 4)
            fault = self._choose(faults, drawn, kind, place)
            fails = fault.failure is not None or fault.cut_after is not None
            if fails and self._failures >= faults.in_a_row:
                fault, fails = Fault(delay=faults.latency), False
            self._failures = self._failures + 1 if fails else 0
            return fault

    @staticmethod
    def _choose(faults: Faults, drawn: float, status: int, place: int) -> Fault:
        below = faults.rate_limits
        if drawn < below:
            return Fault(Fail(429, retry_after=faults.retry_after))
        below += faults.errors
        if drawn < below:
            return Fault(Fail(status))
        below += faults.cuts
        if drawn < below:
            return Fault(cut_after=place, delay=faults.latency)
        return Fault(delay=faults.slow_seconds if drawn < below + faults.slow else faults.latency)
