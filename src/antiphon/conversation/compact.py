"""Making a conversation fit: large results are cut, old turns are left out, pairs stay whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from antiphon._json import clean, dumps
from antiphon.conversation.attribution import unattributed
from antiphon.conversation.derived import DerivedKey
from antiphon.conversation.parts import (
    AssistantPart,
    Foreign,
    Image,
    Note,
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

Summary = str | Callable[[Sequence[Turn]], str]

#: What an image costs, roughly, at the sizes providers scale to.
IMAGE_TOKENS = 1000


def estimate_tokens(text: str) -> int:
    """A guess without a tokenizer: four bytes of UTF-8 to the token."""
    return (len(text) if text.isascii() else len(text.encode())) // 4 + 1


@dataclass(frozen=True, slots=True)
class Compaction:
    """A plan: the turns that stay (results cut), those left out, and the whole texts of what was cut.

    `note` is what takes the place of the turns left out; `after` counts it.
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


def plan(
    turns: tuple[Turn, ...],
    system: str,
    budget: int,
    result_limit: int,
    count: Callable[[str], int],
    summary: Summary | None = None,
) -> Compaction:
    """Cut results, oldest first, then leave out turns, oldest first, until the budget is met, the summary included.

    Where it cannot be met, the plan is the smallest there is.
    """
    cut, kept = list(turns), dict[str, str]()
    sizes = [turn_tokens(turn, count) for turn in turns]
    total = before = sum(sizes) + count(system)
    for place, turn in enumerate(turns):
        if total <= budget:
            break
        if isinstance(turn, AssistantTurn) and turn.results:
            cut[place] = _cut_results(turn, result_limit, count, kept)
            size = turn_tokens(cut[place], count)
            total, sizes[place] = total - sizes[place] + size, size
    first = 1 if cut and isinstance(cut[0], UserTurn) else 0
    least = Compaction(before, total, tuple(cut[:first]), (), tuple(cut[first:]), kept)
    last, noted = max(_newest(cut), first), 0
    for stop in range(first + 1, last + 1):
        if least.after <= budget:
            break
        total -= sizes[stop - 1]
        # A function may ask a model: it is called only where what it gave last would fit, and to know the least.
        if callable(summary) and total + noted > budget and stop < last:
            continue
        note = _note(cut[first:stop], summary)
        noted = count(unattributed(note))
        if total + noted < least.after:
            dropped, newest = tuple(cut[first:stop]), tuple(cut[stop:])
            least = Compaction(before, total + noted, least.first, dropped, newest, kept, note)
    return least


def _note(dropped: Sequence[Turn], summary: Summary | None) -> str:
    note = f"[{len(dropped)} earlier turns were left out here"
    if summary is None:
        return note + ".]"
    try:
        text = summary if isinstance(summary, str) else summary(dropped)
    except Exception as error:
        raise CompactionError(f"the summary failed, so nothing was left out: {error}") from error
    if not isinstance(text, str) or not text.strip():
        raise CompactionError("the summary is empty, so nothing was left out")
    return clean(f"{note}. Summary: {text}]")


def _newest(turns: Sequence[Turn]) -> int:
    """Where the part begins that always stays: the last user turn, or the last calls and what follows them."""
    for place in range(len(turns) - 1, -1, -1):
        turn = turns[place]
        if isinstance(turn, UserTurn) or turn.calls:
            follows_calls = place and isinstance(turn, UserTurn)
            previous = turns[place - 1] if follows_calls else None
            return place - 1 if isinstance(previous, AssistantTurn) and previous.open_calls else place
    return max(len(turns) - 1, 0)


def _cut_results(turn: AssistantTurn, limit: int, count: Callable[[str], int], kept: dict[str, str]) -> AssistantTurn:
    results = tuple(_cut(result, limit, count, kept) for result in turn.results)
    return turn if results == turn.results else AssistantTurn(turn.parts, results)


def _cut(result: ToolResult, limit: int, count: Callable[[str], int], kept: dict[str, str]) -> ToolResult:
    text = result.text
    tokens = count(text)
    if result.handle or tokens <= limit:
        return result
    handle = f"result:{result.call_id}"
    room = max(len(text) * limit // tokens, 1)
    head, tail = text[: room * 3 // 4], text[len(text) - room // 4 :]
    # A cut in the middle of a line reads as if the line were whole.
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    left_out = len(text) - len(head) - len(tail)
    note = f"[{left_out:,} of {len(text):,} characters left out; the whole is kept as {handle}]"
    short = f"{head.rstrip()}\n{note}\n{tail.lstrip()}"
    if count(short) >= tokens:
        return result
    kept[handle] = text
    images = tuple(part for part in result.parts if isinstance(part, Image))
    return replace(result, content=(Text(short), *images) if images else short, native=None, handle=handle)


_TOKENS = DerivedKey[int]("tokens")


def turn_tokens(turn: Turn, count: Callable[[str], int]) -> int:
    """The size of a turn; counted once for each way of counting."""
    tokens = turn.derived.get(_TOKENS, count)
    if tokens is None:
        parts = turn.said if isinstance(turn, UserTurn) else (*turn.parts, *turn.results)
        tokens = turn.derived.set(_TOKENS, sum(_part_tokens(part, count) for part in parts), count)
    return tokens


def _part_tokens(part: Image | Note | Update | AssistantPart | ToolResult, count: Callable[[str], int]) -> int:
    match part:
        case Text() | Reasoning() | Note():
            return count(part.text)
        case Update():
            return count(part.system or "") + sum(count(dumps(tool.parameters)) + 8 for tool in part.added)
        case Foreign() | ServerCall() | ServerResult():
            return count(dumps(part.native.data)) if part.native else 0
        case Image():
            return IMAGE_TOKENS
        case ToolCall():
            return count(part.name) + count(part.arguments_json) + 8
        case ToolResult():
            return 8 + sum(_part_tokens(piece, count) for piece in part.parts)
