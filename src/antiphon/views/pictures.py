"""Images: their data or their address, and what can be said of them without drawing them."""

from __future__ import annotations

import binascii
import struct

from antiphon.results import Result
from antiphon.views.data import Image
from antiphon.views.fields import object_of, text_of
from antiphon.views.part import Part, piece

#: The data of a larger image, in bytes, is no part of its view.
LARGEST = 8_000_000
#: Characters of what is said of an image.
_WORDS = 300
_PNG = b"\x89PNG\r\n\x1a\n"


def image(result: Result, part: Part) -> Image:
    """The image itself, with its alternative text."""
    data = {"url": result.data} if isinstance(result.data, str) else object_of(result.data, "an image")
    encoded, url = text_of(data, "base64"), text_of(data, "url")
    if url.startswith("data:") and ";base64," in url[:100]:
        encoded, url = url.partition(",")[2], ""
    size = len(encoded) * 3 // 4 if encoded else None
    width, height = png_size(_beginning(encoded))
    return Image(
        piece(result.mime_type or "image", _WORDS),
        encoded if len(encoded) <= LARGEST * 4 // 3 else "",
        part.piece(url),
        piece(text_of(data, "alt"), _WORDS),
        size,
        width or None,
        height or None,
    )


def _beginning(encoded: str) -> bytes:
    """The first bytes, where the header is."""
    try:
        return binascii.a2b_base64(encoded[:64].encode("ascii"), strict_mode=True)
    except ValueError:
        return b""


def png_size(content: bytes) -> tuple[int, int]:
    """Width and height by the header; zeros for what is no PNG."""
    if not content.startswith(_PNG) or len(content) < 33 or content[12:16] != b"IHDR":
        return 0, 0
    return struct.unpack(">II", content[16:24])
