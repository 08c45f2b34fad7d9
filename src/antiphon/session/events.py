"""Events of a run: subscribers receive all of them, starting at any position.

The chunks of an answer are the `TextDelta`, `ReasoningDelta` and `CallDelta` of the `wire` package.
`ProgressDelta` and `RetryDelta` may come before them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Self

from antiphon.conversation import Citation, Conversation, ToolCall, ToolResult
from antiphon.effects.types import HumanAnswer
from antiphon.session.human_input import Question
from antiphon.session.result import AIResult, T
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

if TYPE_CHECKING:
    from antiphon.session.run import Run


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
class RunEnded:
    """The run ended with a result, or with an error."""

    state: Literal["done", "failed", "cancelled"]
    result: AIResult[Any] | None = None
    error: BaseException | None = None


EventBody = (
    TextDelta
    | ReasoningDelta
    | CallDelta
    | ProgressDelta
    | RetryDelta
    | RunStarted
    | RequestStarted
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


class Events(Generic[T]):
    """The events of a run, as they happen. `run` is the run itself, which continues when the stream is closed."""

    def __init__(self, run: Run[T], cancel: bool = False) -> None:
        self.run = run
        self._cancels = cancel
        self._events = run.events()

    @property
    def result(self) -> AIResult[T]:
        """Wait for the result and return it, or raise the error that ended the run."""
        return self.run.wait()

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def close(self) -> None:
        """Stop watching. The run is cancelled only if the stream was created with `cancel`."""
        self._events.close()
        if self._cancels:
            self.run.cancel()
            self.run.wait(raises=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncEventStream(Generic[T]):
    """Like `Events`, but asynchronous: `await events.result`."""

    run: Run[T]

    def __init__(self, start: Callable[[], Awaitable[Run[T]]], cancel: bool = False) -> None:
        self._start = start
        self._cancels = cancel

    @property
    def result(self) -> Awaitable[AIResult[T]]:
        """Wait for the result with `await`, or raise the error that ended the run."""
        return self._await_result()

    async def _await_result(self) -> AIResult[T]:
        await self._begin()
        return await self.run

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events if hasattr(self, "run") else self._start_and_iterate()

    async def _start_and_iterate(self) -> AsyncIterator[Event]:
        await self._begin()
        async for event in self._events:
            yield event

    async def _begin(self) -> None:
        if not hasattr(self, "run"):
            self.run = await self._start()
            self._events = self.run.aevents()

    async def aclose(self) -> None:
        """Stop watching. The run is cancelled only if the stream was created with `cancel`."""
        if not hasattr(self, "run"):
            return
        await self._events.aclose()
        if self._cancels:
            self.run.cancel()
            with suppress(Exception, asyncio.CancelledError):
                await self.run

    async def __aenter__(self) -> Self:
        await self._begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
