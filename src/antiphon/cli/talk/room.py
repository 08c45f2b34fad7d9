"""Making room in a conversation that has become too long for its model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import ceil

from antiphon.conversation import Conversation, Text, UserTurn
from antiphon.conversation.compact import estimate_tokens
from antiphon.errors import ContextOverflow

#: How much of the model's context is filled at each attempt; the rest is for tools and for the answer.
SHARES = (0.6, 0.3, 0.15)
GO_ON = "Please go on."


@dataclass(frozen=True, slots=True)
class Room:
    """A shorter conversation, what to ask in it, and how many turns were left out."""

    conversation: Conversation
    asked: str
    dropped: int


def make_room(conversation: Conversation, asked: str, error: ContextOverflow, share: float) -> Room:
    """Cut long results and leave out old turns; a CompactionError says that it cannot be done.

    What was asked is taken out, to be asked again; where the model had begun to work on it, it is told to go on, so
    that no call is made twice.
    """
    size = max(conversation.compaction(1 << 60).before, 1)
    real = error.tokens or size
    # The provider counts otherwise than we guess, and counts the tools as well.
    ratio = max(real / size, 0.25)
    budget, count = int((error.limit or real) * share), partial(_count, ratio)
    dropped = len(conversation.compaction(budget, count=count).dropped)
    shorter = conversation.compact(budget, count=count)
    last = shorter.turns[-1]
    if not isinstance(last, UserTurn):
        return Room(shorter, GO_ON, dropped)
    shorter.undo()
    if last.parts[:-1]:
        shorter.add_user(last.parts[:-1])
    spoken = last.parts[-1]
    is_question = isinstance(spoken, Text) and spoken.text.startswith(asked)
    return Room(shorter, asked if is_question else GO_ON, dropped)


def _count(ratio: float, text: str) -> int:
    return ceil(estimate_tokens(text) * ratio)
