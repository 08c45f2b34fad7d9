"""What a run did as JSON lines, and such lines as what stands in the door of another."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from antiphon._base.files import open_lines
from antiphon.effects.pipeline import Middleware
from antiphon.errors import ConfigurationError

if TYPE_CHECKING:
    from antiphon.durable import EffectEntry
    from antiphon.effects import EffectCall, Outcome, Playback

#: What a line has that is no exchange with a model, but an effect.
_FIELDS = {"path", "kind", "fingerprint", "effect", "outcome"}


def exported(entries: Iterable[EffectEntry], redact: bool, warn: Callable[[str], None]) -> Generator[str]:
    """A line for each effect that is over, in the order in which they were begun; what is damaged is told of."""
    from antiphon.durable.encryption import ENCRYPTED_MARK
    from antiphon.effects import outcome_to_json

    for entry in entries:
        if entry.damage:
            warn(f"step {entry.path} is left out: {entry.damage}")
        if entry.outcome is None or entry.damage:
            continue
        outcome = outcome_to_json(entry.outcome)
        # One that depends on the key of the journal says nothing elsewhere.
        fingerprint = None if entry.hash.startswith(ENCRYPTED_MARK) else entry.hash
        row = {"path": entry.path, "kind": entry.kind, "fingerprint": fingerprint}
        said = {"effect": entry.asked, "outcome": outcome}
        yield json.dumps({**row, **(_redacted(said) if redact else said)})


def playback_of(file: str) -> Replayed | None:
    """What such lines say came of everything; nothing, where the file is another recording."""
    rows: dict[str, dict[str, Any]] = {}
    try:
        with open_lines(file) as lines:
            for number, line in enumerate(lines, 1):
                row = json.loads(line)
                if not isinstance(row, dict) or not set(cast(dict[str, Any], row)) >= _FIELDS:
                    if rows:
                        raise ConfigurationError(f"{file}: line {number} is no step of a run")
                    return None
                rows[row["path"]] = row
    except (ValueError, OSError):
        # Whoever reads it as what it else may be has the words for it.
        return None
    from antiphon.effects import Playback

    return Replayed(Playback(rows), file) if rows else None


@dataclass(slots=True)
class Replayed(Middleware):
    """Stands in the door: everything but printing is as it was, and no model is asked what it was not asked then."""

    playback: Playback
    file: str

    def before(self, step: EffectCall) -> Outcome | None:
        """What came of it then."""
        from antiphon.effects import EffectMismatch, Outcome

        if step.effect.kind == "print":
            return None
        if step.effect.kind == "sleep":
            return Outcome()
        known = self.playback.before(step)
        if known is None and step.effect.kind == "request":
            raise EffectMismatch(f"{self.file} has no step {step.path}, in which a model is asked")
        return known

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        """It is the same."""


def _redacted(data: Any, key: str = "") -> Any:
    """The same with the length of each text in its place; the words that say what something is stay."""
    if isinstance(data, str):
        return data if key in ("kind", "type", "stop", "model", "tool", "about", "again", "name") else f"[{len(data)}]"
    if isinstance(data, list):
        return [_redacted(each, key) for each in cast(list[Any], data)]
    if isinstance(data, dict):
        return {name: _redacted(each, name) for name, each in cast(dict[str, Any], data).items()}
    return data
