"""The loop: ask a model, run its tools, answer, until done. Typed returns, limits, events.

This room knows providers and tools, and nothing of the language. `Session` is where to begin. Each name is imported
when it is first used: a program that asks no model needs none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antiphon.session.events import CallFinished, CallStarted, Done, Event, UsageChanged, Waiting
    from antiphon.session.portal import entered
    from antiphon.session.result import AIResult, Outcome, ReturnError, RunRecord
    from antiphon.session.returns import Refusal
    from antiphon.session.session import AsyncEvents, Events, Session
    from antiphon.session.settings import Asks, Limits

_HOMES = {
    "AIResult": "result",
    "Asks": "settings",
    "AsyncEvents": "session",
    "CallFinished": "events",
    "CallStarted": "events",
    "Done": "events",
    "Event": "events",
    "Events": "session",
    "Limits": "settings",
    "Outcome": "result",
    "Refusal": "returns",
    "ReturnError": "result",
    "RunRecord": "result",
    "Session": "session",
    "UsageChanged": "events",
    "Waiting": "events",
    "entered": "portal",
}

__all__ = [
    "AIResult",
    "Asks",
    "AsyncEvents",
    "CallFinished",
    "CallStarted",
    "Done",
    "Event",
    "Events",
    "Limits",
    "Outcome",
    "Refusal",
    "ReturnError",
    "RunRecord",
    "Session",
    "UsageChanged",
    "Waiting",
    "entered",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'antiphon.session' has no attribute {name!r}")
    value = getattr(import_module(f"antiphon.session.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
