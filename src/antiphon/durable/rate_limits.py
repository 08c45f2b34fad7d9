"""Rate limits that all machines share: requests per minute to a model."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase

from antiphon.durable.journal_middleware import LONG_SLEEP
from antiphon.durable.run_entries import format_local_time
from antiphon.effects import AskModel, EffectCall, Middleware, current_context, use_context
from antiphon.errors import NotReadyError, Suspended
from antiphon.storage.budgets import reserve_moment
from antiphon.storage.postgres import PostgresDatabase


class RateLimits(Middleware):
    """Middleware that delays model requests so that all machines together stay within rate limits.

    Replayed requests do not wait. A durable run that has to wait long is suspended; its moment is reserved.

    `per_minute` maps model names to requests per minute; a pattern such as `openai/*` is one limit for all its models.
    """

    def __init__(self, url: str, per_minute: Mapping[str, float]) -> None:
        for name, number in per_minute.items():
            if number <= 0:
                raise NotReadyError(f"the limit of {name!r} must be more than 0 requests per minute, not {number:g}")
        self._database = PostgresDatabase(url)
        self._seconds = {name: 60 / number for name, number in per_minute.items()}

    @contextmanager
    def enforce(self) -> Generator[None]:
        """Apply the limits inside the block."""
        where = current_context()
        with use_context(replace(where, performers=(*where.performers, self))):
            yield

    def delay(self, step: EffectCall) -> float:
        """Reserve the next free moment for a model request, and return the seconds until then."""
        if not isinstance(step.effect, AskModel):
            return 0.0
        model = step.effect.model
        name = next((each for each in self._seconds if fnmatchcase(model, each)), None)
        if name is None:
            return 0.0
        where = current_context()
        run = where.run if where.is_durable else ""
        wait = reserve_moment(self._database, name, self._seconds[name], run, step.path, LONG_SLEEP)
        if run and wait > LONG_SLEEP:
            raise Suspended(
                f"the rate limit of {model} delays the request until {format_local_time(time.time() + wait, 'seconds')}"
            )
        return max(0.0, wait)
