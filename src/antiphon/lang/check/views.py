"""Objects as their types say: a value may have more fields, of which a type knows nothing."""

from __future__ import annotations

from antiphon.lang.check.fitting import assignable
from antiphon.lang.check.types import Array, Map, Object, Simple, Type, Union, plain

#: Types that name each other in a long chain are compared so far; what is deeper is looked at when the program runs.
_MOST_PAIRS = 48


def hides(given: Type, wanted: Type) -> bool:
    """Whether a type may show a field that the other does not know of: an optional one, which could be anything."""
    return given is not wanted and not isinstance(wanted, Simple) and _hides(given, wanted, set())


def _hides(given: Type, wanted: Type, seen: set[tuple[int, int]]) -> bool:
    given, wanted = plain(given), plain(wanted)
    if given is wanted or (id(given), id(wanted)) in seen:
        return False
    if len(seen) > _MOST_PAIRS:
        return True
    seen.add((id(given), id(wanted)))
    if isinstance(given, Union):
        return any(_hides(each, wanted, seen) for each in given.options)
    if isinstance(wanted, Union):
        return any(_hides(given, each, seen) for each in wanted.options if assignable(given, each))
    match given, wanted:
        case (Array(), Array()):
            return _hides(given.item, wanted.item, seen)
        case (Map(), Map()):
            return _hides(given.value, wanted.value, seen)
        case (Object(), Object()):
            known = given.fields
            return any(
                each.optional if name not in known else _hides(known[name].type, each.type, seen)
                for name, each in wanted.fields.items()
            )
        case _:
            return False
