"""Effects on disk: what a run has done is not done again when it is begun anew, after a crash or a week of waiting.

`Journal` is where to begin. This room knows effects and where they are stored, and nothing of the language: programs,
sessions and plain code inside `with journal.run("nightly-7"):` come to the same point by themselves, because what they
did before gives the outcomes of then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports
from antiphon.durable.entries import Changed, JournalFailed
from antiphon.durable.journal import Journal
from antiphon.durable.looking import EffectEntry, QuestionEntry, RunEntry
from antiphon.durable.running import Running
from antiphon.durable.writes import TakenOver, Unfinished

if TYPE_CHECKING:
    from antiphon.durable.dispatch import Dispatcher
    from antiphon.durable.limits import Limits
    from antiphon.durable.metrics import Metrics, WorkerEntry

_HOMES = {"Dispatcher": "dispatch", "Limits": "limits", "Metrics": "metrics", "WorkerEntry": "metrics"}

__all__ = [
    "Changed",
    "Dispatcher",
    "EffectEntry",
    "Journal",
    "JournalFailed",
    "Limits",
    "Metrics",
    "QuestionEntry",
    "RunEntry",
    "Running",
    "TakenOver",
    "Unfinished",
    "WorkerEntry",
]

publish_exports(globals())
__getattr__ = make_lazy_getattr(__name__, _HOMES)
