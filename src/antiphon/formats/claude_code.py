"""Sessions of Claude Code: JSON lines that form a tree, of which one branch is the conversation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from antiphon.conversation import Origin
from antiphon.formats.shape import several
from antiphon.wire.anthropic.history import read_message
from antiphon.wire.reading import Reader, Reading
from antiphon.wire.shape import arr, obj, string

#: Lines the program keeps for itself; nothing in them was said.
_BOOKKEEPING = (
    *("summary", "system", "file-history-snapshot", "queue-operation", "progress", "attribution-snapshot"),
    *(
        "custom-title",
        "ai-title",
        "agent-name",
        "agent-color",
        "last-prompt",
        "tag",
        "mode",
        "pr-link",
        "permission-mode",
    ),
)


def read(data: Any) -> Reading:
    """The lines of a session as a conversation."""
    lines = [obj(line) for line in several(data)]
    reader = Reader(Origin("anthropic", "anthropic", ""))
    numbered = {n: line for n, line in enumerate(lines, 1) if _speaks(line)}
    own = {n: line for n, line in numbered.items() if line.get("isSidechain") is not True}
    # A file may be nothing but an agent's side chain: then that is the conversation.
    own = own or numbered
    kept = _branch(own, lines)
    _note(reader, len(numbered) - len(own), "of side chains, which other agents spoke")
    _note(reader, len(own) - len(kept), "of branches that were taken back")
    for n, line in enumerate(lines, 1):
        kind = string(line.get("type"))
        if n not in numbered and kind not in _BOOKKEEPING:
            reader.note("unreadable", f"line {n}", f"a line of type {kind!r}, which is not known", "it is dropped")
    for number, message in _merged(kept):
        model = string(message.get("model"))
        if model:
            reader.origin = Origin("anthropic", "anthropic", model)
        read_message(reader, f"line {number}", message)
    return reader.done({}, merges=True)


def _speaks(line: dict[str, Any]) -> bool:
    return line.get("type") in ("user", "assistant") and bool(obj(line.get("message")))


def _note(reader: Reader, count: int, what: str) -> None:
    if count:
        lines = "1 line" if count == 1 else f"{count} lines"
        reader.note("unreadable", "session", f"{lines} {what}", "they are dropped" if count > 1 else "it is dropped")


def _branch(own: dict[int, dict[str, Any]], lines: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """The lines that lead to the last one. Calls made at once fork the tree without being taken back, so the other
    pieces of a message that is kept, and the results of its calls, are kept as well."""
    by_id = {string(line.get("uuid")): line for line in lines if line.get("uuid")}
    if not by_id:
        return own
    chain = set(_ancestors(next(reversed(own.values())), by_id))
    messages = {_message_id(line) for line in own.values() if line.get("uuid") in chain} - {""}
    kept = {n: line for n, line in own.items() if line.get("uuid") in chain or _message_id(line) in messages}
    calls = {string(block.get("id")) for line in kept.values() for block in _blocks(line)} - {""}
    answers = (n for n, line in own.items() if calls & {string(b.get("tool_use_id")) for b in _blocks(line)})
    return dict(sorted((kept | {n: own[n] for n in answers}).items()))


def _ancestors(line: dict[str, Any], by_id: dict[str, dict[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    while (id := string(line.get("uuid"))) and id not in seen:
        seen.add(id)
        yield id
        # Compaction starts a new tree, whose root says where it grew from; what came before is summed up in it.
        line = by_id.get(string(line.get("parentUuid")), {})


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
