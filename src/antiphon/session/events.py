"""What happens in a run, as facts: who subscribes to a run is told all of them, from any point on.

The pieces of an answer are the wire's own `TextDelta`, `ReasoningDelta` and `CallDelta`; before it, `ProgressDelta` and
`RetryDelta`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from antiphon.conversation import Citation, Conversation, ToolCall, ToolResult
from antiphon.effects.values import Said
from antiphon.session.people import Question
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

if TYPE_CHECKING:
    from antiphon.session.run import Run


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
    #: Where the answer comes from, as far as the provider names it.
    sources: tuple[Citation, ...] = ()
    #: What came from the provider's cache, where it tells.
    cache: CacheReport | None = None


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
class PrefixChanged:
    """A prompt did not begin with the one before it, so that more of it is read and paid for than what is new.

    `at` is the first piece that differs: `tools`, `system`, a field of the request, or `messages`, of which `turn`
    counts from 1. `tokens` is about how much is read again and `cost` what that costs in US dollars, where it is known.
    `thinking_left_out` counts the thinking blocks that the model does not get back.
    """

    at: str
    turn: int | None
    tokens: int
    cost: float | None
    thinking_left_out: int


@dataclass(frozen=True, slots=True)
class ModelUnknown:
    """Nothing is known about the model by its name; it is treated as a careful guess from its relatives says.

    `taken_for` names them, and is empty where nothing at all is assumed.
    """

    model: str
    taken_for: str


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
    | ProgressDelta
    | RetryDelta
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
    | PrefixChanged
    | Healed
    | FactWrong
    | ModelUnknown
    | RunEnded
)


class Event(NamedTuple):
    """A fact about a run: which run, the how manieth of all that is known of it and its family, when, and what."""

    run: str
    seq: int
    at: float
    body: Body


class Events:
    """What happens in a run, while it happens. `run` is the run itself, which goes on when nobody looks any more."""

    def __init__(self, run: Run[Any], cancel: bool = False) -> None:
        self.run = run
        self._cancels = cancel
        self._events = run.events()

    @property
    def result(self) -> AIResult[Any]:
        """The result, once it is there; what ended the run without one is raised."""
        return self.run.wait()

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def close(self) -> None:
        """Stop looking; the run ends only if it was told to."""
        self._events.close()
        if self._cancels:
            self.run.cancel()
            self.run.wait(raises=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncEvents:
    """The same, asynchronously."""

    run: Run[Any]

    def __init__(self, start: Callable[[], Awaitable[Run[Any]]], cancel: bool = False) -> None:
        self._start = start
        self._cancels = cancel

    async def aresult(self) -> AIResult[Any]:
        """The result, once it is there; what ended the run without one is raised."""
        await self._begin()
        return await self.run

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events if hasattr(self, "run") else self._begun_events()

    async def _begun_events(self) -> AsyncIterator[Event]:
        await self._begin()
        async for event in self._events:
            yield event

    async def _begin(self) -> None:
        if not hasattr(self, "run"):
            self.run = await self._start()
            self._events = self.run.aevents()

    async def aclose(self) -> None:
        """Stop looking; the run ends only if it was told to."""
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
