"""Access to JSON of unknown shape: every function accepts any value and never raises."""

from __future__ import annotations

import json
from typing import TypeGuard

from antiphon._base.json_access import as_array, as_object, as_string

MAX_SCHEMA_DEPTH = 64
"""The maximum depth to which a tool's schema is followed. No provider accepts deeper ones, and paths stay short."""

MAX_PATH_NAME = 64
"""The maximum length of a property's name in a path, which keeps paths short too."""


def is_json_dict(value: object) -> TypeGuard[dict[str, object]]:
    """Return whether `value` is a JSON object."""
    return isinstance(value, dict)


def is_json_array(value: object) -> TypeGuard[list[object]]:
    """Return whether `value` is a JSON array."""
    return isinstance(value, list)


def get_type_tag(value: object) -> str:
    """Return the `type` tag of a JSON object, or ""."""
    return as_string(as_object(value).get("type"))


def format_literal(value: object) -> str:
    """Format a JSON scalar as it is in the body, and anything else by a short name."""
    if isinstance(value, str | bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int):
        # Python refuses to format integers beyond some thousand digits.
        return str(value) if abs(value) < 10**18 else "a number"
    return repr(value) if isinstance(value, float) else "a value"


def get_first_field(data: dict[str, object], *keys: str) -> object:
    """Return the first of these fields that exists and is not null."""
    return next((data[key] for key in keys if data.get(key) is not None), None)


def as_repeated(value: object) -> list[object]:
    """Return a repeated field as a list. A single object becomes a list of one."""
    if is_json_dict(value):
        return [value]
    return as_array(value)
