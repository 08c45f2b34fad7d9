"""What a model answered: its parts, why it stopped, what it used, and the pieces of it while they stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from antiphon.conversation import AssistantPart, Conversation, Image, Text, ToolCall, ToolResult
from antiphon.conversation.parts import reasoning_of, text_of
from antiphon.errors import NotReadyError
from antiphon.wire.wording import short

Stop = Literal["end", "tool_calls", "length", "stop_sequence", "refusal", "pause", "error", "other"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one exchange. `input_tokens` counts all of the prompt, `cache_*` what of it was read or written.

    `None` is unknown: a provider that does not say is not the same as zero. `output_tokens` includes the reasoning.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(slots=True)
class Reply:
    """The result of a chat: what came, and the conversation it was added to.

    `stop_reason` is the provider's own word for `stop`. The helpers act on the conversation.
    """

    parts: tuple[AssistantPart, ...]
    stop: Stop
    stop_reason: str = ""
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    id: str = ""
    request_id: str = ""
    _conversation: Conversation | None = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The text of the answer."""
        return text_of(self.parts)

    @property
    def reasoning(self) -> str:
        """The readable part of the model's thinking."""
        return reasoning_of(self.parts)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls in the model's order. One whose `problem` is set must not be run, only answered."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def conversation(self) -> Conversation:
        """The conversation this reply belongs to."""
        if self._conversation is None:
            raise NotReadyError("this reply was decoded by itself and belongs to no conversation")
        return self._conversation

    @conversation.setter
    def conversation(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def add_assistant_tool_calls(self, calls: Iterable[ToolCall], content: str = "") -> None:
        """See `Conversation.add_assistant_tool_calls`; the reply's own calls are there already."""
        self.conversation.add_assistant_tool_calls(calls, content)

    def add_tool_result(
        self, call_id: str, content: str | Sequence[str | Text | Image], is_error: bool = False
    ) -> None:
        """Answer one call of this reply."""
        self.conversation.add_tool_result(call_id, content, is_error)

    def add_tool_results(self, results: Iterable[ToolResult]) -> None:
        """Answer calls of this reply: all of the given ones, or none if one does not fit."""
        self.conversation.add_tool_results(results)

    def add_tool_calls_and_results(self, calls: Iterable[ToolCall], results: Iterable[ToolResult]) -> None:
        """See `Conversation.add_tool_calls_and_results`."""
        self.conversation.add_tool_calls_and_results(calls, results)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """The next piece of readable thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """The next piece of a call's arguments; the first of each call has its name. `index` counts the reply's calls."""

    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ProgressDelta:
    """How many tokens of the prompt have been read, of how many; told by models of this machine only."""

    read: int
    total: int


Delta = TextDelta | ReasoningDelta | CallDelta | ProgressDelta


class Decoder(Protocol):
    """Takes a stream's bytes in any pieces; `reply` is complete when the stream has ended well."""

    def feed(self, chunk: bytes) -> list[Delta]:
        """The deltas that these bytes complete."""
        ...

    def reply(self) -> Reply:
        """The whole reply; StreamCut if the stream ended too early."""
        ...


@dataclass(frozen=True, slots=True)
class ErrorText:
    """What a provider's error body says; `retry_after` where it is told there and not in a header.

    `sizes` are the tokens of a prompt that is too long, and those that fit, where that is told. `calls` are those that
    the model made and the server refused to pass on, with its reason as their problem.
    """

    message: str
    kind: str = ""
    request_id: str = ""
    retry_after: float | None = None
    sizes: tuple[int | None, int | None] = (None, None)
    calls: tuple[ToolCall, ...] = ()

    def __post_init__(self) -> None:
        # Servers that echo the request say megabytes.
        for name in ("message", "kind", "request_id"):
            object.__setattr__(self, name, short(getattr(self, name)))

    def reply(self) -> Reply | None:
        """The reply that the refused calls are, so that the model is told what is wrong with them."""
        return Reply(self.calls, "tool_calls", self.kind, request_id=self.request_id) if self.calls else None
