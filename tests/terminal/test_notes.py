"""Notes of the program: models read them, and every view of a conversation leaves them out."""

import io
from pathlib import Path

from rich.console import Console

from antiphon.conversation import Conversation, Note, UserTurn
from antiphon.conversation.transcript import format_transcript
from antiphon.session import Session
from antiphon.terminal.transcript import TranscriptPrinter
from tests.session.scripted import Scripted

NOTES = ("JSON Schema", "does not fit", "Answer again")


def asked() -> Conversation:
    """A typed ask whose first answer was wrong."""
    session = Session(Scripted("forty", '{"value": 40}'))
    session.do("How old?", returns=int)
    return session.conversation


def test_they_are_parts_of_user_turns():
    question, _, reminder, _ = asked().turns
    assert isinstance(question, UserTurn)
    assert isinstance(reminder, UserTurn)
    assert [part.kind for part in question.parts if isinstance(part, Note)] == ["form"]
    assert [type(part) for part in reminder.parts] == [Note]
    assert (question.text, reminder.text) == ("How old?", "")
    assert reminder.visible_parts == ()


def test_they_are_kept_in_files(tmp_path: Path):
    conversation = asked()
    conversation.save(tmp_path / "talk.json")
    assert Conversation.load(tmp_path / "talk.json") == conversation
    assert '"version":2' in (tmp_path / "talk.json").read_text().replace(" ", "")


def test_a_transcript_has_what_people_said():
    assert format_transcript(asked().turns).splitlines() == [
        "User: How old?",
        "Assistant: forty",
        'Assistant: {"value": 40}',
    ]


def test_a_terminal_shows_what_people_said():
    out = io.StringIO()
    TranscriptPrinter(Console(file=out, width=80)).conversation(asked())
    text = out.getvalue()
    assert "How old?" in text
    assert text.count("user") == 1
    assert not [word for word in NOTES if word in text]
