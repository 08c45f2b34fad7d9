"""Reader of Codex sessions: JSON lines of which some are items of the Responses API."""

from __future__ import annotations

from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_list, as_object, as_string
from antiphon.conversation import Origin, RepairAction
from antiphon.conversation.repair import RepairCode
from antiphon.formats.issue import OMITTED_CODE
from antiphon.wire import openai_responses
from antiphon.wire.history_reader import ReadHistory

_LINE_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
#: Item types that hold no message.
_BOOKKEEPING_TYPES = ("ghost_snapshot", "ghost_commit")


def read(data: Any) -> ReadHistory:
    """Convert the lines of a session into a conversation."""
    session = _CodexSession()
    for number, line in enumerate(map(as_object, as_list(data)), 1):
        session.take(f"line {number}", line)
    body: dict[str, Any] = {"input": [item for _, item in session.items]}
    if session.instructions:
        body["instructions"] = session.instructions
    reading = openai_responses.read(body, Origin(session.provider, openai_responses.SPEC.name, session.model))
    places = {f"item {n}": where for n, (where, _) in enumerate(session.items)}
    changes = [
        RepairAction(c.code, places.get(c.where, c.where), c.found, c.action, c.call_id) for c in reading.changes
    ]
    last = places.get(reading.last, reading.last)
    return ReadHistory(reading.conversation, session.changes + changes, {}, last)


class _CodexSession:
    def __init__(self) -> None:
        self.items: list[tuple[str, dict[str, Any]]] = []
        self.changes: list[RepairAction] = []
        self.instructions = ""
        self.model = ""
        self.provider = "openai"

    def note(self, where: str, found: str, action: str, code: RepairCode = "unreadable") -> None:
        self.changes.append(RepairAction(code, where, found, action))

    def take(self, where: str, line: dict[str, Any]) -> None:
        """Read one line: an item, or session data. Old files have items without a wrapper."""
        kind, payload = as_string(line.get("type")), as_object(line.get("payload"))
        if kind == "session_meta" or not kind:
            self.begin(where, payload or line)
        elif kind == "turn_context":
            self.model = as_string(payload.get("model")) or self.model
        elif kind == "compacted":
            self.compact(where, payload)
        elif kind == "event_msg":
            if payload.get("type") == "thread_rolled_back":
                self.undo_turns(where, payload.get("num_turns"))
        elif kind == "response_item" or (kind not in _LINE_TYPES and "payload" not in line):
            self.add(where, payload or line)
        elif kind not in _LINE_TYPES:
            self.note(where, f"a line of type {kind!r}, which is not known", "it is dropped")

    def begin(self, where: str, meta: dict[str, Any]) -> None:
        if "record_type" in meta:
            return
        if not {"id", "timestamp", "instructions"} & meta.keys():
            self.note(where, f"a line without a type: {dump_json(meta)[:60]}", "it is dropped")
        base = as_object(meta.get("base_instructions")).get("text")
        self.instructions = as_string(base) or as_string(meta.get("instructions")) or self.instructions
        self.provider = as_string(meta.get("model_provider")) or self.provider

    def add(self, where: str, item: dict[str, Any]) -> None:
        kind = as_string(item.get("type"))
        if kind in _BOOKKEEPING_TYPES:
            return
        self.items.append((where, _to_function_item(item)))

    def compact(self, where: str, payload: dict[str, Any]) -> None:
        """Replace the earlier items by the recorded ones, or by the user messages and a summary."""
        before = len(self.items)
        if replacement := as_array(payload.get("replacement_history")):
            self.items = []
            for item in map(as_object, replacement):
                self.add(where, item)
        else:
            said = [(place, item) for place, item in self.items if item.get("role") == "user"]
            summary = {"role": "user", "content": as_string(payload.get("message"))}
            self.items = [*said, (where, summary)] if summary["content"] else said
        self.note(
            where,
            f"{before} items that the session itself had summed up",
            "the summary takes their place",
            OMITTED_CODE,
        )

    def undo_turns(self, where: str, turns: Any) -> None:
        count = turns if isinstance(turns, int) and turns > 0 else 0
        users = [place for place, (_, item) in enumerate(self.items) if item.get("role") == "user"]
        if not count or not users:
            return
        start = users[max(len(users) - count, 0)]
        self.note(where, f"{len(self.items) - start} items that were taken back", "they are left out", OMITTED_CODE)
        self.items = self.items[:start]


def _to_function_item(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item in a form for every provider: the program's own calls become function calls."""
    match item.get("type"):
        case "custom_tool_call":
            arguments = dump_json({"input": item.get("input", "")})
            return _make_call(item, as_string(item.get("name")), arguments)
        case "local_shell_call":
            return _make_call(item, "local_shell", dump_json(as_object(item.get("action"))))
        case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
            return {
                "type": "function_call_output",
                "call_id": item.get("call_id"),
                "output": _normalize_output(item.get("output")),
            }
        case _:
            return item


def _make_call(item: dict[str, Any], name: str, arguments: str) -> dict[str, Any]:
    id = as_string(item.get("call_id")) or as_string(item.get("id"))
    return {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}


def _normalize_output(output: Any) -> Any:
    """Return the output of a tool. Older files store it beside a success flag."""
    data = as_object(output)
    if "content" not in data:
        return output
    content: Any = data["content"]
    text: Any = content if isinstance(content, str) or as_array(content) else dump_json(content)
    return f"Error: {text}" if data.get("success") is False and isinstance(text, str) else text
