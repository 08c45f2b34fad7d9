"""Dated facts with sources about what models and APIs accept and reject, as data.

Wire codecs, rules, fakes, defaults and documentation read the same facts. Nothing here opens a
connection. The table is loaded at the first lookup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr

if TYPE_CHECKING:
    from antiphon.facts.batch_facts import BatchFacts, find_batch_facts
    from antiphon.facts.model_facts import (
        CacheFacts,
        Facts,
        InputLimits,
        ModelLifecycle,
        SchemaLimits,
        Source,
        Thinking,
    )
    from antiphon.facts.resolution import (
        KnownModel,
        ResolvedFact,
        default_model,
        explain,
        find,
        list_known_models,
        lookup_facts,
    )
    from antiphon.facts.server_answers import RejectionFix, StopReason, cures, stop_reasons
    from antiphon.facts.statements import forget_learned_facts, learn, register_model

_HOMES = {
    "BatchFacts": "batch_facts",
    "CacheFacts": "model_facts",
    "RejectionFix": "server_answers",
    "Facts": "model_facts",
    "InputLimits": "model_facts",
    "KnownModel": "resolution",
    "ModelLifecycle": "model_facts",
    "SchemaLimits": "model_facts",
    "Source": "model_facts",
    "ResolvedFact": "resolution",
    "StopReason": "server_answers",
    "Thinking": "model_facts",
    "list_known_models": "resolution",
    "cures": "server_answers",
    "default_model": "resolution",
    "explain": "resolution",
    "find": "resolution",
    "find_batch_facts": "batch_facts",
    "forget_learned_facts": "statements",
    "learn": "statements",
    "lookup_facts": "resolution",
    "register_model": "statements",
    "stop_reasons": "server_answers",
}

__all__ = [
    "BatchFacts",
    "CacheFacts",
    "Facts",
    "InputLimits",
    "KnownModel",
    "ModelLifecycle",
    "RejectionFix",
    "ResolvedFact",
    "SchemaLimits",
    "Source",
    "StopReason",
    "Thinking",
    "cures",
    "default_model",
    "explain",
    "find",
    "find_batch_facts",
    "forget_learned_facts",
    "learn",
    "list_known_models",
    "lookup_facts",
    "register_model",
    "stop_reasons",
]

__getattr__ = make_lazy_getattr(__name__, _HOMES)
