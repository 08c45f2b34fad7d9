"""Interrupted answers: the partial text stays, followed by a note to the model."""

from __future__ import annotations

from antiphon.conversation.conversation import Conversation
from antiphon.conversation.parts import Note
from antiphon.conversation.turns import Turn, UserTurn

INTERRUPTED_TEXT = "This answer was interrupted before its end."
_CONTINUE_TEXT = "Continue your answer exactly where it was interrupted. Repeat nothing of it."


def add_interrupted_answer(conversation: Conversation, text: str) -> None:
    """Add a partial answer and a note that it was interrupted."""
    conversation.add_assistant(text)
    conversation.add_user(Note(INTERRUPTED_TEXT, "interruption"))


def make_continue_note() -> Note:
    """Return the note that asks the model to continue an interrupted answer."""
    return Note(_CONTINUE_TEXT, "instruction")


def is_after_interruption(turn: Turn) -> bool:
    """Return whether the answer before a turn was interrupted."""
    return isinstance(turn, UserTurn) and any(is_interruption(part) for part in turn.parts)


def is_interruption(part: object) -> bool:
    """Return whether a part notes that the answer before it was interrupted."""
    return isinstance(part, Note) and part.kind == "interruption"


def is_last_answer_interrupted(conversation: Conversation) -> bool:
    """Return whether the last answer was interrupted and no message followed."""
    turns = conversation.turns
    last = turns[-1] if turns else None
    return isinstance(last, UserTurn) and is_after_interruption(last) and not last.visible_parts
