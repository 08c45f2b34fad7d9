"""Implementations of the array methods that take functions or make new arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.operators import add_values, is_greater, is_less, is_number
from antiphon.lang.runtime.values import get_kind_name, unwrap_answer

Function = Callable[..., Any]
Items = list[Any]


#: Classes whose values Python itself sorts, finds and adds as the language does.
_NUMBER_CLASSES = {int, float}
_TEXT_CLASSES = {str}


def is_sortable(items: Items) -> bool:
    """Return True if the items are all numbers, or all texts."""
    kinds = set(map(type, items))
    return kinds <= _NUMBER_CLASSES or kinds == _TEXT_CLASSES


def _map(items: Items, function: Function) -> Items:
    return [function(item) for item in items]


def _filter(items: Items, test: Function) -> Items:
    return [item for item in items if test(item)]


def _find(items: Items, test: Function) -> Any:
    return next((item for item in items if test(item)), None)


def _some(items: Items, test: Function) -> bool:
    return any(map(test, items))


def _every(items: Items, test: Function) -> bool:
    return all(map(test, items))


def _count(items: Items, test: Function) -> int:
    return sum(1 for item in items if test(item))


def _reduce(items: Items, function: Function, start: Any) -> Any:
    value = start
    for item in items:
        value = function(value, item)
    return value


def _sort_by(items: Items, function: Function) -> Items:
    keys = [unwrap_answer(function(item)) for item in items]
    if not is_sortable(keys):
        odd = next((key for key in keys if not is_number(key) and not isinstance(key, str)), 0)
        what = "numbers and texts have no common order" if odd == 0 else f"{get_kind_name(odd)} has no order"
        raise VibeError("V0902", f"`sortBy` needs a number or a text for each item: {what}")
    return [items[at] for at in sorted(range(len(items)), key=keys.__getitem__)]


def _group_by(items: Items, function: Function) -> dict[str, Items]:
    groups: dict[str, Items] = {}
    for item in items:
        key = function(item)
        if key.__class__ is not str:
            key = unwrap_answer(key)
            if not isinstance(key, str):
                raise VibeError("V0902", f"`groupBy` needs a text for each item, not {get_kind_name(key)}")
        if key in groups:
            groups[key].append(item)
        else:
            groups[key] = [item]
    return groups


def sort_scalars(items: Items) -> Items:
    """Sort an array of numbers or of texts in place, and return it."""
    items.sort()
    return items


def _find_scalar(items: Items, wanted: Any) -> int:
    try:
        return items.index(wanted)
    except ValueError:
        return -1


def _unique_scalars(items: Items) -> Items:
    return list(dict.fromkeys(items))


def _unique(items: Items) -> Items:
    if is_sortable(items):
        return _unique_scalars(items)
    found: dict[Any, Any] = {}
    for item in items:
        found.setdefault(_make_identity_key(item), item)
    return list(found.values())


def _make_identity_key(value: Any) -> Any:
    """Return a hashable key that is the same for equal values only."""
    value = unwrap_answer(value)
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, list):
        return ("array", *map(_make_identity_key, cast(Items, value)))
    if isinstance(value, dict):
        return (
            "object",
            frozenset((key, _make_identity_key(item)) for key, item in cast(dict[str, Any], value).items()),
        )
    return value if isinstance(value, str | int | float) or value is None else ("other", id(value))


def _flat(items: Items) -> Items:
    out: Items = []
    for item in map(unwrap_answer, items):
        out += cast(Items, item) if isinstance(item, list) else [item]
    return out


def _zip(items: Items, others: Items) -> Items:
    return [{"first": one, "second": two} for one, two in zip(items, others, strict=False)]


def _sum(items: Items, function: Function | None = None) -> Any:
    found = items if function is None else [function(item) for item in items]
    if set(map(type, found)) <= _NUMBER_CLASSES:
        return sum(found)
    total: Any = 0
    for item in found:
        if not is_number(unwrap_answer(item)):
            raise VibeError("V0902", f"`.sum()` adds numbers, not {get_kind_name(item)}")
        total = add_values(total, item)
    return total


def _min_scalar(items: Items) -> Any:
    return min(items) if items else _min(items)


def _max_scalar(items: Items) -> Any:
    return max(items) if items else _max(items)


def _find_extreme(items: Items, function: Function | None, better: Function, of_all: Function) -> Any:
    if not items:
        raise VibeError("V0903", "the array is empty: it has no smallest or largest item")
    keys = items if function is None else [unwrap_answer(function(item)) for item in items]
    if is_sortable(keys):
        best = of_all(keys)
        return best if function is None else items[keys.index(best)]
    best = 0
    for at in range(1, len(keys)):
        if better(keys[at], keys[best]):
            best = at
    return items[best]


def _min(items: Items, function: Function | None = None) -> Any:
    return _find_extreme(items, function, is_less, min)


def _max(items: Items, function: Function | None = None) -> Any:
    return _find_extreme(items, function, is_greater, max)


TRANSFORM_FUNCTIONS: dict[str, Function] = {
    "map": _map,
    "filter": _filter,
    "find": _find,
    "some": _some,
    "every": _every,
    "count": _count,
    "reduce": _reduce,
    "sortBy": _sort_by,
    "groupBy": _group_by,
    "unique": _unique,
    "flat": _flat,
    "zip": _zip,
    "sum": _sum,
    "min": _min,
    "max": _max,
}
#: Of arrays whose items are all numbers, or all texts.
SCALAR_FUNCTIONS: dict[str, Function] = {
    "indexOf": _find_scalar,
    "sort": sort_scalars,
    "unique": _unique_scalars,
    "sum": sum,
    "min": _min_scalar,
    "max": _max_scalar,
}
