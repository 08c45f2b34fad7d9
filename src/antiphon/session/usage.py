"""Usage of the runs inside a tool call: tokens, dollars and requests."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from antiphon.wire import Usage


class UsageMeter:
    """Counts the usage of the runs inside a tool call."""

    __slots__ = ("cost", "requests", "usage")

    def __init__(self) -> None:
        self.requests = 0
        self.usage: Usage | None = None
        self.cost: float | None = 0.0

    def add(self, usage: Usage, cost: float | None) -> None:
        """Add the usage of one request."""
        self.usage = usage if self.usage is None else sum_usage(self.usage, usage)
        self.cost = None if cost is None or self.cost is None else self.cost + cost

    @contextmanager
    def activate(self) -> Generator[None]:
        """Count the runs that are started inside the block."""
        token = _current_meter.set(self)
        try:
            yield
        finally:
            _current_meter.reset(token)


_current_meter: ContextVar[UsageMeter | None] = ContextVar("antiphon_spent", default=None)


def current_usage_meter() -> UsageMeter | None:
    """Return the usage meter of the tool call that the current code is part of, or None."""
    return _current_meter.get()


def sum_usage(first: Usage, second: Usage) -> Usage:
    """Return the sum of two usages."""
    return first.plus(second)
