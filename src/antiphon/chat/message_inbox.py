"""Messages that are typed while the model works: they reach it with its next request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from antiphon.conversation import AssistantTurn, Conversation, Turn, UserPart, UserTurn


class MessageInbox:
    """Messages for the current answer, in order. `make_parts` turns a text into a message."""

    def __init__(self, make_parts: Callable[[str], Sequence[UserPart]]) -> None:
        self._make_parts = make_parts
        self._lock = threading.Lock()
        self._pending: list[str] = []
        self._delivered: list[str] = []
        #: What was delivered in an earlier process, by the number of answers and calls before it.
        self._earlier: dict[int, Sequence[UserPart]] = {}

    @property
    def pending(self) -> tuple[str, ...]:
        """The messages that the model has not got."""
        return tuple(self._pending)

    def add(self, text: str) -> None:
        """Add a message."""
        with self._lock:
            self._pending.append(text)

    def take_pending(self) -> list[str]:
        """Remove and return the messages that the model has not got."""
        with self._lock:
            taken, self._pending = self._pending, []
        return taken

    def take_delivered(self) -> list[str]:
        """Return the messages that the model got since the last call."""
        with self._lock:
            taken, self._delivered = self._delivered, []
        return taken

    def deliver(self, conversation: Conversation) -> None:
        """Add the messages to a conversation. It is called before each request."""
        if (parts := self._earlier.pop(_count_answers(conversation.turns), None)) is not None:
            # A resumed answer must repeat what it was told.
            conversation.add_user(list(parts))
            return
        last = conversation.turns[-1] if conversation.turns else None
        if not isinstance(last, AssistantTurn):
            # The first request of an answer: it has its own message.
            return
        with self._lock:
            taken = [text for text in self._pending if not text.startswith("/")]
            self._pending = [text for text in self._pending if text.startswith("/")]
            self._delivered += taken
        for text in taken:
            conversation.add_user(list(self._make_parts(text)))

    def repeat(self, conversation: Conversation) -> None:
        """Deliver again, in a resumed answer, what a saved conversation shows that it was told."""
        turns = conversation.turns
        said = [at for at, turn in enumerate(turns) if isinstance(turn, UserTurn) and turn.visible_parts]
        self._earlier = {
            _count_answers(turns[:at]): turn.parts
            for at in said[1:]
            if isinstance(turn := turns[at], UserTurn) and _follows_calls(turns, at)
        }


def _follows_calls(turns: Sequence[Turn], at: int) -> bool:
    before = turns[at - 1]
    return isinstance(before, AssistantTurn) and bool(before.calls)


def _count_answers(turns: Sequence[Turn]) -> int:
    return sum(isinstance(turn, AssistantTurn) for turn in turns)
