"""Operators of the language, where Python's own would do something else than the language says.

Types known before the program runs need few of these: a sum of numbers is Python's own.
"""

from __future__ import annotations

from typing import Any, cast

from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.values import is_python, kind_of, text, unwrap


def add(left: Any, right: Any) -> Any:
    """`left + right`: numbers add, text joins whatever is beside it, arrays follow one another."""
    one, two = left.__class__, right.__class__
    if (one is int or one is float) and (two is int or two is float):
        return left + right
    if one is str and two is str:
        return left + right
    left, right = unwrap(left), unwrap(right)
    if isinstance(left, str) or isinstance(right, str):
        return text(left) + text(right)
    if is_number(left) and is_number(right):
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        return [*cast(list[Any], left), *cast(list[Any], right)]
    raise _operands("+", left, right)


def subtract(left: Any, right: Any) -> Any:
    """`left - right`."""
    return _number(left, "-", right) - _number(right, "-", left)


def multiply(left: Any, right: Any) -> Any:
    """`left * right`."""
    return _number(left, "*", right) * _number(right, "*", left)


def divide(left: Any, right: Any) -> Any:
    """`left / right`; a quotient of integers that is whole stays an integer."""
    left, right = _number(left, "/", right), _number(right, "/", left)
    if not right:
        raise VibeError("V0904", "division by zero")
    if type(left) is int and type(right) is int:
        whole, rest = divmod(left, right)
        if not rest:
            return whole
    try:
        return left / right
    except OverflowError:
        raise _too_large() from None


def modulo(left: Any, right: Any) -> Any:
    """`left % right`, with the sign of the dividend."""
    left, right = _number(left, "%", right), _number(right, "%", left)
    if not right:
        raise VibeError("V0904", "division by zero")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def power(left: Any, right: Any) -> Any:
    """`left ** right`."""
    left, right = _number(left, "**", right), _number(right, "**", left)
    if left == 0 and right < 0:
        raise VibeError("V0904", "division by zero")
    if right.__class__ is int and right > 100_000 and left.__class__ is int and abs(left) > 1:
        raise VibeError("V0904", f"{text(left)} ** {text(right)} is too large")
    try:
        value = left**right
    except OverflowError:
        raise _too_large() from None
    if value.__class__ is complex:
        raise VibeError("V0904", f"{text(left)} ** {text(right)} is no real number")
    return value


def negate(value: Any) -> Any:
    """`-value`."""
    value = unwrap(value)
    if not is_number(value):
        raise VibeError("V0902", f"`-` wants a number, not {kind_of(value)}")
    return -value


def equal(left: Any, right: Any) -> bool:
    """`left == right`, to any depth; true is not 1."""
    left, right = unwrap(left), unwrap(right)
    if type(left) is type(right) and type(left) in (str, int, float, bool):
        return left == right
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        one, two = cast(list[Any], left), cast(list[Any], right)
        return one is two or (len(one) == len(two) and all(map(equal, one, two)))
    if isinstance(left, dict) and isinstance(right, dict):
        first, second = cast(dict[str, Any], left), cast(dict[str, Any], right)
        return first.keys() == second.keys() and all(equal(first[key], second[key]) for key in first)
    return bool(left == right)


def less(left: Any, right: Any) -> bool:
    """`left < right`, of numbers or of texts."""
    left, right = _ordered(left, right, "<")
    return left < right


def less_or_equal(left: Any, right: Any) -> bool:
    """`left <= right`."""
    left, right = _ordered(left, right, "<=")
    return left <= right


def greater(left: Any, right: Any) -> bool:
    """`left > right`."""
    left, right = _ordered(left, right, ">")
    return left > right


def greater_or_equal(left: Any, right: Any) -> bool:
    """`left >= right`."""
    left, right = _ordered(left, right, ">=")
    return left >= right


def condition(value: Any) -> bool:
    """A condition: true or false; null is false, so that an optional value can be asked for."""
    if value is True or value is False:
        return value
    value = unwrap(value)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise VibeError(
        "V0902", f"a condition is true or false, not {kind_of(value)}", 'compare it with something: `x != ""`, `n > 0`'
    )


def present(value: Any) -> bool:
    """Whether an optional value is there."""
    return unwrap(value) is not None


def _number(value: Any, operator: str, other: Any) -> Any:
    kind = value.__class__
    if kind is int or kind is float:
        return value
    value = unwrap(value)
    if is_number(value):
        return value
    raise _operands(operator, value, other)


def is_number(value: Any) -> bool:
    """Whether a value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _ordered(left: Any, right: Any, operator: str) -> tuple[Any, Any]:
    left, right = unwrap(left), unwrap(right)
    if (is_number(left) and is_number(right)) or (isinstance(left, str) and isinstance(right, str)):
        return left, right
    if is_python(left) and is_python(right) and _are_ordered(left, right):
        return left, right
    raise _operands(operator, left, right)


def _are_ordered(left: Any, right: Any) -> bool:
    """Whether Python can tell which of two of its objects is the smaller one."""
    try:
        return isinstance(left < right, bool)
    except TypeError:
        return False


def _operands(operator: str, left: Any, right: Any) -> VibeError:
    hint = ""
    if left is None or right is None:
        hint = "`x ?? 0` gives a value where there is none"
    elif is_python(unwrap(left)) or is_python(unwrap(right)):
        hint = f"Python works with its objects: `py(a, b) {{ return a {operator} b }}`"
    elif isinstance(left, str) or isinstance(right, str):
        hint = "`x.toNumber()` makes a number of a text"
    return VibeError("V0902", f"`{operator}` does not work with {kind_of(left)} and {kind_of(right)}", hint)


def _too_large() -> VibeError:
    return VibeError("V0904", "the result is too large for a number")
