"""Operators of the language, where Python's own would behave differently.

Where types are known before the program runs, few of these are needed: a sum of numbers is Python's own.
"""

from __future__ import annotations

from typing import Any, cast

from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.values import get_kind_name, is_python_object, to_text, unwrap_answer


def add_values(left: Any, right: Any) -> Any:
    """Return `left + right`: numbers are added, text is joined with anything, arrays are concatenated."""
    one, two = left.__class__, right.__class__
    if (one is int or one is float) and (two is int or two is float):
        return left + right
    if one is str and two is str:
        return left + right
    left, right = unwrap_answer(left), unwrap_answer(right)
    if isinstance(left, str) or isinstance(right, str):
        return to_text(left) + to_text(right)
    if is_number(left) and is_number(right):
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        return [*cast(list[Any], left), *cast(list[Any], right)]
    raise _make_operand_error("+", left, right)


def subtract(left: Any, right: Any) -> Any:
    """Return `left - right`."""
    return _require_number(left, "-", right) - _require_number(right, "-", left)


def multiply(left: Any, right: Any) -> Any:
    """Return `left * right`."""
    return _require_number(left, "*", right) * _require_number(right, "*", left)


def divide(left: Any, right: Any) -> Any:
    """Return `left / right`; the quotient of two integers without a remainder is an integer."""
    left, right = _require_number(left, "/", right), _require_number(right, "/", left)
    if not right:
        raise VibeError("V0904", "division by zero")
    if type(left) is int and type(right) is int:
        whole, rest = divmod(left, right)
        if not rest:
            return whole
    try:
        return left / right
    except OverflowError:
        raise _make_overflow_error() from None


def modulo(left: Any, right: Any) -> Any:
    """Return `left % right`, with the sign of the dividend."""
    left, right = _require_number(left, "%", right), _require_number(right, "%", left)
    if not right:
        raise VibeError("V0904", "division by zero")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def power(left: Any, right: Any) -> Any:
    """Return `left ** right`."""
    left, right = _require_number(left, "**", right), _require_number(right, "**", left)
    if left == 0 and right < 0:
        raise VibeError("V0904", "division by zero")
    if right.__class__ is int and right > 100_000 and left.__class__ is int and abs(left) > 1:
        raise VibeError("V0904", f"{to_text(left)} ** {to_text(right)} is too large")
    try:
        value = left**right
    except OverflowError:
        raise _make_overflow_error() from None
    if value.__class__ is complex:
        raise VibeError("V0904", f"{to_text(left)} ** {to_text(right)} is not a real number")
    return value


def negate(value: Any) -> Any:
    """Return `-value`."""
    value = unwrap_answer(value)
    if not is_number(value):
        raise VibeError("V0902", f"`-` needs a number, not {get_kind_name(value)}")
    return -value


def is_equal(left: Any, right: Any) -> bool:
    """Return the value of `left == right`, compared deeply; true is not 1."""
    left, right = unwrap_answer(left), unwrap_answer(right)
    if type(left) is type(right) and type(left) in (str, int, float, bool):
        return left == right
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        one, two = cast(list[Any], left), cast(list[Any], right)
        return one is two or (len(one) == len(two) and all(map(is_equal, one, two)))
    if isinstance(left, dict) and isinstance(right, dict):
        first, second = cast(dict[str, Any], left), cast(dict[str, Any], right)
        return first.keys() == second.keys() and all(is_equal(first[key], second[key]) for key in first)
    return bool(left == right)


def is_one_of(value: Any, *literals: Any) -> bool:
    """Return True if a value equals one of the literals; true is not 1."""
    return any(is_equal(value, each) for each in literals)


def is_less(left: Any, right: Any) -> bool:
    """Return the value of `left < right`, of numbers or texts."""
    left, right = _require_comparable(left, right, "<")
    return left < right


def is_less_or_equal(left: Any, right: Any) -> bool:
    """Return the value of `left <= right`."""
    left, right = _require_comparable(left, right, "<=")
    return left <= right


def is_greater(left: Any, right: Any) -> bool:
    """Return the value of `left > right`."""
    left, right = _require_comparable(left, right, ">")
    return left > right


def is_greater_or_equal(left: Any, right: Any) -> bool:
    """Return the value of `left >= right`."""
    left, right = _require_comparable(left, right, ">=")
    return left >= right


def evaluate_condition(value: Any) -> bool:
    """Return the truth of a condition; null is false, so that an optional value can be tested."""
    if value is True or value is False:
        return value
    value = unwrap_answer(value)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise VibeError(
        "V0902",
        f"a condition is true or false, not {get_kind_name(value)}",
        'compare it with something: `x != ""`, `n > 0`',
    )


def is_present(value: Any) -> bool:
    """Return True if an optional value is not null."""
    return unwrap_answer(value) is not None


def _require_number(value: Any, operator: str, other: Any) -> Any:
    kind = value.__class__
    if kind is int or kind is float:
        return value
    value = unwrap_answer(value)
    if is_number(value):
        return value
    raise _make_operand_error(operator, value, other)


def is_number(value: Any) -> bool:
    """Return True if a value is a number; booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _require_comparable(left: Any, right: Any, operator: str) -> tuple[Any, Any]:
    left, right = unwrap_answer(left), unwrap_answer(right)
    if (is_number(left) and is_number(right)) or (isinstance(left, str) and isinstance(right, str)):
        return left, right
    if is_python_object(left) and is_python_object(right) and _can_compare(left, right):
        return left, right
    raise _make_operand_error(operator, left, right)


def _can_compare(left: Any, right: Any) -> bool:
    """Return True if Python can order two of its objects."""
    try:
        return isinstance(left < right, bool)
    except TypeError:
        return False


def _make_operand_error(operator: str, left: Any, right: Any) -> VibeError:
    hint = ""
    if left is None or right is None:
        hint = "`x ?? 0` gives a value where there is none"
    elif is_python_object(unwrap_answer(left)) or is_python_object(unwrap_answer(right)):
        hint = f"Python works with its objects: `py(a, b) {{ return a {operator} b }}`"
    elif isinstance(left, str) or isinstance(right, str):
        hint = "`x.toNumber()` makes a number of a text"
    return VibeError("V0902", f"`{operator}` does not work with {get_kind_name(left)} and {get_kind_name(right)}", hint)


def _make_overflow_error() -> VibeError:
    return VibeError("V0904", "the result is too large for a number")
