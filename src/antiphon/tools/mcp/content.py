"""What a call answered: MCP's results as ours, with both faces, and ours as MCP's."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from antiphon._json import dumps
from antiphon.conversation import Image, Text, ToolResult
from antiphon.errors import ContentError, FormatError
from antiphon.results import Result
from antiphon.results.mapping import MCP, META, from_mcp, to_mcp

if TYPE_CHECKING:
    from mcp_types import BlobResourceContents, CallToolResult, ContentBlock, ResourceLink, TextResourceContents


def answer_of(result: CallToolResult) -> ToolResult:
    """The answer to a call: what the model reads of it, and for people all of it.

    Where the server says that the call failed, it is an error result in the server's words.
    """
    parts = [_part(block) for block in result.content]
    texts = [part.text for part in parts if isinstance(part, Text)]
    # Servers repeat structured content as text for clients that read only text; the model needs it once.
    if result.structured_content is not None and not any(texts):
        texts = [dumps(result.structured_content)]
        parts = [Text(texts[0]), *(part for part in parts if isinstance(part, Image))]
    content = "\n".join(texts)
    if result.is_error:
        return ToolResult("", content or "it failed without saying why", is_error=True, semantic=_semantic(result))
    pictured = any(isinstance(part, Image) for part in parts)
    return ToolResult("", tuple(parts) if pictured else content, semantic=_semantic(result))


def _semantic(result: CallToolResult) -> Result:
    data: dict[str, Any] = result.model_dump(by_alias=True, exclude_none=True)
    # Of the protocol between library and server; no part of the answer.
    data.pop("resultType", None)
    try:
        return from_mcp(data)
    except FormatError:
        # What stands where we put results of ours is none; the rest is still an answer.
        del data["_meta"][META]
        return from_mcp(data)


def _part(block: ContentBlock) -> Text | Image:
    match block.type:
        case "text":
            return Text(block.text)
        case "image":
            return _binary("image", block.data, block.mime_type)
        case "audio":
            return _binary("audio", block.data, block.mime_type)
        case "resource":
            return _embedded(block.resource)
        case "resource_link":
            return Text(_linked(block))


def _embedded(resource: TextResourceContents | BlobResourceContents) -> Text | Image:
    # Told apart by what they have: importing their classes here would import the library.
    text = getattr(resource, "text", None)
    if isinstance(text, str):
        return Text(text)
    return _binary(f"resource {resource.uri}", getattr(resource, "blob", ""), resource.mime_type or "")


def _binary(what: str, data: str, media_type: str) -> Text | Image:
    """An image where it is one, else a line that says what the model is not shown."""
    if data and media_type.startswith("image/"):
        try:
            return Image(data=data, media_type=media_type)
        except ContentError as error:
            return Text(f"[{what}, {media_type}, not shown: {error}]")
    return Text(f"[{what}, {media_type or 'of unknown type'}, {len(data) * 3 // 4:,} bytes, not shown]")


def _linked(link: ResourceLink) -> str:
    details = ", ".join(text for text in (link.mime_type, link.description) if text)
    return f"[resource {link.name}: {link.uri}{f' ({details})' if details else ''}]"


def sent(result: ToolResult) -> CallToolResult:
    """A result of ours as MCP's: the model's words as content, and where there is more for people, that too."""
    from mcp_types import CallToolResult

    more: dict[str, Any] = {} if result.semantic is None else to_mcp(result.semantic)
    if result.semantic and result.semantic.kind == MCP:
        # Another server's result is handed on as it came, if that is what it is.
        with suppress(ValueError):
            return CallToolResult.model_validate(more)
        more = {}
    notes: dict[str, Any] = {}
    for block in more.get("content", ()):
        notes = {"annotations": block["annotations"]} if "annotations" in block else {}
    # The model's words are the tool's own, and need not be those that the kind would have made.
    content = [block | notes for block in _blocks(result)]
    return CallToolResult.model_validate({**more, "content": content, "isError": result.is_error})


def _blocks(result: ToolResult) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for part in result.parts:
        if not isinstance(part, Image):
            blocks.append({"type": "text", "text": part.text})
        elif part.data:
            blocks.append({"type": "image", "data": part.data, "mimeType": part.media_type})
        else:
            blocks.append({"type": "text", "text": f"[image: {part.url}]"})
    return blocks
