"""Results of server tools: which targets can read them, and the note that reports them to all others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_string
from antiphon.conversation import (
    AssistantTurn,
    Citation,
    Conversation,
    DerivedKey,
    Note,
    ProviderPayload,
    ServerCall,
    ServerResult,
    Text,
    Turn,
    UserTurn,
)
from antiphon.wire.options import Target

#: Maximum number of characters of a result kept beside its original block.
MAX_RESULT_TEXT = 4_000
_NOTE = "Tools of another provider were used earlier in this conversation. They found:"
_MAX_INPUT, _MAX_RESULT, _MAX_SOURCES, _MAX_NAME = 400, 1_000, 10, 200
#: Tools whose results are about tools; the next model has its own declarations.
_UNREPORTED_TOOLS = frozenset({"tool_search"})


def can_send_payload(native: ProviderPayload, target: Target) -> bool:
    """Return whether a block can be sent back: to its own provider, and encrypted data only to its own
    model.
    """
    origin = native.origin
    if (origin.provider, origin.api) != (target.provider, target.api):
        return False
    is_sealed = not native.data.keys().isdisjoint(("toolCall", "toolResponse", "encrypted_content", "fingerprint"))
    return not is_sealed or origin.model.removeprefix("models/") == target.model.removeprefix("models/")


class _Findings(NamedTuple):
    """The results of server tools in the first turns of a conversation: the block of each and a line about it."""

    turns: int
    last: Turn | None
    found: tuple[tuple[ProviderPayload, str], ...]


_FINDINGS = DerivedKey[_Findings]("findings")


def add_findings_note(conversation: Conversation, target: Target) -> Note | None:
    """Add a note about results of other providers' tools that were not reported yet. Return it, or None."""
    turns = conversation.turns
    settled = max(len(turns) - 2, 0)
    known = conversation.derived.get(_FINDINGS) or _Findings(0, None, ())
    if known.turns > settled or (known.turns and turns[known.turns - 1] is not known.last):
        known = _Findings(0, None, ())
    if known.turns < settled:
        found = known.found + _read_findings(turns[known.turns : settled])
        known = conversation.derived[_FINDINGS] = _Findings(settled, turns[settled - 1], found)
    # Only the last two turns may still change.
    found = known.found + _read_findings(turns[settled:])
    lines = [line for native, line in found if not can_send_payload(native, target)]
    if not lines:
        return None
    told = "\n".join(_iter_reported(conversation))
    new = [line for line in dict.fromkeys(lines) if line not in told]
    if not new:
        return None
    note = Note("\n".join([_NOTE, *new]), "instruction")
    conversation.add_user(note)
    return note


def _read_findings(turns: Sequence[Turn]) -> tuple[tuple[ProviderPayload, str], ...]:
    found: list[tuple[ProviderPayload, str]] = []
    for turn in turns:
        if isinstance(turn, AssistantTurn):
            for part in turn.parts:
                if isinstance(part, ServerCall | ServerResult) or (isinstance(part, Text) and part.citations):
                    found += _iter_findings(turn)
                    break
    return tuple(found)


def _iter_reported(conversation: Conversation) -> Iterable[str]:
    for turn in conversation.turns:
        if isinstance(turn, UserTurn):
            yield from (part.text for part in turn.parts if isinstance(part, Note) and part.text.startswith(_NOTE))


def _iter_findings(turn: AssistantTurn) -> Iterable[tuple[ProviderPayload, str]]:
    calls = [part for part in turn.parts if isinstance(part, ServerCall)]
    results = [part for part in turn.parts if isinstance(part, ServerResult)]
    cited = [part for part in turn.parts if isinstance(part, Text) and part.citations and part.native]
    by_call = {call.id: call for call in calls}
    answered = {result.call_id for result in results}
    for call in calls:
        if call.native and call.id not in answered and call.input:
            yield from _describe_result(call, None)
    for result in results:
        yield from _describe_result(by_call.get(result.call_id), result)
    for part in cited:
        named = [each for each in part.citations if not any(each.url in _get_urls(result) for result in results)]
        if part.native and named:
            yield part.native, f"- Sources of an answer: {_format_sources(named)}"


def _get_urls(result: ServerResult) -> set[str]:
    return {source.url for source in result.sources}


def _describe_result(call: ServerCall | None, result: ServerResult | None) -> Iterable[tuple[ProviderPayload, str]]:
    native = (result.native if result else None) or (call.native if call else None)
    tool = call.tool if call else "a tool"
    if native is None or tool in _UNREPORTED_TOOLS:
        return
    words = [f"- {tool}"]
    if call and call.input:
        words.append(f" with {truncate_result(dump_json(call.input), _MAX_INPUT)}")
    if result and result.sources:
        words.append(f". Sources: {_format_sources(result.sources)}")
    if result and result.files:
        words.append(f". Files: {', '.join(result.files[:_MAX_SOURCES])}")
    if result and result.text.strip():
        words.append(f". Result: {truncate_result(result.text.strip(), _MAX_RESULT)}")
    if len(words) > 1:
        yield native, "".join(words)


def _format_sources(sources: Sequence[Citation]) -> str:
    names = list(dict.fromkeys(truncate_result(source.name, _MAX_NAME) for source in sources if source.name))
    more = f" and {len(names) - _MAX_SOURCES} more" if len(names) > _MAX_SOURCES else ""
    return "; ".join(names[:_MAX_SOURCES]) + more


def truncate_result(text: str, limit: int = MAX_RESULT_TEXT) -> str:
    """Return the text, truncated with an ellipsis if it is too long."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def make_citation(data: dict[str, Any], quote: str = "", start: int | None = None, end: int | None = None) -> Citation:
    """Return a citation from an object with a URL or title under one of the usual names."""
    url = next((as_string(data.get(name)) for name in ("url", "uri", "source") if as_string(data.get(name))), "")
    names = ("title", "document_title", "filename", "file_name", "file_id")
    title = next((as_string(data.get(name)) for name in names if as_string(data.get(name))), "")
    return Citation(url, title, truncate_result(quote, _MAX_RESULT), start, end)
