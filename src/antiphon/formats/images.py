"""Checks of images in the bodies of the four APIs: their bytes are compared with the declared type."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from antiphon._base.json_access import as_object, as_string
from antiphon.conversation import RepairAction
from antiphon.wire.images import KNOWN_IMAGE_TYPES, detect_image_type

_DATA_URL = re.compile(r"data:(image/[^;,\s]*)(?:;[^,;]*)*;base64,(.*)", re.DOTALL | re.IGNORECASE)
_BLANK = re.compile(r"\s+")
_WEB_SAFE = str.maketrans("-_", "+/")
#: Fields with a call's arguments, in which nothing is an image.
_ARGUMENT_FIELDS = ("input", "args", "arguments")
_ENTRY_NAMES = {"anthropic": "message", "openai-chat": "message", "openai-responses": "item", "gemini": "content"}
_TEXT_BLOCKS: dict[str, dict[str, str]] = {"openai-responses": {"type": "input_text"}, "gemini": {}}
_EQUIVALENT_TYPES = {"image/heic", "image/heif"}
UNREADABLE_IMAGE_TEXT = "[an image that could not be read]"
#: Anthropic's limit applies to the Base64 text.
_MAX_IMAGE_SIZE = 5 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ImageFault:
    """A fault of an image, and the corrected image. Without `data` the image is unreadable."""

    found: str
    action: str
    data: str = ""
    media_type: str = ""


def find_image_fault(data: str, media_type: str) -> ImageFault | None:
    """Return what is wrong with an image's bytes, or None."""
    if inner := _DATA_URL.fullmatch(data):
        data, told = inner[2], "a data URL in place of base64"
    else:
        told = ""
    plain = _BLANK.sub("", data).translate(_WEB_SAFE).rstrip("=")
    plain += "=" * (-len(plain) % 4)
    try:
        content = binascii.a2b_base64(plain.encode(), strict_mode=True)
    except (binascii.Error, UnicodeEncodeError):
        return _make_unreadable_fault("its data is not base64")
    kind = detect_image_type(plain)
    if (not kind and media_type.lower() in (*KNOWN_IMAGE_TYPES, "image/jpg")) or not content:
        return _make_unreadable_fault(f"its bytes are no image of type {media_type!r}")
    if kind and _is_truncated(kind, content):
        return _make_unreadable_fault("its data is cut off")
    if kind and kind != media_type and {kind, media_type} != _EQUIVALENT_TYPES:
        return ImageFault(f"an image of type {media_type!r} whose bytes are {kind}", f"it becomes {kind}", plain, kind)
    if plain != data or told:
        found = told or "base64 that is not written as the standard has it"
        return ImageFault(f"an image: {found}", "it is written anew", plain, media_type)
    return None


def _make_unreadable_fault(reason: str) -> ImageFault:
    return ImageFault(f"an image: {reason}", "a line of text takes its place")


def _is_truncated(kind: str, content: bytes) -> bool:
    """Return whether an image lacks its end."""
    match kind:
        case "image/png":
            return b"IEND" not in content
        case "image/jpeg":
            return b"\xff\xd9" not in content
        case "image/webp":
            return len(content) < int.from_bytes(content[4:8], "little") + 8
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _ImageReference:
    """An image in a body: its data, its container, and a function that replaces it."""

    where: str
    data: str
    media_type: str
    change: Callable[[str, str], None]
    holder: Any
    key: str | int


def fix_images(items: list[Any], api: str) -> list[RepairAction]:
    """Fix the images of a list of messages in place and return the changes."""
    changes: list[RepairAction] = []
    for image in _iter_images(items, api):
        # Google accepts either Base64 alphabet.
        data = image.data.translate(_WEB_SAFE) if api == "gemini" else image.data
        fault = find_image_fault(data, image.media_type)
        if fault is None:
            continue
        if fault.data:
            image.change(fault.data, fault.media_type)
        else:
            image.holder[image.key] = _TEXT_BLOCKS.get(api, {"type": "text"}) | {"text": UNREADABLE_IMAGE_TEXT}
        changes.append(RepairAction("bad-image", image.where, fault.found, fault.action))
    return changes


def find_large_images(items: list[Any], api: str) -> list[tuple[str, int]]:
    """Return the location and the bytes of images that are larger than the API accepts."""
    if api != "anthropic":
        return []
    return [(image.where, len(image.data)) for image in _iter_images(items, api) if len(image.data) > _MAX_IMAGE_SIZE]


def _iter_images(items: list[Any], api: str) -> Iterator[_ImageReference]:
    for number, item in enumerate(items):
        yield from _iter_nested_images(item, api, f"{_ENTRY_NAMES[api]} {number}")


def _iter_nested_images(value: Any, api: str, where: str) -> Iterator[_ImageReference]:
    """Yield the images at any depth of a message. Collect a container's entries before one is changed."""
    if isinstance(value, list):
        places: list[tuple[Any, Any]] = [*enumerate(cast(list[Any], value))]
    else:
        places = [(key, each) for key, each in as_object(value).items() if key not in _ARGUMENT_FIELDS]
    for key, each in places:
        if found := _read_image(as_object(each), api):
            data, media_type, change = found
            yield _ImageReference(where, data, media_type, change, value, key)
        elif isinstance(each, dict | list):
            yield from _iter_nested_images(each, api, where)


def _read_image(node: dict[str, Any], api: str) -> tuple[str, str, Callable[[str, str], None]] | None:
    """Return data, type and replacement function of an image object, or None if it is no image."""
    match api:
        case "anthropic":
            source = as_object(node.get("source")) if node.get("type") == "image" else {}
            return _read_base64_fields(source, "data", "media_type") if source.get("type") == "base64" else None
        case "gemini":
            inline = as_object(node.get("inlineData") or node.get("inline_data"))
            kind = "mimeType" if "mimeType" in inline else "mime_type"
            return (
                _read_base64_fields(inline, "data", kind) if as_string(inline.get(kind)).startswith("image/") else None
            )
        case "openai-chat" if node.get("type") == "image_url" and isinstance(node.get("image_url"), dict):
            return _read_data_url(as_object(node["image_url"]), "url")
        case "openai-chat" | "openai-responses" if node.get("type") in ("image_url", "input_image"):
            return _read_data_url(node, "image_url")
        case _:
            return None


def _read_base64_fields(
    holder: dict[str, Any], data: str, kind: str
) -> tuple[str, str, Callable[[str, str], None]] | None:
    def change(new: str, media_type: str) -> None:
        holder.update({data: new, kind: media_type})

    # Reading the message reports data that is empty or no text.
    given = holder.get(data)
    return (given, as_string(holder.get(kind)), change) if isinstance(given, str) and given else None


def _read_data_url(holder: dict[str, Any], key: str) -> tuple[str, str, Callable[[str, str], None]] | None:
    def change(new: str, media_type: str) -> None:
        holder[key] = f"data:{media_type};base64,{new}"

    found = _DATA_URL.fullmatch(as_string(holder.get(key)))
    return (found[2], found[1], change) if found else None
