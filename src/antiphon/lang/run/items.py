"""Items of arrays, objects and text by their places or keys, parts of them, and what a loop goes through."""

from __future__ import annotations

from typing import Any, cast

from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.members import no_field
from antiphon.lang.run.operators import is_number
from antiphon.lang.run.values import kind_of, text, unwrap
from antiphon.session.result import AIResult


def item(value: Any, key: Any) -> Any:
    """`value[key]`."""
    value, key = unwrap(value), unwrap(key)
    if isinstance(value, list | str):
        items = cast(list[Any], value)
        return items[_place(key, items)]
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        if not isinstance(key, str):
            raise VibeError("V0902", f"an object is indexed by text, not by {kind_of(key)}")
        if key not in fields:
            raise no_field(key, fields)
        return fields[key]
    raise VibeError("V0902", f"{kind_of(value)} cannot be indexed")


def optional_item(value: Any, key: Any) -> Any:
    """`value[key]` before `??` or compared with null: a missing field is null."""
    value, key = unwrap(value), unwrap(key)
    if isinstance(value, dict) and isinstance(key, str):
        return cast(dict[str, Any], value).get(key)
    return None if value is None else item(value, key)


def set_item(value: Any, key: Any, new: Any) -> None:
    """`value[key] = new`."""
    value, key = unwrap(value), unwrap(key)
    if isinstance(value, list):
        items = cast(list[Any], value)
        items[_place(key, items)] = new
    elif isinstance(value, dict) and isinstance(key, str):
        value[key] = new
    elif isinstance(value, dict):
        raise VibeError("V0902", f"an object is indexed by text, not by {kind_of(key)}")
    else:
        raise VibeError("V0902", f"an item of {kind_of(value)} cannot be set")


def _place(key: Any, items: list[Any] | str) -> int:
    place = whole(key, "an index")
    if not -len(items) <= place < len(items):
        what = "text" if isinstance(items, str) else "array"
        hint = "positions go from 0 to `length - 1`, and the last is also -1"
        raise VibeError("V0903", f"index {place} is out of bounds: the {what} has {len(items)}", hint)
    return place


def index(value: Any) -> int:
    """A number as an index."""
    return whole(value, "an index")


def whole(value: Any, what: str) -> int:
    """A number that must be whole."""
    value = unwrap(value)
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if is_number(value):
        raise VibeError("V0904", f"{what} is a whole number, not {text(value)}")
    raise VibeError("V0902", f"{what} is a whole number, not {kind_of(value)}")


def part(value: Any, first: Any, last: Any = None, step: Any = None) -> Any:
    """`value[first:last:step]`."""
    value = unwrap(value)
    if not isinstance(value, str | list):
        raise VibeError("V0902", f"{kind_of(value)} cannot be sliced")
    bounds = [None if bound is None else whole(bound, "a slice's bound") for bound in (first, last, step)]
    if bounds[2] == 0:
        raise VibeError("V0904", "a slice's step cannot be 0")
    return cast(Any, value)[slice(*bounds)]


def iterate(value: Any) -> Any:
    """What `for` goes through."""
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
        return range(whole(value, "the number of rounds"))
    hints = {
        str: "`.split()` gives its words, `.lines()` its lines",
        dict: "write `for key, value in x`; `.keys()` gives its names",
    }
    raise VibeError("V0908", f"`for` cannot go through {kind_of(value)}", hints.get(value.__class__, ""))


def entries(value: Any) -> Any:
    """What `for key, value in …` goes through."""
    value = unwrap(value)
    if isinstance(value, dict):
        return cast(dict[str, Any], value).items()
    raise VibeError("V0908", f"`for key, value in …` goes through a map or an object, not {kind_of(value)}")


def span(first: Any, last: Any) -> range:
    """`first..last`, both included."""
    return range(whole(first, "a range's end"), whole(last, "a range's end") + 1)


def span_array(first: Any, last: Any) -> list[int]:
    """A range as a value."""
    numbers = span(first, last)
    if numbers and numbers[-1] - numbers[0] > 50_000_000:
        raise VibeError("V0904", "the array would be too long", "a `for` loop goes through a range without making one")
    return list(numbers)
