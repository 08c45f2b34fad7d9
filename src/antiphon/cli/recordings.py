"""Recorded exchanges as the conversations they were part of."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, cast

from antiphon._json import loads
from antiphon._shape import obj
from antiphon.conversation import AssistantTurn, Conversation, Origin, Turn
from antiphon.errors import AntiphonError, FormatError, MalformedJSONError
from antiphon.wire import APIS, Reply, detect, wire

_FIELDS = ("path", "request", "status", "response")
_PATHS = {
    "/messages": "anthropic",
    "/chat/completions": "openai-chat",
    "/responses": "openai-responses",
    ":generateContent": "gemini",
    ":streamGenerateContent": "gemini",
}
_GEMINI_MODEL = re.compile(r"models/([^/:]+):")


@dataclass(slots=True)
class Recorded:
    """A conversation as far as a recording has it; `notes` tell of exchanges that brought no answer."""

    conversation: Conversation
    api: str
    model: str
    exchanges: list[int]
    notes: list[str] = field(default_factory=list[str])


def is_exchange(data: object) -> bool:
    """Whether this is a line of a recording."""
    return isinstance(data, dict) and all(name in data for name in _FIELDS)


def read_exchanges(text: bytes, path: str) -> list[dict[str, Any]] | None:
    """The lines of a recording; `None` if it is none, a FormatError if it begins as one and then does not go on so."""
    lines = [(number, line) for number, line in enumerate(text.split(b"\n"), 1) if line.strip()]
    entries: list[dict[str, Any]] = []
    for number, line in lines:
        try:
            entry = loads(line, f"line {number}")
        except MalformedJSONError as error:
            if not entries:
                return None
            raise FormatError(f"{path}: {error}") from None
        if not is_exchange(entry):
            if not entries:
                return None
            raise FormatError(f"{path}: line {number} is no exchange: it has not all of {', '.join(_FIELDS)}")
        entries.append(cast(dict[str, Any], entry))
    return entries or None


def conversations(entries: list[dict[str, Any]]) -> list[Recorded]:
    """The conversations of a recording. Each request repeats what was said before: the longest of each is kept."""
    kept: list[Recorded] = []
    for number, entry in enumerate(entries, 1):
        new = _recorded(entry, number)
        for old in kept:
            if _continues(new.conversation, old.conversation):
                kept.remove(old)
                new.exchanges = [*old.exchanges, number]
                new.notes = [*old.notes, *new.notes]
                break
        kept.append(new)
    return kept


def _recorded(entry: dict[str, Any], number: int) -> Recorded:
    where, request = str(entry["path"]), entry["request"]
    try:
        api = next((api for end, api in _PATHS.items() if where.endswith(end)), "") or detect(request)
        named = _GEMINI_MODEL.search(where)
        model = named[1] if named else str(obj(request).get("model") or "")
        origin = Origin(APIS[api], api, model)
        conversation = wire(api).read(request, origin).conversation
    except AntiphonError as error:
        raise FormatError(f"exchange {number}: the request to {where!r:.80} cannot be read: {error}") from None
    found = Recorded(conversation, api, model, [number])
    try:
        conversation.add_reply(_reply(entry, origin).parts)
    except AntiphonError as error:
        found.notes.append(f"exchange {number} brought no answer: {error}")
    return found


def _reply(entry: dict[str, Any], origin: Origin) -> Reply:
    status, body = entry["status"], str(entry["response"])
    api = wire(origin.api)
    if not isinstance(status, int) or status >= 400:
        try:
            said = api.error_text(loads(body)).message
        except AntiphonError:
            said = body[:200]
        raise FormatError(f"status {status}" + (f", {said}" if said else ""))
    if body.lstrip()[:1] in ("{", "["):
        return api.decode(loads(body, "the response"), origin)
    decoder = api.Decoder(origin)
    decoder.feed(body.encode())
    return decoder.reply()


def _continues(new: Conversation, old: Conversation) -> bool:
    return len(old.turns) <= len(new.turns) and all(map(_same, old.turns, new.turns))


def _same(first: Turn, second: Turn) -> bool:
    """Whether two turns say the same; opaque data does not count, nor which calls are answered by now."""
    if isinstance(first, AssistantTurn) and isinstance(second, AssistantTurn):
        return first.text == second.text and _calls(first) == _calls(second)
    return type(first) is type(second) and first.text == second.text


def _calls(turn: AssistantTurn) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.arguments) for call in turn.calls]
