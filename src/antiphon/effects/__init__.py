"""Effects: everything a run does to the world, as values that pass through one pipeline.

Model requests, tool calls and questions to people are effects. This package defines effects and outcomes,
but does not perform them: sessions and programs do. To record, replay, limit or reject effects, add a
`Middleware` to the pipeline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports
from antiphon.effects.pipeline import (
    EffectCall,
    EffectContext,
    IndeterminateEffect,
    Middleware,
    PathCounter,
    aperform,
    child_context,
    current_context,
    perform,
    use_context,
)

if TYPE_CHECKING:
    from antiphon.effects.budget import Budget, BudgetExceeded, Counter, Limits, Spending
    from antiphon.effects.codec import (
        effect_from_json,
        effect_json,
        fingerprint,
        outcome_from_json,
        outcome_to_json,
    )
    from antiphon.effects.record_replay import EffectMismatch, Playback, Recording
    from antiphon.effects.types import (
        AskModel,
        AskPerson,
        CallTool,
        Effect,
        HumanAnswer,
        ModelReplied,
        Outcome,
        Print,
        ReadClock,
        ReadEnvironment,
        RunPython,
        SendBatch,
        SendMessage,
        Sleep,
        ToolReturned,
        UploadFile,
    )

_HOMES = {
    "ModelReplied": "types",
    "AskModel": "types",
    "AskPerson": "types",
    "Budget": "budget",
    "BudgetExceeded": "budget",
    "Counter": "budget",
    "Limits": "budget",
    "Spending": "budget",
    "CallTool": "types",
    "EffectMismatch": "record_replay",
    "Effect": "types",
    "Outcome": "types",
    "Playback": "record_replay",
    "Print": "types",
    "ReadClock": "types",
    "ReadEnvironment": "types",
    "Recording": "record_replay",
    "ToolReturned": "types",
    "RunPython": "types",
    "SendBatch": "types",
    "SendMessage": "types",
    "UploadFile": "types",
    "HumanAnswer": "types",
    "Sleep": "types",
    "effect_from_json": "codec",
    "effect_json": "codec",
    "fingerprint": "codec",
    "outcome_from_json": "codec",
    "outcome_to_json": "codec",
}

__all__ = [
    "AskModel",
    "AskPerson",
    "Budget",
    "BudgetExceeded",
    "CallTool",
    "Counter",
    "Effect",
    "EffectCall",
    "EffectContext",
    "EffectMismatch",
    "HumanAnswer",
    "IndeterminateEffect",
    "Limits",
    "Middleware",
    "ModelReplied",
    "Outcome",
    "PathCounter",
    "Playback",
    "Print",
    "ReadClock",
    "ReadEnvironment",
    "Recording",
    "RunPython",
    "SendBatch",
    "SendMessage",
    "Sleep",
    "Spending",
    "ToolReturned",
    "UploadFile",
    "aperform",
    "child_context",
    "current_context",
    "effect_from_json",
    "effect_json",
    "fingerprint",
    "outcome_from_json",
    "outcome_to_json",
    "perform",
    "use_context",
]


publish_exports(globals())
__getattr__ = make_lazy_getattr(__name__, _HOMES)
