"""What a model answered: its parts, why it stopped, what it used, and the pieces of it while they stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Literal, Protocol

from antiphon.conversation import AssistantPart, Conversation, Image, Text, ToolCall, ToolResult
from antiphon.conversation.parts import Citation, citations_of, reasoning_of, text_of
from antiphon.errors import NotReadyError
from antiphon.wire.cache import CacheReport
from antiphon.wire.prompt import PrefixChange
from antiphon.wire.reply_state import ReplyState
from antiphon.wire.wording import short

#: `pause` is an answer that was not continued to its end, `malformed` one that cannot be read, `not_done` one that
#: stopped before its end for another reason, and `failed` one that broke off. None of them is an answer.
Stop = Literal["end", "tool_calls", "length", "stop_sequence", "refusal", "pause", "malformed", "not_done", "failed"]


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
    #: Of those written to the cache, the ones that stay for an hour, where the provider tells them apart.
    cache_write_1h_tokens: int | None = None

    def plus(self, other: Usage) -> Usage:
        """Return what two exchanges used together; what one of them does not tell is not counted."""
        pairs = zip(_counts(self), _counts(other), strict=True)
        return Usage(*[one if more is None else more if one is None else one + more for one, more in pairs])


_counts = attrgetter(*(each.name for each in fields(Usage)))


@dataclass(frozen=True, slots=True)
class Healed:
    """A refusal that was answered by changing a fact about the model and sending the request once more.

    `fact` names what changed from `was` to `now`; `said` holds the server's words.
    """

    model: str
    fact: str
    was: Any
    now: Any
    said: str


@dataclass(frozen=True, slots=True)
class FactWrong:
    """A fact about a model that an answer contradicts: nothing failed, and the fact is used as before.

    `fact` names it, `ours` is its value or the part of it that is wrong, `theirs` is what the answer shows; `said`
    holds the server's words or figures.
    """

    model: str
    fact: str
    ours: Any
    theirs: Any
    said: str


@dataclass(slots=True)
class Reply:
    """The result of a chat: what came, and the conversation it was added to.

    `stop_reason` is the provider's own word for `stop`. `window` is the number of tokens that the conversation fills
    with this reply, where the provider tells it. An answer may come in several steps, which `hops` counts; `usage` adds
    them up. `healed` names the facts that were changed to get the answer, and `wrong_facts` those that it contradicts.
    `prefix_change` is where its prompt was not the one before it with more behind, and `cache` what came from the
    cache. The helpers act on the conversation.
    """

    parts: tuple[AssistantPart, ...]
    stop: Stop
    stop_reason: str = ""
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    id: str = ""
    request_id: str = ""
    state: ReplyState = field(default_factory=ReplyState)
    window: int | None = None
    hops: int = 1
    healed: tuple[Healed, ...] = ()
    wrong_facts: tuple[FactWrong, ...] = ()
    prefix_change: PrefixChange | None = None
    cache: CacheReport | None = None
    _conversation: Conversation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.window is None and self.usage.input_tokens is not None:
            self.window = self.usage.input_tokens + (self.usage.output_tokens or 0)

    @property
    def text(self) -> str:
        """The text of the answer, without comments that the model made on the way."""
        return text_of(self.parts)

    @property
    def reasoning(self) -> str:
        """The readable part of the model's thinking."""
        return reasoning_of(self.parts)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The sources that the answer names, each once."""
        return citations_of(self.parts)

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


@dataclass(frozen=True, slots=True)
class RetryDelta:
    """A request failed before anything was said: the n-th of at most `attempts` follows after so many seconds."""

    attempt: int
    attempts: int
    seconds: float
    reason: str


Delta = TextDelta | ReasoningDelta | CallDelta | ProgressDelta | RetryDelta


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
    the model made and the server refused to pass on, with its reason as their problem. `quota` names a quota that is
    used up and does not come back soon.
    """

    message: str
    kind: str = ""
    request_id: str = ""
    retry_after: float | None = None
    sizes: tuple[int | None, int | None] = (None, None)
    calls: tuple[ToolCall, ...] = ()
    quota: str = ""

    def __post_init__(self) -> None:
        # Servers that echo the request say megabytes.
        for name in ("message", "kind", "request_id", "quota"):
            object.__setattr__(self, name, short(getattr(self, name)))

    def reply(self) -> Reply | None:
        """The reply that the refused calls are, so that the model is told what is wrong with them."""
        return Reply(self.calls, "tool_calls", self.kind, request_id=self.request_id) if self.calls else None
