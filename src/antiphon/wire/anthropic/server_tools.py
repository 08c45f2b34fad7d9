"""Decoding of the blocks of server tools, which Anthropic runs itself, and of citations."""

from __future__ import annotations

from typing import Any

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import Citation, Origin, ProviderPayload, ServerCall, ServerResult
from antiphon.wire.server_tools import make_citation, truncate_result

#: Our name for each tool whose calls carry another name.
_TOOL_ALIASES = {
    "bash_code_execution": "code_execution",
    "text_editor_code_execution": "code_execution",
    "tool_search_tool_bm25": "tool_search",
    "tool_search_tool_regex": "tool_search",
}


def read_anthropic_server_block(block: dict[str, Any], origin: Origin) -> ServerCall | ServerResult | None:
    """Convert a block of a server tool into a part. Return None for any other block."""
    kind, native = as_string(block.get("type")), ProviderPayload(origin, block)
    if kind == "server_tool_use":
        name = as_string(block.get("name"))
        return ServerCall(
            as_string(block.get("id")), _TOOL_ALIASES.get(name, name), as_object(block.get("input")), native=native
        )
    if kind == "mcp_tool_use":
        asked = {"server": as_string(block.get("server_name")), "tool": as_string(block.get("name"))}
        given = {"arguments": as_object(block.get("input"))} if block.get("input") else {}
        return ServerCall(as_string(block.get("id")), "mcp", asked | given, native=native)
    if kind == "mcp_tool_listing":
        return ServerCall(as_string(block.get("id")), "mcp", native=native)
    if kind.endswith("_tool_result"):
        return _read_server_result(block, native)
    return None


def _read_server_result(block: dict[str, Any], native: ProviderPayload) -> ServerResult:
    content = block.get("content")
    pieces = [as_object(piece) for piece in as_array(content)] or [as_object(content)]
    text = content if isinstance(content, str) else "\n".join(filter(None, map(_extract_text, pieces)))
    sources = [make_citation(piece) for piece in pieces if piece.get("url")]
    made = [as_object(file) for piece in pieces for file in as_array(piece.get("content"))]
    files = [as_string(file.get("file_id")) for file in made if file.get("file_id")]
    return ServerResult(
        as_string(block.get("tool_use_id")), tuple(sources), truncate_result(text), tuple(files), native
    )


def _extract_text(piece: dict[str, Any]) -> str:
    """Return the text of one piece of a result: an error, an output, a page or plain text."""
    if code := as_string(piece.get("error_code")):
        return f"failed: {as_string(piece.get('error_message')) or code}"
    if "stdout" in piece or "stderr" in piece:
        return "\n".join(filter(None, (as_string(piece.get("stdout")), as_string(piece.get("stderr")))))
    if references := as_array(piece.get("tool_references")):
        return ", ".join(as_string(as_object(each).get("tool_name")) for each in references)
    # A fetched page is a document, whose source is text.
    page = as_object(as_object(piece.get("content")).get("source"))
    is_text = page.get("type") == "text" or as_string(page.get("media_type")).startswith("text/")
    return (
        as_string(piece.get("text"))
        or as_string(piece.get("content"))
        or (as_string(page.get("data")) if is_text else "")
    )


def read_anthropic_citations(block: dict[str, Any]) -> tuple[Citation, ...]:
    """Return the sources that a text block cites."""
    given = [as_object(each) for each in as_array(block.get("citations"))]
    found = [make_citation(each, as_string(each.get("cited_text"))) for each in given]
    return tuple(each for each in found if each.name)
