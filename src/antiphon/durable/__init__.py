"""Durable execution: a journal saves the effects of runs, so that a resumed run replays instead of repeating them.

Start with `Journal`. This package knows effects and where they are stored, but not the language. Programs, sessions
and plain code inside `with journal.run("nightly-7"):` reach the point of interruption again by replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports
from antiphon.durable.active_run import ActiveRun
from antiphon.durable.journal import Journal
from antiphon.durable.journal_middleware import JournalFailed, ReplayDiverged
from antiphon.durable.run_entries import EffectEntry, QuestionEntry, RunEntry, SentBatch

if TYPE_CHECKING:
    from antiphon.durable.dispatcher import Dispatcher
    from antiphon.durable.metrics import Metrics, WorkerEntry
    from antiphon.durable.rate_limits import RateLimits
    from antiphon.durable.stored_session import Store

_HOMES = {
    "Store": "stored_session",
    "Dispatcher": "dispatcher",
    "RateLimits": "rate_limits",
    "Metrics": "metrics",
    "WorkerEntry": "metrics",
}

__all__ = [
    "ActiveRun",
    "Dispatcher",
    "EffectEntry",
    "Journal",
    "JournalFailed",
    "Metrics",
    "QuestionEntry",
    "RateLimits",
    "ReplayDiverged",
    "RunEntry",
    "SentBatch",
    "Store",
    "WorkerEntry",
]

publish_exports(globals())
__getattr__ = make_lazy_getattr(__name__, _HOMES)
