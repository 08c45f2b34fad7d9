"""Effects written down by path, and played back: the same program comes to the same end, whatever the timing."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from antiphon.effects.door import Performer, Step
from antiphon.effects.values import Effect, Outcome
from antiphon.effects.written import asked_json, fingerprint, kept_json, kept_outcome
from antiphon.errors import AntiphonError, Unsettled


class DifferentEffect(AntiphonError):
    """What is played back asks for something else than what was recorded at its place."""


@dataclass(slots=True)
class Recording(Performer):
    """Stands in the door and writes down every effect with its outcome, as JSON data by path."""

    effects: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def before(self, step: Step) -> None:
        """Nothing is known before."""

    def after(self, step: Step, outcome: Outcome) -> None:
        """Write it down."""
        if isinstance(outcome.error, Unsettled):
            return
        row = {**_asked(step.effect), "outcome": kept_json(step.effect, outcome)}
        with self._lock:
            if step.path in self.effects:
                raise DifferentEffect(f"two effects have the path {step.path}")
            self.effects[step.path] = row


@dataclass(slots=True)
class Playback(Performer):
    """Stands in the door and answers from a recording. What was not recorded is done."""

    effects: Mapping[str, dict[str, Any]]
    #: The paths that were asked for.
    played: set[str] = field(default_factory=set[str])

    def before(self, step: Step) -> Outcome | None:
        """The recorded outcome; a `DifferentEffect` says that something else was asked for then."""
        row = self.effects.get(step.path)
        if row is None:
            return None
        asked = _asked(step.effect)
        # What held a value of the environment was recorded without it, and has no fingerprint.
        if row["kind"] != asked["kind"] or row["fingerprint"] not in (asked["fingerprint"], None):
            raise DifferentEffect(
                f"effect {step.path} is not the one that was recorded: {_shown(asked)} now, {_shown(row)} then"
            )
        self.played.add(step.path)
        return kept_outcome(row["outcome"])

    def after(self, step: Step, outcome: Outcome) -> None:
        """It happened for the first time."""


def _asked(effect: Effect) -> dict[str, Any]:
    return {"kind": effect.kind, "fingerprint": fingerprint(effect), "effect": asked_json(effect)}


def _shown(row: Mapping[str, Any]) -> str:
    given = ", ".join(f"{name} {value!r:.80}" for name, value in row["effect"].items() if name != "kind")
    return f"{row['kind']} ({given})" if given else str(row["kind"])
