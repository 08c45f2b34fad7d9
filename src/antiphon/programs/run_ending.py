"""Endings of program runs, for messages and for the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.errors import LeaseLost, SessionAborted
from antiphon.lang.runtime.human_questions import ProgramSuspended
from antiphon.programs.lazy_run import LazyRun

if TYPE_CHECKING:
    from antiphon.durable import ActiveRun
    from antiphon.lang.runtime.program import Report

_ENDING_BY_CODE = {"V0922": "limit", "V0923": "waiting", "V0925": "invalid", "V0930": "halted"}
#: The states of runs with these endings; others have the state of the same name.
_STATE_BY_ENDING = {"limit": "failed", "invalid": "failed", "halted": "interrupted"}


def classify_ending(report: Report) -> str:
    """Return the ending: done, failed, waiting, limit, invalid, halted or interrupted."""
    if report.error is None:
        return report.outcome
    if isinstance(report.error.__cause__, LeaseLost):
        return "interrupted"
    return _ENDING_BY_CODE.get(report.error.code, "failed")


def finish_run(kept: ActiveRun | LazyRun, report: Report) -> dict[str, Any]:
    """Finish a run, and return the saved description of its ending as JSON data."""
    from antiphon.results import to_plain_json

    ending = classify_ending(report)
    state = _STATE_BY_ENDING.get(ending, ending)
    if state == "waiting" and not isinstance(report.error, ProgramSuspended):
        # A person was needed but refused, which no answer changes.
        state = "failed"
    error = None if report.error is None else report.error.to_json()
    told = {"outcome": ending, "value": to_plain_json(report.value), "error": error}
    running = kept.running if isinstance(kept, LazyRun) else kept
    replayed = None if running is None else running.middleware.replay_source
    if replayed is not None and replayed.changed_variables:
        # Environment variables whose value has changed since the run first read them.
        told["changed"] = sorted(set(replayed.changed_variables))
    cause = None if report.error is None else report.error.__cause__
    if isinstance(cause, SessionAborted) and cause.option:
        told["option"] = cause.option
    kept.finish(state, told)
    return told
