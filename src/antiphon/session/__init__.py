"""The loop: ask a model, run its tools, answer, until done. Typed returns, limits, events.

This room knows providers and tools, and nothing of the language. `Session` is where to begin.
"""

from antiphon.session.events import CallFinished, CallStarted, Done, Event, UsageChanged, Waiting
from antiphon.session.portal import entered
from antiphon.session.result import AIResult, Outcome
from antiphon.session.returns import ReturnError
from antiphon.session.session import AsyncEvents, Events, Session
from antiphon.session.settings import Asks, Limits

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
    "ReturnError",
    "Session",
    "UsageChanged",
    "Waiting",
    "entered",
]
