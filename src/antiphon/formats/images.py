"""Images in the bodies of the four APIs: their bytes are compared with what is said of them."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from antiphon._shape import obj, string
from antiphon.conversation import Change
from antiphon.wire.images import KNOWN_TYPES, actual_type

_DATA_URL = re.compile(r"data:(image/[^;,\s]*)(?:;[^,;]*)*;base64,(.*)", re.DOTALL | re.IGNORECASE)
_BLANK = re.compile(r"\s+")
_WEB_SAFE = str.maketrans("-_", "+/")
#: Where a call keeps its arguments, in which nothing is an image.
_ARGUMENTS = ("input", "args", "arguments")
_WORDS = {"anthropic": "message", "openai-chat": "message", "openai-responses": "item", "gemini": "content"}
_TEXTS: dict[str, dict[str, str]] = {"openai-responses": {"type": "input_text"}, "gemini": {}}
_SAME = {"image/heic", "image/heif"}
UNREADABLE = "[an image that could not be read]"
#: Anthropic counts the base64.
_MOST = 5 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ImageFault:
    """A fault of an image, and the corrected image; one without `data` cannot be read."""

    found: str
    action: str
    data: str = ""
    media_type: str = ""


def find_fault(data: str, media_type: str) -> ImageFault | None:
    """Return what is wrong with an image by its bytes, or nothing."""
    if inner := _DATA_URL.fullmatch(data):
        data, told = inner[2], "a data URL in place of base64"
    else:
        told = ""
    plain = _BLANK.sub("", data).translate(_WEB_SAFE).rstrip("=")
    plain += "=" * (-len(plain) % 4)
    try:
        content = binascii.a2b_base64(plain.encode(), strict_mode=True)
    except (binascii.Error, UnicodeEncodeError):
        return _unreadable("its data is not base64")
    kind = actual_type(plain)
    if (not kind and media_type.lower() in (*KNOWN_TYPES, "image/jpg")) or not content:
        return _unreadable(f"its bytes are no image of type {media_type!r}")
    if kind and _is_cut(kind, content):
        return _unreadable("its data is cut off")
    if kind and kind != media_type and {kind, media_type} != _SAME:
        return ImageFault(f"an image of type {media_type!r} whose bytes are {kind}", f"it becomes {kind}", plain, kind)
    if plain != data or told:
        found = told or "base64 that is not written as the standard has it"
        return ImageFault(f"an image: {found}", "it is written anew", plain, media_type)
    return None


def _unreadable(reason: str) -> ImageFault:
    return ImageFault(f"an image: {reason}", "a line of text takes its place")


def _is_cut(kind: str, content: bytes) -> bool:
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
class _Found:
    """An image in a body: what it is, how it is changed, and what it stands in."""

    where: str
    data: str
    media_type: str
    change: Callable[[str, str], None]
    holder: Any
    key: str | int


def mend_images(items: list[Any], api: str) -> list[Change]:
    """Put right the images of a list of messages, in place, and return what was done."""
    changes: list[Change] = []
    for image in _images(items, api):
        # Google reads either alphabet.
        data = image.data.translate(_WEB_SAFE) if api == "gemini" else image.data
        fault = find_fault(data, image.media_type)
        if fault is None:
            continue
        if fault.data:
            image.change(fault.data, fault.media_type)
        else:
            image.holder[image.key] = _TEXTS.get(api, {"type": "text"}) | {"text": UNREADABLE}
        changes.append(Change("bad-image", image.where, fault.found, fault.action))
    return changes


def find_large(items: list[Any], api: str) -> list[tuple[str, int]]:
    """Return where images are larger than the API takes, and how large in bytes."""
    if api != "anthropic":
        return []
    return [(image.where, len(image.data)) for image in _images(items, api) if len(image.data) > _MOST]


def _images(items: list[Any], api: str) -> Iterator[_Found]:
    for number, item in enumerate(items):
        yield from _inside(item, api, f"{_WORDS[api]} {number}")


def _inside(value: Any, api: str, where: str) -> Iterator[_Found]:
    """The images at any depth of a message. Those of a list or an object are looked for before one is changed."""
    if isinstance(value, list):
        places: list[tuple[Any, Any]] = [*enumerate(cast(list[Any], value))]
    else:
        places = [(key, each) for key, each in obj(value).items() if key not in _ARGUMENTS]
    for key, each in places:
        if found := _read(obj(each), api):
            data, media_type, change = found
            yield _Found(where, data, media_type, change, value, key)
        elif isinstance(each, dict | list):
            yield from _inside(each, api, where)


def _read(node: dict[str, Any], api: str) -> tuple[str, str, Callable[[str, str], None]] | None:
    """The data and type of an image that an object is, and how they are changed; nothing where it is none."""
    match api:
        case "anthropic":
            source = obj(node.get("source")) if node.get("type") == "image" else {}
            return _pair(source, "data", "media_type") if source.get("type") == "base64" else None
        case "gemini":
            inline = obj(node.get("inlineData") or node.get("inline_data"))
            kind = "mimeType" if "mimeType" in inline else "mime_type"
            return _pair(inline, "data", kind) if string(inline.get(kind)).startswith("image/") else None
        case "openai-chat" if node.get("type") == "image_url" and isinstance(node.get("image_url"), dict):
            return _url(obj(node["image_url"]), "url")
        case "openai-chat" | "openai-responses" if node.get("type") in ("image_url", "input_image"):
            return _url(node, "image_url")
        case _:
            return None


def _pair(holder: dict[str, Any], data: str, kind: str) -> tuple[str, str, Callable[[str, str], None]] | None:
    def change(new: str, media_type: str) -> None:
        holder.update({data: new, kind: media_type})

    # What is no text, or empty, is told when the message is read.
    given = holder.get(data)
    return (given, string(holder.get(kind)), change) if isinstance(given, str) and given else None


def _url(holder: dict[str, Any], key: str) -> tuple[str, str, Callable[[str, str], None]] | None:
    def change(new: str, media_type: str) -> None:
        holder[key] = f"data:{media_type};base64,{new}"

    found = _DATA_URL.fullmatch(string(holder.get(key)))
    return (found[2], found[1], change) if found else None
