"""Detection of images by their first bytes, whatever their name."""

from __future__ import annotations

from antiphon.conversation import Image

#: Media types of images that models accept, by their first bytes.
_TYPE_BY_PREFIX = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
}
#: Media types that `detect_image` recognizes.
IMAGE_TYPES = (*_TYPE_BY_PREFIX.values(), "image/webp")


def detect_image(data: bytes) -> Image | None:
    """Return the image in these bytes, or None if it is not an image that models accept."""
    for start, kind in _TYPE_BY_PREFIX.items():
        if data.startswith(start):
            return Image.from_bytes(data, kind)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return Image.from_bytes(data, "image/webp")
    return None
