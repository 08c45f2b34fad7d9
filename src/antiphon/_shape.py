"""Looking into JSON of unknown shape: the value if it is of the kind asked for, else an empty one."""

from __future__ import annotations

from typing import Any, cast


def obj(value: object) -> dict[str, Any]:
    """The object, or an empty one."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def arr(value: object) -> list[Any]:
    """The list, or an empty one."""
    return cast(list[Any], value) if isinstance(value, list) else []


def string(value: object) -> str:
    """The text, or an empty one."""
    return value if isinstance(value, str) else ""


def number(value: object) -> int | None:
    """The whole number, or nothing. Some servers write whole numbers as 3.0."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def several(value: object) -> list[Any]:
    """The list, or a list of the one value."""
    return cast(list[Any], value) if isinstance(value, list) else [value]


def objects(value: object) -> list[dict[str, Any]]:
    """The objects in a list; whatever else is there is passed over."""
    return [cast(dict[str, Any], item) for item in arr(value) if isinstance(item, dict)]
