"""Access to JSON of unknown shape: return the value if it has the expected type, otherwise an empty one."""

from __future__ import annotations

from typing import Any, cast


def as_object(value: object) -> dict[str, Any]:
    """Return the value if it is an object, otherwise an empty one."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def as_array(value: object) -> list[Any]:
    """Return the value if it is an array, otherwise an empty one."""
    return cast(list[Any], value) if isinstance(value, list) else []


def as_string(value: object) -> str:
    """Return the value if it is a string, otherwise an empty one."""
    return value if isinstance(value, str) else ""


def as_integer(value: object) -> int | None:
    """Return the value as an integer, otherwise None. Some servers write integers as 3.0."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_list(value: object) -> list[Any]:
    """Return the value if it is a list, otherwise a list with the value as its only item."""
    return cast(list[Any], value) if isinstance(value, list) else [value]


def filter_objects(value: object) -> list[dict[str, Any]]:
    """Return the objects in an array and skip everything else."""
    return [cast(dict[str, Any], item) for item in as_array(value) if isinstance(item, dict)]
