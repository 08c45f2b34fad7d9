"""One thing where a list may stand as well."""

from __future__ import annotations

from typing import Any, cast


def several(value: object) -> list[Any]:
    """The list, or a list of the one value."""
    return cast(list[Any], value) if isinstance(value, list) else [value]
