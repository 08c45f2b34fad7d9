"""Normalisation of Google's JSON: keys in camelCase or snake_case, and single objects in place of
lists.
"""

from __future__ import annotations

import re
from typing import Any, TypeGuard, cast

_SNAKE_WORD = re.compile(r"(?<=[A-Za-z0-9])_([a-z0-9])")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
#: Fields of a part that are not its content.
_SIDE_FIELDS = ("thought", "thoughtSignature", "partMetadata", "videoMetadata", "mediaResolution", "mediaProcessing")


def is_json_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Return whether the value is a JSON object."""
    return isinstance(value, dict)


def to_camel_case(name: str) -> str:
    """Convert a name to camelCase, as in Google's own JSON."""
    return _SNAKE_WORD.sub(lambda found: found[1].upper(), name)


def camelize_keys(value: object) -> dict[str, Any]:
    """Return the object with its own keys in camelCase, without null values."""
    if not isinstance(value, dict):
        return {}
    given = cast(dict[str, Any], value)
    # Google itself never sends snake case.
    return {to_camel_case(key) if "_" in key else key: inner for key, inner in given.items() if inner is not None}


def as_object_list(value: object) -> list[Any]:
    """Return a repeated field as a list. A single object becomes a list of one."""
    if isinstance(value, dict):
        return [value]
    return cast(list[Any], value) if isinstance(value, list) else []


def normalize_part(value: object) -> dict[str, Any]:
    """Return a part in camelCase, or {} if it is empty. Arguments, responses and signatures stay
    unchanged.
    """
    part = _camelize_part(value)
    response = part.get("functionResponse")
    if response is not None and is_json_object(response) and "parts" in response:
        media = [inner for inner in map(_camelize_part, as_object_list(response["parts"])) if inner]
        part["functionResponse"] = response | {"parts": media}
    if not isinstance(part.get("text", ""), str):
        del part["text"]
    if "thoughtSignature" in part and not _is_valid_signature(part["thoughtSignature"]):
        # Google rejects it with "Base64 decoding failed" (G7).
        del part["thoughtSignature"]
    if all(name in _SIDE_FIELDS for name in part):
        return part | {"text": ""} if "thoughtSignature" in part else {}
    return part


def _camelize_part(value: object) -> dict[str, Any]:
    return {
        name: camelize_keys(cast(object, inner)) if isinstance(inner, dict) and name != "partMetadata" else inner
        for name, inner in camelize_keys(value).items()
    }


def _is_valid_signature(value: object) -> bool:
    return isinstance(value, str) and bool(_BASE64.fullmatch(value)) and len(value.rstrip("=")) % 4 != 1


def find_content_field(part: dict[str, Any]) -> str:
    """Return the name of the field that holds the content of a part."""
    for name in ("functionCall", "functionResponse", "text"):
        if name in part:
            return name
    return next((name for name in part if name not in _SIDE_FIELDS), "")
