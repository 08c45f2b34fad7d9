"""What a call answered: MCP's content blocks as our parts, and ours as MCP's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._json import dumps
from antiphon.conversation import Image, Text, ToolResult
from antiphon.tools.tool import ToolFailure

if TYPE_CHECKING:
    from mcp_types import BlobResourceContents, CallToolResult, ContentBlock, ResourceLink, TextResourceContents

Value = str | list[Text | Image]


def value_of(result: CallToolResult) -> Value:
    """The value of a call; ToolFailure, in the server's words, if it says that the call failed."""
    parts = [_part(block) for block in result.content]
    texts = [part.text for part in parts if isinstance(part, Text)]
    # Servers repeat structured content as text for clients that read only text; the model needs it once.
    if result.structured_content is not None and not any(texts):
        texts = [dumps(result.structured_content)]
        parts = [Text(texts[0]), *(part for part in parts if isinstance(part, Image))]
    if result.is_error:
        raise ToolFailure("\n".join(texts))
    return list(parts) if any(isinstance(part, Image) for part in parts) else "\n".join(texts)


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
        return Image(data=data, media_type=media_type)
    return Text(f"[{what}, {media_type or 'of unknown type'}, {len(data) * 3 // 4:,} bytes, not shown]")


def _linked(link: ResourceLink) -> str:
    details = ", ".join(text for text in (link.mime_type, link.description) if text)
    return f"[resource {link.name}: {link.uri}{f' ({details})' if details else ''}]"


def blocks_of(result: ToolResult) -> list[ContentBlock]:
    """A result of ours as MCP's content."""
    from mcp_types import ImageContent, TextContent

    blocks: list[ContentBlock] = []
    for part in result.parts:
        if not isinstance(part, Image):
            blocks.append(TextContent(text=part.text))
        elif part.data:
            blocks.append(ImageContent(data=part.data, mime_type=part.media_type))
        else:
            blocks.append(TextContent(text=f"[image: {part.url}]"))
    return blocks
