"""Limits of providers that all machines keep together: so many requests a minute to a model, whoever asks."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase

from antiphon.effects import AskModel, Outcome, Step, at, place
from antiphon.errors import NotReadyError
from antiphon.journal.postgres import Postgres

_NOW = "extract(epoch FROM clock_timestamp())"
#: Each takes the next free moment, in one statement: nobody waits for a lock, and nobody is let through twice.
_TAKE = (
    f"INSERT INTO limits VALUES (?, {_NOW} + ?) ON CONFLICT (name)"
    f" DO UPDATE SET free_at = greatest(limits.free_at, {_NOW}) + ?"
    f" RETURNING (free_at - ? - {_NOW})::float8"
)


class Limits:
    """Stands in the door: before a model is asked, waits until it may be. What was answered before does not wait.

    `per_minute` are requests a minute by name of the model; `openai/*` stands for all that are called so, together.
    """

    def __init__(self, url: str, per_minute: Mapping[str, float]) -> None:
        for name, number in per_minute.items():
            if number <= 0:
                raise NotReadyError(f"{name!r} may be asked {number:g} times a minute, which is never")
        self._database = Postgres(url)
        self._seconds = {name: 60 / number for name, number in per_minute.items()}

    @contextmanager
    def kept(self) -> Generator[None]:
        """Keep the limits in what is done inside."""
        where = place()
        with at(replace(where, performers=(*where.performers, self))):
            yield

    def delay(self, step: Step) -> float:
        """How many seconds to wait before it is done; the moment is taken, and others come after it."""
        if not isinstance(step.effect, AskModel):
            return 0.0
        model = step.effect.model
        name = next((each for each in self._seconds if fnmatchcase(model, each)), None)
        if name is None:
            return 0.0
        gap = self._seconds[name]
        ((wait,),) = self._database.write(
            lambda connection: connection.execute(_TAKE, (name, gap, gap, gap)).fetchall()
        )
        return max(0.0, wait)

    def before(self, step: Step) -> Outcome | None:
        """Nothing is known here of what comes of it."""
        del step

    def after(self, step: Step, outcome: Outcome) -> None:
        """It has waited already."""
        del step, outcome
