"""The agent loop: ask a model, run its tools and repeat until it answers. Typed output, limits and events.

This package knows providers and tools, but not the language. Start with `Session`. Each name is imported
on first use, because a program that asks no model needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr

if TYPE_CHECKING:
    from antiphon.session.agent import Agent, hand_off
    from antiphon.session.citations import Cited
    from antiphon.session.context_window import Context
    from antiphon.session.events import (
        AnswerDelta,
        CallFinished,
        CallProgressed,
        CallStarted,
        Compacted,
        Event,
        FellBack,
        FilesOmitted,
        ModelUnknown,
        PrefixChanged,
        QuestionAnswered,
        QuestionAsked,
        RequestDelayed,
        RequestEnded,
        RequestStarted,
        RunEnded,
        RunStarted,
        RunWaits,
        UsageChanged,
    )
    from antiphon.session.exceptions import (
        Blocked,
        Cancelled,
        EmptyAnswer,
        LimitReached,
        LoopDetected,
        ModelRefused,
        NeedsHuman,
        NeedsResults,
        NoAnswer,
        NotDone,
        ReturnError,
        Truncated,
    )
    from antiphon.session.fallback import Fallback
    from antiphon.session.human_input import Answers, HumanInput, Question
    from antiphon.session.partials import AnswerRestarted, Partial
    from antiphon.session.result import AIResult, RunEnding, RunRecord
    from antiphon.session.run import Run, current_run
    from antiphon.session.session import Session
    from antiphon.session.settings import BeforeRequestHook, ModelProtocol
    from antiphon.session.streams import AsyncEventStream, Events
    from antiphon.session.sync_bridge import entered
    from antiphon.session.typed_output import RejectedOutput, TextOrJson

_HOMES = {
    "AIResult": "result",
    "Agent": "agent",
    "TextOrJson": "typed_output",
    "Answers": "human_input",
    "QuestionAsked": "events",
    "ModelProtocol": "settings",
    "AnswerDelta": "events",
    "AnswerRestarted": "partials",
    "AsyncEventStream": "streams",
    "BeforeRequestHook": "settings",
    "Blocked": "exceptions",
    "CallFinished": "events",
    "CallProgressed": "events",
    "CallStarted": "events",
    "Cancelled": "exceptions",
    "Cited": "citations",
    "Compacted": "events",
    "Fallback": "fallback",
    "FellBack": "events",
    "FilesOmitted": "events",
    "ModelUnknown": "events",
    "PrefixChanged": "events",
    "Context": "context_window",
    "EmptyAnswer": "exceptions",
    "Event": "events",
    "Events": "streams",
    "LimitReached": "exceptions",
    "NoAnswer": "exceptions",
    "NotDone": "exceptions",
    "RunEnding": "result",
    "HumanInput": "human_input",
    "Partial": "partials",
    "Question": "human_input",
    "RejectedOutput": "typed_output",
    "ModelRefused": "exceptions",
    "RequestDelayed": "events",
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
    "NeedsResults": "exceptions",
    "current_run": "run",
    "entered": "sync_bridge",
    "hand_off": "agent",
}

__all__ = [
    "AIResult",
    "Agent",
    "AnswerDelta",
    "AnswerRestarted",
    "Answers",
    "AsyncEventStream",
    "BeforeRequestHook",
    "Blocked",
    "CallFinished",
    "CallProgressed",
    "CallStarted",
    "Cancelled",
    "Cited",
    "Compacted",
    "Context",
    "EmptyAnswer",
    "Event",
    "Events",
    "Fallback",
    "FellBack",
    "FilesOmitted",
    "HumanInput",
    "LimitReached",
    "LoopDetected",
    "ModelProtocol",
    "ModelRefused",
    "ModelUnknown",
    "NeedsHuman",
    "NeedsResults",
    "NoAnswer",
    "NotDone",
    "Partial",
    "PrefixChanged",
    "Question",
    "QuestionAnswered",
    "QuestionAsked",
    "RejectedOutput",
    "RequestDelayed",
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
    "hand_off",
]

__getattr__ = make_lazy_getattr(__name__, _HOMES)
