"""`throw` and `catch`: errors made of values, and values made of errors."""

from __future__ import annotations

from typing import Any, cast

from antiphon.lang.run.errors import Thrown, VibeError
from antiphon.lang.run.traces import in_our_words
from antiphon.lang.run.values import ErrorValue, text, unwrap


def thrown(value: Any) -> VibeError:
    """What `throw` raises: a text is the message, an object's `message` is, and a caught error is thrown on."""
    if value.__class__ is str:
        return Thrown(value, value)
    value = unwrap(value)
    message = value.get("message") if isinstance(value, dict) else None  # type: ignore[reportUnknownVariableType]
    error = Thrown(value, text(cast(Any, message if isinstance(message, str) else value)))
    if isinstance(value, ErrorValue):
        error.code = value["code"]
    return error


def caught(error: BaseException) -> ErrorValue:
    """What `catch` gives for an error. Where it came from is of no use any more, nor what else had gone wrong before:

    Python looks through all of that whenever something is thrown on.
    """
    known = error if isinstance(error, VibeError) else in_our_words(error, error.__traceback__)
    error.__context__ = error.__cause__ = None
    value = known.value
    if value.__class__ is ErrorValue:
        return value
    out = ErrorValue()
    # Not all at once: Python would make another dict for that.
    out["message"] = known.message
    out["code"] = known.code
    out["value"] = value
    return out
