"""The turns of a conversation as data for the page: short, with what is large fetched when somebody opens it."""

from __future__ import annotations

from typing import Any

from antiphon.conversation import AssistantTurn, Chat, Conversation, Image, Reasoning, Text, ToolCall, Turn
from antiphon.errors import NotSavedError
from antiphon.talks.images import TYPES
from antiphon.views import results_of
from antiphon.web.steps import called, drawn, gist, in_line


def turn_json(turn: Turn, number: int) -> dict[str, Any]:
    """What is to be seen of a turn; of calls a line, and of images where they are."""
    if isinstance(turn, AssistantTurn):
        said = [_answered(turn, part) for part in turn.parts]
        return {"turn": number, "role": "assistant", "pieces": [each for each in said if each]}
    pieces = [_said(part, place) for place, part in enumerate(turn.parts)]
    return {"turn": number, "role": "user", "pieces": pieces}


def call_json(conversation: Conversation, number: int, id: str, rows: int) -> dict[str, Any]:
    """A call with its arguments and all that came of it."""
    turn = turn_at(conversation, number)
    call = next((each for each in turn.calls if each.id == id), None) if isinstance(turn, AssistantTurn) else None
    if call is None or not isinstance(turn, AssistantTurn):
        raise NotSavedError(f"turn {number} has no call {id[:60]!r}")
    asked = {"tool": call.name, "arguments": call.arguments}
    found = [each for came in turn.results if came.call_id == id for each in results_of(came, conversation)]
    return {"call": called(asked, rows), "views": [drawn(each, rows) for each in found]}


def picture(conversation: Conversation, number: int, place: int) -> tuple[str, bytes]:
    """An image that was sent along: its type and what is in it."""
    import base64

    parts = turn_at(conversation, number).parts
    part = parts[place] if 0 <= place < len(parts) else None
    if not isinstance(part, Image) or not part.data or part.media_type not in TYPES:
        raise NotSavedError(f"turn {number} has no image {place} that can be shown")
    return part.media_type, base64.b64decode(part.data)


def turn_at(conversation: Conversation, number: int) -> Turn:
    """A turn by its number, from 0."""
    turns = conversation.turns
    if not 0 <= number < len(turns):
        raise NotSavedError(f"there are {len(turns)} turns, and none is {number}")
    return turns[number]


def _said(part: Any, place: int) -> dict[str, Any]:
    match part:
        case Image():
            is_shown = bool(part.data) and part.media_type in TYPES
            return {"type": "image", "part": place, "isShown": is_shown, "url": part.url}
        case Chat():
            return {"type": "text", "author": part.author, "text": part.text}
        case _:
            return {"type": "text", "text": part.text}


def _answered(turn: AssistantTurn, part: Any) -> dict[str, Any] | None:
    match part:
        case Text() if part.text.strip():
            return {"type": "text", "text": part.text}
        case Reasoning() if part.text.strip():
            return {"type": "thinking", "text": part.text}
        case ToolCall():
            return _line(turn, part)
        case _:
            return {"type": "text", "text": part.text} if getattr(part, "text", "") else None


def _line(turn: AssistantTurn, call: ToolCall) -> dict[str, Any]:
    result = next((each for each in turn.results if each.call_id == call.id), None)
    state = "begun" if result is None else "failed" if result.is_error else "done"
    told = {"type": "call", "id": call.id, "name": call.name, "given": in_line(call.arguments), "state": state}
    return {**told, **gist([] if result is None else results_of(result))}
