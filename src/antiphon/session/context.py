"""Keeping a conversation within what its model can read: when it would not fit, older turns give way to a summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any

from antiphon.conversation import Conversation, Turn, estimate_tokens
from antiphon.conversation.compact import turn_tokens
from antiphon.conversation.transcript import transcript
from antiphon.errors import ContextOverflow

#: What is asked for the place of turns that are left out.
SUMMARIZE = (
    "What follows is the older part of a conversation between a user and you, which is about to be left out of it. "
    "Sum it up for yourself: what was wanted, what was found out, decided and done, with every name, path, number and "
    "open question that may be needed later. Answer with the summary alone."
)


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


class Size:
    """How many tokens a conversation is: what the provider last counted, and a guess of what has been added."""

    def __init__(self) -> None:
        self._known = 0
        self._turns: tuple[Turn, ...] = ()

    def count(self, turns: tuple[Turn, ...], tokens: int | None) -> None:
        """The provider counted these turns, the last of which is its answer."""
        if tokens:
            self._known, self._turns = tokens, turns

    def of(self, conversation: Conversation) -> int:
        """The tokens of all of it."""
        turns, known = conversation.turns, len(self._turns)
        if known and len(turns) >= known and turns[known - 1].parts == self._turns[-1].parts:
            # The answer that was counted has its results by now.
            last = turns[known - 1]
            results = turn_tokens(last, estimate_tokens) - turn_tokens(self._turns[-1], estimate_tokens)
            return self._known + results + sum(turn_tokens(turn, estimate_tokens) for turn in turns[known:])
        return sum(turn_tokens(turn, estimate_tokens) for turn in turns) + estimate_tokens(conversation.system)


def readable(model: Any) -> int | None:
    """How many tokens a model can read, where that is known."""
    known = getattr(model, "capabilities", None)
    return getattr(known, "context_tokens", None)


@dataclass(frozen=True, slots=True)
class Room:
    """How short a conversation must become, and how its tokens are counted: providers count otherwise than we guess."""

    budget: int
    ratio: float = 1.0

    def dropped(self, conversation: Conversation) -> tuple[Turn, ...]:
        """The turns that would have to go."""
        return conversation.compaction(self.budget, count=partial(_count, self.ratio)).dropped

    def made(self, conversation: Conversation, summary: str | None) -> Conversation:
        """The conversation within the budget; a CompactionError says that it cannot be done."""
        return conversation.compact(self.budget, summary=summary, count=partial(_count, self.ratio))


def room_for(conversation: Conversation, error: ContextOverflow, known: int | None, leave: float) -> Room:
    """What must be done after a provider has said that a conversation is too long."""
    guessed = max(conversation.compaction(1 << 60).before, 1)
    real = error.tokens or guessed
    return Room(int((error.limit or known or real) * leave), max(real / guessed, 0.25))


def summary_request(dropped: Sequence[Turn]) -> Conversation:
    """The conversation in which a model is asked to sum up turns."""
    return Conversation(SUMMARIZE).add_user(transcript(dropped))


def _count(ratio: float, text: str) -> int:
    return ceil(estimate_tokens(text) * ratio)
