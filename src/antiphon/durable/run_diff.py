"""Comparison of two runs, step by step, by request and outcome."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from antiphon._base.json_access import as_object
from antiphon.effects import outcome_to_json

if TYPE_CHECKING:
    from antiphon.durable.run_entries import EffectEntry

#: Durations and ids of the server do not count as differences.
_IGNORED_FIELDS = {"returned": ("record",), "reply": ("id", "request_id")}


@dataclass(frozen=True, slots=True)
class StepPair:
    """A step of two runs. `what` says whether they agree, or differ in the request or in the outcome."""

    path: str
    what: Literal["same", "asked", "outcome", "first only", "second only"]
    first: EffectEntry | None
    second: EffectEntry | None


def align_steps(first: Iterable[EffectEntry], second: Iterable[EffectEntry]) -> Generator[StepPair]:
    """Pair the steps of two runs by path, in the order of the first; steps of the second alone keep their place."""
    ours = list(first)
    paths = {each.path for each in ours}
    theirs = list(second)
    places = {each.path: number for number, each in enumerate(theirs)}
    told = 0
    for one in ours:
        place = places.get(one.path)
        if place is None:
            yield StepPair(one.path, "first only", one, None)
            continue
        for other in theirs[told:place]:
            if other.path not in paths:
                yield StepPair(other.path, "second only", None, other)
        told = max(told, place + 1)
        other = theirs[place]
        if (one.kind, one.hash) != (other.kind, other.hash):
            yield StepPair(one.path, "asked", one, other)
        else:
            is_same = _comparable_outcome(one) == _comparable_outcome(other)
            yield StepPair(one.path, "same" if is_same else "outcome", one, other)
    for other in theirs[told:]:
        if other.path not in paths:
            yield StepPair(other.path, "second only", None, other)


def find_differences(first: Iterable[EffectEntry], second: Iterable[EffectEntry]) -> Generator[StepPair]:
    """Return the steps in which two runs differ."""
    return (each for each in align_steps(first, second) if each.what != "same")


def _comparable_outcome(entry: EffectEntry) -> Any:
    if entry.outcome is None:
        return entry.state
    data = outcome_to_json(entry.outcome)
    for kind, fields in _IGNORED_FIELDS.items():
        if kind in data:
            return {name: each for name, each in as_object(data[kind]).items() if name not in fields}
    return data
