"""Sessions of Claude Code: JSON lines that form a tree, of which one branch is the conversation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from antiphon._shape import arr, obj, several, string
from antiphon.conversation import Origin
from antiphon.formats.finding import LEFT_OUT
from antiphon.wire.anthropic.history_reader import read_message
from antiphon.wire.reading import Reader, Reading

#: Lines the program keeps for itself; nothing in them was said.
_BOOKKEEPING = (
    *("summary", "system", "file-history-snapshot", "queue-operation", "progress", "attribution-snapshot"),
    *("custom-title", "ai-title", "agent-name", "agent-color", "last-prompt", "tag", "mode", "pr-link"),
    *("permission-mode", "attachment"),
)
#: Who queues something while the model is at work: a person, or (with other modes) the program itself.
_TYPED = ("prompt", None)

Lines = dict[int, dict[str, Any]]


def read(data: Any) -> Reading:
    """The lines of a session as a conversation."""
    lines = dict(enumerate(map(_spoken, map(obj, several(data))), 1))
    reader = Reader(Origin("anthropic", "anthropic", ""))
    speaking = {n: line for n, line in lines.items() if _speaks(line)}
    said = {n: line for n, line in speaking.items() if line.get("isApiErrorMessage") is not True}
    own = {n: line for n, line in said.items() if line.get("isSidechain") is not True}
    # A file may be nothing but an agent's side chain: then that is the conversation.
    own = own or said
    kept, start = _branch(own, lines)
    _note(reader, len(speaking) - len(said), "with errors that the program wrote in the model's place")
    _note(reader, len(said) - len(own), "of side chains, which other agents spoke")
    left = [n for n in own if n not in kept]
    _note(reader, sum(n < start for n in left), "that the session itself had summed up")
    _note(reader, sum(n > start for n in left), "of branches that were taken back")
    _note(reader, sum(line.get("type") == "attachment" for line in lines.values()), "with what the program attached")
    for n, line in lines.items():
        kind = string(line.get("type"))
        if n not in speaking and kind not in _BOOKKEEPING:
            reader.note("unreadable", f"line {n}", f"a line of type {kind!r}, which is not known", "it is dropped")
    for number, message in _merged(kept):
        model = string(message.get("model"))
        if model:
            reader.origin = Origin("anthropic", "anthropic", model)
        read_message(reader, f"line {number}", message)
    return reader.done({}, merges=True)


def _spoken(line: dict[str, Any]) -> dict[str, Any]:
    """The line; what a person typed while the model was at work is kept as an attachment, and is the user's."""
    attached = obj(line.get("attachment"))
    if attached.get("type") != "queued_command" or attached.get("commandMode") not in _TYPED:
        return line
    return {**line, "type": "user", "message": {"role": "user", "content": attached.get("prompt")}}


def _speaks(line: dict[str, Any]) -> bool:
    return line.get("type") in ("user", "assistant") and bool(obj(line.get("message")))


def _note(reader: Reader, count: int, what: str) -> None:
    if count:
        lines = "1 line" if count == 1 else f"{count} lines"
        reader.note(LEFT_OUT, "session", f"{lines} {what}", "they are left out" if count > 1 else "it is left out")


def _branch(own: Lines, lines: Lines) -> tuple[Lines, int]:
    """The lines that lead to the last one, and the number of the line where the last summary begins, or 0.

    Calls made at once fork the tree without being taken back, so the other pieces of a message that is kept, and the
    results of its calls, are kept as well.
    """
    numbers = {string(line.get("uuid")): n for n, line in lines.items() if line.get("uuid")}
    if not own or not numbers:
        return own, 0
    parents = _parents(lines)
    chain = set(_ancestors(string(next(reversed(own.values())).get("uuid")), parents))
    cut = max((numbers[id] for id in chain if id in numbers and _is_boundary(lines[numbers[id]])), default=0)
    messages = {_message_id(line) for line in own.values() if string(line.get("uuid")) in chain} - {""}
    kept = {n: line for n, line in own.items() if string(line.get("uuid")) in chain or _message_id(line) in messages}
    calls = {string(block.get("id")) for line in kept.values() for block in _blocks(line)} - {""}
    answers = (n for n, line in own.items() if calls & {string(b.get("tool_use_id")) for b in _blocks(line)})
    kept |= {n: own[n] for n in answers}
    # What a summary kept word for word stands before it in the file, and behind it in the conversation.
    summaries = [n for n in kept if n > cut and lines[n].get("isCompactSummary") is True]
    after = max(summaries, default=0) if any(n < cut for n in kept) else 0
    placed = sorted(kept, key=lambda n: (n < cut or n > after, n) if after else (False, n))
    return {n: kept[n] for n in placed}, cut


def _is_boundary(line: dict[str, Any]) -> bool:
    return line.get("type") == "system" and line.get("subtype") == "compact_boundary"


def _parents(lines: Lines) -> dict[str, str]:
    """Whom each line follows. A summary that kept the last messages says which, and behind what they now stand."""
    parents = {string(line.get("uuid")): string(line.get("parentUuid")) for line in lines.values() if line.get("uuid")}
    for line in filter(_is_boundary, lines.values()):
        told = obj(line.get("compactMetadata"))
        segment, listed = obj(told.get("preservedSegment")), obj(told.get("preservedMessages"))
        uuids = [string(id) for id in arr(listed.get("uuids"))]
        head = string(segment.get("headUuid")) or (uuids[0] if uuids else "")
        anchor = string(listed.get("anchorUuid") or segment.get("anchorUuid"))
        if head in parents and anchor in parents and head != anchor:
            parents[head] = anchor
    return parents


def _ancestors(id: str, parents: dict[str, str]) -> Iterator[str]:
    seen: set[str] = set()
    while id and id not in seen:
        seen.add(id)
        yield id
        id = parents.get(id, "")


def _message_id(line: dict[str, Any]) -> str:
    return string(obj(line.get("message")).get("id")) if line.get("type") == "assistant" else ""


def _blocks(line: dict[str, Any]) -> list[dict[str, Any]]:
    return [obj(block) for block in arr(obj(line.get("message")).get("content"))]


def _merged(lines: dict[int, dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The messages; the pieces in which an answer was written, a line each, are one again."""
    answers: dict[str, tuple[int, dict[str, Any]]] = {}
    order: list[tuple[int, dict[str, Any]]] = []
    for number, line in lines.items():
        message = dict(obj(line["message"]))
        id = _message_id(line)
        if id in answers:
            whole = answers[id][1]
            whole["content"] = [*_listed(whole.get("content")), *_listed(message.get("content"))]
            continue
        order.append((number, message))
        if id:
            answers[id] = (number, message)
    yield from order


def _listed(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else arr(content)
