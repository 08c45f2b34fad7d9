"""Record effects by path and replay them: the same program gives the same result, whatever the timing."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from antiphon.effects.codec import (
    effect_to_json_without_turns,
    fingerprint,
    recorded_outcome_from_json,
    recorded_outcome_to_json,
)
from antiphon.effects.pipeline import EffectCall, Middleware
from antiphon.effects.types import Effect, Outcome
from antiphon.errors import AntiphonError, Suspended


class EffectMismatch(AntiphonError):
    """A replayed program asks for an effect other than the one recorded at its path."""


@dataclass(slots=True)
class Recording(Middleware):
    """Middleware that records every effect with its outcome, as JSON data by path."""

    effects: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def before(self, step: EffectCall) -> None:
        """Let the effect pass."""

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        """Record the effect and its outcome."""
        if isinstance(outcome.error, Suspended):
            return
        row = {**_describe_effect(step.effect), "outcome": recorded_outcome_to_json(step.effect, outcome)}
        with self._lock:
            if step.path in self.effects:
                raise EffectMismatch(f"two effects have the path {step.path}")
            self.effects[step.path] = row


@dataclass(slots=True)
class Playback(Middleware):
    """Middleware that answers from a recording. Effects that were not recorded are performed."""

    effects: Mapping[str, dict[str, Any]]
    #: The paths that were replayed.
    replayed_paths: set[str] = field(default_factory=set[str])

    def before(self, step: EffectCall) -> Outcome | None:
        """Return the recorded outcome, or None. Raise an `EffectMismatch` if another effect was recorded there."""
        row = self.effects.get(step.path)
        if row is None:
            return None
        asked = _describe_effect(step.effect)
        # An effect with an environment value was recorded without it, and has no fingerprint.
        if row["kind"] != asked["kind"] or row["fingerprint"] not in (asked["fingerprint"], None):
            raise EffectMismatch(
                f"effect {step.path} is not the one that was recorded: {_format_row(asked)} now,"
                f" {_format_row(row)} then"
            )
        self.replayed_paths.add(step.path)
        return recorded_outcome_from_json(row["outcome"])

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        """Ignore the outcome of an effect that was not recorded."""


def _describe_effect(effect: Effect) -> dict[str, Any]:
    return {"kind": effect.kind, "fingerprint": fingerprint(effect), "effect": effect_to_json_without_turns(effect)}


def _format_row(row: Mapping[str, Any]) -> str:
    given = ", ".join(f"{name} {value!r:.80}" for name, value in row["effect"].items() if name != "kind")
    return f"{row['kind']} ({given})" if given else str(row["kind"])
