"""Results in two protocols: MCP, over which tools are served, and ACP, which editors use."""

from __future__ import annotations

from typing import Any, Literal, cast

from antiphon._base.json_access import as_array
from antiphon.errors import FormatError
from antiphon.results.model_text import collect_images, to_model_text
from antiphon.results.plain_json import to_plain_json
from antiphon.results.result import AUDIENCES, Display, Location, Result
from antiphon.results.serialization import semantic_result_from_json, semantic_result_to_json

#: The metadata key of the full result, so that two programs that both use Antiphon lose nothing.
MCP_META_KEY = "antiphon/result"
#: The kind of a result from an MCP server that does not know kinds.
MCP_KIND = "mcp.result"

AcpStatus = Literal["pending", "in_progress", "completed", "failed"]


def to_mcp(result: Result) -> dict[str, Any]:
    """Return a tool result as MCP's JSON.

    It has content for models, structured content, and the full result as metadata.
    """
    own = _as_object_or_none(to_plain_json(result.data))
    if result.kind == MCP_KIND and own is not None:
        return own
    notes: dict[str, Any] = {}
    if result.audience:
        notes["audience"] = list(result.audience)
    if result.display.priority is not None and 0 <= result.display.priority <= 1:
        notes["priority"] = result.display.priority
    blocks: list[dict[str, Any]] = [{"type": "text", "text": to_model_text(result)}]
    blocks += [{"type": "image", "data": data, "mimeType": kind} for data, kind, _ in collect_images(result) if data]
    content = [block | ({"annotations": notes} if notes else {}) for block in blocks]
    data = {"content": content, "isError": result.is_error, "_meta": {MCP_META_KEY: semantic_result_to_json(result)}}
    return data if own is None else data | {"structuredContent": own}


def from_mcp(data: object) -> Result:
    """Read an MCP result: the full result if its metadata has one, otherwise its content unchanged."""
    if not isinstance(data, dict):
        raise FormatError(f"an MCP result is an object, not {type(data).__name__}")
    top = cast(dict[str, Any], data)
    meta = _as_object_or_none(top.get("_meta")) or {}
    if MCP_META_KEY in meta:
        return semantic_result_from_json(meta[MCP_META_KEY])
    blocks = [cast(dict[str, Any], b) for b in as_array(top.get("content")) if isinstance(b, dict)]
    texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    summary = next((line for text in texts for line in text.splitlines() if line.strip()), "")[:120]
    notes = [cast(dict[str, Any], n) for b in blocks if isinstance(n := b.get("annotations"), dict)]
    priority = next((n["priority"] for n in notes if isinstance(n.get("priority"), int | float)), None)
    who: tuple[Any, ...] = tuple(a for n in notes[:1] for a in as_array(n.get("audience")) if a in AUDIENCES)
    return Result(MCP_KIND, top, summary, "", Display(priority=priority), audience=who)


def to_acp(result: Result, call_id: str, status: AcpStatus | None = None) -> dict[str, Any]:
    """Return the result as a tool call update of the Agent Client Protocol."""
    data = _as_object_or_none(to_plain_json(result.data)) or {}
    content: dict[str, Any] = {"type": "content", "content": {"type": "text", "text": to_model_text(result)}}
    if result.kind == "diff":
        content = {"type": "diff", "path": data.get("path", ""), "newText": data.get("modified", "")}
        content["oldText"] = data.get("original")
    return {
        "toolCallId": call_id,
        "title": result.title or result.summary or result.kind,
        "kind": _ACP_KINDS.get(result.kind, "other"),
        "status": status or ("failed" if result.is_error else "completed"),
        "locations": [_location_to_acp(at) for at in result.locations],
        "content": [content],
        "rawOutput": semantic_result_to_json(result),
    }


_ACP_KINDS = {"diff": "edit", "file_content": "read", "file_list": "search", "terminal": "execute", "table": "search"}


def _location_to_acp(at: Location) -> dict[str, Any]:
    return {"path": at.path} | ({"line": at.line} if at.line is not None else {})


def _as_object_or_none(value: object) -> dict[str, Any] | None:
    return cast(dict[str, Any], value) if isinstance(value, dict) else None
