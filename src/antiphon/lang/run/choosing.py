"""What compiled programs call to look at values: whether one is in another, of a type, or one of some literals."""

from __future__ import annotations

from typing import Any, NoReturn, cast

from antiphon.lang.check.types import Type
from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.fitting import misfit
from antiphon.lang.run.operators import equal
from antiphon.lang.run.throwing import thrown
from antiphon.lang.run.values import kind_of, unwrap


def contains(item: Any, place: Any) -> bool:
    """`item in place`."""
    item, place = unwrap(item), unwrap(place)
    if isinstance(place, list):
        return any(equal(item, each) for each in cast(list[Any], place))
    if isinstance(place, str | dict):
        if not isinstance(item, str):
            what = "the parts of a text" if isinstance(place, str) else "the keys of an object"
            raise VibeError("V0902", f"{what} are text, not {kind_of(item)}")
        return item in place
    raise VibeError("V0902", f"`in` looks into arrays, text and objects, not into {kind_of(place)}")


def is_of(value: Any, tested: Type) -> bool:
    """`value is tested`."""
    return not misfit(value, tested, "")


def is_one(value: Any, *literals: Any) -> bool:
    """Whether a value is one of these; true is not 1."""
    return any(equal(value, each) for each in literals)


def fail(value: Any) -> NoReturn:
    """`throw` where a value is expected."""
    raise thrown(value)


def items_of(value: Any, count: int) -> list[Any]:
    """The items of an array that is taken apart: as many as there are names for."""
    value = unwrap(value)
    if not isinstance(value, list):
        raise VibeError("V0909", f"an array of {count} items is wanted, not {kind_of(value)}")
    items = cast(list[Any], value)
    if len(items) != count:
        raise VibeError("V0909", f"an array of {count} items is wanted, and this one has {len(items)}")
    return items


def spread(value: Any) -> list[Any]:
    """`...value` in an array."""
    value = unwrap(value)
    if not isinstance(value, list):
        raise VibeError("V0902", f"only an array can be put into an array, not {kind_of(value)}")
    return cast(list[Any], value)


def spread_fields(value: Any) -> dict[str, Any]:
    """`...value` in an object."""
    value = unwrap(value)
    if not isinstance(value, dict):
        raise VibeError("V0902", f"only an object can be put into an object, not {kind_of(value)}")
    return cast(dict[str, Any], value)
