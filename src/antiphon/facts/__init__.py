"""What models and APIs accept and refuse: dated facts with sources, as data.

Wires, rules, fakes, defaults and documentation read the same facts. Nothing here opens a connection. The table is read
at the first lookup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._public import lazy

if TYPE_CHECKING:
    from antiphon.facts.answers import Cure, StopReason, cures, stop_reasons
    from antiphon.facts.model_facts import Cache, Facts, InputLimits, Lifecycle, SchemaLimits, Source, Thinking
    from antiphon.facts.resolution import KnownModel, StatedFact, all_models, default_model, explain, find, lookup
    from antiphon.facts.statements import forget_learned, learn, register_model

_HOMES = {
    "Cache": "model_facts",
    "Cure": "answers",
    "Facts": "model_facts",
    "InputLimits": "model_facts",
    "KnownModel": "resolution",
    "Lifecycle": "model_facts",
    "SchemaLimits": "model_facts",
    "Source": "model_facts",
    "StatedFact": "resolution",
    "StopReason": "answers",
    "Thinking": "model_facts",
    "all_models": "resolution",
    "cures": "answers",
    "default_model": "resolution",
    "explain": "resolution",
    "find": "resolution",
    "forget_learned": "statements",
    "learn": "statements",
    "lookup": "resolution",
    "register_model": "statements",
    "stop_reasons": "answers",
}

__all__ = [
    "Cache",
    "Cure",
    "Facts",
    "InputLimits",
    "KnownModel",
    "Lifecycle",
    "SchemaLimits",
    "Source",
    "StatedFact",
    "StopReason",
    "Thinking",
    "all_models",
    "cures",
    "default_model",
    "explain",
    "find",
    "forget_learned",
    "learn",
    "lookup",
    "register_model",
    "stop_reasons",
]

__getattr__ = lazy(__name__, _HOMES)
