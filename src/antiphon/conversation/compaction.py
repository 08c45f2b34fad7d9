"""Compaction: shorten a conversation by truncating large results and dropping old turns. Pairs stay intact."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from antiphon._base.json import dump_json, sanitize_unicode
from antiphon.conversation.attribution import escape_human_text
from antiphon.conversation.derived import DerivedKey
from antiphon.conversation.media import Document, File, Media, MediaPart
from antiphon.conversation.parts import (
    AssistantPart,
    Note,
    OpaquePart,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    ToolResult,
    Update,
    UserPart,
)
from antiphon.conversation.turns import AssistantTurn, Turn, UserTurn
from antiphon.errors import CompactionError

if TYPE_CHECKING:
    from antiphon.conversation.conversation import Conversation

SummarySource = str | Callable[[Sequence[Turn]], str]

#: Approximate tokens of an image at the sizes that providers scale to.
IMAGE_TOKENS = 1000
#: Approximate bytes of a file per token: pages of a PDF, seconds of audio and of video.
_BYTES_PER_TOKEN = {"document": 20, "audio": 500, "video": 600}


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text without a tokenizer, at four bytes of UTF-8 per token."""
    return (len(text) if text.isascii() else len(text.encode())) // 4 + 1


@dataclass(frozen=True, slots=True)
class Compaction:
    """A plan: the turns that stay, the dropped turns, and the full texts of truncated results.

    `summary_note` replaces the dropped turns; `tokens_after` includes it.
    """

    before: int
    after: int
    first: tuple[Turn, ...]
    dropped: tuple[Turn, ...]
    newest: tuple[Turn, ...]
    kept: dict[str, str]
    note: str = ""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of the compacted conversation."""
        if not self.dropped:
            return self.first + self.newest
        opening = self.first[0].parts if self.first else ()
        parts, rest = (*cast(tuple[UserPart, ...], opening), Text(self.note)), self.newest
        if rest and isinstance(rest[0], UserTurn):
            parts, rest = parts + rest[0].parts, rest[1:]
        return (UserTurn(parts), *rest)


def plan_compaction(
    turns: tuple[Turn, ...],
    system: str,
    budget: int,
    result_limit: int,
    count: Callable[[str], int],
    summary: SummarySource | None = None,
) -> Compaction:
    """Plan which results to truncate and then which turns to drop, oldest first, until the budget is met.

    The budget includes the summary. If it cannot be met, the plan is the smallest possible one.
    """
    cut, kept = list(turns), dict[str, str]()
    sizes = [count_turn_tokens(turn, count) for turn in turns]
    total = before = sum(sizes) + count(system)
    for place, turn in enumerate(turns):
        if total <= budget:
            break
        if isinstance(turn, AssistantTurn) and turn.results:
            cut[place] = _truncate_results(turn, result_limit, count, kept)
            size = count_turn_tokens(cut[place], count)
            total, sizes[place] = total - sizes[place] + size, size
    first = 1 if cut and isinstance(cut[0], UserTurn) else 0
    least = Compaction(before, total, tuple(cut[:first]), (), tuple(cut[first:]), kept)
    last, noted = max(_find_required_tail(cut), first), 0
    for stop in range(first + 1, last + 1):
        if least.after <= budget:
            break
        total -= sizes[stop - 1]
        # The function may ask a model: call it only if a summary like the last one would fit, or at the last step.
        if callable(summary) and total + noted > budget and stop < last:
            continue
        note = _build_summary_note(cut[first:stop], summary)
        noted = count(escape_human_text(note))
        if total + noted < least.after:
            dropped, newest = tuple(cut[first:stop]), tuple(cut[stop:])
            least = Compaction(before, total + noted, least.first, dropped, newest, kept, note)
    return least


def _build_summary_note(dropped: Sequence[Turn], summary: SummarySource | None) -> str:
    note = f"[{len(dropped)} earlier turns were left out here"
    if summary is None:
        return note + ".]"
    try:
        text = summary if isinstance(summary, str) else summary(dropped)
    except Exception as error:
        raise CompactionError(f"the summary failed, so nothing was left out: {error}") from error
    if not isinstance(text, str) or not text.strip():
        raise CompactionError("the summary is empty, so nothing was left out")
    return sanitize_unicode(f"{note}. Summary: {text}]")


def _find_required_tail(turns: Sequence[Turn]) -> int:
    """Return the index of the first turn that must stay: the last user turn, or the last calls."""
    for place in range(len(turns) - 1, -1, -1):
        turn = turns[place]
        if isinstance(turn, UserTurn) or turn.calls:
            follows_calls = place and isinstance(turn, UserTurn)
            previous = turns[place - 1] if follows_calls else None
            return place - 1 if isinstance(previous, AssistantTurn) and previous.open_calls else place
    return max(len(turns) - 1, 0)


def _truncate_results(
    turn: AssistantTurn, limit: int, count: Callable[[str], int], kept: dict[str, str]
) -> AssistantTurn:
    results = tuple(_truncate_result(result, limit, count, kept) for result in turn.results)
    return turn if results == turn.results else AssistantTurn(turn.parts, results)


def _truncate_result(result: ToolResult, limit: int, count: Callable[[str], int], kept: dict[str, str]) -> ToolResult:
    text = result.text
    tokens = count(text)
    if result.handle or tokens <= limit:
        return result
    handle = f"result:{result.call_id}"
    room = max(len(text) * limit // tokens, 1)
    head, tail = text[: room * 3 // 4], text[len(text) - room // 4 :]
    # A cut inside a line would make that line look complete.
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    left_out = len(text) - len(head) - len(tail)
    note = f"[{left_out:,} of {len(text):,} characters left out; the whole is kept as {handle}]"
    short = f"{head.rstrip()}\n{note}\n{tail.lstrip()}"
    if count(short) >= tokens:
        return result
    kept[handle] = text
    media = tuple(part for part in result.parts if isinstance(part, MediaPart))
    return replace(result, content=(Text(short), *media) if media else short, native=None, handle=handle)


_TOKENS = DerivedKey[int]("tokens")


def count_turn_tokens(turn: Turn, count: Callable[[str], int]) -> int:
    """Return the size of a turn in tokens, cached per counting function."""
    tokens = turn.derived.get((_TOKENS, count))
    if tokens is None:
        parts = turn.said if isinstance(turn, UserTurn) else (*turn.parts, *turn.results)
        tokens = turn.derived[_TOKENS, count] = _count_tokens(parts, count)
    return tokens


def count_result_tokens(turn: Turn, count: Callable[[str], int]) -> int:
    """Return the size in tokens of the results in a turn."""
    return _count_tokens(turn.results, count) if isinstance(turn, AssistantTurn) and turn.results else 0


#: Turns that end with an answer, and the provider's token count for all of them.
CountedTurns = tuple[tuple[Turn, ...], int]


def estimate_conversation_tokens(conversation: Conversation, counted: CountedTurns | None) -> int:
    """Return the tokens of a conversation: the provider's last count plus an estimate of what was added since."""
    turns = conversation.turns
    before, tokens = counted if counted is not None else (None, 0)
    known = len(before) if before else 0
    if before and len(turns) >= known and turns[known - 1].parts == before[-1].parts:
        # The counted answer had no results yet.
        tokens += count_result_tokens(turns[known - 1], estimate_tokens)
        return tokens + sum(count_turn_tokens(turn, estimate_tokens) for turn in turns[known:])
    return sum(count_turn_tokens(turn, estimate_tokens) for turn in turns) + estimate_tokens(conversation.system)


def _estimate_media_tokens(part: MediaPart, count: Callable[[str], int]) -> int:
    if isinstance(part, Document) and part.is_text:
        return count(part.text)
    if isinstance(part, File) or part.kind not in _BYTES_PER_TOKEN:
        return IMAGE_TOKENS
    return max(part.size // _BYTES_PER_TOKEN[part.kind], IMAGE_TOKENS)


def _count_tokens(
    parts: Iterable[MediaPart | Note | Update | AssistantPart | ToolResult], count: Callable[[str], int]
) -> int:
    tokens = 0
    for part in parts:
        match part:
            case Text() | Reasoning() | Note():
                tokens += count(part.text)
            case Update():
                tokens += count(part.system or "") + sum(count(dump_json(tool.parameters)) + 8 for tool in part.added)
            case OpaquePart() | ServerCall() | ServerResult():
                tokens += count(dump_json(part.native.data)) if part.native else 0
            case Media() | File():
                tokens += _estimate_media_tokens(part, count)
            case ToolCall():
                tokens += count(part.name) + count(part.arguments_json) + 8
            case ToolResult(content=str(text)):
                tokens += 8 + count(text)
            case ToolResult():
                tokens += 8 + _count_tokens(part.parts, count)
    return tokens
