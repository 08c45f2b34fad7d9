"""Answers that were interrupted: what was said stays, with a note behind it that says so to the model."""

from __future__ import annotations

from antiphon.conversation.conversation import Conversation
from antiphon.conversation.parts import Note
from antiphon.conversation.turns import Turn, UserTurn

INTERRUPTED = "This answer was interrupted before its end."
_CONTINUE = "Continue your answer exactly where it was interrupted. Repeat nothing of it."


def add_interrupted(conversation: Conversation, text: str) -> None:
    """Add the beginning of an answer that has no end."""
    conversation.add_assistant(text)
    conversation.add_user(Note(INTERRUPTED, "interruption"))


def continue_note() -> Note:
    """Return the note that asks the model to continue an interrupted answer."""
    return Note(_CONTINUE, "instruction")


def follows_interruption(turn: Turn) -> bool:
    """Return whether the answer before a turn was interrupted."""
    return isinstance(turn, UserTurn) and any(is_interruption(part) for part in turn.parts)


def is_interruption(part: object) -> bool:
    """Return whether a part notes that the answer before it was interrupted."""
    return isinstance(part, Note) and part.kind == "interruption"


def ends_interrupted(conversation: Conversation) -> bool:
    """Return whether the last answer was interrupted, and nobody has said anything since."""
    turns = conversation.turns
    last = turns[-1] if turns else None
    return isinstance(last, UserTurn) and follows_interruption(last) and not last.visible_parts
