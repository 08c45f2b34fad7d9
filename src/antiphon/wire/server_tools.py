"""What tools of a provider found: who can read their blocks, and the note that tells everybody else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from antiphon._json import dumps
from antiphon._shape import string
from antiphon.conversation import (
    AssistantTurn,
    Citation,
    Conversation,
    DerivedKey,
    Native,
    Note,
    ServerCall,
    ServerResult,
    Text,
    Turn,
    UserTurn,
)
from antiphon.wire.options import Target

#: So many characters of a result are kept beside its native block.
KEPT = 4_000
_NOTE = "Tools of another provider were used earlier in this conversation. They found:"
_INPUT, _RESULT, _SOURCES, _NAME = 400, 1_000, 10, 200
#: Tools that say something about tools, which the next model has declared for itself.
_SILENT = frozenset({"tool_search"})


def is_readable(native: Native, target: Target) -> bool:
    """Return whether a block goes back as it came: to its own provider, and to its own model where it is sealed."""
    origin = native.origin
    if (origin.provider, origin.api) != (target.provider, target.api):
        return False
    is_sealed = not native.data.keys().isdisjoint(("toolCall", "toolResponse", "encrypted_content", "fingerprint"))
    return not is_sealed or origin.model.removeprefix("models/") == target.model.removeprefix("models/")


#: How many turns were looked at, the last of them, and the lines that they found.
_FOUND_LINES = DerivedKey[tuple[int, Turn | None, list[str]]]("found lines")
_FINDINGS = DerivedKey[tuple[tuple[Native, str], ...]]("findings")


def tell_findings(conversation: Conversation, target: Target) -> Note | None:
    """Add a note about what tools of other providers found, as far as nobody has told it yet; return the note."""
    lines = _all_lines(conversation, target)
    if not lines:
        return None
    told = "\n".join(_told(conversation))
    new = [line for line in dict.fromkeys(lines) if line not in told]
    if not new:
        return None
    note = Note("\n".join([_NOTE, *new]), "instruction")
    conversation.add_user(note)
    return note


def _all_lines(conversation: Conversation, target: Target) -> list[str]:
    """Return what all turns found that the target cannot read; only the last two turns are looked at again."""
    turns, subject = conversation.turns, (target.provider, target.api, target.model)
    settled = max(len(turns) - 2, 0)
    count, last, known = conversation.derived.get(_FOUND_LINES, subject) or (0, None, list[str]())
    if count > settled or (count and turns[count - 1] is not last):
        count, known = 0, []
    known = known + _lines_of(turns[count:settled], target) if count < settled else known
    conversation.derived.set(_FOUND_LINES, (settled, turns[settled - 1] if settled else None, known), subject)
    return known + _lines_of(turns[settled:], target)


def _lines_of(turns: Sequence[Turn], target: Target) -> list[str]:
    return [line for turn in turns if isinstance(turn, AssistantTurn) for line in _lines(turn, target)]


def _told(conversation: Conversation) -> Iterable[str]:
    for turn in conversation.turns:
        if isinstance(turn, UserTurn):
            yield from (part.text for part in turn.parts if isinstance(part, Note) and part.text.startswith(_NOTE))


def _lines(turn: AssistantTurn, target: Target) -> Sequence[str]:
    """Return what one turn found that the target cannot read, a line for each call."""
    found = _findings(turn)
    return [line for native, line in found if not is_readable(native, target)] if found else ()


def _findings(turn: AssistantTurn) -> tuple[tuple[Native, str], ...]:
    """Return the blocks of a turn that hold findings, with the line for each; made once for each turn."""
    known = turn.derived.get(_FINDINGS)
    if known is None:
        known = turn.derived.set(_FINDINGS, tuple(_found(turn)))
    return known


def _found(turn: AssistantTurn) -> Iterable[tuple[Native, str]]:
    if not any(isinstance(part, ServerCall | ServerResult | Text) for part in turn.parts):
        return
    calls = [part for part in turn.parts if isinstance(part, ServerCall)]
    results = [part for part in turn.parts if isinstance(part, ServerResult)]
    cited = [part for part in turn.parts if isinstance(part, Text) and part.citations and part.native]
    by_call = {call.id: call for call in calls}
    answered = {result.call_id for result in results}
    for call in calls:
        if call.native and call.id not in answered and call.input:
            yield from _line(call, None)
    for result in results:
        yield from _line(by_call.get(result.call_id), result)
    for part in cited:
        named = [each for each in part.citations if not any(each.url in _urls(result) for result in results)]
        if part.native and named:
            yield part.native, f"- Sources of an answer: {_names(named)}"


def _urls(result: ServerResult) -> set[str]:
    return {source.url for source in result.sources}


def _line(call: ServerCall | None, result: ServerResult | None) -> Iterable[tuple[Native, str]]:
    native = (result.native if result else None) or (call.native if call else None)
    tool = call.tool if call else "a tool"
    if native is None or tool in _SILENT:
        return
    words = [f"- {tool}"]
    if call and call.input:
        words.append(f" with {shorten(dumps(call.input), _INPUT)}")
    if result and result.sources:
        words.append(f". Sources: {_names(result.sources)}")
    if result and result.files:
        words.append(f". Files: {', '.join(result.files[:_SOURCES])}")
    if result and result.text.strip():
        words.append(f". Result: {shorten(result.text.strip(), _RESULT)}")
    if len(words) > 1:
        yield native, "".join(words)


def _names(sources: Sequence[Citation]) -> str:
    names = list(dict.fromkeys(shorten(source.name, _NAME) for source in sources if source.name))
    more = f" and {len(names) - _SOURCES} more" if len(names) > _SOURCES else ""
    return "; ".join(names[:_SOURCES]) + more


def shorten(text: str, limit: int = KEPT) -> str:
    """Return the text, or its beginning with a mark behind it."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def cite(data: dict[str, Any], quote: str = "", start: int | None = None, end: int | None = None) -> Citation:
    """Return a citation from an object that has an address or a title under one of the usual names."""
    url = next((string(data.get(name)) for name in ("url", "uri", "source") if string(data.get(name))), "")
    names = ("title", "document_title", "filename", "file_name", "file_id")
    title = next((string(data.get(name)) for name in names if string(data.get(name))), "")
    return Citation(url, title, shorten(quote, _RESULT), start, end)
