"""Distribution of runs to workers on many machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from antiphon._base.optional_deps import describe_missing_extra
from antiphon.durable.metrics import Metrics, measure_metrics
from antiphon.errors import NotReadyError, StoreError
from antiphon.storage import run_queue
from antiphon.storage.postgres import PostgresDatabase

if TYPE_CHECKING:
    from antiphon.durable.worker import RunWorker

#: Seconds without a heartbeat after which the runs of a worker go to others.
LEASE = 30.0


class Dispatcher:
    """Distributes the runs of a journal in PostgreSQL. The journal holds their state; the queue only wakes workers.

    `lease` is the time without a heartbeat after which other workers take over; it must be the same for all workers.
    """

    def __init__(self, url: str, *, lease: float = LEASE) -> None:
        if lease < 1:
            raise NotReadyError(f"a lease is at least one second, not {lease:g}")
        self._url = url
        self._lease = lease
        self._runner: RunWorker | None = None

    def make_ready(self, runs: Iterable[str], priority: int = 0) -> int:
        """Queue runs for workers, and return how many were queued; running and ended runs are not.

        Runs of a higher `priority` (-1000 to 999) come first. At equal priority, batches take turns: the n-th row of
        one batch comes with the n-th row of the next.
        """
        return run_queue.make_runs_ready(self._database, list(runs), priority)

    def cancel(self, runs: Iterable[str]) -> int:
        """Cancel runs, and return how many had not ended. A running one stops at its next effect."""
        return run_queue.cancel_runs(self._database, list(runs))

    def work(self, execute: Callable[[str], object], slots: int = 8) -> None:
        """Execute runs, `slots` at a time, until `stop` or a signal; running ones finish first.

        `execute` receives the id of a run, and resumes it in a `Journal` of the same URL.
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
        """Make `work` return after the current runs."""
        if self._runner is not None:
            self._runner.stop()

    def metrics(self) -> Metrics:
        """Return the current numbers of all machines."""
        return measure_metrics(self._database, self._lease)

    def close(self) -> None:
        """Close the connections to the database."""
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
