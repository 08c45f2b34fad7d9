"""Metrics of the runs and workers of a shared journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from antiphon.storage.metrics import read_counts

if TYPE_CHECKING:
    from antiphon.storage.postgres import PostgresDatabase


@dataclass(frozen=True, slots=True)
class WorkerEntry:
    """A worker process, its number of slots and the seconds since its last heartbeat."""

    process: str
    slots: int
    silent: float


@dataclass(frozen=True, slots=True)
class Metrics:
    """The number of runs by state, the current throughput and the cost.

    `lost` counts failed runs whose workers died. `oldest` is the age of the oldest ready run in seconds.
    `effects_per_second` is of the last minute, `cost` of the last hour.
    """

    runs: Mapping[str, int]
    lost: int
    oldest: float | None
    effects_per_second: float
    cost: float
    workers: tuple[WorkerEntry, ...]

    @property
    def slots(self) -> int:
        """The number of runs that can be executed at once."""
        return sum(each.slots for each in self.workers)

    def to_prometheus(self) -> str:
        """Return the metrics in the text format of Prometheus."""
        states = [(f'state="{state}"', number) for state, number in sorted(self.runs.items())]
        return "".join(
            (
                _format_gauge("runs", "Runs by state", states),
                _format_gauge(
                    "runs_lost", "Failed runs that were set aside because their workers died", [("", self.lost)]
                ),
                _format_gauge("oldest_ready_seconds", "Age of the oldest ready run", [("", self.oldest or 0)]),
                _format_gauge(
                    "effects_per_second", "Effects begun, over the last minute", [("", self.effects_per_second)]
                ),
                _format_gauge("cost_last_hour", "Cost of the last hour in dollars", [("", self.cost)]),
                _format_gauge("workers", "Workers that live", [("", len(self.workers))]),
                _format_gauge("slots", "Runs that can be at work at once", [("", self.slots)]),
            )
        )


def measure_metrics(database: PostgresDatabase, lease: float) -> Metrics:
    """Read all metrics in one transaction."""
    states, (lost, oldest, begun, cost), workers = read_counts(database, lease)
    return Metrics(states, lost, oldest, begun / 60, cost, tuple(WorkerEntry(*each) for each in workers))


def _format_gauge(name: str, help: str, values: Sequence[tuple[str, float]]) -> str:
    full = f"antiphon_{name}"
    lines = [f"{full}{{{labels}}} {value:g}" if labels else f"{full} {value:g}" for labels, value in values]
    return "\n".join((f"# HELP {full} {help}", f"# TYPE {full} gauge", *lines, ""))
