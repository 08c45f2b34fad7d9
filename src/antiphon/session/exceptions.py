"""Exceptions for runs that end without an answer.

Each carries the run and leaves a conversation that can be resumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from antiphon.effects.budget import BudgetExceeded
from antiphon.errors import AntiphonError, Suspended

if TYPE_CHECKING:
    from antiphon.session.result import RunEnding, RunRecord
    from antiphon.session.typed_output import RejectedOutput
    from antiphon.wire import RefusalDetails


class StopRun(Exception):
    """Raised inside a run to end it with this outcome. The caller gets an answer or a `NoAnswer`."""

    def __init__(
        self, outcome: RunEnding, detail: str, value: Any = None, refusal: RefusalDetails | None = None
    ) -> None:
        super().__init__(detail)
        self.outcome: RunEnding = outcome
        self.detail = detail
        self.value = value
        self.refusal = refusal


class NoAnswer(AntiphonError):
    """A run ended without an answer. `run` records its usage, the last text and the outcome."""

    run: RunRecord

    def __init__(self, message: str, run: RunRecord) -> None:
        super().__init__(message)
        self.run = run


class NeedsHuman(NoAnswer, Suspended):
    """A person is needed, and none is available. The calls in question stay open.

    `run.pending_questions` are the questions. Give the session their answers (`allow`, `deny`, `answer`),
    then call `resume`.
    """


class NeedsResults(NeedsHuman):
    """Calls of `external` tools wait for their results, which come from outside.

    `run.waiting` are the calls. Give the session their results (`deliver`), in any process, then call `resume`.
    """


class LimitReached(NoAnswer):
    """A limit forbids the next request. `exceeded` has its scope, name and value, and the used amount."""

    @property
    def exceeded(self) -> BudgetExceeded | None:
        """The limit of the session, or of a budget around it."""
        return self.__cause__ if isinstance(self.__cause__, BudgetExceeded) else None


class ModelRefused(NoAnswer):
    """The model refused to answer.

    `details` gives the reason and an alternative model, if the provider names them.
    """

    details: RefusalDetails | None = None


class Blocked(NoAnswer):
    """Raised by a guard to end the run: `raise Blocked("no personal data leaves this house")`."""

    def __init__(self, message: str, run: RunRecord | None = None) -> None:
        # The record is added where the run ends.
        super().__init__(message, cast(Any, run))


class LoopDetected(NoAnswer):
    """The model repeats itself without making progress."""


class EmptyAnswer(NoAnswer):
    """The model gave neither an answer nor a call, even after a reminder."""


class Truncated(NoAnswer):
    """The answer was cut off by the token limit; `run.last_text` is the partial text."""


class NotDone(NoAnswer):
    """The provider stopped the model before its answer was complete; `run.last_text` is the partial text."""


class Cancelled(NoAnswer):
    """The run was cancelled."""


class ReturnError(NoAnswer):
    """The model did not return a value of the requested type.

    `received` lists all answers, `refused` the rejected ones with the reasons. `run` records the run.
    """

    def __init__(
        self, prompt: str, reason: str, received: Sequence[str], refused: Sequence[RejectedOutput], run: RunRecord
    ) -> None:
        came = "; ".join(received[-3:]) or "nothing"
        super().__init__(
            f"no usable answer to {_truncate_text(prompt, 200)!r}: {reason.rstrip('.')}. What came:"
            f" {_truncate_text(came, 1000)}",
            run,
        )
        self.prompt = prompt
        self.reason = reason
        self.received = list(received)
        self.refused = list(refused)


def _truncate_text(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


#: The exception for each outcome except `done`, `wrong` (a `ReturnError`) and `failed` (the original error).
EXCEPTIONS_BY_ENDING: dict[RunEnding, type[NoAnswer]] = {
    "waiting": NeedsHuman,
    "limit": LimitReached,
    "refused": ModelRefused,
    "stuck": LoopDetected,
    "empty": EmptyAnswer,
    "truncated": Truncated,
    "unfinished": NotDone,
    "cancelled": Cancelled,
}
