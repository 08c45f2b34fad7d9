"""What a typed ask leaves in the conversation: the question, the work with tools, and the answer; not the machinery."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from antiphon.conversation import Conversation, Text, ToolCall
from antiphon.conversation.turns import AssistantTurn, Turn, UserTurn


class Machinery:
    """Where a run began, and what it has said since only to get its answer in the form that is wanted."""

    def __init__(self, conversation: Conversation, prefix: str) -> None:
        self._conversation = conversation
        self._prefix = prefix
        self._texts: list[Text] = []
        self._refused: list[Turn] = []
        turns = conversation.turns
        # What is said next is added to a turn of the user's.
        self._start = len(turns) - (bool(turns) and isinstance(turns[-1], UserTurn))

    def text(self, said: str) -> Text:
        """Words of the machinery, to be added to the conversation."""
        self._texts.append(Text(said))
        return self._texts[-1]

    def moved(self, turns: int) -> None:
        """So many turns before were left out."""
        self._start = max(self._start - turns, 0)

    def refuse_answer(self) -> None:
        """The model's last turn was an answer that is not taken."""
        self._refused += [turn for turn in self._conversation.turns[-2:] if isinstance(turn, AssistantTurn)][-1:]

    def take_out(self, answer: str, *, failed: bool) -> None:
        """Leave what happened without the machinery; `answer` is what was returned by tools, if anything was.

        Where the run `failed`, the last answer that was not taken is what was said all the same.
        """
        if failed and self._refused:
            self._refused.pop()
        kept = [left for turn in self._conversation.turns[self._start :] if (left := self._left(turn))]
        self._conversation.undo(len(self._conversation.turns) - self._start)
        for turn in kept:
            if isinstance(turn, UserTurn):
                self._conversation.add_user(turn.parts)
            else:
                self._conversation.add_reply(turn.parts)
                self._conversation.add_tool_results(turn.results)
        if answer:
            self._conversation.add_assistant(answer)

    def _left(self, turn: Turn) -> Turn | None:
        if isinstance(turn, UserTurn):
            parts = tuple(part for part in turn.parts if not _is_one_of(part, self._texts))
            return UserTurn(parts) if parts else None
        internal = {call.id for call in turn.calls if call.name.startswith(self._prefix)}
        if _is_one_of(turn, self._refused) or (internal and len(internal) == len(turn.calls)):
            return None
        return _without(turn, internal) if internal else turn


def _without(turn: AssistantTurn, ids: Collection[str]) -> AssistantTurn:
    parts = tuple(part for part in turn.parts if not (isinstance(part, ToolCall) and part.id in ids))
    return AssistantTurn(parts, tuple(result for result in turn.results if result.call_id not in ids))


def _is_one_of(thing: object, things: Sequence[object]) -> bool:
    """Whether it is itself among them; somebody else's words may be the same."""
    return any(thing is each for each in things)
