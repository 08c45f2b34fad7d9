"""Tests of values that compiled programs call: containment, types and literals; and unpacking and spreading."""

from __future__ import annotations

from typing import Any, NoReturn, cast

from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.exceptions import make_thrown_error
from antiphon.lang.runtime.operators import is_equal
from antiphon.lang.runtime.type_conversion import describe_mismatch
from antiphon.lang.runtime.values import get_kind_name, unwrap_answer
from antiphon.lang.typecheck.types import Type


def contains_item(item: Any, place: Any) -> bool:
    """Return the value of `item in place`."""
    item, place = unwrap_answer(item), unwrap_answer(place)
    if isinstance(place, list):
        return any(is_equal(item, each) for each in cast(list[Any], place))
    if isinstance(place, str | dict):
        if not isinstance(item, str):
            what = "the parts of a text" if isinstance(place, str) else "the keys of an object"
            raise VibeError("V0902", f"{what} are text, not {get_kind_name(item)}")
        return item in place
    raise VibeError("V0902", f"`in` looks into arrays, text and objects, not into {get_kind_name(place)}")


def is_of_type(value: Any, tested: Type) -> bool:
    """Return the value of `value is tested`."""
    return not describe_mismatch(value, tested, "")


def is_one_of(value: Any, *literals: Any) -> bool:
    """Return True if a value equals one of the literals; true is not 1."""
    return any(is_equal(value, each) for each in literals)


def throw_value(value: Any) -> NoReturn:
    """Run `throw` where a value is expected."""
    raise make_thrown_error(value)


def unpack_items(value: Any, count: int) -> list[Any]:
    """Return the items of an array; raise an error unless there are exactly `count`."""
    value = unwrap_answer(value)
    if not isinstance(value, list):
        raise VibeError("V0909", f"an array of {count} items is wanted, not {get_kind_name(value)}")
    items = cast(list[Any], value)
    if len(items) != count:
        raise VibeError("V0909", f"an array of {count} items is wanted, and this one has {len(items)}")
    return items


def spread_array(value: Any) -> list[Any]:
    """Return the items of `...value` in an array."""
    value = unwrap_answer(value)
    if not isinstance(value, list):
        raise VibeError("V0902", f"only an array can be put into an array, not {get_kind_name(value)}")
    return cast(list[Any], value)


def spread_object(value: Any) -> dict[str, Any]:
    """Return the fields of `...value` in an object."""
    value = unwrap_answer(value)
    if not isinstance(value, dict):
        raise VibeError("V0902", f"only an object can be put into an object, not {get_kind_name(value)}")
    return cast(dict[str, Any], value)
