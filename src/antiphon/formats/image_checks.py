"""Checks of images in the bodies: their bytes are compared with the declared type."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from antiphon._base.json_access import as_string
from antiphon.conversation import RepairAction
from antiphon.wire import HistoryForm, ImagePlace, get_api_spec
from antiphon.wire.images import KNOWN_IMAGE_TYPES, detect_image_type

_DATA_URL = re.compile(r"data:(image/[^;,\s]*)(?:;[^,;]*)*;base64,(.*)", re.DOTALL | re.IGNORECASE)
_BLANK = re.compile(r"\s+")
_WEB_SAFE = str.maketrans("-_", "+/")
#: Fields with a call's arguments, in which nothing is an image.
_ARGUMENT_FIELDS = ("input", "args", "arguments")
_EQUIVALENT_TYPES = {"image/heic", "image/heif"}
UNREADABLE_IMAGE_TEXT = "[an image that could not be read]"


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
    """An image in a body: its data, its place, and the container of its block."""

    where: str
    data: str
    media_type: str
    place: ImagePlace
    holder: Any
    key: str | int


def fix_images(items: list[Any], api: str) -> list[RepairAction]:
    """Fix the images of a list of messages in place and return the changes."""
    changes: list[RepairAction] = []
    form = get_api_spec(api).history
    for image in _iter_images(items, form):
        data = image.data.translate(_WEB_SAFE) if form.web_safe_base64 else image.data
        fault = find_image_fault(data, image.media_type)
        if fault is None:
            continue
        if fault.data:
            _replace_image(image.place, fault.data, fault.media_type)
        else:
            image.holder[image.key] = {**form.text_block, "text": UNREADABLE_IMAGE_TEXT}
        changes.append(RepairAction("bad-image", image.where, fault.found, fault.action))
    return changes


def find_large_images(items: list[Any], api: str) -> list[tuple[str, int]]:
    """Return the location and the bytes of images that are larger than the API accepts."""
    form = get_api_spec(api).history
    if (most := form.max_image_size) is None:
        return []
    return [(image.where, len(image.data)) for image in _iter_images(items, form) if len(image.data) > most]


def _iter_images(items: list[Any], form: HistoryForm) -> Iterator[_ImageReference]:
    for number, item in enumerate(items):
        yield from _iter_nested_images(item, form, f"{form.entry} {number}")


def _iter_nested_images(value: Any, form: HistoryForm, where: str) -> Iterator[_ImageReference]:
    """Yield the images at any depth of a message. Collect a container's entries before one is changed."""
    places: list[tuple[Any, Any]] = []
    if isinstance(value, list):
        places = [(key, each) for key, each in enumerate(cast(list[Any], value)) if isinstance(each, dict | list)]
    elif isinstance(value, dict):
        entries = cast(dict[str, Any], value).items()
        places = [(k, each) for k, each in entries if isinstance(each, dict | list) and k not in _ARGUMENT_FIELDS]
    for key, each in places:
        if isinstance(each, dict) and (place := form.find_image(cast(dict[str, Any], each))):
            if found := _read_image(place):
                yield _ImageReference(where, *found, place, value, key)
        else:
            yield from _iter_nested_images(each, form, where)


def _read_image(place: ImagePlace) -> tuple[str, str] | None:
    """Return the base64 data and the type of an image, or None if it is not in the body."""
    given = place.holder.get(place.key)
    if place.type_key:
        # Reading the message reports data that is empty or no text.
        return (given, as_string(place.holder.get(place.type_key))) if isinstance(given, str) and given else None
    found = _DATA_URL.fullmatch(as_string(given))
    return (found[2], found[1]) if found else None


def _replace_image(place: ImagePlace, data: str, media_type: str) -> None:
    if place.type_key:
        place.holder.update({place.key: data, place.type_key: media_type})
    else:
        place.holder[place.key] = f"data:{media_type};base64,{data}"
