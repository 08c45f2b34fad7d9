"""Images that people send along: known by how they begin, whatever somebody says they are."""

from __future__ import annotations

from antiphon.conversation import Image

#: How files begin that models can be shown.
_TYPE_BY_PREFIX = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
}
#: The types of those.
IMAGE_TYPES = (*_TYPE_BY_PREFIX.values(), "image/webp")


def detect_image(data: bytes) -> Image | None:
    """The image in these bytes; nothing, where it is none that models can be shown."""
    for start, kind in _TYPE_BY_PREFIX.items():
        if data.startswith(start):
            return Image.from_bytes(data, kind)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return Image.from_bytes(data, "image/webp")
    return None
