"""The agent loop: ask a model, run its tools and repeat until it answers. Typed output, limits and events.

This package knows providers and tools, but not the language. Start with `Session`. Each name is imported
on first use, because a program that asks no model needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr

if TYPE_CHECKING:
    from antiphon.session.agent import Agent
    from antiphon.session.context_window import Context
    from antiphon.session.events import (
        AsyncEventStream,
        CallFinished,
        CallProgressed,
        CallStarted,
        Compacted,
        Event,
        Events,
        ModelUnknown,
        PrefixChanged,
        QuestionAnswered,
        QuestionAsked,
        RequestEnded,
        RequestStarted,
        RunEnded,
        RunStarted,
        RunWaits,
        UsageChanged,
    )
    from antiphon.session.exceptions import (
        Cancelled,
        EmptyAnswer,
        LimitReached,
        LoopDetected,
        ModelRefused,
        NeedsHuman,
        NoAnswer,
        NotDone,
        ReturnError,
        Truncated,
    )
    from antiphon.session.human_input import Answers, HumanInput, Question
    from antiphon.session.result import AIResult, RunEnding, RunRecord
    from antiphon.session.run import Run, current_run
    from antiphon.session.session import Session
    from antiphon.session.settings import BeforeRequestHook, ModelProtocol
    from antiphon.session.sync_bridge import entered
    from antiphon.session.typed_output import RejectedOutput, TextOrJson

_HOMES = {
    "AIResult": "result",
    "Agent": "agent",
    "TextOrJson": "typed_output",
    "Answers": "human_input",
    "QuestionAsked": "events",
    "ModelProtocol": "settings",
    "AsyncEventStream": "events",
    "BeforeRequestHook": "settings",
    "CallFinished": "events",
    "CallProgressed": "events",
    "CallStarted": "events",
    "Cancelled": "exceptions",
    "Compacted": "events",
    "ModelUnknown": "events",
    "PrefixChanged": "events",
    "Context": "context_window",
    "EmptyAnswer": "exceptions",
    "Event": "events",
    "Events": "events",
    "LimitReached": "exceptions",
    "NoAnswer": "exceptions",
    "NotDone": "exceptions",
    "RunEnding": "result",
    "HumanInput": "human_input",
    "Question": "human_input",
    "RejectedOutput": "typed_output",
    "ModelRefused": "exceptions",
    "RequestEnded": "events",
    "RequestStarted": "events",
    "ReturnError": "exceptions",
    "Run": "run",
    "RunEnded": "events",
    "RunRecord": "result",
    "RunStarted": "events",
    "RunWaits": "events",
    "Session": "session",
    "QuestionAnswered": "events",
    "LoopDetected": "exceptions",
    "Truncated": "exceptions",
    "UsageChanged": "events",
    "NeedsHuman": "exceptions",
    "current_run": "run",
    "entered": "sync_bridge",
}

__all__ = [
    "AIResult",
    "Agent",
    "Answers",
    "AsyncEventStream",
    "BeforeRequestHook",
    "CallFinished",
    "CallProgressed",
    "CallStarted",
    "Cancelled",
    "Compacted",
    "Context",
    "EmptyAnswer",
    "Event",
    "Events",
    "HumanInput",
    "LimitReached",
    "LoopDetected",
    "ModelProtocol",
    "ModelRefused",
    "ModelUnknown",
    "NeedsHuman",
    "NoAnswer",
    "NotDone",
    "PrefixChanged",
    "Question",
    "QuestionAnswered",
    "QuestionAsked",
    "RejectedOutput",
    "RequestEnded",
    "RequestStarted",
    "ReturnError",
    "Run",
    "RunEnded",
    "RunEnding",
    "RunRecord",
    "RunStarted",
    "RunWaits",
    "Session",
    "TextOrJson",
    "Truncated",
    "UsageChanged",
    "current_run",
    "entered",
]

__getattr__ = make_lazy_getattr(__name__, _HOMES)
