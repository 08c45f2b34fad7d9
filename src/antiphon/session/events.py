"""Events of a run: subscribers receive all of them, starting at any position.

The chunks of an answer are the `TextDelta`, `ReasoningDelta` and `CallDelta` of the `wire` package, and
`AnswerDelta`. `ProgressDelta` and `RetryDelta` may come before them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from antiphon.conversation import Citation, Conversation, ToolCall, ToolResult
from antiphon.effects.types import HumanAnswer
from antiphon.session.human_input import Question
from antiphon.session.result import AIResult
from antiphon.tools import ToolCallRecord
from antiphon.wire import (
    CacheReport,
    CallDelta,
    FactWrong,
    Healed,
    ProgressDelta,
    ReasoningDelta,
    RetryDelta,
    TextDelta,
    Usage,
)


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run starts; `parent` is the id of the run that contains it."""

    kind: str
    title: str
    model: str
    parent: str | None


@dataclass(frozen=True, slots=True)
class RequestStarted:
    """Request `number` of this run is sent to a model."""

    number: int
    model: str


@dataclass(frozen=True, slots=True)
class RequestDelayed:
    """A request waits for so many seconds before it is sent, for this `reason`, such as a rate limit."""

    number: int
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class AnswerDelta:
    """The next piece of a typed answer that the model gives as a call of the answer tool: of its JSON."""

    text: str


@dataclass(frozen=True, slots=True)
class RequestEnded:
    """A request has ended. `text` is the answer; `failed` is the reason if there is none."""

    number: int
    text: str
    usage: Usage
    cost: float | None
    failed: str = ""
    #: The sources of the answer that the provider names.
    sources: tuple[Citation, ...] = ()
    #: What was read from the provider's cache, if reported.
    cache: CacheReport | None = None


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A tool starts to run."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class CallProgressed:
    """A running call reports how much is `done`, of a `total` if it is known."""

    call: ToolCall
    done: float
    total: float | None
    message: str


@dataclass(frozen=True, slots=True)
class CallFinished:
    """A call has its result or its error."""

    call: ToolCall
    result: ToolResult
    record: ToolCallRecord


@dataclass(frozen=True, slots=True)
class UsageChanged:
    """The usage of the run and its nested runs so far; `cost` is `None` if unknown."""

    usage: Usage
    cost: float | None


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """A person is asked. Any watcher may answer with `allow`, `deny` or `answer` of the run."""

    question: Question


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """A question is answered."""

    question: Question
    said: HumanAnswer


@dataclass(frozen=True, slots=True)
class RunWaits:
    """The run is suspended until these questions are answered. Their calls stay open."""

    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Compacted:
    """The conversation was compacted to fit the model; `original` is the previous conversation."""

    dropped: int
    before: Conversation


@dataclass(frozen=True, slots=True)
class PrefixChanged:
    """A prompt does not extend the previous one, so that more than its new part is processed and paid for.

    `at` is the first difference: `tools`, `system`, a field of the request, or `messages`, where `turn`
    counts from 1. `tokens` is the approximate number of tokens processed again and `cost` their price in US
    dollars, if known. `thinking_left_out` counts the thinking blocks that the model does not get back.
    """

    at: str
    turn: int | None
    tokens: int
    cost: float | None
    thinking_left_out: int


@dataclass(frozen=True, slots=True)
class ModelUnknown:
    """No facts about the model are known by its name; facts of related models are used as a careful guess.

    `taken_for` names them, and is empty if nothing is assumed.
    """

    model: str
    taken_for: str


@dataclass(frozen=True, slots=True)
class FellBack:
    """Request `number` failed, and the next model is asked instead: the model `next` of a `Fallback`.

    `model` is the one that failed, and `reason` says why. `text` is what it had said, which is no part of the answer.
    """

    number: int
    model: str
    reason: str
    next: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class FilesOmitted:
    """Files of earlier messages or of tools that the model is not shown; a line of text stands in their place."""

    model: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run ended with a result, or with an error."""

    state: Literal["done", "failed", "cancelled"]
    result: AIResult[Any] | None = None
    error: BaseException | None = None


EventBody = (
    TextDelta
    | ReasoningDelta
    | CallDelta
    | AnswerDelta
    | ProgressDelta
    | RetryDelta
    | RunStarted
    | RequestStarted
    | RequestDelayed
    | RequestEnded
    | CallStarted
    | CallProgressed
    | CallFinished
    | UsageChanged
    | QuestionAsked
    | QuestionAnswered
    | RunWaits
    | Compacted
    | PrefixChanged
    | Healed
    | FactWrong
    | ModelUnknown
    | FellBack
    | FilesOmitted
    | RunEnded
)


class Event(NamedTuple):
    """An event of a run: the run's id, a sequence number, the time and the content.

    A run and all runs inside it share one sequence.
    """

    run: str
    seq: int
    at: float
    body: EventBody
