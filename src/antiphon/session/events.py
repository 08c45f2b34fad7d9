"""What happens in a run, as facts: who subscribes to a run is told all of them, from any point on.

The pieces of an answer are the wire's own `TextDelta`, `ReasoningDelta` and `CallDelta`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from antiphon.conversation import Conversation, ToolCall, ToolResult
from antiphon.effects.values import Said
from antiphon.session.people import Question
from antiphon.session.result import AIResult
from antiphon.tools import ToolCallRecord
from antiphon.wire import CallDelta, ReasoningDelta, TextDelta, Usage


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins; `parent` is the id of the one inside which it does."""

    kind: str
    title: str
    model: str
    parent: str | None


@dataclass(frozen=True, slots=True)
class RequestStarted:
    """A model is asked, for the n-th time in this run."""

    number: int
    model: str


@dataclass(frozen=True, slots=True)
class RequestEnded:
    """Its answer is there. `text` is what it says; `failed` says why there is none."""

    number: int
    text: str
    usage: Usage
    cost: float | None
    failed: str = ""


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A tool begins to run."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class CallFinished:
    """A call has its result, good or bad."""

    call: ToolCall
    result: ToolResult
    record: ToolCallRecord


@dataclass(frozen=True, slots=True)
class UsageChanged:
    """What the run and those inside it have used up to now; `cost` is `None` where it is not known."""

    usage: Usage
    cost: float | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A person is asked. Whoever watches may answer by `allow`, `deny` or `answer` of the run."""

    question: Question


@dataclass(frozen=True, slots=True)
class Settled:
    """A question has its answer."""

    question: Question
    said: Said


@dataclass(frozen=True, slots=True)
class RunWaits:
    """Nothing more can be done before these are answered. The calls stay open."""

    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Compacted:
    """The conversation was made shorter to fit the model; `before` is as it was."""

    dropped: int
    before: Conversation


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is over: with a result, or with the error that ended it."""

    state: Literal["done", "failed", "cancelled"]
    result: AIResult[Any] | None = None
    error: BaseException | None = None


Body = (
    TextDelta
    | ReasoningDelta
    | CallDelta
    | RunStarted
    | RequestStarted
    | RequestEnded
    | CallStarted
    | CallFinished
    | UsageChanged
    | Asked
    | Settled
    | RunWaits
    | Compacted
    | RunEnded
)


class Event(NamedTuple):
    """A fact about a run: which run, the how manieth of all that is known of it and its family, when, and what."""

    run: str
    seq: int
    at: float
    body: Body
