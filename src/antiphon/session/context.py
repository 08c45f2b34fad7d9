"""Keeping a conversation within what its model can read: when it would not fit, older turns give way to a summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.conversation import Conversation, Turn, estimate_tokens
from antiphon.conversation.compact import turn_tokens
from antiphon.conversation.transcript import transcript
from antiphon.errors import ContextOverflow, OptionError

#: What is asked for the place of turns that are left out.
SUMMARIZE = (
    "What follows is the older part of a conversation between a user and you, which is about to be left out of it. "
    "Sum it up for yourself: what was wanted, what was found out, decided and done, with every name, path, number and "
    "open question that may be needed later. Answer with the summary alone."
)
#: Tokens of a result, as its provider counts them, beyond which it is cut before turns are left out.
_RESULT_LIMIT = 2_000


@dataclass(frozen=True, slots=True)
class Context:
    """When a session makes its conversation shorter, and how.

    Before a request that would fill more than `fill` of what the model can read, long results are cut and the oldest
    turns left out until at most `leave` of it is filled; the same once where the provider says that it is too much.
    With `summarize`, the model is asked first to sum up what is left out.
    """

    fill: float = 0.9
    leave: float = 0.5
    summarize: bool = True

    def __post_init__(self) -> None:
        for name in ("fill", "leave"):
            share: object = getattr(self, name)
            if not isinstance(share, int | float) or isinstance(share, bool) or share <= 0:
                raise OptionError(f"`{name}` of a context is a share of its window, such as 0.9, not {share!r:.80}")


#: Turns of which the last is an answer, and how many tokens its provider counted with it.
Counted = tuple[tuple[Turn, ...], int]


def size_of(conversation: Conversation, counted: Counted | None) -> int:
    """How many tokens a conversation is: what the provider last counted, and a guess of what has been added."""
    turns = conversation.turns
    before, tokens = counted if counted is not None else (None, 0)
    known = len(before) if before else 0
    if before and len(turns) >= known and turns[known - 1].parts == before[-1].parts:
        # The answer that was counted has its results by now.
        last = turns[known - 1]
        results = turn_tokens(last, estimate_tokens) - turn_tokens(before[-1], estimate_tokens)
        return tokens + results + sum(turn_tokens(turn, estimate_tokens) for turn in turns[known:])
    return sum(turn_tokens(turn, estimate_tokens) for turn in turns) + estimate_tokens(conversation.system)


@dataclass(frozen=True, slots=True)
class Room:
    """How short a conversation and each of its results must become, in tokens as we guess them."""

    budget: int
    result_limit: int

    def dropped(self, conversation: Conversation) -> tuple[Turn, ...]:
        """The turns that would have to go."""
        return conversation.compaction(self.budget, result_limit=self.result_limit).dropped

    def made(self, conversation: Conversation, summary: str | None) -> Conversation:
        """The conversation within the budget; a CompactionError says that it cannot be done."""
        return conversation.compact(self.budget, summary=summary, result_limit=self.result_limit)


def room(conversation: Conversation, budget: float, tokens: int | None) -> Room:
    """What a budget leaves, for a conversation that is so many tokens to its provider, who counts in his own way.

    The budget is put in tokens as we guess them, since each turn keeps its size for each way of counting.
    """
    guessed = max(conversation.compaction(1 << 60).before, 1)
    ratio = max(tokens / guessed, 0.25) if tokens else 1.0
    return Room(int(budget / ratio), int(_RESULT_LIMIT / ratio))


def room_for(conversation: Conversation, error: ContextOverflow, known: int | None, leave: float) -> Room:
    """What must be done after a provider has said that a conversation is too long."""
    most = error.limit or known or error.tokens or conversation.compaction(1 << 60).before
    return room(conversation, most * leave, error.tokens)


def summary_request(dropped: Sequence[Turn]) -> Conversation:
    """The conversation in which a model is asked to sum up turns."""
    return Conversation(SUMMARIZE).add_user(transcript(dropped))
