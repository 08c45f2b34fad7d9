"""`throw` and `catch`: convert values to errors, and errors to values."""

from __future__ import annotations

from typing import Any, cast

from antiphon.lang.runtime.errors import UserError, VibeError
from antiphon.lang.runtime.tracebacks import convert_python_error
from antiphon.lang.runtime.values import ErrorValue, to_text, unwrap_answer


def make_thrown_error(value: Any) -> VibeError:
    """Return the error that `throw` raises.

    Its message is the text, or the `message` of an object; a caught error keeps its code.
    """
    if value.__class__ is str:
        return UserError(value, value)
    value = unwrap_answer(value)
    message = value.get("message") if isinstance(value, dict) else None  # type: ignore[reportUnknownVariableType]
    error = UserError(value, to_text(cast(Any, message if isinstance(message, str) else value)))
    if isinstance(value, ErrorValue):
        error.code = value["code"]
    return error


def make_error_value(error: BaseException) -> ErrorValue:
    """Return the value that `catch` gives for an error.

    The error's cause and context are dropped, because Python walks that chain whenever an error is thrown
    again.
    """
    known = error if isinstance(error, VibeError) else convert_python_error(error, error.__traceback__)
    error.__context__ = error.__cause__ = None
    value = known.value
    if value.__class__ is ErrorValue:
        return value
    out = ErrorValue()
    # Set one by one: a dict display would allocate a second dict.
    out["message"] = known.message
    out["code"] = known.code
    out["value"] = value
    return out
