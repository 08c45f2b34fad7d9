"""Runs for many machines: whoever has runs makes them ready, and workers anywhere execute them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from antiphon._base.optional_deps import describe_missing_extra
from antiphon.durable import run_queue
from antiphon.durable.metrics import Metrics, measure_metrics
from antiphon.durable.postgres import PostgresDatabase
from antiphon.errors import NotReadyError, StoreError

if TYPE_CHECKING:
    from antiphon.durable.worker import RunWorker

#: For how long a worker may be silent before its runs are given to others, in seconds.
LEASE = 30.0


class Dispatcher:
    """Hands out the runs of a journal in PostgreSQL. What is true of a run is in the journal; this only wakes workers.

    `lease` is for how long a worker may be silent before its runs are taken over: the same for all workers.
    """

    def __init__(self, url: str, *, lease: float = LEASE) -> None:
        if lease < 1:
            raise NotReadyError(f"a lease is at least a second, not {lease:g}")
        self._url = url
        self._lease = lease
        self._runner: RunWorker | None = None

    def make_ready(self, runs: Iterable[str], priority: int = 0) -> int:
        """Have runs gone on with by whoever is free; how many of them may be, and were not at work already.

        Those of a higher `priority` (-1000 to 999) are first. Among equals the rows of a batch take turns with those of
        others: the n-th of one comes with the n-th of the next.
        """
        return run_queue.make_runs_ready(self._database, list(runs), priority)

    def cancel(self, runs: Iterable[str]) -> int:
        """End runs; whoever is at one does nothing more from its next effect on. How many had not ended."""
        return run_queue.cancel_runs(self._database, list(runs))

    def work(self, execute: Callable[[str], object], slots: int = 8) -> None:
        """Execute runs, `slots` at a time, until `stop` or a signal; those that are running are ended first.

        `execute` is given the id of a run and goes on with it in a `Journal` of the same place.
        """
        if slots < 1:
            raise NotReadyError(f"a worker needs at least one slot, not {slots}")
        try:
            from antiphon.durable.worker import RunWorker
        except ImportError as error:
            raise _missing_extra(error) from None
        self._runner = RunWorker(self._database, execute, slots, self._lease)
        self._runner.run()

    def stop(self) -> None:
        """Let `work` end: no more runs are taken."""
        if self._runner is not None:
            self._runner.stop()

    def metrics(self) -> Metrics:
        """How it goes, on all machines."""
        return measure_metrics(self._database, self._lease)

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    @cached_property
    def _database(self) -> PostgresDatabase:
        database = PostgresDatabase(self._url)
        try:
            run_queue.install_queue(database)
        except ImportError as error:
            raise _missing_extra(error) from None
        return database


def _missing_extra(error: ImportError) -> StoreError:
    return StoreError(describe_missing_extra("workers need", "postgres", error))
