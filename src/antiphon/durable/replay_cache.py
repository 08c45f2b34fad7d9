"""Replay of the effects of a restarted run: equal requests get their earlier outcomes."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from heapq import nsmallest
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from antiphon._base.json import load_json
from antiphon.durable.journal_middleware import is_unrepeatable, make_indeterminate_error
from antiphon.durable.run_entries import read_effect, read_outcome
from antiphon.effects import IndeterminateEffect, Outcome, outcome_to_json
from antiphon.effects.codec import dump_ascii_json
from antiphon.errors import NotReadyError, StoreError
from antiphon.storage import sessions, steps
from antiphon.storage.steps import StepRow

if TYPE_CHECKING:
    from antiphon.durable.active_run import ActiveRun
    from antiphon.durable.journal import Journal

#: Decisions about steps by path: the given outcome, or None to perform the step again.
Decisions = Mapping[str, Outcome | None]
_COUNTED = re.compile(r"(?<![^/.])\d+(?=[\[/.]|$)")


#: More than the number of steps of any run.
_SEQ_LIMIT = 1 << 40


class SetAsideRun(NamedTuple):
    """A child run with set-aside effects, and the decisions that were made then."""

    run: str
    decided: Decisions
    without_failed: bool


class ReplayCache:
    """Finished effects of a run, found by their request instead of their position.

    It holds only the number of each effect, because a run may have a million. `reused` counts the effects that were
    replayed, `unused` the others; `changed_variables` lists environment variables whose value has changed.
    """

    def __init__(self, journal: Journal, aside: Sequence[SetAsideRun]) -> None:
        self._journal = journal
        #: Newest first, because decisions apply to older runs too.
        self._aside = aside
        self.reused = 0
        self.unused = 0
        self.changed_variables: list[str] = []
        #: For equal requests: the first effect, and the following ones.
        self._first: dict[bytes, int] = {}
        self._more: dict[bytes, deque[int]] = {}
        #: Concurrent iterations of a loop call `take` at the same time.
        self._lock = threading.Lock()
        decided: dict[str, Outcome | None] = {}
        for number, each in enumerate(aside):
            decided = {**each.decided, **decided}
            for path, seq, kind, hash, state in steps.iterate_step_keys(journal.database, each.run):
                if each.without_failed and state == "failed" and not self._is_indeterminate(each.run, path):
                    continue
                # A step inside which another was decided about ends only after that one.
                is_done_again = any(
                    at.startswith(f"{path}/") or (path == at and given is None) for at, given in decided.items()
                )
                if not is_done_again:
                    self._add(_make_key(path, kind, hash), number * _SEQ_LIMIT + seq)

    def skip_effects_of(self, run: str) -> None:
        """Remove the effects that a run has replayed already."""
        for path, _, kind, hash, _ in steps.iterate_step_keys(self._journal.database, run):
            self._pop(_make_key(path, kind, hash))

    def take(self, path: str, kind: str, hash: str) -> StepRow | None:
        """Return a finished effect with this request, each only once.

        An interrupted effect that must not be repeated is returned as failed.
        """
        while (row := self._next(path, kind, hash)) is not None:
            if row.state in ("done", "failed"):
                self.reused += 1
                return row
            if row.state == "begun" and is_unrepeatable(effect := read_effect(self._journal, row.kind, row.request)):
                outcome = dump_ascii_json(outcome_to_json(Outcome(error=make_indeterminate_error(effect))))
                return row._replace(kind=kind, hash=hash, state="failed", outcome=outcome, cost=None)
        return None

    def list_unused(self, most: int) -> list[StepRow]:
        """Return the first `most` effects that were not replayed."""
        rest = chain(self._first.values(), *self._more.values())
        return [row for seq in nsmallest(most, rest) if (row := self._load_row(seq)) is not None]

    def _add(self, key: bytes, seq: int) -> None:
        self.unused += 1
        if key in self._first:
            self._more.setdefault(key, deque()).append(seq)
        else:
            self._first[key] = seq

    def _next(self, path: str, kind: str, hash: str) -> StepRow | None:
        with self._lock:
            number = self._pop(_make_key(path, kind, hash))
        return None if number is None else self._load_row(number)

    def _pop(self, key: bytes) -> int | None:
        if (number := self._first.pop(key, None)) is None:
            return None
        if key in self._more:
            self._first[key] = self._more[key].popleft()
            if not self._more[key]:
                del self._more[key]
        self.unused -= 1
        return number

    def _load_row(self, number: int) -> StepRow | None:
        which, seq = divmod(number, _SEQ_LIMIT)
        run = self._aside[which].run
        return steps.find_step_by_seq(self._journal.database, run, seq)

    def _is_indeterminate(self, run: str, path: str) -> bool:
        """Return whether the effect may have completed, so that only a person may decide to repeat it."""
        found = steps.find_step(self._journal.database, run, path)
        try:
            return found is None or is_indeterminate(read_outcome(self._journal, found.outcome or "", path))
        except StoreError:
            return True


def set_aside_run(
    journal: Journal,
    running: ActiveRun,
    *,
    decided: Decisions | None = None,
    without_failed: bool = False,
) -> ReplayCache:
    """Restart a run, and replay its effects where the requests are the same.

    `decided` steps are performed again, or get the given outcomes. With `without_failed`, failed steps are performed
    again, unless it is unknown whether they completed. The effects move to a child run.
    """
    decided = decided or {}
    for path in decided:
        if steps.find_step(journal.database, running.id, path) is None:
            raise NotReadyError(f"session {running.id!r} has no step {path!r}; `antiphon show {running.id}` lists them")
    for path, given in decided.items():
        if given is not None:
            running.record_outcome(path, given)
    about = {"decided": {path: given is not None for path, given in decided.items()}, "failed": without_failed}
    running.set_aside(about)
    kept = load_replay_cache(journal, running.id)
    assert kept is not None
    running.middleware.replay_source = kept
    return kept


def load_replay_cache(journal: Journal, run: str) -> ReplayCache | None:
    """Return the set-aside effects that a run has not replayed yet, or None if it has none."""
    rows = sessions.list_set_aside(journal.database, run)
    if not rows:
        return None
    aside: list[SetAsideRun] = []
    for child, about in rows:
        data = load_json(about, f"what was decided about session {child!r}")
        decided = {path: Outcome() if given else None for path, given in data["decided"].items()}
        aside.append(SetAsideRun(child, decided, data["failed"]))
    kept = ReplayCache(journal, aside)
    kept.skip_effects_of(run)
    return kept


def is_indeterminate(outcome: Outcome | None) -> bool:
    """Return whether an outcome says that an effect was interrupted and may have completed."""
    return outcome is not None and isinstance(outcome.error, IndeterminateEffect)


def _make_key(path: str, kind: str, hash: str) -> bytes:
    """Return a short key of an effect and its place.

    Counts that change when something is put before it are left out; rounds and calls keep theirs.
    """
    return hashlib.blake2b(f"{_COUNTED.sub('#', path)} {kind} {hash}".encode(), digest_size=16).digest()
