"""The turns of a conversation as data for the page: short, with what is large fetched when somebody opens it."""

from __future__ import annotations

from typing import Any

from antiphon.conversation import (
    AssistantTurn,
    Chat,
    Conversation,
    Image,
    Note,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    Turn,
    Update,
)
from antiphon.conversation.interruption import follows_interruption
from antiphon.conversation.parts import sources_of
from antiphon.errors import NotSavedError
from antiphon.talks.images import TYPES
from antiphon.views import results_of
from antiphon.views.markdown import markdown_json
from antiphon.views.server_tools import list_sources, results_of_call
from antiphon.web.steps import called, drawn, gist, in_line


def turn_json(turn: Turn, number: int) -> dict[str, Any]:
    """What is to be seen of a turn; of calls a line, and of images where they are."""
    if isinstance(turn, AssistantTurn):
        said = [_answered(turn, part) for part in turn.parts]
        if listed := list_sources(sources_of(turn.parts)):
            said.append(_written(listed))
        return {"turn": number, "role": "assistant", "pieces": [each for each in said if each]}
    pieces = [_said(part, place) for place, part in enumerate(turn.parts) if not isinstance(part, Note | Update)]
    return {"turn": number, "role": "user", "pieces": pieces, "isInterrupted": follows_interruption(turn)}


def call_json(conversation: Conversation, number: int, id: str, rows: int) -> dict[str, Any]:
    """A call with its arguments and all that came of it."""
    turn = turn_at(conversation, number)
    if isinstance(turn, AssistantTurn) and (served := _server_call(turn, id)) is not None:
        asked = {"tool": served.tool, "arguments": served.input}
        views = [drawn(each, rows) for each in results_of_call(served, turn)]
        return {"call": called(asked, rows), "views": views}
    call = next((each for each in turn.calls if each.id == id), None) if isinstance(turn, AssistantTurn) else None
    if call is None or not isinstance(turn, AssistantTurn):
        raise NotSavedError(f"turn {number} has no call {id[:60]!r}")
    asked = {"tool": call.name, "arguments": call.arguments}
    found = [each for came in turn.results if came.call_id == id for each in results_of(came, conversation)]
    return {"call": called(asked, rows), "views": [drawn(each, rows) for each in found]}


def _server_call(turn: AssistantTurn, id: str) -> ServerCall | None:
    calls = (part for part in turn.parts if isinstance(part, ServerCall))
    return next((call for call in calls if call.id == id), None)


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
            return _written(part.text)
        case Reasoning() if part.text.strip():
            return {"type": "thinking", "text": part.text}
        case ToolCall():
            return _line(turn, part)
        case ServerCall():
            told = {"type": "call", "id": part.id, "name": part.tool, "given": in_line(part.input), "state": "done"}
            return {**told, **gist(results_of_call(part, turn))}
        case ServerResult():
            return None
        case _:
            return _written(part.text) if getattr(part, "text", "") else None


def _written(text: str) -> dict[str, Any]:
    """Return what a model wrote, with its Markdown as blocks."""
    return {"type": "text", "text": text, "blocks": markdown_json(text)}


def _line(turn: AssistantTurn, call: ToolCall) -> dict[str, Any]:
    result = next((each for each in turn.results if each.call_id == call.id), None)
    state = "begun" if result is None else "failed" if result.is_error else "done"
    told = {"type": "call", "id": call.id, "name": call.name, "given": in_line(call.arguments), "state": state}
    return {**told, **gist([] if result is None else results_of(result))}
