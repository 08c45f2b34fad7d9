"""Export the steps of a run as JSON lines, and replay them in another run."""

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

#: The fields of an exported step.
_FIELDS = {"path", "kind", "fingerprint", "effect", "outcome"}


def export_steps(entries: Iterable[EffectEntry], redact: bool, warn: Callable[[str], None]) -> Generator[str]:
    """Yield a line for each finished step, in order of their start; `warn` receives messages about damaged ones."""
    from antiphon.durable.encryption import ENCRYPTED_MARK
    from antiphon.effects import outcome_to_json

    for entry in entries:
        if entry.damage:
            warn(f"step {entry.path} is omitted: {entry.damage}")
        if entry.outcome is None or entry.damage:
            continue
        outcome = outcome_to_json(entry.outcome)
        # A fingerprint made with the key of this journal is useless elsewhere.
        fingerprint = None if entry.hash.startswith(ENCRYPTED_MARK) else entry.hash
        row = {"path": entry.path, "kind": entry.kind, "fingerprint": fingerprint}
        said = {"effect": entry.asked, "outcome": outcome}
        yield json.dumps({**row, **(_redact(said) if redact else said)})


def load_replay(file: str) -> ReplayMiddleware | None:
    """Return middleware that replays exported steps; `None` if the file is another kind of recording."""
    rows: dict[str, dict[str, Any]] = {}
    try:
        with open_lines(file) as lines:
            for number, line in enumerate(lines, 1):
                row = json.loads(line)
                if not isinstance(row, dict) or not set(cast(dict[str, Any], row)) >= _FIELDS:
                    if rows:
                        raise ConfigurationError(f"{file}: line {number} is not a step of a session")
                    return None
                rows[row["path"]] = row
    except (ValueError, OSError):
        # The reader of recordings reports the error.
        return None
    from antiphon.effects import Playback

    return ReplayMiddleware(Playback(rows), file) if rows else None


@dataclass(slots=True)
class ReplayMiddleware(Middleware):
    """Replays the outcome of each step except printing; rejects requests that were not recorded."""

    playback: Playback
    file: str

    def before(self, step: EffectCall) -> Outcome | None:
        """Return the recorded outcome."""
        from antiphon.effects import EffectMismatch, Outcome

        if step.effect.kind == "print":
            return None
        if step.effect.kind == "sleep":
            return Outcome()
        known = self.playback.before(step)
        if known is None and step.effect.kind == "request":
            raise EffectMismatch(f"{self.file} has no request at step {step.path}")
        return known

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        """Ignore the outcome, which is the recorded one."""


def _redact(data: Any, key: str = "") -> Any:
    """Return the data with each text replaced by its length, except for kinds and names."""
    if isinstance(data, str):
        return data if key in ("kind", "type", "stop", "model", "tool", "about", "again", "name") else f"[{len(data)}]"
    if isinstance(data, list):
        return [_redact(each, key) for each in cast(list[Any], data)]
    if isinstance(data, dict):
        return {name: _redact(each, name) for name, each in cast(dict[str, Any], data).items()}
    return data
