"""Checks which images a model accepts. One unsupported image would make its provider reject the whole
conversation.
"""

from __future__ import annotations

import binascii
from dataclasses import replace
from typing import Any

from antiphon.conversation import AssistantTurn, Conversation, Image, Text, ToolResult, Turn, UserTurn
from antiphon.errors import ContentError
from antiphon.facts.resolution import default_model
from antiphon.wire.options import Target

#: Magic bytes of image types: offset, bytes, media type.
_MAGIC_BYTES = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (4, b"ftyphei", "image/heic"),
    (4, b"ftyphev", "image/heic"),
    (4, b"ftypmif1", "image/heif"),
    (4, b"ftypmsf1", "image/heif"),
    (4, b"ftypavif", "image/avif"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
)
KNOWN_IMAGE_TYPES = frozenset(kind for _, _, kind in _MAGIC_BYTES)
#: Media types that count as the same.
_TYPE_ALIASES = {"image/heif": "image/heic"}


def find_image_problem(image: Image, target: Target) -> str:
    """Return why the model cannot see an image and what to do, or "" if it can."""
    if not target.accepts_images():
        return f"{target.model} cannot see images; describe it, or ask a model that can"
    if not image.data:
        return ""
    # An image that came from this API is sent back unchanged.
    theirs = image.native is not None and image.native.origin.api == target.api
    return ("" if theirs else _find_type_mismatch(image)) or _find_exceeded_limit(image, target)


def _find_type_mismatch(image: Image) -> str:
    kind, actual = image.media_type.lower(), detect_image_type(image.data)
    if _TYPE_ALIASES.get(kind, kind) == _TYPE_ALIASES.get(actual, actual) or not (actual or kind in KNOWN_IMAGE_TYPES):
        return ""
    found = f"are {actual}; give it that type" if actual else "are none; was it read whole, as bytes?"
    return f"it is called {kind}, but its bytes {found}"


def _find_exceeded_limit(image: Image, target: Target) -> str:
    kind = image.media_type.lower()
    limits = (target.facts.inputs or {}).get("images")
    if limits and limits.types and kind not in limits.types:
        taken = ", ".join(each.removeprefix("image/") for each in limits.types)
        return f"{target.provider} takes {taken}, and not {kind}; convert it"
    if limits and limits.bytes and len(image.data) > limits.bytes:
        size, most = len(image.data) / 2**20, limits.bytes / 2**20
        return f"it has {size:.1f} MB as base64, and {target.provider} takes {most:g} MB; make it smaller"
    return ""


def check_new_images(conversation: Conversation, target: Target) -> None:
    """Raise ContentError for an image in the latest user turn that the model cannot see.

    Earlier images and those of tools are replaced by a note to the model.
    """
    turn = conversation.turns[-1] if conversation.turns else None
    for part in turn.parts if isinstance(turn, UserTurn) else ():
        if isinstance(part, Image) and (reason := find_image_problem(part, target)):
            others = "" if target.accepts_images() else f", such as {_name_vision_models()}"
            raise ContentError(
                f"an image cannot be sent to {target.provider}/{target.model}: {reason}{others}"
                " (`conversation.undo()` takes it back)"
            )


def _name_vision_models() -> str:
    """Return the names of models that can see images, for a message."""
    return " or ".join(filter(None, map(default_model, ("anthropic", "google"))))


def replace_unsupported_images(turn: Turn, target: Target) -> Turn:
    """Return the turn with a line of text in place of every image that the model cannot see."""
    if isinstance(turn, UserTurn):
        parts = _replace_in_parts(turn.parts, target)
        return turn if parts is turn.parts else UserTurn(parts)
    if all(isinstance(result.content, str) for result in turn.results):
        return turn
    results = tuple(_replace_in_result(result, target) for result in turn.results)
    same = all(new is old for new, old in zip(results, turn.results, strict=True))
    return turn if same else AssistantTurn(turn.parts, results)


def _replace_in_result(result: ToolResult, target: Target) -> ToolResult:
    theirs = result.native is not None and result.native.origin.api == target.api and target.accepts_images()
    if isinstance(result.content, str) or theirs:
        return result
    parts = _replace_in_parts(result.content, target)
    return result if parts is result.content else replace(result, content=parts, native=None)


def _replace_in_parts(parts: tuple[Any, ...], target: Target) -> tuple[Any, ...]:
    if not any(isinstance(part, Image) and find_image_problem(part, target) for part in parts):
        return parts
    return tuple(_image_or_text(part, target) if isinstance(part, Image) else part for part in parts)


def _image_or_text(image: Image, target: Target) -> Image | Text:
    reason = find_image_problem(image, target)
    if not reason:
        return image
    address = f" at {image.url[:500]}" if image.url and not image.url.startswith("data:") else ""
    return Text(f"[an image{address} that is not shown: {reason}]")


def detect_image_type(data: str) -> str:
    """Return the media type that an image's bytes have, or "" if it is unknown."""
    try:
        head = binascii.a2b_base64(data[:64].encode())
    except (binascii.Error, UnicodeEncodeError):
        return ""
    return next((kind for place, start, kind in _MAGIC_BYTES if head.startswith(start, place)), "")
