"""Looking into JSON of unknown shape: the value if it is of the kind asked for, else an empty one."""

from __future__ import annotations

from typing import Any, cast

from antiphon.errors import BadReply


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
    """The whole number, or nothing."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def total(*values: int | None) -> int | None:
    """The sum of what is known; nothing if nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def reply_object(value: object, provider: str) -> dict[str, Any]:
    """A response body, which must be an object."""
    if not isinstance(value, dict):
        raise BadReply(f"{provider} answered with {type(value).__name__} instead of an object", provider=provider)
    return cast(dict[str, Any], value)
