"""One row for each effect of a run, written before and after; one that is finished gives its outcome."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon.effects import (
    Answered,
    AskModel,
    AskPerson,
    CallTool,
    Effect,
    HalfDone,
    Outcome,
    Print,
    ReadEnvironment,
    Returned,
    RunPython,
    Step,
)
from antiphon.effects.written import as_text, effect_json, fingerprint, outcome_from_json, outcome_json
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from antiphon.journal.journal import Journal

#: Larger texts are kept once, by their content.
LARGE = 8_192


class Changed(AntiphonError):
    """A run asks for something else than it did the last time: the program, or what it depends on, has changed."""


@dataclass(frozen=True, slots=True)
class _Row:
    kind: str
    hash: str
    state: str
    outcome: str | None
    attempt: int


class Entries:
    """Stands in the door for one run of a journal."""

    #: Whoever needs a person here need not have one: the run is gone on with when the answer is there.
    waits = True

    def __init__(self, journal: Journal, run: str, epoch: int) -> None:
        self._journal = journal
        self._run = run
        self._epoch = epoch
        ((self._count,),) = journal.read("SELECT count(*) FROM effects WHERE run = ?", (run,))
        self._lock = threading.Lock()

    def before(self, step: Step) -> Outcome | None:
        """The outcome of the last time; where there is none, a note that it is begun."""
        hash, row = fingerprint(step.effect), self._row(step.path)
        if row is None:
            state = "waiting" if isinstance(step.effect, AskPerson) else "begun"
            # A line that is printed twice is worse than one that is lost with the process that printed it.
            self._begin(step, hash, "done" if isinstance(step.effect, Print) else state)
            return None
        self._check(step, hash, row)
        if row.state in ("done", "failed"):
            return self._outcome(step.effect, row)
        if _is_unsure(step.effect):
            said = f"{_named(step.effect)} was interrupted: it is not known whether it took effect"
            outcome = Outcome(error=HalfDone(f"{said}; look before it is repeated"))
            self.after(step, outcome)
            return outcome
        self._write("UPDATE effects SET attempt = attempt + 1 WHERE run = ? AND path = ?", (self._run, step.path))
        return None

    def after(self, step: Step, outcome: Outcome) -> None:
        """Note what came of it."""
        if isinstance(step.effect, Print) and outcome.error is None:
            return
        state = "failed" if outcome.error is not None else "done"
        body = self._kept(step.effect, outcome)
        cost = outcome.value.cost if isinstance(outcome.value, Answered | Returned) else None
        self._write(
            "UPDATE effects SET state = ?, outcome = ?, ended = ?, cost = ? WHERE run = ? AND path = ?",
            (state, body, time.time(), cost, self._run, step.path),
        )

    # Inside

    def _row(self, path: str) -> _Row | None:
        found = self._journal.read(
            "SELECT kind, hash, state, outcome, attempt FROM effects WHERE run = ? AND path = ?", (self._run, path)
        )
        return _Row(*found[0]) if found else None

    def _begin(self, step: Step, hash: str, state: str) -> None:
        asked = effect_json(step.effect)
        # All that a model was shown is in the rows before; its hash says so.
        asked.pop("turns", None)
        body = '{"value":null}' if state == "done" else None
        with self._lock:
            number, self._count = self._count, self._count + 1
        asked_as, now = self._large(as_text(asked)), time.time()
        self._write(
            "INSERT INTO effects (run, path, seq, kind, hash, effect, state, outcome, began, attempt)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
            (self._run, step.path, number, step.effect.kind, hash, asked_as, state, body, now),
        )

    def _check(self, step: Step, hash: str, row: _Row) -> None:
        if (row.kind, row.hash) == (step.effect.kind, hash):
            return
        (then,) = self._journal.read("SELECT effect FROM effects WHERE run = ? AND path = ?", (self._run, step.path))
        now = effect_json(step.effect)
        now.pop("turns", None)
        raise Changed(
            f"effect {step.path} of run {self._run} is not the one of the last time."
            f"\n  then: {self._journal.text(then[0])[:400]}\n  now:  {as_text(now)[:400]}"
        )

    def _kept(self, effect: Effect, outcome: Outcome) -> str:
        if isinstance(effect, ReadEnvironment) and outcome.error is None:
            # Whatever it is, it may be a secret: it is read again.
            return ""
        return self._large(as_text(outcome_json(outcome)))

    def _outcome(self, effect: Effect, row: _Row) -> Outcome | None:
        if isinstance(effect, ReadEnvironment) and row.state == "done":
            return None
        return outcome_from_json(json.loads(self._journal.text(row.outcome or "")))

    def _large(self, text: str) -> str:
        """The text, or where it is kept."""
        if len(text) <= LARGE:
            return text
        name = hashlib.sha256(text.encode()).hexdigest()
        self._write("INSERT OR IGNORE INTO texts VALUES (?, ?)", (name, text))
        return f"@{name}"

    def _write(self, statement: str, values: tuple[Any, ...]) -> None:
        self._journal.write(self._run, self._epoch, statement, values)


def _is_unsure(effect: Effect) -> bool:
    """Whether it must not be done again without somebody having looked."""
    match effect:
        case CallTool():
            return effect.again == "unsure"
        case RunPython():
            return not effect.is_harmless
        case _:
            return False


def _named(effect: Effect) -> str:
    match effect:
        case CallTool(tool):
            return f"`{tool}`"
        case RunPython(source):
            return f"Python ({source.strip().splitlines()[0][:60]})"
        case AskModel(model):
            return model
        case _:
            return effect.kind
