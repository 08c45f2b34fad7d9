"""Items of arrays, objects and texts by index or key, slices, ranges and iteration."""

from __future__ import annotations

from typing import Any, cast

from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.members import make_missing_field_error
from antiphon.lang.runtime.operators import is_number
from antiphon.lang.runtime.values import get_kind_name, to_text, unwrap_answer
from antiphon.session.result import AIResult


def get_item(value: Any, key: Any) -> Any:
    """Return `value[key]`."""
    value, key = unwrap_answer(value), unwrap_answer(key)
    if isinstance(value, list | str):
        items = cast(list[Any], value)
        return items[_resolve_index(key, items)]
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        if not isinstance(key, str):
            raise VibeError("V0902", f"an object is indexed by text, not by {get_kind_name(key)}")
        if key not in fields:
            raise make_missing_field_error(key, fields)
        return fields[key]
    raise VibeError("V0902", f"{get_kind_name(value)} cannot be indexed")


def get_optional_item(value: Any, key: Any) -> Any:
    """Return `value[key]` before `??` or in a comparison with null: a missing field is null."""
    value, key = unwrap_answer(value), unwrap_answer(key)
    if isinstance(value, dict) and isinstance(key, str):
        return cast(dict[str, Any], value).get(key)
    return None if value is None else get_item(value, key)


def set_item(value: Any, key: Any, new: Any) -> None:
    """Run `value[key] = new`."""
    value, key = unwrap_answer(value), unwrap_answer(key)
    if isinstance(value, list):
        items = cast(list[Any], value)
        items[_resolve_index(key, items)] = new
    elif isinstance(value, dict) and isinstance(key, str):
        value[key] = new
    elif isinstance(value, dict):
        raise VibeError("V0902", f"an object is indexed by text, not by {get_kind_name(key)}")
    else:
        raise VibeError("V0902", f"an item of {get_kind_name(value)} cannot be set")


def _resolve_index(key: Any, items: list[Any] | str) -> int:
    place = require_integer(key, "an index")
    if not -len(items) <= place < len(items):
        what = "text" if isinstance(items, str) else "array"
        hint = "positions go from 0 to `length - 1`, and the last is also -1"
        raise VibeError("V0903", f"index {place} is out of bounds: the {what} has {len(items)}", hint)
    return place


def require_index(value: Any) -> int:
    """Return a number as an index."""
    return require_integer(value, "an index")


def require_integer(value: Any, what: str) -> int:
    """Return a number as an integer; raise an error that names `what` if it is none."""
    value = unwrap_answer(value)
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if is_number(value):
        raise VibeError("V0904", f"{what} is a whole number, not {to_text(value)}")
    raise VibeError("V0902", f"{what} is a whole number, not {get_kind_name(value)}")


def slice_value(value: Any, first: Any, last: Any = None, step: Any = None) -> Any:
    """Return `value[first:last:step]`."""
    value = unwrap_answer(value)
    if not isinstance(value, str | list):
        raise VibeError("V0902", f"{get_kind_name(value)} cannot be sliced")
    bounds = [None if bound is None else require_integer(bound, "a slice's bound") for bound in (first, last, step)]
    if bounds[2] == 0:
        raise VibeError("V0904", "a slice's step cannot be 0")
    return cast(Any, value)[slice(*bounds)]


def iterate_value(value: Any) -> Any:
    """Return what `for` iterates over."""
    kind = value.__class__
    if kind is list:
        return value
    if kind is int:
        return range(value)
    if kind is AIResult:
        raise VibeError("V0908", "Cannot iterate over AIResult directly. Use .toolCalls or .value")
    if isinstance(value, (list, range)):
        return cast(Any, value)
    if is_number(value):
        return range(require_integer(value, "the number of rounds"))
    hints = {
        str: "`.split()` gives its words, `.lines()` its lines",
        dict: "write `for key, value in x`; `.keys()` gives its names",
    }
    raise VibeError("V0908", f"`for` cannot go through {get_kind_name(value)}", hints.get(value.__class__, ""))


def iterate_entries(value: Any) -> Any:
    """Return what `for key, value in …` iterates over."""
    value = unwrap_answer(value)
    if isinstance(value, dict):
        return cast(dict[str, Any], value).items()
    raise VibeError("V0908", f"`for key, value in …` goes through a map or an object, not {get_kind_name(value)}")


def make_range(first: Any, last: Any) -> range:
    """Return `first..last`, both included."""
    return range(require_integer(first, "a range's end"), require_integer(last, "a range's end") + 1)


def make_range_array(first: Any, last: Any) -> list[int]:
    """Return a range as an array."""
    numbers = make_range(first, last)
    if numbers and numbers[-1] - numbers[0] > 50_000_000:
        raise VibeError("V0904", "the array would be too long", "a `for` loop goes through a range without making one")
    return list(numbers)
