"""What a run and the calls in it have used: tokens, dollars and requests."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from antiphon.wire import Usage


class Spent:
    """What the runs inside a call have used."""

    __slots__ = ("cost", "requests", "usage")

    def __init__(self) -> None:
        self.requests = 0
        self.usage: Usage | None = None
        self.cost: float | None = 0.0

    def add(self, usage: Usage, cost: float | None) -> None:
        """Some of them has used this."""
        self.usage = usage if self.usage is None else sum_of(self.usage, usage)
        self.cost = None if cost is None or self.cost is None else self.cost + cost

    @contextmanager
    def counting(self) -> Generator[None]:
        """Runs that are begun meanwhile are inside the call."""
        token = _spent.set(self)
        try:
            yield
        finally:
            _spent.reset(token)


_spent: ContextVar[Spent | None] = ContextVar("antiphon_spent", default=None)


def current_spent() -> Spent | None:
    """What the call that this code is part of has used."""
    return _spent.get()


def sum_of(first: Usage, second: Usage) -> Usage:
    """What two have used together."""
    return first.plus(second)
