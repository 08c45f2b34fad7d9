"""The turns of a conversation as JSON for the page; large content is fetched on demand."""

from __future__ import annotations

from typing import Any

from antiphon.conversation import (
    AssistantTurn,
    Chat,
    Conversation,
    File,
    Image,
    Media,
    Note,
    OpaquePart,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    Turn,
    Update,
)
from antiphon.conversation.interruption import is_after_interruption
from antiphon.conversation.parts import collect_sources
from antiphon.errors import NotSavedError
from antiphon.views import list_display_results
from antiphon.views.markdown import markdown_json
from antiphon.views.server_tools import format_markdown_sources, list_server_results
from antiphon.web.steps import headline_json, one_line_json, render_result_json, tool_call_json

#: The media types of images that browsers show.
IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def conversation_turn_json(turn: Turn, number: int) -> dict[str, Any]:
    """Return a turn as JSON: calls in one line each, and images by reference."""
    if isinstance(turn, AssistantTurn):
        said = [_reply_part_json(turn, part) for part in turn.parts]
        if listed := format_markdown_sources(collect_sources(turn.parts)):
            said.append(_markdown_json(listed))
        return {"turn": number, "role": "assistant", "pieces": [each for each in said if each]}
    pieces = [
        _user_part_json(part, place) for place, part in enumerate(turn.parts) if not isinstance(part, Note | Update)
    ]
    return {"turn": number, "role": "user", "pieces": pieces, "isInterrupted": is_after_interruption(turn)}


def conversation_call_json(conversation: Conversation, number: int, id: str, rows: int) -> dict[str, Any]:
    """Return a tool call with its arguments and results."""
    turn = get_turn(conversation, number)
    if isinstance(turn, AssistantTurn) and (served := _find_server_call(turn, id)) is not None:
        asked = {"tool": served.tool, "arguments": served.input}
        views = [render_result_json(each, rows) for each in list_server_results(served, turn)]
        return {"call": tool_call_json(asked, rows), "views": views}
    call = next((each for each in turn.calls if each.id == id), None) if isinstance(turn, AssistantTurn) else None
    if call is None or not isinstance(turn, AssistantTurn):
        raise NotSavedError(f"turn {number} has no call {id[:60]!r}")
    asked = {"tool": call.name, "arguments": call.arguments}
    found = [each for came in turn.results if came.call_id == id for each in list_display_results(came, conversation)]
    return {"call": tool_call_json(asked, rows), "views": [render_result_json(each, rows) for each in found]}


def _find_server_call(turn: AssistantTurn, id: str) -> ServerCall | None:
    calls = (part for part in turn.parts if isinstance(part, ServerCall))
    return next((call for call in calls if call.id == id), None)


def read_turn_image(conversation: Conversation, number: int, place: int) -> tuple[str, bytes]:
    """Return the media type and content of an image in a turn."""
    import base64

    parts = get_turn(conversation, number).parts
    part = parts[place] if 0 <= place < len(parts) else None
    if not isinstance(part, Image) or not part.data or part.media_type not in IMAGE_TYPES:
        raise NotSavedError(f"turn {number} has no image {place}")
    return part.media_type, base64.b64decode(part.data)


def get_turn(conversation: Conversation, number: int) -> Turn:
    """Return a turn by its number, from 0."""
    turns = conversation.turns
    if not 0 <= number < len(turns):
        raise NotSavedError(f"turn {number} does not exist; the conversation has {len(turns)} turns")
    return turns[number]


def _user_part_json(part: Any, place: int) -> dict[str, Any]:
    match part:
        case OpaquePart():
            return {"type": "file", "text": part.text}
        case Image():
            is_shown = bool(part.data) and part.media_type in IMAGE_TYPES
            return {"type": "image", "part": place, "isShown": is_shown, "url": part.url}
        case Media() | File():
            return {"type": "file", "text": part.description}
        case Chat():
            return {"type": "text", "author": part.author, "text": part.text}
        case _:
            return {"type": "text", "text": part.text}


def _reply_part_json(turn: AssistantTurn, part: Any) -> dict[str, Any] | None:
    match part:
        case Text() if part.text.strip():
            return _markdown_json(part.text)
        case Reasoning() if part.text.strip():
            return {"type": "thinking", "text": part.text}
        case ToolCall():
            return _call_line_json(turn, part)
        case ServerCall():
            told = {
                "type": "call",
                "id": part.id,
                "name": part.tool,
                "given": one_line_json(part.input),
                "state": "done",
            }
            return {**told, **headline_json(list_server_results(part, turn))}
        case ServerResult():
            return None
        case _:
            return _markdown_json(part.text) if getattr(part, "text", "") else None


def _markdown_json(text: str) -> dict[str, Any]:
    """Return text of a model, with its Markdown as blocks."""
    return {"type": "text", "text": text, "blocks": markdown_json(text)}


def _call_line_json(turn: AssistantTurn, call: ToolCall) -> dict[str, Any]:
    result = next((each for each in turn.results if each.call_id == call.id), None)
    state = "begun" if result is None else "failed" if result.is_error else "done"
    told = {"type": "call", "id": call.id, "name": call.name, "given": one_line_json(call.arguments), "state": state}
    return {**told, **headline_json([] if result is None else list_display_results(result))}
