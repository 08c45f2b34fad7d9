"""Width subtyping: a value may have more fields than its type."""

from __future__ import annotations

from antiphon.lang.typecheck.assignability import is_assignable
from antiphon.lang.typecheck.types import Array, Map, Object, SimpleType, Type, Union, strip_ai_result

#: Types that reference each other are compared up to this many pairs; deeper ones are checked at run time.
_MAX_PAIRS = 48


def exposes_hidden_field(given: Type, wanted: Type) -> bool:
    """Return True if `wanted` has an optional field that `given` lacks.

    A value may have a hidden field of that name and of any type, which would become visible.
    """
    return given is not wanted and not isinstance(wanted, SimpleType) and _exposes_hidden_field(given, wanted, set())


def _exposes_hidden_field(given: Type, wanted: Type, seen: set[tuple[int, int]]) -> bool:
    given, wanted = strip_ai_result(given), strip_ai_result(wanted)
    if given is wanted or (id(given), id(wanted)) in seen:
        return False
    if len(seen) > _MAX_PAIRS:
        return True
    seen.add((id(given), id(wanted)))
    if isinstance(given, Union):
        return any(_exposes_hidden_field(each, wanted, seen) for each in given.options)
    if isinstance(wanted, Union):
        return any(_exposes_hidden_field(given, each, seen) for each in wanted.options if is_assignable(given, each))
    match given, wanted:
        case (Array(), Array()):
            return _exposes_hidden_field(given.item, wanted.item, seen)
        case (Map(), Map()):
            return _exposes_hidden_field(given.value, wanted.value, seen)
        case (Object(), Object()):
            known = given.fields
            return any(
                each.optional if name not in known else _exposes_hidden_field(known[name].type, each.type, seen)
                for name, each in wanted.fields.items()
            )
        case _:
            return False
