"""Answers that were interrupted."""

from __future__ import annotations

from antiphon import Conversation
from antiphon.conversation import Note
from antiphon.conversation.interruption import (
    INTERRUPTED_TEXT,
    add_interrupted_answer,
    is_after_interruption,
    is_last_answer_interrupted,
    make_continue_note,
)


def test_a_partial_answer_stays_and_is_marked_until_a_message_follows() -> None:
    conversation = Conversation()
    conversation.add_user("Tell me.")
    assert not is_last_answer_interrupted(conversation)
    add_interrupted_answer(conversation, "Once upon")
    assert [turn.text for turn in conversation.turns] == ["Tell me.", "Once upon", ""]
    assert conversation.turns[-1].parts == (Note(INTERRUPTED_TEXT, "interruption"),)
    assert is_last_answer_interrupted(conversation)
    assert [is_after_interruption(turn) for turn in conversation.turns] == [False, False, True]
    again = conversation.fork()
    again.add_user(make_continue_note())
    assert is_last_answer_interrupted(again)
    conversation.add_user("Go on.")
    assert not is_last_answer_interrupted(conversation)
