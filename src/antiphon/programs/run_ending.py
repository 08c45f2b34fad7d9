"""How a run of a program ended, as it is told to people and written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.errors import SessionAborted
from antiphon.lang.runtime.human_questions import ProgramSuspended
from antiphon.programs.lazy_run import LazyRun

if TYPE_CHECKING:
    from antiphon.durable import ActiveRun
    from antiphon.lang.runtime.program import Report

_ENDING_BY_CODE = {"V0922": "limit", "V0923": "waiting", "V0925": "invalid", "V0930": "halted"}
#: Where these end a run, it has failed, or can be gone on with when what stopped it is gone.
_STATE_BY_ENDING = {"limit": "failed", "invalid": "failed", "halted": "interrupted"}


def classify_ending(report: Report) -> str:
    """In a word: done, failed, waiting, limit, invalid, halted or interrupted."""
    return _ENDING_BY_CODE.get(report.error.code, "failed") if report.error else report.outcome


def finish_run(kept: ActiveRun | LazyRun, report: Report) -> dict[str, Any]:
    """Let go of a run, and write down how it ended; that, as JSON data."""
    from antiphon.results import to_plain_json

    ending = classify_ending(report)
    state = _STATE_BY_ENDING.get(ending, ending)
    if state == "waiting" and not isinstance(report.error, ProgramSuspended):
        # It was refused, which no answer changes.
        state = "failed"
    error = None if report.error is None else report.error.to_json()
    told = {"outcome": ending, "value": to_plain_json(report.value), "error": error}
    running = kept.running if isinstance(kept, LazyRun) else kept
    if (
        running is not None
        and running.middleware.replay_source is not None
        and running.middleware.replay_source.changed_variables
    ):
        # Environment variables that had another value than when the run read them before.
        told["changed"] = sorted(set(running.middleware.replay_source.changed_variables))
    if (
        report.error is not None
        and isinstance(report.error.__cause__, SessionAborted)
        and report.error.__cause__.option
    ):
        told["option"] = report.error.__cause__.option
    kept.finish(state, told)
    return told
