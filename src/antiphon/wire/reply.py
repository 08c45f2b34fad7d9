"""A model's reply: its parts, stop reason and usage, and its deltas while it streams."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, Protocol

from antiphon._base.did_you_mean import make_hinting_getattr
from antiphon.conversation import AssistantPart, Conversation, Image, Text, ToolCall, ToolResult
from antiphon.conversation.parts import Citation, collect_citations, extract_answer_text, extract_reasoning
from antiphon.errors import NotReadyError
from antiphon.wire.cache import CacheReport
from antiphon.wire.prompt import PrefixChange
from antiphon.wire.reply_state import ReplyState
from antiphon.wire.text_conventions import truncate_server_text

#: `pause` is an answer that was not continued to its end, `malformed` an unreadable one, `not_done` one that
#: stopped early for another reason, and `failed` one that was cut off. None of them is an answer.
Stop = Literal["end", "tool_calls", "length", "stop_sequence", "refusal", "pause", "malformed", "not_done", "failed"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one exchange. `input_tokens` covers the whole prompt, `cache_*` its cached part.

    None means unknown, not zero. `output_tokens` includes the reasoning.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    #: Of the tokens written to the cache, those kept for an hour, if the provider separates them.
    cache_write_1h_tokens: int | None = None

    def plus(self, other: Usage) -> Usage:
        """Return the sum of two exchanges. Unknown counts are ignored."""
        pairs = zip(_get_counts(self), _get_counts(other), strict=True)
        return Usage(*[one if more is None else more if one is None else one + more for one, more in pairs])


_get_counts = attrgetter(*(each.name for each in fields(Usage)))


@dataclass(frozen=True, slots=True)
class Healed:
    """A correction of a model fact after a rejected request, which was then sent again.

    `fact` changed from `was` to `now`. `said` is the server's message.
    """

    model: str
    fact: str
    was: Any
    now: Any
    said: str


@dataclass(frozen=True, slots=True)
class FactWrong:
    """A fact about a model that an answer contradicts. Nothing failed, and the fact stays in use.

    `ours` is its value or the wrong part of it, `theirs` is what the answer shows, and `said` holds the
    server's words or figures.
    """

    model: str
    fact: str
    ours: Any
    theirs: Any
    said: str


_ATTRIBUTE_HINTS = {
    **dict.fromkeys(
        ("content", "choices", "message", "output", "output_text", "completion"), "its text is `reply.text`"
    ),
    **dict.fromkeys(("finish_reason", "stop_sequence"), "why it ended is `reply.stop`"),
    **dict.fromkeys(("thinking", "reasoning_content"), "that is `reply.reasoning`"),
    **dict.fromkeys(("messages",), "the messages are `reply.conversation.turns`"),
    "usage_metadata": "that is `reply.usage`",
}


@dataclass(slots=True)
class Reply:
    """The result of a chat: the parts of the answer, and the conversation they were added to.

    `stop_reason` is the provider's own word for `stop`. `window` is the number of tokens that the
    conversation fills with this reply, if known. An answer may take several requests, which `hops`
    counts and `usage` sums. `healed` lists the facts that were corrected, and `contradicted_facts`
    those that the answer contradicts. `prefix_change` says why the prompt did not extend the previous
    one, and `cache` reports cache use. The helpers act on the conversation.
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
    contradicted_facts: tuple[FactWrong, ...] = ()
    prefix_change: PrefixChange | None = None
    cache: CacheReport | None = None
    _conversation: Conversation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.window is None and self.usage.input_tokens is not None:
            self.window = self.usage.input_tokens + (self.usage.output_tokens or 0)

    if not TYPE_CHECKING:
        __getattr__ = make_hinting_getattr(_ATTRIBUTE_HINTS)

    @property
    def text(self) -> str:
        """The text of the answer, without comments that the model made on the way."""
        return extract_answer_text(self.parts)

    @property
    def reasoning(self) -> str:
        """The readable part of the model's thinking."""
        return extract_reasoning(self.parts)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The sources that the answer cites, each once."""
        return collect_citations(self.parts)

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
    """The next piece of a call's arguments. The first one has the name. `index` counts the reply's calls."""

    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ProgressDelta:
    """The number of prompt tokens processed so far, and their total. Only local models report it."""

    read: int
    total: int


@dataclass(frozen=True, slots=True)
class RetryDelta:
    """A retry after a request failed without output: attempt number, maximum, delay in seconds, and
    reason.
    """

    attempt: int
    attempts: int
    seconds: float
    reason: str


ReplyDelta = TextDelta | ReasoningDelta | CallDelta | ProgressDelta | RetryDelta


class Decoder(Protocol):
    """Protocol of a stream decoder. It takes bytes in any chunks; `finish` returns the complete reply."""

    def feed(self, chunk: bytes) -> list[ReplyDelta]:
        """Return the deltas that these bytes complete."""
        ...

    def reply(self) -> Reply:
        """Return the complete reply. Raise StreamCut if the stream ended too early."""
        ...


@dataclass(frozen=True, slots=True)
class ProviderErrorInfo:
    """The content of a provider's error body. `retry_after` is set if the body states it.

    `sizes` are the tokens of a prompt that is too long, and the limit, if stated. `calls` are the
    model's calls that the server rejected, with the reason as their problem. `quota` names an exhausted
    quota that does not recover soon.
    """

    message: str
    kind: str = ""
    request_id: str = ""
    retry_after: float | None = None
    sizes: tuple[int | None, int | None] = (None, None)
    calls: tuple[ToolCall, ...] = ()
    quota: str = ""

    def __post_init__(self) -> None:
        # Servers that echo the request send megabytes.
        for name in ("message", "kind", "request_id", "quota"):
            object.__setattr__(self, name, truncate_server_text(getattr(self, name)))

    def reply(self) -> Reply | None:
        """Return the rejected calls as a reply, so that the model learns what is wrong with them, or None."""
        return Reply(self.calls, "tool_calls", self.kind, request_id=self.request_id) if self.calls else None
