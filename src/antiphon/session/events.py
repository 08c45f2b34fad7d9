"""What happens during a run, as it happens; every display is a consumer of these.

The pieces of an answer are the wire's own `TextDelta`, `ReasoningDelta` and `CallDelta`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Literal

from antiphon.conversation import ToolCall, ToolResult
from antiphon.session.result import AIResult
from antiphon.tools import Decision, ToolCallRecord
from antiphon.wire import CallDelta, ReasoningDelta, TextDelta, Usage


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
    """What the run has used up to now; `cost` is `None` where it is not known."""

    usage: Usage
    cost: float | None


@dataclass(slots=True)
class Waiting:
    """The run waits for a human: to allow a call, or to answer a question.

    Whoever iterates over the run answers before going on to the next event; a run that nobody answers ends as
    `blocked`.
    """

    kind: Literal["approval", "question"]
    call: ToolCall
    question: str
    decision: Decision | None = field(default=None)
    reply: str | None = field(default=None)
    #: Set when the next event is asked for; what was not answered by then is not.
    seen: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def allow(self, *, remember: bool = False) -> None:
        """Let the call run."""
        self.decision = Decision(True, remember=remember)

    def deny(self, reason: str = "", *, remember: bool = False) -> None:
        """Do not let it run; the model is told why."""
        self.decision = Decision(False, reason, remember)

    def answer(self, text: str) -> None:
        """Answer the question."""
        self.reply = text


@dataclass(frozen=True, slots=True)
class Done:
    """The run is over."""

    result: AIResult[Any]


Event = TextDelta | ReasoningDelta | CallDelta | CallStarted | CallFinished | UsageChanged | Waiting | Done
