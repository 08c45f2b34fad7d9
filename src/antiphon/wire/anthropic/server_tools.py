"""Blocks of the tools that Anthropic runs itself, and the citations of its texts."""

from __future__ import annotations

from typing import Any

from antiphon._shape import arr, obj, string
from antiphon.conversation import Citation, Native, Origin, ServerCall, ServerResult
from antiphon.wire.server_tools import cite, shorten

#: Our names of the tools whose calls have another one.
_TOOLS = {
    "bash_code_execution": "code_execution",
    "text_editor_code_execution": "code_execution",
    "tool_search_tool_bm25": "tool_search",
    "tool_search_tool_regex": "tool_search",
}


def read_server_part(block: dict[str, Any], origin: Origin) -> ServerCall | ServerResult | None:
    """Return a block of a server tool as a part; nothing for any other block."""
    kind, native = string(block.get("type")), Native(origin, block)
    if kind == "server_tool_use":
        name = string(block.get("name"))
        return ServerCall(string(block.get("id")), _TOOLS.get(name, name), obj(block.get("input")), native=native)
    if kind == "mcp_tool_use":
        asked = {"server": string(block.get("server_name")), "tool": string(block.get("name"))}
        given = {"arguments": obj(block.get("input"))} if block.get("input") else {}
        return ServerCall(string(block.get("id")), "mcp", asked | given, native=native)
    if kind == "mcp_tool_listing":
        return ServerCall(string(block.get("id")), "mcp", native=native)
    if kind.endswith("_tool_result"):
        return _read_result(block, native)
    return None


def _read_result(block: dict[str, Any], native: Native) -> ServerResult:
    content = block.get("content")
    pieces = [obj(piece) for piece in arr(content)] or [obj(content)]
    text = content if isinstance(content, str) else "\n".join(filter(None, map(_text, pieces)))
    sources = [cite(piece) for piece in pieces if piece.get("url")]
    made = [obj(file) for piece in pieces for file in arr(piece.get("content"))]
    files = [string(file.get("file_id")) for file in made if file.get("file_id")]
    return ServerResult(string(block.get("tool_use_id")), tuple(sources), shorten(text), tuple(files), native)


def _text(piece: dict[str, Any]) -> str:
    """Return what a piece of a result says: an error, an output, a page, or its text."""
    if code := string(piece.get("error_code")):
        return f"failed: {string(piece.get('error_message')) or code}"
    if "stdout" in piece or "stderr" in piece:
        return "\n".join(filter(None, (string(piece.get("stdout")), string(piece.get("stderr")))))
    if references := arr(piece.get("tool_references")):
        return ", ".join(string(obj(each).get("tool_name")) for each in references)
    # A fetched page is a document, whose source is text.
    page = obj(obj(piece.get("content")).get("source"))
    is_text = page.get("type") == "text" or string(page.get("media_type")).startswith("text/")
    return string(piece.get("text")) or string(piece.get("content")) or (string(page.get("data")) if is_text else "")


def read_citations(block: dict[str, Any]) -> tuple[Citation, ...]:
    """Return the sources that a block of text names."""
    given = [obj(each) for each in arr(block.get("citations"))]
    found = [cite(each, string(each.get("cited_text"))) for each in given]
    return tuple(each for each in found if each.name)
