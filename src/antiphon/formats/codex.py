"""Sessions of Codex: JSON lines of which some are items of the Responses API."""

from __future__ import annotations

from typing import Any

from antiphon._json import dumps
from antiphon._shape import arr, obj, several, string
from antiphon.conversation import Change, Origin
from antiphon.conversation.repair import ChangeCode
from antiphon.formats.finding import LEFT_OUT
from antiphon.wire import wire
from antiphon.wire.reading import Reading

_LINES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
#: What the program keeps for itself among the items.
_BOOKKEEPING = ("ghost_snapshot", "ghost_commit")


def read(data: Any) -> Reading:
    """The lines of a session as a conversation."""
    session = _Session()
    for number, line in enumerate(map(obj, several(data)), 1):
        session.take(f"line {number}", line)
    body: dict[str, Any] = {"input": [item for _, item in session.items]}
    if session.instructions:
        body["instructions"] = session.instructions
    reading = wire("openai-responses").read(body, Origin(session.provider, "openai-responses", session.model))
    places = {f"item {n}": where for n, (where, _) in enumerate(session.items)}
    changes = [Change(c.code, places.get(c.where, c.where), c.found, c.action, c.call_id) for c in reading.changes]
    last = places.get(reading.last, reading.last)
    return Reading(reading.conversation, session.changes + changes, {}, last)


class _Session:
    def __init__(self) -> None:
        self.items: list[tuple[str, dict[str, Any]]] = []
        self.changes: list[Change] = []
        self.instructions = ""
        self.model = ""
        self.provider = "openai"

    def note(self, where: str, found: str, action: str, code: ChangeCode = "unreadable") -> None:
        self.changes.append(Change(code, where, found, action))

    def take(self, where: str, line: dict[str, Any]) -> None:
        """One line: an item, or something about the session. Old files have the items without a wrapping."""
        kind, payload = string(line.get("type")), obj(line.get("payload"))
        if kind == "session_meta" or not kind:
            self.begin(where, payload or line)
        elif kind == "turn_context":
            self.model = string(payload.get("model")) or self.model
        elif kind == "compacted":
            self.compact(where, payload)
        elif kind == "event_msg":
            if payload.get("type") == "thread_rolled_back":
                self.roll_back(where, payload.get("num_turns"))
        elif kind == "response_item" or (kind not in _LINES and "payload" not in line):
            self.add(where, payload or line)
        elif kind not in _LINES:
            self.note(where, f"a line of type {kind!r}, which is not known", "it is dropped")

    def begin(self, where: str, meta: dict[str, Any]) -> None:
        if "record_type" in meta:
            return
        if not {"id", "timestamp", "instructions"} & meta.keys():
            self.note(where, f"a line without a type: {dumps(meta)[:60]}", "it is dropped")
        base = obj(meta.get("base_instructions")).get("text")
        self.instructions = string(base) or string(meta.get("instructions")) or self.instructions
        self.provider = string(meta.get("model_provider")) or self.provider

    def add(self, where: str, item: dict[str, Any]) -> None:
        kind = string(item.get("type"))
        if kind in _BOOKKEEPING:
            return
        self.items.append((where, _as_function(item)))

    def compact(self, where: str, payload: dict[str, Any]) -> None:
        """What came before is replaced: by the items written down, or by what people said and a summary of the rest."""
        before = len(self.items)
        if replacement := arr(payload.get("replacement_history")):
            self.items = []
            for item in map(obj, replacement):
                self.add(where, item)
        else:
            said = [(place, item) for place, item in self.items if item.get("role") == "user"]
            summary = {"role": "user", "content": string(payload.get("message"))}
            self.items = [*said, (where, summary)] if summary["content"] else said
        self.note(
            where, f"{before} items that the session itself had summed up", "the summary takes their place", LEFT_OUT
        )

    def roll_back(self, where: str, turns: Any) -> None:
        count = turns if isinstance(turns, int) and turns > 0 else 0
        users = [place for place, (_, item) in enumerate(self.items) if item.get("role") == "user"]
        if not count or not users:
            return
        start = users[max(len(users) - count, 0)]
        self.note(where, f"{len(self.items) - start} items that were taken back", "they are left out", LEFT_OUT)
        self.items = self.items[:start]


def _as_function(item: dict[str, Any]) -> dict[str, Any]:
    """An item as any provider can have it: calls of the program's own kinds become calls of functions."""
    match item.get("type"):
        case "custom_tool_call":
            arguments = dumps({"input": item.get("input", "")})
            return _call(item, string(item.get("name")), arguments)
        case "local_shell_call":
            return _call(item, "local_shell", dumps(obj(item.get("action"))))
        case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
            return {
                "type": "function_call_output",
                "call_id": item.get("call_id"),
                "output": _output(item.get("output")),
            }
        case _:
            return item


def _call(item: dict[str, Any], name: str, arguments: str) -> dict[str, Any]:
    id = string(item.get("call_id")) or string(item.get("id"))
    return {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}


def _output(output: Any) -> Any:
    """Older files keep what a tool gave beside whether it worked."""
    data = obj(output)
    if "content" not in data:
        return output
    content: Any = data["content"]
    text: Any = content if isinstance(content, str) or arr(content) else dumps(content)
    return f"Error: {text}" if data.get("success") is False and isinstance(text, str) else text
