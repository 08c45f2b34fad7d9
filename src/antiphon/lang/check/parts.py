"""Taking unions apart: which values of a type are of another one, and which are not."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.lang.check.fitting import assignable, join
from antiphon.lang.check.types import (
    AI,
    BOOLEAN,
    JSON,
    NEVER,
    Array,
    Literal,
    Object,
    Simple,
    Type,
    Union,
    base,
    is_data,
    plain,
    widen,
)

_BOOLEANS = _TRUE, _FALSE = Literal(True), Literal(False)
#: So many literals beside each other are kept apart as a type.
_MOST_LITERALS = 50


def options(type_: Type) -> tuple[Type, ...]:
    """What a value of the type may be, one by one; of `NEVER`, nothing."""
    type_ = type_.inner if isinstance(type_, AI) else type_
    return type_.options if isinstance(type_, Union) else () if type_ is NEVER else (type_,)


def union(types: Iterable[Type]) -> Type:
    """One of these."""
    found = dict.fromkeys([each for type_ in types for each in options(type_)])
    if len(found) < 2:
        return next(iter(found), NEVER)
    if _TRUE in found and _FALSE in found:
        found = dict.fromkeys((BOOLEAN, *(each for each in found if each not in _BOOLEANS)))
    return Union(tuple(found)) if len(found) > 1 else BOOLEAN


def kept(type_: Type, tested: Type) -> Type:
    """The values of a type that are of the tested one; `NEVER` where none is."""
    if isinstance(type_, AI):
        return AI(kept(type_.inner, tested))
    if type_ == JSON:
        return tested if _is_scalar(tested) else JSON
    return union([_common(one, two) for one in options(type_) for two in options(tested)])


def rest(type_: Type, tested: Type) -> Type:
    """The values of a type that are not of the tested one; `NEVER` where all are."""
    if isinstance(type_, AI):
        return AI(rest(type_.inner, tested))
    against = options(tested)
    parts = options(type_)
    if BOOLEAN in parts and any(each in _BOOLEANS for each in against):
        parts = (*(each for each in parts if each != BOOLEAN), *_BOOLEANS)
    left = [one for one in parts if not any(_same(one, two) or assignable(one, two, certain=True) for two in against)]
    return plain(type_) if len(left) == len(parts) else union(left)


def is_never(type_: Type) -> bool:
    """Whether there is no such value."""
    return plain(type_) == NEVER


def common_field(type_: Union, name: str) -> Type | None:
    """The type of a field that each object of a union has."""
    fields = [each.fields.get(name) if isinstance(each, Object) else None for each in type_.options]
    return union(each.read for each in fields if each is not None) if all(fields) else None


def discriminator(type_: Type, tested: Object) -> tuple[str, list[Literal]] | None:
    """A field that each object of a union has, and whose literals only one of them has: it tells which one it is."""
    parts = options(type_)
    others = [each for each in parts if each is not tested]
    if len(parts) != len(others) + 1 or not all(isinstance(each, Object) for each in parts):
        return None
    for name in tested.fields:
        own = _literals(tested, name)
        if own and all((there := _literals(each, name)) and not set(own) & set(there) for each in others):
            return name, own
    return None


def _literals(type_: Type, name: str) -> list[Literal]:
    """The literals that a field can be, if it can be nothing else."""
    field = type_.fields.get(name) if isinstance(type_, Object) else None
    if field is None or field.optional:
        return []
    found = options(field.type)
    literals = [each for each in found if isinstance(each, Literal)]
    return literals if len(literals) == len(found) else []


def of_literals(types: Iterable[Type]) -> Type | None:
    """The literals beside each other, if nothing else is among them."""
    found = dict.fromkeys(plain(each) for type_ in types for each in options(type_))
    literals = [each for each in found if isinstance(each, Literal) and not isinstance(each.value, bool)]
    if not 1 < len(literals) == len(found) <= _MOST_LITERALS or len({base(each) for each in literals}) > 1:
        return literals[0] if len(literals) == 1 == len(found) else None
    return Union(tuple(literals), True)


def joined(types: list[Type]) -> Type:
    """One type for what several branches give: an AI result if all are, literals if all are."""
    given = [each for each in types if not is_never(each)]
    if not given:
        return NEVER
    literal = of_literals(given)
    found = literal or plain(given[0])
    for each in given[1:] if literal is None else ():
        found = one_of(found, each)
    return AI(found) if all(isinstance(each, AI) for each in given) else found


def one_of(first: Type, second: Type) -> Type:
    """One type for two values of which one is taken: what they have in common, or else one of both."""
    first, second = plain(first), plain(second)
    found = join(first, second)
    if isinstance(first, Array) and isinstance(second, Array):
        is_lost = found == Array(JSON) and found not in (first, second)
    else:
        is_lost = found == JSON and JSON not in (first, second)
    if not is_lost or not (is_data(first) and is_data(second)):
        return found
    return union((widen(first, whole=False), widen(second, whole=False)))


def _is_scalar(type_: Type) -> bool:
    """Whether its values cannot be changed: of what can, another name could make something else."""
    return all(isinstance(base(each), Simple) and each != JSON for each in options(type_))


def _common(one: Type, two: Type) -> Type:
    if assignable(one, two, certain=True):
        return one
    return two if _meet(one, two, set()) else NEVER


def _meet(one: Type, two: Type, seen: set[tuple[int, int]]) -> bool:
    """Whether a value may be of both types. Of types that contain themselves, a pair is looked at once."""
    if _same(one, two) or assignable(one, two, certain=True) or assignable(two, one, certain=True):
        return True
    if (id(one), id(two)) in seen:
        return True
    seen.add((id(one), id(two)))
    return _overlap(one, two, seen)


def _same(one: Type, two: Type) -> bool:
    """Whether two literals are equal; 1 and 1.0 are, true and 1 are not."""
    if not (isinstance(one, Literal) and isinstance(two, Literal)):
        return False
    return one.value == two.value and isinstance(one.value, bool) == isinstance(two.value, bool)


def _overlap(one: Type, two: Type, seen: set[tuple[int, int]]) -> bool:
    """Whether a value may be of both types though neither is a part of the other."""
    if isinstance(one, Array) and isinstance(two, Array):
        return True
    if not (isinstance(one, Object) and isinstance(two, Object)):
        return JSON in (one, two)
    for name, field in one.fields.items():
        other = two.fields.get(name)
        if other is None or (field.optional and other.optional):
            continue
        pairs = ((a, b) for a in options(field.read) for b in options(other.read))
        if not any(_meet(a, b, seen) for a, b in pairs):
            return False
    return True
