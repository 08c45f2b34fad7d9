"""What answers of several APIs have in common: sums of tokens, what an error body says, and that it is an object."""

from __future__ import annotations

from typing import Any, cast

from antiphon._shape import arr, obj, string
from antiphon.errors import BadReply


def total(*values: int | None) -> int | None:
    """The sum of what is known; nothing if nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def detail(data: object) -> str:
    """What an error body says under `detail`, where many servers have it: a text, an object, or a list of faults."""
    found = obj(data).get("detail")
    pieces: list[object] = arr(found) or [found]
    return "; ".join(filter(None, map(_said, pieces)))


def _said(fault: object) -> str:
    told = obj(fault)
    text = string(fault) or string(told.get("msg")) or string(told.get("message")) or string(told.get("error"))
    where = ".".join(str(step) for step in arr(told.get("loc")))
    return f"{where}: {text}" if where and text else text


def reply_object(value: object, provider: str) -> dict[str, Any]:
    """A response body, which must be an object."""
    if not isinstance(value, dict):
        raise BadReply(f"{provider} answered with {type(value).__name__} instead of an object", provider=provider)
    return cast(dict[str, Any], value)
