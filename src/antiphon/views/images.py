"""Image views: the data or URL of an image, and its description."""

from __future__ import annotations

import binascii
import struct

from antiphon.results import Result
from antiphon.views.data_window import Window, truncate_text
from antiphon.views.types import Image
from antiphon.views.validated_fields import find_text, require_object_data

#: The data of a larger image is not part of its view.
MAX_IMAGE_BYTES = 8_000_000
#: Maximum characters of an image's description.
_MAX_DESCRIPTION = 300
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def build_image_body(result: Result, part: Window) -> Image:
    """The image itself, with its alternative text."""
    data = {"url": result.data} if isinstance(result.data, str) else require_object_data(result.data, "an image")
    encoded, url = find_text(data, "base64"), find_text(data, "url")
    if url.startswith("data:") and ";base64," in url[:100]:
        encoded, url = url.partition(",")[2], ""
    size = len(encoded) * 3 // 4 if encoded else None
    width, height = read_png_size(_decode_header(encoded))
    return Image(
        truncate_text(result.mime_type or "image", _MAX_DESCRIPTION),
        encoded if len(encoded) <= MAX_IMAGE_BYTES * 4 // 3 else "",
        part.piece(url),
        truncate_text(find_text(data, "alt"), _MAX_DESCRIPTION),
        size,
        width or None,
        height or None,
    )


def _decode_header(encoded: str) -> bytes:
    """Return the first bytes, which hold the header."""
    try:
        return binascii.a2b_base64(encoded[:64].encode("ascii"), strict_mode=True)
    except ValueError:
        return b""


def read_png_size(content: bytes) -> tuple[int, int]:
    """Return width and height from the header; zeros if it is not a PNG."""
    if not content.startswith(_PNG_SIGNATURE) or len(content) < 33 or content[12:16] != b"IHDR":
        return 0, 0
    return struct.unpack(">II", content[16:24])
