"""Conversion of tool results from and to MCP."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_object
from antiphon.conversation import (
    Audio,
    File,
    Image,
    Media,
    MediaPart,
    ResultPart,
    Text,
    ToolResult,
    make_media,
)
from antiphon.errors import ContentError, FormatError
from antiphon.results import Result
from antiphon.results.protocols import MCP_KIND, MCP_META_KEY, from_mcp, to_mcp
from antiphon.tools.mcp.limited_schema import LimitedSchema
from antiphon.tools.tool import ToolFailure

#: The types of data that models may be shown.
_MEDIA_TYPES = ("image/", "audio/", "video/", "application/pdf")

if TYPE_CHECKING:
    from mcp_types import BlobResourceContents, CallToolResult, ContentBlock, TextResourceContents

#: The most characters of a result.
_MAX_RESULT = 100_000_000


def from_mcp_result(result: CallToolResult) -> ToolResult:
    """Convert an MCP result to a tool result: text for the model, and the full value for people.

    If the server reports a failure, it is an error result in the server's words.
    """
    parts = [convert_block(block) for block in result.content]
    texts = [part.text for part in parts if isinstance(part, Text)]
    # Servers repeat structured content as text for clients that read only text; the model needs it once.
    if result.structured_content is not None and not any(texts):
        texts = [dump_json(result.structured_content)]
        parts = [Text(texts[0]), *(part for part in parts if isinstance(part, Media))]
    content = "\n".join(texts)
    if result.is_error:
        return ToolResult("", content or "it failed without saying why", is_error=True, semantic=_make_semantic(result))
    holds_files = any(isinstance(part, Media) for part in parts)
    return ToolResult("", tuple(parts) if holds_files else content, semantic=_make_semantic(result))


def check_result(result: CallToolResult, output: LimitedSchema | None, tool: str) -> None:
    """Raise a ToolFailure if a result is too large, or does not fit the output schema of its tool."""
    size = sum(_measure(block) for block in result.content)
    if size > _MAX_RESULT:
        raise ToolFailure(f"{tool} returned more than {_MAX_RESULT // 1_000_000} MB, which is not read")
    if output is None or result.is_error:
        return
    if result.structured_content is None:
        raise ToolFailure(f"{tool} returned a wrong result: its output schema requires structured content")
    if problem := output.find_problem(result.structured_content):
        raise ToolFailure(f"{tool} returned a wrong result: {problem}")


def _measure(block: ContentBlock) -> int:
    inside: object = getattr(block, "resource", block)
    return sum(len(getattr(inside, name, None) or "") for name in ("text", "data", "blob"))


def unwrap_data(result: CallToolResult, schema: Mapping[str, Any]) -> Any:
    """Return the structured content. The Python library wraps a value that is no object in the field `result`."""
    data: Any = result.structured_content
    is_wrapped = list(as_object(schema.get("properties"))) == ["result"] and list(data) == ["result"]
    return data["result"] if is_wrapped else data


def _make_semantic(result: CallToolResult) -> Result:
    data: dict[str, Any] = result.model_dump(by_alias=True, exclude_none=True)
    # A field of the protocol between library and server, not of the result.
    data.pop("resultType", None)
    try:
        return from_mcp(data)
    except FormatError:
        # The metadata is not a valid result of ours; the rest is still usable.
        del data["_meta"][MCP_META_KEY]
        return from_mcp(data)


def convert_block(block: ContentBlock) -> Text | MediaPart:
    """Return a block of content as a part of a message."""
    match block.type:
        case "text":
            return Text(block.text)
        case "image":
            return _convert_binary("image", block.data, block.mime_type)
        case "audio":
            return _convert_binary("audio", block.data, block.mime_type)
        case "resource":
            return convert_resource(block.resource)
        case "resource_link":
            details = ", ".join(text for text in (block.mime_type, block.description) if text)
            return Text(f"[resource {block.name}: {block.uri}{f' ({details})' if details else ''}]")


def convert_resource(
    inside: TextResourceContents | BlobResourceContents,
) -> Text | MediaPart:
    """Return the text or the file of a resource, or a note about it."""
    # Distinguished by their attributes: importing their classes would import the library.
    text = getattr(inside, "text", None)
    if isinstance(text, str):
        return Text(text)
    name = str(inside.uri).partition("?")[0].rpartition("/")[2]
    return _convert_binary(f"resource {inside.uri}", getattr(inside, "blob", ""), inside.mime_type or "", name)


def _convert_binary(what: str, data: str, media_type: str, name: str = "") -> Text | MediaPart:
    """Return an image, PDF, audio or video, or a note about data that the model cannot be shown."""
    if data and media_type.startswith(_MEDIA_TYPES):
        try:
            if media_type.startswith("image/"):
                return Image(data, media_type)
            return make_media(b64decode(data, validate=True), name, media_type)
        except (ContentError, ValueError) as error:
            return Text(f"[{what}, {media_type}, not shown: {error}]")
    return Text(f"[{what}, {media_type or 'of unknown type'}, {len(data) * 3 // 4:,} bytes, not shown]")


def _describe(part: ResultPart) -> str:
    if isinstance(part, File):
        return f"[file: {part.name or part.id}]"
    return f"[{part.kind}: {part.url}]" if isinstance(part, Media) else part.text


def to_mcp_result(result: ToolResult) -> CallToolResult:
    """Convert a tool result to MCP: the model's text as content, and the semantic value if there is one."""
    from mcp_types import CallToolResult

    more: dict[str, Any] = {} if result.semantic is None else to_mcp(result.semantic)
    if result.semantic and result.semantic.kind == MCP_KIND:
        # Another server's result is passed on unchanged, if it is valid.
        with suppress(ValueError):
            return CallToolResult.model_validate(more)
        more = {}
    notes: dict[str, Any] = {}
    for block in more.get("content", ()):
        notes = {"annotations": block["annotations"]} if "annotations" in block else {}
    # The tool may have written the model's text itself, so it is not derived from the semantic value.
    content: list[dict[str, Any]] = []
    for part in result.parts:
        if isinstance(part, Image | Audio) and part.data:
            content.append({"type": part.kind, "data": part.data, "mimeType": part.media_type, **notes})
        elif isinstance(part, Media) and part.data:
            uri = f"file:///{quote(part.name or part.kind)}"
            resource = {"uri": uri, "mimeType": part.media_type, "blob": part.data}
            content.append({"type": "resource", "resource": resource, **notes})
        else:
            content.append({"type": "text", "text": _describe(part), **notes})
    return CallToolResult.model_validate({**more, "content": content, "isError": result.is_error})
