"""Reading JSON of unknown shape: every function takes anything and never raises."""

from __future__ import annotations

import json
from typing import TypeGuard

from antiphon._shape import arr, obj, string

MAX_SCHEMA_DEPTH = 64
"""How deep a tool's schema is followed. No provider takes one nearly so deep, and the bound keeps paths short."""

MAX_NAME = 64
"""How much of a property's name goes into a path, for the same reason."""


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether `value` is a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Whether `value` is a JSON array."""
    return isinstance(value, list)


def kind(value: object) -> str:
    """Return the `type` tag of a JSON object, or ""."""
    return string(obj(value).get("type"))


def literal(value: object) -> str:
    """Write a JSON scalar as it stood in the body, and anything else by a short name."""
    if isinstance(value, str | bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int):
        # Python refuses to print integers beyond some thousand digits.
        return str(value) if abs(value) < 10**18 else "a number"
    return repr(value) if isinstance(value, float) else "a value"


def get(data: dict[str, object], *keys: str) -> object:
    """Return the first field of these names that is there and not null."""
    return next((data[key] for key in keys if data.get(key) is not None), None)


def several(value: object) -> list[object]:
    """Return a repeated field as a list; one object alone stands for a list of it."""
    if is_object(value):
        return [value]
    return arr(value)
