"""Reader of Claude Code sessions: JSON lines that form a tree, of which one branch is the
conversation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from antiphon._base.json_access import as_array, as_list, as_object, as_string
from antiphon.conversation import Origin
from antiphon.formats.issue import OMITTED_CODE
from antiphon.wire.anthropic import SPEC
from antiphon.wire.anthropic.history_reader import read_anthropic_message
from antiphon.wire.history_reader import HistoryReader, ReadHistory

#: Line types that hold no message.
_BOOKKEEPING_TYPES = (
    *("summary", "system", "file-history-snapshot", "queue-operation", "progress", "attribution-snapshot"),
    *("custom-title", "ai-title", "agent-name", "agent-color", "last-prompt", "tag", "mode", "pr-link"),
    *("permission-mode", "attachment"),
)
#: Command modes of text that a person queued; other modes are the program's own.
_TYPED_MODES = ("prompt", None)

SessionLines = dict[int, dict[str, Any]]


def read(data: Any) -> ReadHistory:
    """Convert the lines of a session into a conversation."""
    lines = dict(enumerate(map(_normalize_line, map(as_object, as_list(data))), 1))
    reader = HistoryReader(Origin(SPEC.owner, SPEC.name, ""))
    speaking = {n: line for n, line in lines.items() if _has_message(line)}
    said = {n: line for n, line in speaking.items() if line.get("isApiErrorMessage") is not True}
    own = {n: line for n, line in said.items() if line.get("isSidechain") is not True}
    # A file may hold only an agent's side chain: then that is the conversation.
    own = own or said
    kept, start = _select_branch(own, lines)
    _note_omitted(reader, len(speaking) - len(said), "with errors that the program wrote in the model's place")
    _note_omitted(reader, len(said) - len(own), "of side chains, which other agents spoke")
    left = [n for n in own if n not in kept]
    _note_omitted(reader, sum(n < start for n in left), "that the session itself had summed up")
    _note_omitted(reader, sum(n > start for n in left), "of branches that were taken back")
    _note_omitted(
        reader, sum(line.get("type") == "attachment" for line in lines.values()), "with what the program attached"
    )
    for n, line in lines.items():
        kind = as_string(line.get("type"))
        if n not in speaking and kind not in _BOOKKEEPING_TYPES:
            reader.note("unreadable", f"line {n}", f"a line of type {kind!r}, which is not known", "it is dropped")
    for number, message in _merge_messages(kept):
        model = as_string(message.get("model"))
        if model:
            reader.origin = Origin(SPEC.owner, SPEC.name, model)
        read_anthropic_message(reader, f"line {number}", message)
    return reader.done({}, merges=True)


def _normalize_line(line: dict[str, Any]) -> dict[str, Any]:
    """Return the line. Text that a person queued is stored as an attachment and becomes a user message."""
    attached = as_object(line.get("attachment"))
    if attached.get("type") != "queued_command" or attached.get("commandMode") not in _TYPED_MODES:
        return line
    return {**line, "type": "user", "message": {"role": "user", "content": attached.get("prompt")}}


def _has_message(line: dict[str, Any]) -> bool:
    return line.get("type") in ("user", "assistant") and bool(as_object(line.get("message")))


def _note_omitted(reader: HistoryReader, count: int, what: str) -> None:
    if count:
        lines = "1 line" if count == 1 else f"{count} lines"
        reader.note(OMITTED_CODE, "session", f"{lines} {what}", "they are left out" if count > 1 else "it is left out")


def _select_branch(own: SessionLines, lines: SessionLines) -> tuple[SessionLines, int]:
    """Return the lines that lead to the last one, and the number of the last summary's line, or 0.

    Parallel calls fork the tree without being undone, so the other pieces of a kept message, and the
    results of its calls, are kept too.
    """
    numbers = {as_string(line.get("uuid")): n for n, line in lines.items() if line.get("uuid")}
    if not own or not numbers:
        return own, 0
    parents = _find_parents(lines)
    chain = set(_iter_ancestors(as_string(next(reversed(own.values())).get("uuid")), parents))
    cut = max((numbers[id] for id in chain if id in numbers and _is_compaction(lines[numbers[id]])), default=0)
    messages = {_get_message_id(line) for line in own.values() if as_string(line.get("uuid")) in chain} - {""}
    kept = {
        n: line for n, line in own.items() if as_string(line.get("uuid")) in chain or _get_message_id(line) in messages
    }
    calls = {as_string(block.get("id")) for line in kept.values() for block in _get_blocks(line)} - {""}
    answers = (n for n, line in own.items() if calls & {as_string(b.get("tool_use_id")) for b in _get_blocks(line)})
    kept |= {n: own[n] for n in answers}
    # Messages that a summary kept verbatim precede it in the file and follow it in the conversation.
    summaries = [n for n in kept if n > cut and lines[n].get("isCompactSummary") is True]
    after = max(summaries, default=0) if any(n < cut for n in kept) else 0
    placed = sorted(kept, key=lambda n: (n < cut or n > after, n) if after else (False, n))
    return {n: kept[n] for n in placed}, cut


def _is_compaction(line: dict[str, Any]) -> bool:
    return line.get("type") == "system" and line.get("subtype") == "compact_boundary"


def _find_parents(lines: SessionLines) -> dict[str, str]:
    """Return the parent of each line. A summary that kept the last messages states where they belong."""
    parents = {
        as_string(line.get("uuid")): as_string(line.get("parentUuid")) for line in lines.values() if line.get("uuid")
    }
    for line in filter(_is_compaction, lines.values()):
        told = as_object(line.get("compactMetadata"))
        segment, listed = as_object(told.get("preservedSegment")), as_object(told.get("preservedMessages"))
        uuids = [as_string(id) for id in as_array(listed.get("uuids"))]
        head = as_string(segment.get("headUuid")) or (uuids[0] if uuids else "")
        anchor = as_string(listed.get("anchorUuid") or segment.get("anchorUuid"))
        if head in parents and anchor in parents and head != anchor:
            parents[head] = anchor
    return parents


def _iter_ancestors(id: str, parents: dict[str, str]) -> Iterator[str]:
    seen: set[str] = set()
    while id and id not in seen:
        seen.add(id)
        yield id
        id = parents.get(id, "")


def _get_message_id(line: dict[str, Any]) -> str:
    return as_string(as_object(line.get("message")).get("id")) if line.get("type") == "assistant" else ""


def _get_blocks(line: dict[str, Any]) -> list[dict[str, Any]]:
    return [as_object(block) for block in as_array(as_object(line.get("message")).get("content"))]


def _merge_messages(lines: dict[int, dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the messages. Answers that were written in several lines are joined."""
    answers: dict[str, tuple[int, dict[str, Any]]] = {}
    order: list[tuple[int, dict[str, Any]]] = []
    for number, line in lines.items():
        message = dict(as_object(line["message"]))
        id = _get_message_id(line)
        if id in answers:
            whole = answers[id][1]
            whole["content"] = [*_to_blocks(whole.get("content")), *_to_blocks(message.get("content"))]
            continue
        order.append((number, message))
        if id:
            answers[id] = (number, message)
    yield from order


def _to_blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_array(content)
