"""Google's JSON: keys come in camelCase and in snake_case, and one object may stand where a list is meant."""

from __future__ import annotations

import re
from typing import Any, TypeGuard

from antiphon._shape import arr, obj

_WORD = re.compile(r"(?<=[A-Za-z0-9])_([a-z0-9])")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
#: What stands beside the content of a part.
_BESIDE = ("thought", "thoughtSignature", "partMetadata", "videoMetadata", "mediaResolution", "mediaProcessing")


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether the value is a JSON object."""
    return isinstance(value, dict)


def camel(name: str) -> str:
    """The name as Google's own JSON has it."""
    return _WORD.sub(lambda found: found[1].upper(), name)


def camel_keys(value: object) -> dict[str, Any]:
    """The object with its own keys in camelCase, without those that are null."""
    return {camel(name): inner for name, inner in obj(value).items() if inner is not None}


def several(value: object) -> list[Any]:
    """A repeated field as a list."""
    return [value] if is_object(value) else arr(value)


def part_of(value: object) -> dict[str, Any]:
    """A part in camelCase, empty if there is nothing in it. Arguments, responses and signatures are not touched."""
    part = _flat(value)
    response = part.get("functionResponse")
    if is_object(response) and "parts" in response:
        media = [inner for inner in map(_flat, several(response["parts"])) if inner]
        part["functionResponse"] = response | {"parts": media}
    if not isinstance(part.get("text", ""), str):
        del part["text"]
    if "thoughtSignature" in part and not _is_signature(part["thoughtSignature"]):
        # Google answers "Base64 decoding failed" (G7), so it can only do harm.
        del part["thoughtSignature"]
    if all(name in _BESIDE for name in part):
        return part | {"text": ""} if "thoughtSignature" in part else {}
    return part


def _flat(value: object) -> dict[str, Any]:
    return {
        name: camel_keys(inner) if is_object(inner) and name != "partMetadata" else inner
        for name, inner in camel_keys(value).items()
    }


def _is_signature(value: object) -> bool:
    return isinstance(value, str) and bool(_BASE64.fullmatch(value)) and len(value.rstrip("=")) % 4 != 1


def kind_of(part: dict[str, Any]) -> str:
    """The name of the field that holds the content of a part."""
    for name in ("functionCall", "functionResponse", "text"):
        if name in part:
            return name
    return next((name for name in part if name not in _BESIDE), "")
