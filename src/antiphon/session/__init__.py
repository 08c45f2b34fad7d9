"""The loop: ask a model, run its tools, answer, until done. Typed returns, limits, events.

This room knows providers and tools, and nothing of the language. `Session` is where to begin. Each name is imported
when it is first used: a program that asks no model needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._public import lazy

if TYPE_CHECKING:
    from antiphon.session.context import Context
    from antiphon.session.endings import (
        Cancelled,
        Empty,
        LimitReached,
        NoAnswer,
        NotDone,
        Refused,
        ReturnError,
        Stuck,
        Truncated,
        Waiting,
    )
    from antiphon.session.events import (
        Asked,
        AsyncEvents,
        CallFinished,
        CallStarted,
        Compacted,
        Event,
        Events,
        ModelUnknown,
        PrefixChanged,
        RequestEnded,
        RequestStarted,
        RunEnded,
        RunStarted,
        RunWaits,
        Settled,
        UsageChanged,
    )
    from antiphon.session.people import Answers, People, Question
    from antiphon.session.portal import entered
    from antiphon.session.result import AIResult, Ending, RunRecord
    from antiphon.session.returns import Refusal
    from antiphon.session.run import Run, current_run
    from antiphon.session.session import Session
    from antiphon.session.settings import Asks, BeforeRequest, Limits

_HOMES = {
    "AIResult": "result",
    "Answers": "people",
    "Asked": "events",
    "Asks": "settings",
    "AsyncEvents": "events",
    "BeforeRequest": "settings",
    "CallFinished": "events",
    "CallStarted": "events",
    "Cancelled": "endings",
    "Compacted": "events",
    "ModelUnknown": "events",
    "PrefixChanged": "events",
    "Context": "context",
    "Empty": "endings",
    "Event": "events",
    "Events": "events",
    "LimitReached": "endings",
    "Limits": "settings",
    "NoAnswer": "endings",
    "NotDone": "endings",
    "Ending": "result",
    "People": "people",
    "Question": "people",
    "Refusal": "returns",
    "Refused": "endings",
    "RequestEnded": "events",
    "RequestStarted": "events",
    "ReturnError": "endings",
    "Run": "run",
    "RunEnded": "events",
    "RunRecord": "result",
    "RunStarted": "events",
    "RunWaits": "events",
    "Session": "session",
    "Settled": "events",
    "Stuck": "endings",
    "Truncated": "endings",
    "UsageChanged": "events",
    "Waiting": "endings",
    "current_run": "run",
    "entered": "portal",
}

__all__ = [
    "AIResult",
    "Answers",
    "Asked",
    "Asks",
    "AsyncEvents",
    "BeforeRequest",
    "CallFinished",
    "CallStarted",
    "Cancelled",
    "Compacted",
    "Context",
    "Empty",
    "Ending",
    "Event",
    "Events",
    "LimitReached",
    "Limits",
    "ModelUnknown",
    "NoAnswer",
    "NotDone",
    "People",
    "PrefixChanged",
    "Question",
    "Refusal",
    "Refused",
    "RequestEnded",
    "RequestStarted",
    "ReturnError",
    "Run",
    "RunEnded",
    "RunRecord",
    "RunStarted",
    "RunWaits",
    "Session",
    "Settled",
    "Stuck",
    "Truncated",
    "UsageChanged",
    "Waiting",
    "current_run",
    "entered",
]

__getattr__ = lazy(__name__, _HOMES)
