"""Rate limits that all machines share: requests per minute to a model."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase

from antiphon.durable.journal_middleware import LONG_SLEEP
from antiphon.durable.postgres import PostgresConnection, PostgresDatabase
from antiphon.durable.run_entries import format_local_time
from antiphon.effects import AskModel, EffectCall, Middleware, current_context, use_context
from antiphon.errors import NotReadyError, Suspended

_NOW = "extract(epoch FROM clock_timestamp())"
#: Each request reserves the next free moment in one statement, without waiting for a lock.
_RESERVE = (
    f"INSERT INTO limits VALUES (?, {_NOW} + ?) ON CONFLICT (name)"
    f" DO UPDATE SET free_at = greatest(limits.free_at, {_NOW}) + ?"
    f" RETURNING (free_at - ? - {_NOW})::float8"
)


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
        wait = self._database.transact(lambda connection: self._reserve(connection, name, run, step.path))
        if run and wait > LONG_SLEEP:
            raise Suspended(
                f"the rate limit of {model} delays the request until {format_local_time(time.time() + wait, 'seconds')}"
            )
        return max(0.0, wait)

    def _reserve(self, connection: PostgresConnection, name: str, run: str, path: str) -> float:
        """Return the seconds until the reserved moment, or until the next free one; reserve that if it is far off."""
        kept = f"DELETE FROM held WHERE run = ? AND path = ? RETURNING (until - {_NOW})::float8"
        found = connection.execute(kept, (run, path)).fetchone() if run else None
        gap = self._seconds[name]
        (wait,) = found or connection.execute(_RESERVE, (name, gap, gap, gap)).fetchall()[0]
        if run and wait > LONG_SLEEP:
            connection.execute(f"INSERT INTO held VALUES (?, ?, {_NOW} + ?)", (run, path, wait))
        return wait
