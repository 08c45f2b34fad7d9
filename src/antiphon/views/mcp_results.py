"""Results of MCP servers, which have no kinds, converted to our results."""

from __future__ import annotations

from typing import Any, cast

from antiphon._base.json import load_json
from antiphon._base.json_access import as_object
from antiphon.errors import ContentError
from antiphon.results import Result, image, text
from antiphon.results.model_text import filter_objects
from antiphon.results.protocols import MCP_KIND

#: The kind of a value without a kind of its own.
VALUE_KIND = "value"


def unpack_mcp_result(result: Result) -> list[Result]:
    """Return the content blocks of an MCP result as results; empty for any other result."""
    given: object = result.data
    if result.kind != MCP_KIND or not isinstance(given, dict):
        return []
    data = cast(dict[str, Any], given)
    structured = data.get("structuredContent")
    blocks = [_convert_block(block) for block in filter_objects(data.get("content"))]
    if structured is None:
        return blocks
    # Servers repeat structured content as text for clients that read only text.
    return [each for each in blocks if not _repeats_structured(each, structured)] + [Result(VALUE_KIND, structured)]


def _convert_block(block: dict[str, Any]) -> Result:
    said, encoded, media_type = block.get("text"), block.get("data"), block.get("mimeType")
    if block.get("type") == "text" and isinstance(said, str):
        return text(said)
    if block.get("type") == "image" and isinstance(encoded, str) and encoded and isinstance(media_type, str):
        return image(base64=encoded, mime_type=media_type)
    resource = as_object(block.get("resource"))
    if block.get("type") == "resource" and isinstance(resource.get("text"), str):
        given = resource.get("mimeType")
        return Result("text", {"content": resource["text"]}, "", given if isinstance(given, str) else "")
    return Result(VALUE_KIND, block)


def _repeats_structured(result: Result, structured: object) -> bool:
    if result.kind != "text":
        return False
    try:
        return load_json(result.data["content"]) == structured
    except ContentError:
        return False
