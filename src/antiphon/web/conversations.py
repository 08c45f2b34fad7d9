"""Saved conversations: listed, searched as `antiphon list` does, and opened turn by turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.conversation import (
    AssistantTurn,
    Chat,
    Conversation,
    Image,
    Note,
    OpaquePart,
    Reasoning,
    ServerCall,
    Text,
    ToolCall,
    ToolResult,
    UserTurn,
)
from antiphon.conversation.interruption import INTERRUPTED_TEXT, is_after_interruption, is_interruption
from antiphon.conversation.parts import collect_sources
from antiphon.errors import OptionError
from antiphon.results import image
from antiphon.storage import Store
from antiphon.views import list_display_results
from antiphon.views.markdown import markdown_json
from antiphon.views.server_tools import format_markdown_sources, list_server_results
from antiphon.web.json_response import json_response
from antiphon.web.steps import render_result_json, tool_call_json

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from antiphon.durable import Journal
    from antiphon.storage import ConversationEntry

#: The most conversations in a list, and the most turns in a response.
_LISTED, _TURNS = 100, 40
#: The most characters of a text in a response.
_TEXT = 200_000
_ROWS = 200


def routes(journal: Journal) -> list[Route]:
    """Return the routes of saved conversations: those beside the journal, or else the user's own."""
    from starlette.routing import Route

    store = Store() if journal.is_shared else Store(journal.file.path)

    def listed(request: Request) -> Response:
        asked = request.query_params
        found = store.list(_LISTED, query=asked.get("q"), after=asked.get("after"))
        more = found[-1].id if len(found) == _LISTED else None
        return json_response({"conversations": [_entry(each) for each in found], "next": more})

    def opened(request: Request) -> Response:
        entry = store.find(request.path_params["id"])
        first = _number(request.query_params.get("from", "0"))
        conversation = store.load(entry.id)
        some = conversation.turns[first : first + _TURNS]
        turns = [_turn(conversation, each, number) for number, each in enumerate(some, first) if _is_shown(each)]
        more = first + _TURNS if first + _TURNS < len(conversation.turns) else None
        return json_response({**_entry(entry), **_text("system", conversation.system), "said": turns, "next": more})

    return [Route("/api/conversations", listed), Route("/api/conversations/{id}", opened)]


def _number(given: str) -> int:
    if not (given.isascii() and given.isdigit()):
        raise OptionError(f"`from` must be a number, not {given!r}")
    return int(given)


def _entry(entry: ConversationEntry) -> dict[str, Any]:
    known = {name: getattr(entry, name) for name in ("id", "title", "command", "turns", "tokens", "cost", "parent")}
    times = {"created": entry.created.timestamp(), "updated": entry.updated.timestamp()}
    pieces = [list(each) for each in entry.excerpt.split_pieces() if each[0]] if entry.excerpt else None
    return {**known, **times, "models": list(entry.models), **({"found": {"pieces": pieces}} if pieces else {})}


def _is_shown(turn: UserTurn | AssistantTurn) -> bool:
    """Return whether people see the turn; one with only notes is between program and model."""
    return isinstance(turn, AssistantTurn) or bool(turn.visible_parts) or is_after_interruption(turn)


def _turn(conversation: Conversation, turn: UserTurn | AssistantTurn, number: int) -> dict[str, Any]:
    answers = {each.call_id: each for each in turn.results} if isinstance(turn, AssistantTurn) else {}
    who = "assistant" if isinstance(turn, AssistantTurn) else "user"
    parts = [_part(conversation, part, answers) for part in turn.parts]
    if isinstance(turn, AssistantTurn):
        parts += [_served(part, turn) for part in turn.parts if isinstance(part, ServerCall)]
        if listed := format_markdown_sources(collect_sources(turn.parts)):
            parts.append({"type": "text", **_text("text", listed)})
        for part in parts:
            if part is not None and part["type"] == "text":
                part["blocks"] = markdown_json(part["text"])
    return {"number": number, "who": who, "parts": [each for each in parts if each is not None]}


def _served(call: ServerCall, turn: AssistantTurn) -> dict[str, Any]:
    told = tool_call_json({"tool": call.tool, "arguments": call.input}, _ROWS)
    views = [render_result_json(each, _ROWS) for each in list_server_results(call, turn)]
    return {"type": "call", "call": told, "state": "done", "views": views}


def _part(conversation: Conversation, part: Any, answers: dict[str, ToolResult]) -> dict[str, Any] | None:
    match part:
        case Note() if is_interruption(part):
            return {"type": "text", "text": INTERRUPTED_TEXT}
        case Chat(author, text):
            return {"type": "text", "author": author, **_text("text", text)}
        case Text(text):
            return {"type": "text", **_text("text", text)} if text.strip() else None
        case Reasoning(text):
            return {"type": "thought", **_text("text", text)} if text.strip() else None
        case Image():
            shown = image(base64=part.data, url=part.url, mime_type=part.media_type)
            return {"type": "image", "view": render_result_json(shown)}
        case ToolCall():
            return {"type": "call", **_call(conversation, part, answers.get(part.id))}
        case OpaquePart():
            return {"type": "foreign", "provider": part.native.origin.provider, **_text("text", part.text)}
        case _:
            return None


def _call(conversation: Conversation, call: ToolCall, result: ToolResult | None) -> dict[str, Any]:
    told = tool_call_json({"tool": call.name, "arguments": call.arguments}, _ROWS)
    if result is None:
        return {"call": told, "state": "waiting", "views": []}
    views = [render_result_json(each, _ROWS) for each in list_display_results(result, conversation)]
    return {"call": told, "state": "failed" if result.is_error else "done", "views": views}


def _text(name: str, text: str) -> dict[str, Any]:
    """Return a text under a name, truncated, with its blocks."""
    more = {"more": len(text) - _TEXT} if len(text) > _TEXT else {}
    return {name: text[:_TEXT], **more}
