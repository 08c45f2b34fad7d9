"""Access to fields of result data with an expected form; violations raise `InvalidField`."""

from __future__ import annotations

from typing import Any, cast


class InvalidField(ValueError):
    """The data does not have the expected form, so the next view is tried."""


def require_object_data(data: object, what: str) -> dict[str, Any]:
    """Return the data as an object."""
    if not isinstance(data, dict):
        raise InvalidField(f"the data of {what} is an object")
    return cast(dict[str, Any], data)


def require_list(data: dict[str, Any], key: str, what: str) -> list[Any]:
    """Return a field that holds a list."""
    value: object = data.get(key)
    if not isinstance(value, list):
        raise InvalidField(f"{what} has a list `{key}`")
    return cast(list[Any], value)


def find_text(data: dict[str, Any], *keys: str) -> str:
    """Return the first of these fields that is text; "" if none is."""
    return next((value for key in keys if isinstance(value := data.get(key), str)), "")


def require_text(data: dict[str, Any], key: str, what: str) -> str:
    """Return a field that must be text."""
    value = data.get(key)
    if not isinstance(value, str):
        raise InvalidField(f"{what} has a text `{key}`")
    return value


def require_content(data: object) -> str:
    """Return text data, or the text in its `content` or `text` field."""
    if isinstance(data, str):
        return data
    if isinstance(data, dict):
        fields = cast(dict[str, Any], data)
        for key in ("content", "text"):
            if isinstance(fields.get(key), str):
                return fields[key]
    raise InvalidField("there is no text in the data")


def read_count(data: dict[str, Any], key: str) -> int:
    """Return a field that is a positive integer; 0 otherwise."""
    value = data.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
