"""Function responses as tool results, and the media in them."""

from __future__ import annotations

from typing import Any

from antiphon._json import dumps
from antiphon._shape import obj, string
from antiphon.conversation import Foreign, Image, Native, Origin, Text, ToolResult
from antiphon.errors import ContentError
from antiphon.wire.gemini.keys import kind_of, several
from antiphon.wire.gemini.response import fallback

_OUTPUTS = ("result", "output", "return_value")


def read_result(part: dict[str, Any], id: str, origin: Origin) -> ToolResult:
    """A part with a function response as the result of the call `id`.

    The part itself is kept for its own API unless we would write the same.
    """
    data = obj(part["functionResponse"])
    response, name = data.get("response"), string(data.get("name"))
    is_error = set(obj(response)) == {"error"}
    text = _text(response)
    media = [_medium(obj(given), origin) for given in several(data.get("parts"))]
    # An error holds text only; the part itself still has whatever came with it.
    content = text if is_error or not media else (*([Text(text)] if text else []), *media)
    plain = {"error" if is_error else "result": text}
    own = text.strip() and response == plain and set(part) == {"functionResponse"} and not data.keys() - _PLAIN
    usable = isinstance(data.get("response", {}), dict)
    return ToolResult(id, content, is_error, name, native=Native(origin, part) if usable and not own else None)


_PLAIN = {"id", "name", "response"}


def _text(response: object) -> str:
    """What a response says: the text in it, or its JSON."""
    data = obj(response)
    if len(data) == 1 and next(iter(data)) in (*_OUTPUTS, "error"):
        response = next(iter(data.values()))
    if isinstance(response, str):
        return response
    return "" if response is None or response == {} else dumps(response)


def _medium(part: dict[str, Any], origin: Origin) -> Text | Image | Foreign:
    return read_image(part, origin) or Foreign(Native(origin, part), fallback(part, kind_of(part)))


def read_image(part: dict[str, Any], origin: Origin) -> Image | None:
    """The image in a part: its bytes, or an address that everybody may fetch. Anything else is not for others."""
    inline, file = obj(part.get("inlineData")), obj(part.get("fileData"))
    media_type = string((inline or file).get("mimeType"))
    if not media_type.startswith("image/"):
        return None
    # Google writes the alphabet that is made for URLs, with or without padding; everybody else wants the other one.
    given = string(inline.get("data"))
    data = given.translate({45: 43, 95: 47})
    data += "=" * (-len(data) % 4)
    plain = len(part) == 1 and (inline or file).keys() == {"mimeType", "data" if inline else "fileUri"}
    plain = plain and data == given
    native = None if plain else Native(origin, part)
    url = string(file.get("fileUri"))
    if not inline and (not url.startswith(("http://", "https://")) or "//generativelanguage." in url):
        return None
    try:
        return Image(data=data, media_type=media_type, url="" if inline else url, native=native)
    except ContentError:
        return None
