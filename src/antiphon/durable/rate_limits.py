"""Limits that all machines keep together: so many requests a minute to a model, and so many dollars for a batch."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase

from antiphon.durable.journal_middleware import LONG_SLEEP
from antiphon.durable.postgres import PostgresConnection, PostgresDatabase
from antiphon.durable.run_entries import format_local_time
from antiphon.effects import (
    AskModel,
    EffectCall,
    Middleware,
    ModelReplied,
    Outcome,
    OverBudget,
    current_context,
    use_context,
)
from antiphon.effects.budget import format_cost_limit
from antiphon.errors import NotReadyError, Suspended

_NOW = "extract(epoch FROM clock_timestamp())"
#: Each takes the next free moment, in one statement: nobody waits for a lock, and nobody is let through twice.
_RESERVE = (
    f"INSERT INTO limits VALUES (?, {_NOW} + ?) ON CONFLICT (name)"
    f" DO UPDATE SET free_at = greatest(limits.free_at, {_NOW}) + ?"
    f" RETURNING (free_at - ? - {_NOW})::float8"
)
#: What the rows of a batch have cost: of each request that was answered, and how many have no price that is known.
COST_OF_ROWS = (
    "SELECT coalesce(sum(effects.cost), 0), count(*) - count(effects.cost) FROM effects JOIN runs ON id = run"
    " WHERE parent = ? AND runs.kind = 'row' AND effects.kind = 'request' AND effects.state = 'done'"
)
_SUM_UP = (
    f"INSERT INTO spent SELECT ?, CASE WHEN unknown = 0 THEN known END FROM ({COST_OF_ROWS}) AS rows (known, unknown)"
    " ON CONFLICT DO NOTHING"
)


class RateLimits(Middleware):
    """Stands in the door: before a model is asked, waits until it may be. What was answered before does not wait.

    In a run that can be left, a moment that is far off is kept for the request, and the run waits without a worker.

    `per_minute` are requests a minute by name of the model; `openai/*` stands for all that are called so, together.
    """

    def __init__(self, url: str, per_minute: Mapping[str, float]) -> None:
        for name, number in per_minute.items():
            if number <= 0:
                raise NotReadyError(f"{name!r} may be asked {number:g} times a minute, which is never")
        self._database = PostgresDatabase(url)
        self._seconds = {name: 60 / number for name, number in per_minute.items()}

    @contextmanager
    def enforce(self) -> Generator[None]:
        """Keep the limits in what is done inside."""
        where = current_context()
        with use_context(replace(where, performers=(*where.performers, self))):
            yield

    def delay(self, step: EffectCall) -> float:
        """How many seconds to wait before it is done; the moment is taken, and others come after it."""
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
                f"it waits until {model} may be asked again, {format_local_time(time.time() + wait, 'seconds')}"
            )
        return max(0.0, wait)

    def _reserve(self, connection: PostgresConnection, name: str, run: str, path: str) -> float:
        """How long until the moment that was kept for this request; or until the next free one, kept if it is far."""
        kept = f"DELETE FROM held WHERE run = ? AND path = ? RETURNING (until - {_NOW})::float8"
        found = connection.execute(kept, (run, path)).fetchone() if run else None
        gap = self._seconds[name]
        (wait,) = found or connection.execute(_RESERVE, (name, gap, gap, gap)).fetchall()[0]
        if run and wait > LONG_SLEEP:
            connection.execute(f"INSERT INTO held VALUES (?, ?, {_NOW} + ?)", (run, path, wait))
        return wait


class BatchBudget(Middleware):
    """Stands in the door of a row: before a model is asked, looks what all rows of its batch have cost so far.

    What was answered before the row was interrupted has been counted then, so this stands behind who knows of it.
    """

    def __init__(self, database: PostgresDatabase, batch: str, limit: float) -> None:
        self._database = database
        self._batch = batch
        self._limit = limit

    def reached(self) -> str:
        """Why nothing more is asked for; nothing, as long as something may be."""
        cost = self._database.transact(self._cost)
        return format_cost_limit(self._limit, cost) if cost is None or cost >= self._limit else ""

    def before(self, step: EffectCall) -> None:
        """Refuse a request where no more may be spent."""
        if isinstance(step.effect, AskModel) and (reached := self.reached()):
            raise OverBudget(reached)

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        """Add what it cost."""
        if isinstance(step.effect, AskModel) and isinstance(outcome.value, ModelReplied):
            values = (outcome.value.cost, self._batch)
            self._database.transact(
                lambda connection: connection.execute(
                    "UPDATE spent SET cost = cost + CAST(? AS DOUBLE PRECISION) WHERE batch = ?", values
                )
            )

    def _cost(self, connection: PostgresConnection) -> float | None:
        """It is summed up once; a batch is long, and each of its requests asks."""
        asked = "SELECT cost FROM spent WHERE batch = ?"
        found = connection.execute(asked, (self._batch,)).fetchone()
        if found is None:
            connection.execute(_SUM_UP, (self._batch, self._batch))
            found = connection.execute(asked, (self._batch,)).fetchone()
        return found[0] if found else 0.0
