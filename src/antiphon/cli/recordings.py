"""Rebuild conversations from recorded HTTP exchanges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from antiphon._base.json import load_json
from antiphon._base.json_access import as_object
from antiphon.conversation import AssistantTurn, Conversation, Origin, Turn
from antiphon.errors import AntiphonError, FormatError, MalformedJSONError
from antiphon.wire import APIS, Reply, detect_api, wire

_EXCHANGE_FIELDS = ("path", "request", "status", "response")


@dataclass(slots=True)
class RecordedConversation:
    """A conversation rebuilt from a recording; `notes` describe exchanges without an answer."""

    conversation: Conversation
    api: str
    model: str
    exchanges: list[int]
    notes: list[str] = field(default_factory=list[str])


def is_exchange(data: object) -> bool:
    """Return whether a value is an entry of a recording."""
    return isinstance(data, dict) and all(name in data for name in _EXCHANGE_FIELDS)


def read_exchanges(text: bytes, path: str) -> list[dict[str, Any]] | None:
    """Return the entries of a recording; `None` if the file is none.

    Raise `FormatError` if it begins as a recording and later lines are invalid.
    """
    lines = [(number, line) for number, line in enumerate(text.split(b"\n"), 1) if line.strip()]
    entries: list[dict[str, Any]] = []
    for number, line in lines:
        try:
            entry = load_json(line, f"line {number}")
        except MalformedJSONError as error:
            if not entries:
                return None
            raise FormatError(f"{path}: {error}") from None
        if not is_exchange(entry):
            if not entries:
                return None
            raise FormatError(f"{path}: line {number} is not an exchange: it needs {', '.join(_EXCHANGE_FIELDS)}")
        entries.append(cast(dict[str, Any], entry))
    return entries or None


def rebuild_conversations(entries: list[dict[str, Any]]) -> list[RecordedConversation]:
    """Return the conversations of a recording. Requests repeat earlier turns, so only the longest is kept."""
    kept: list[RecordedConversation] = []
    for number, entry in enumerate(entries, 1):
        new = _rebuild_conversation(entry, number)
        for old in kept:
            if _continues(new.conversation, old.conversation):
                kept.remove(old)
                new.exchanges = [*old.exchanges, number]
                new.notes = [*old.notes, *new.notes]
                break
        kept.append(new)
    return kept


def _rebuild_conversation(entry: dict[str, Any], number: int) -> RecordedConversation:
    where, request = str(entry["path"]), entry["request"]
    try:
        named = {name: model for name, spec in APIS.items() if (model := spec.http.match_path(where)) is not None}
        api, model = next(iter(named.items()), None) or (detect_api(request), "")
        model = model or str(as_object(request).get("model") or "")
        origin = Origin(APIS[api].owner, api, model)
        conversation = wire(api).read(request, origin).conversation
    except AntiphonError as error:
        raise FormatError(f"exchange {number}: the request to {where!r:.80} cannot be read: {error}") from None
    found = RecordedConversation(conversation, api, model, [number])
    try:
        conversation.add_reply(_decode_reply(entry, origin).parts)
    except AntiphonError as error:
        found.notes.append(f"exchange {number} has no answer: {error}")
    return found


def _decode_reply(entry: dict[str, Any], origin: Origin) -> Reply:
    status, body = entry["status"], str(entry["response"])
    api = wire(origin.api)
    if not isinstance(status, int) or status >= 400:
        try:
            said = api.parse_error(load_json(body)).message
        except AntiphonError:
            said = body[:200]
        raise FormatError(f"status {status}" + (f", {said}" if said else ""))
    if body.lstrip()[:1] in ("{", "["):
        return api.decode(load_json(body, "the response"), origin)
    decoder = api.Decoder(origin)
    decoder.feed(body.encode())
    return decoder.reply()


def _continues(new: Conversation, old: Conversation) -> bool:
    return len(old.turns) <= len(new.turns) and all(map(_is_same_turn, old.turns, new.turns))


def _is_same_turn(first: Turn, second: Turn) -> bool:
    """Return whether two turns have the same content, ignoring opaque data and tool results."""
    if isinstance(first, AssistantTurn) and isinstance(second, AssistantTurn):
        return first.text == second.text and _list_calls(first) == _list_calls(second)
    return type(first) is type(second) and first.text == second.text


def _list_calls(turn: AssistantTurn) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.arguments) for call in turn.calls]
