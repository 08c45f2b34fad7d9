"""Conversion of function responses into tool results, and of the media in them."""

from __future__ import annotations

from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_object, as_string
from antiphon.conversation import (
    Audio,
    Document,
    File,
    Image,
    MediaPart,
    OpaquePart,
    Origin,
    ProviderPayload,
    ResultPart,
    Text,
    ToolResult,
    Video,
)
from antiphon.conversation.media_types import is_text_type
from antiphon.errors import ContentError
from antiphon.wire.files import GOOGLE_FILES
from antiphon.wire.gemini.field_names import as_object_list, find_content_field
from antiphon.wire.gemini.response import describe_part

_OUTPUT_FIELDS = ("result", "output", "return_value")


def read_function_response(part: dict[str, Any], id: str, origin: Origin) -> ToolResult:
    """Convert a part with a function response into the result of the call `id`.

    The original part is kept for its own API unless our encoding would equal it.
    """
    data = as_object(part["functionResponse"])
    response, name = data.get("response"), as_string(data.get("name"))
    is_error = set(as_object(response)) == {"error"}
    text = _extract_text(response)
    media = [_read_medium(as_object(given), origin) for given in as_object_list(data.get("parts"))]
    # An error holds text only; the original part keeps the media.
    content = text if is_error or not media else (*([Text(text)] if text else []), *media)
    plain = {"error" if is_error else "result": text}
    own = text.strip() and response == plain and set(part) == {"functionResponse"} and not data.keys() - _PLAIN_FIELDS
    usable = isinstance(data.get("response", {}), dict)
    return ToolResult(id, content, is_error, name, native=ProviderPayload(origin, part) if usable and not own else None)


_PLAIN_FIELDS = {"id", "name", "response"}


def _extract_text(response: object) -> str:
    """Return the text in a response, or its JSON."""
    data = as_object(response)
    if len(data) == 1 and next(iter(data)) in (*_OUTPUT_FIELDS, "error"):
        response = next(iter(data.values()))
    if isinstance(response, str):
        return response
    return "" if response is None or response == {} else dump_json(response)


def _read_medium(part: dict[str, Any], origin: Origin) -> ResultPart:
    return read_gemini_medium(part, origin) or OpaquePart(
        ProviderPayload(origin, part), describe_part(part, find_content_field(part))
    )


def read_gemini_medium(part: dict[str, Any], origin: Origin) -> MediaPart | None:
    """Return the file in a part: its bytes, its public URL, or what Google keeps. Return None for anything else."""
    inline, file = as_object(part.get("inlineData")), as_object(part.get("fileData"))
    media_type = as_string((inline or file).get("mimeType"))
    if not inline and not file:
        return None
    # Google uses URL-safe Base64, with or without padding; other providers need the standard alphabet.
    given = as_string(inline.get("data"))
    data = given.translate({45: 43, 95: 47})
    data += "=" * (-len(data) % 4)
    plain = len(part) == 1 and (inline or file).keys() == {"mimeType", "data" if inline else "fileUri"}
    plain = plain and data == given and not is_text_type(media_type)
    native = None if plain else ProviderPayload(origin, part)
    url = as_string(file.get("fileUri"))
    if url and "//generativelanguage." in url:
        is_known = plain and origin.provider in GOOGLE_FILES.providers
        return File(url, GOOGLE_FILES.origin, media_type) if is_known else None
    if not media_type or (not inline and not url.startswith(("http://", "https://"))):
        return None
    kind = _CLASSES.get(media_type.partition("/")[0], Document)
    try:
        return kind(data=data, media_type=media_type, url="" if inline else url, native=native)
    except ContentError:
        return None


_CLASSES: dict[str, type[Image | Audio | Video]] = {"image": Image, "audio": Audio, "video": Video}
