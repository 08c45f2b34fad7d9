"""What ends a run without an answer: each is raised, carries the run, and leaves a conversation that can go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from antiphon.errors import AntiphonError, Unsettled

if TYPE_CHECKING:
    from antiphon.session.result import Ending, RunRecord
    from antiphon.session.returns import Refusal
    from antiphon.wire import RefusalDetails


class End(Exception):
    """Raised inside a run to end it here, with this outcome; whoever began the run sees an answer, or a `NoAnswer`."""

    def __init__(self, outcome: Ending, detail: str, value: Any = None, refusal: RefusalDetails | None = None) -> None:
        super().__init__(detail)
        self.outcome: Ending = outcome
        self.detail = detail
        self.value = value
        self.refusal = refusal


class NoAnswer(AntiphonError):
    """A run ended without an answer. `run` says what it used, what was said so far, and how it ended."""

    run: RunRecord

    def __init__(self, message: str, run: RunRecord) -> None:
        super().__init__(message)
        self.run = run


class Waiting(NoAnswer, Unsettled):
    """A person is needed, and nobody is there: `run.waiting` are the questions, and their calls stay open.

    Once the session has their answers (`allow`, `deny`, `answer`), `go_on` goes on.
    """


class LimitReached(NoAnswer):
    """A limit leaves no room for more."""


class Refused(NoAnswer):
    """The model refused to answer. `details` says why and which model may answer, where the provider tells."""

    details: RefusalDetails | None = None


class Stuck(NoAnswer):
    """The model repeats itself without getting any further."""


class Empty(NoAnswer):
    """The model gave neither an answer nor a call, also when it was reminded."""


class Truncated(NoAnswer):
    """The answer was cut off by the token limit; `run.said` is what came of it."""


class NotDone(NoAnswer):
    """The provider stopped the model before its answer was done; `run.said` is what came of it."""


class Cancelled(NoAnswer):
    """The run was cancelled."""


class ReturnError(NoAnswer):
    """The model did not return what was asked for.

    `received` is all that came, `refused` what of it was not taken and why, `run` what the run used and how it ended.
    """

    def __init__(
        self, prompt: str, reason: str, received: Sequence[str], refused: Sequence[Refusal], run: RunRecord
    ) -> None:
        came = "; ".join(received[-3:]) or "nothing"
        super().__init__(
            f"no usable answer to {_short(prompt, 200)!r}: {reason.rstrip('.')}. What came: {_short(came, 1000)}", run
        )
        self.prompt = prompt
        self.reason = reason
        self.received = list(received)
        self.refused = list(refused)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


#: The exception for each outcome but `done`, a value of the wrong type, and an error of the provider's.
ENDINGS: dict[Ending, type[NoAnswer]] = {
    "waiting": Waiting,
    "limit": LimitReached,
    "refused": Refused,
    "stuck": Stuck,
    "empty": Empty,
    "truncated": Truncated,
    "unfinished": NotDone,
    "cancelled": Cancelled,
}
