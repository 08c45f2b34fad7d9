"""Everything a run does to the world, as values that go through one door: ask a model, call a tool, ask a person.

This room knows what effects and outcomes are, and nothing of who performs them: sessions and programs do. Whoever wants
to record, replay, bound or refuse what a run does stands in the door as a `Performer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._public import lazy, publish
from antiphon.effects.door import HalfDone, Node, Performer, Place, Step, aperform, at, below, perform, place

if TYPE_CHECKING:
    from antiphon.effects.budget import Budget, OverBudget
    from antiphon.effects.recording import DifferentEffect, Playback, Recording
    from antiphon.effects.values import (
        Answered,
        AskModel,
        AskPerson,
        CallTool,
        Effect,
        Outcome,
        Print,
        ReadClock,
        ReadEnvironment,
        Returned,
        RunPython,
        Said,
        Sleep,
    )
    from antiphon.effects.written import (
        effect_from_json,
        effect_json,
        fingerprint,
        outcome_from_json,
        outcome_json,
    )

_HOMES = {
    "Answered": "values",
    "AskModel": "values",
    "AskPerson": "values",
    "Budget": "budget",
    "CallTool": "values",
    "DifferentEffect": "recording",
    "Effect": "values",
    "Outcome": "values",
    "OverBudget": "budget",
    "Playback": "recording",
    "Print": "values",
    "ReadClock": "values",
    "ReadEnvironment": "values",
    "Recording": "recording",
    "Returned": "values",
    "RunPython": "values",
    "Said": "values",
    "Sleep": "values",
    "effect_from_json": "written",
    "effect_json": "written",
    "fingerprint": "written",
    "outcome_from_json": "written",
    "outcome_json": "written",
}

__all__ = [
    "Answered",
    "AskModel",
    "AskPerson",
    "Budget",
    "CallTool",
    "DifferentEffect",
    "Effect",
    "HalfDone",
    "Node",
    "Outcome",
    "OverBudget",
    "Performer",
    "Place",
    "Playback",
    "Print",
    "ReadClock",
    "ReadEnvironment",
    "Recording",
    "Returned",
    "RunPython",
    "Said",
    "Sleep",
    "Step",
    "aperform",
    "at",
    "below",
    "effect_from_json",
    "effect_json",
    "fingerprint",
    "outcome_from_json",
    "outcome_json",
    "perform",
    "place",
]


publish(globals())
__getattr__ = lazy(__name__, _HOMES)
