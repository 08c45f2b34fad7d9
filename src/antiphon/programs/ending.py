"""How a run of a program ended, as it is told to people and written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.errors import SessionAborted
from antiphon.lang.runtime.human_questions import ProgramSuspended
from antiphon.programs.late import Late

if TYPE_CHECKING:
    from antiphon.durable import Running
    from antiphon.lang.runtime.program import Report

_ENDINGS = {"V0922": "limit", "V0923": "waiting", "V0925": "invalid", "V0930": "halted"}
#: Where these end a run, it has failed, or can be gone on with when what stopped it is gone.
_STATES = {"limit": "failed", "invalid": "failed", "halted": "interrupted"}


def ending_of(report: Report) -> str:
    """In a word: done, failed, waiting, limit, invalid, halted or interrupted."""
    return _ENDINGS.get(report.error.code, "failed") if report.error else report.outcome


def leave(kept: Running | Late, report: Report) -> dict[str, Any]:
    """Let go of a run, and write down how it ended; that, as JSON data."""
    from antiphon.results import to_plain_json

    ending = ending_of(report)
    state = _STATES.get(ending, ending)
    if state == "waiting" and not isinstance(report.error, ProgramSuspended):
        # It was refused, which no answer changes.
        state = "failed"
    error = None if report.error is None else report.error.to_json()
    told = {"outcome": ending, "value": to_plain_json(report.value), "error": error}
    running = kept.running if isinstance(kept, Late) else kept
    if running is not None and running.middleware.shelf is not None and running.middleware.shelf.changed:
        # Environment variables that had another value than when the run read them before.
        told["changed"] = sorted(set(running.middleware.shelf.changed))
    if (
        report.error is not None
        and isinstance(report.error.__cause__, SessionAborted)
        and report.error.__cause__.option
    ):
        told["option"] = report.error.__cause__.option
    kept.leave(state, told)
    return told
