"""Fields of data that is said to have a certain form: what is not as it should be is `Unfit`."""

from __future__ import annotations

from typing import Any, cast


class Unfit(ValueError):
    """The data is not what it would be seen as. The next way of the chain is taken."""


def object_of(data: object, what: str) -> dict[str, Any]:
    """The data as an object."""
    if not isinstance(data, dict):
        raise Unfit(f"the data of {what} is an object")
    return cast(dict[str, Any], data)


def list_of(data: dict[str, Any], key: str, what: str) -> list[Any]:
    """A field that holds a list."""
    value: object = data.get(key)
    if not isinstance(value, list):
        raise Unfit(f"{what} has a list `{key}`")
    return cast(list[Any], value)


def text_of(data: dict[str, Any], *keys: str) -> str:
    """The first of these fields that is text; nothing if none is."""
    return next((value for key in keys if isinstance(value := data.get(key), str)), "")


def needed_text(data: dict[str, Any], key: str, what: str) -> str:
    """A field that must be text."""
    value = data.get(key)
    if not isinstance(value, str):
        raise Unfit(f"{what} has a text `{key}`")
    return value


def content_of(data: object) -> str:
    """The text of data that is text, or that holds it where results keep it."""
    if isinstance(data, str):
        return data
    if isinstance(data, dict):
        fields = cast(dict[str, Any], data)
        for key in ("content", "text"):
            if isinstance(fields.get(key), str):
                return fields[key]
    raise Unfit("there is no text in the data")


def count_of(data: dict[str, Any], key: str) -> int:
    """A field that counts something; nothing if it is no number above zero."""
    value = data.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
