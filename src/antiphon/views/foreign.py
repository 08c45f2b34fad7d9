"""Results of MCP servers, which have no kinds: what is in them, as results of ours."""

from __future__ import annotations

from typing import Any, cast

from antiphon._json import loads
from antiphon._shape import obj
from antiphon.errors import ContentError
from antiphon.results import Result, image, text
from antiphon.results.face import objects
from antiphon.results.mapping import MCP

#: The kind of a value that came without one.
VALUE = "value"


def unpacked(result: Result) -> list[Result]:
    """The content of a result of an MCP server, block by block; nothing for any other."""
    given: object = result.data
    if result.kind != MCP or not isinstance(given, dict):
        return []
    data = cast(dict[str, Any], given)
    structured = data.get("structuredContent")
    blocks = [_block(block) for block in objects(data.get("content"))]
    if structured is None:
        return blocks
    # Servers repeat structured content as text for clients that read only text.
    return [each for each in blocks if not _repeats(each, structured)] + [Result(VALUE, structured)]


def _block(block: dict[str, Any]) -> Result:
    said, encoded, media_type = block.get("text"), block.get("data"), block.get("mimeType")
    if block.get("type") == "text" and isinstance(said, str):
        return text(said)
    if block.get("type") == "image" and isinstance(encoded, str) and encoded and isinstance(media_type, str):
        return image(base64=encoded, mime_type=media_type)
    resource = obj(block.get("resource"))
    if block.get("type") == "resource" and isinstance(resource.get("text"), str):
        given = resource.get("mimeType")
        return Result("text", {"content": resource["text"]}, "", given if isinstance(given, str) else "")
    return Result(VALUE, block)


def _repeats(result: Result, structured: object) -> bool:
    if result.kind != "text":
        return False
    try:
        return loads(result.data["content"]) == structured
    except ContentError:
        return False
