"""What a run did before its text changed, or before a step of it was decided anew: used again where it is the same."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

from antiphon.effects import HalfDone, Outcome, outcome_json
from antiphon.effects.written import as_text
from antiphon.errors import NotReadyError, StoreError
from antiphon.journal.entries import COLUMNS, Row, half_done, is_unsure
from antiphon.journal.looking import effect_of, outcome_at

if TYPE_CHECKING:
    from antiphon.journal.journal import Journal, Running

#: What was decided about steps, by their paths: what comes of each, or nothing where it is done again.
Decided = Mapping[str, Outcome | None]
_COUNTED = re.compile(r"(?<![^/.])\d+(?=[\[/.]|$)")


class KeptRows:
    """Finished effects of a run, found by what they asked for; how often in a thread of work, and not where.

    `reused` and `left` say what was found, and what was not asked for any more; `changed`, the environment variables
    that have another value by now.
    """

    def __init__(self, journal: Journal, run: str, decided: Decided, without_failed: bool) -> None:
        self._journal = journal
        self.reused = 0
        self.changed: list[str] = []
        self._rows: dict[tuple[str, str, str], deque[Row]] = {}
        found = journal.read(f"SELECT {COLUMNS} FROM effects WHERE run = ? ORDER BY seq", (run,))
        for row in (Row(*each) for each in found):
            if without_failed and row.state == "failed" and not self._is_half_done(row):
                continue
            if not any(_begins_anew(row.path, path, given) for path, given in decided.items()):
                self._rows.setdefault((_shape(row.path), row.kind, row.hash), deque()).append(row)

    def take(self, path: str, kind: str, hash: str) -> Row | None:
        """A finished effect that is the same, once. Of one that was interrupted it is not known whether it is."""
        rows = self._rows.get((_shape(path), kind, hash))
        while rows:
            row = rows.popleft()
            if row.state in ("done", "failed"):
                self.reused += 1
                return row
            if row.state == "begun" and is_unsure(effect := effect_of(self._journal, row.kind, row.effect)):
                outcome = as_text(outcome_json(Outcome(error=half_done(effect))))
                return Row(row.path, row.seq, kind, hash, "failed", row.effect, outcome, row.began, None)
        return None

    def _is_half_done(self, row: Row) -> bool:
        """Whether it was interrupted in the middle: doing that again is for somebody to decide who has looked."""
        try:
            return is_half_done(outcome_at(self._journal, row.outcome or "", row.path))
        except StoreError:
            return True

    @property
    def left(self) -> list[Row]:
        """What the run has not asked for any more, in order."""
        return sorted((row for rows in self._rows.values() for row in rows), key=lambda row: row.seq)


def set_aside(
    journal: Journal,
    running: Running,
    *,
    decided: Decided | None = None,
    without_failed: bool = False,
) -> KeptRows:
    """Let a run begin anew, with what it has done so far for where it is the same.

    The steps that were `decided` about are done again, or have the outcomes that are given; `without_failed`, those
    that failed are done again, unless they were interrupted in the middle. What is set aside is kept as a run of its
    own.
    """
    decided = decided or {}
    for path in decided:
        if not journal.read("SELECT 1 FROM effects WHERE run = ? AND path = ?", (running.id, path)):
            raise NotReadyError(
                f"run {running.id!r} has no step {path!r}; `antiphon runs show {running.id}` lists them"
            )
    for path, given in decided.items():
        if given is not None:
            running.settle(path, given)
    kept = KeptRows(journal, running.set_aside(), decided, without_failed)
    running.performer.shelf = kept
    return kept


def is_half_done(outcome: Outcome | None) -> bool:
    """Whether an outcome says that something was interrupted in the middle."""
    return outcome is not None and isinstance(outcome.error, HalfDone)


def _begins_anew(path: str, decided: str, given: Outcome | None) -> bool:
    """Whether a step was decided about; or is what such a one is inside of, which is not over before that is."""
    return decided.startswith(f"{path}/") or (path == decided and given is None)


def _shape(path: str) -> str:
    """A path without the counts that change when something is put before it; rounds and calls keep theirs."""
    return _COUNTED.sub("#", path)
