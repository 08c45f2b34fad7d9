"""Helpers shared by response decoders: token sums, `detail` messages of errors, and a check for
objects.
"""

from __future__ import annotations

from typing import Any, cast

from antiphon._base.json_access import as_array, as_integer, as_object, as_string
from antiphon.errors import BadReply


def as_integers(*values: object) -> list[int | None]:
    """Return `as_integer` of each value."""
    return [value if type(value) is int else None if value is None else as_integer(value) for value in values]


def sum_known(*values: int | None) -> int | None:
    """Return the sum of the known values, or None if all are unknown."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def extract_detail(data: object) -> str:
    """Return the message of an error body under `detail`: a text, an object, or a list of faults. AWS has it under
    `message`.
    """
    top = as_object(data)
    found = top.get("detail")
    pieces: list[object] = as_array(found) or [found]
    said = "; ".join(filter(None, map(_format_fault, pieces)))
    return said or as_string(top.get("message")) or as_string(top.get("Message"))


def _format_fault(fault: object) -> str:
    told = as_object(fault)
    text = (
        as_string(fault) or as_string(told.get("msg")) or as_string(told.get("message")) or as_string(told.get("error"))
    )
    where = ".".join(str(step) for step in as_array(told.get("loc")))
    return f"{where}: {text}" if where and text else text


def require_object(value: object, provider: str) -> dict[str, Any]:
    """Return a response body. Raise BadReply if it is no object."""
    if not isinstance(value, dict):
        raise BadReply(f"{provider} answered with {type(value).__name__} instead of an object", provider=provider)
    return cast(dict[str, Any], value)
