"""Results in the words of two protocols: MCP, which tools are served over, and ACP, which editors speak."""

from __future__ import annotations

from typing import Any, Literal, cast

from antiphon._shape import arr
from antiphon.errors import FormatError
from antiphon.results.face import face, images_of
from antiphon.results.plain import plain
from antiphon.results.result import AUDIENCES, Display, Location, Result
from antiphon.results.storage import from_json, to_json

#: Where an MCP result carries ours whole, so that nothing is lost between two programs that both know it.
META = "antiphon/result"
#: The kind of what came from an MCP server that knows nothing of kinds.
MCP = "mcp.result"

Status = Literal["pending", "in_progress", "completed", "failed"]


def to_mcp(result: Result) -> dict[str, Any]:
    """The result of a tool call as MCP's JSON: content for models, structured content, and ours whole beside it."""
    own = _object(plain(result.data))
    if result.kind == MCP and own is not None:
        return own
    notes: dict[str, Any] = {}
    if result.audience:
        notes["audience"] = list(result.audience)
    if result.display.priority is not None and 0 <= result.display.priority <= 1:
        notes["priority"] = result.display.priority
    blocks: list[dict[str, Any]] = [{"type": "text", "text": face(result)}]
    blocks += [{"type": "image", "data": data, "mimeType": kind} for data, kind, _ in images_of(result) if data]
    content = [block | ({"annotations": notes} if notes else {}) for block in blocks]
    data = {"content": content, "isError": result.is_error, "_meta": {META: to_json(result)}}
    return data if own is None else data | {"structuredContent": own}


def from_mcp(data: object) -> Result:
    """An MCP result: ours whole where it is carried along, else its own content, kept as it came."""
    if not isinstance(data, dict):
        raise FormatError(f"an MCP result is an object, not {type(data).__name__}")
    top = cast(dict[str, Any], data)
    meta = _object(top.get("_meta")) or {}
    if META in meta:
        return from_json(meta[META])
    blocks = [cast(dict[str, Any], b) for b in arr(top.get("content")) if isinstance(b, dict)]
    texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    summary = next((line for text in texts for line in text.splitlines() if line.strip()), "")[:120]
    notes = [cast(dict[str, Any], n) for b in blocks if isinstance(n := b.get("annotations"), dict)]
    priority = next((n["priority"] for n in notes if isinstance(n.get("priority"), int | float)), None)
    who: tuple[Any, ...] = tuple(a for n in notes[:1] for a in arr(n.get("audience")) if a in AUDIENCES)
    return Result(MCP, top, summary, "", Display(priority=priority), audience=who)


def to_acp(result: Result, call_id: str, status: Status | None = None) -> dict[str, Any]:
    """The result as an update of a tool call in the Agent Client Protocol: title, kind, status, locations, content."""
    data = _object(plain(result.data)) or {}
    content: dict[str, Any] = {"type": "content", "content": {"type": "text", "text": face(result)}}
    if result.kind == "diff":
        content = {"type": "diff", "path": data.get("path", ""), "newText": data.get("modified", "")}
        content["oldText"] = data.get("original")
    return {
        "toolCallId": call_id,
        "title": result.title or result.summary or result.kind,
        "kind": _ACP_KINDS.get(result.kind, "other"),
        "status": status or ("failed" if result.is_error else "completed"),
        "locations": [_location(at) for at in result.locations],
        "content": [content],
        "rawOutput": to_json(result),
    }


_ACP_KINDS = {"diff": "edit", "file_content": "read", "file_list": "search", "terminal": "execute", "table": "search"}


def _location(at: Location) -> dict[str, Any]:
    return {"path": at.path} | ({"line": at.line} if at.line is not None else {})


def _object(value: object) -> dict[str, Any] | None:
    return cast(dict[str, Any], value) if isinstance(value, dict) else None
