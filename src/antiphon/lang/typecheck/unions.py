"""Operations on unions: intersection and difference with another type, and joins."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.lang.typecheck.assignability import is_assignable, join_types
from antiphon.lang.typecheck.types import (
    BOOLEAN,
    JSON,
    NEVER,
    AIResultType,
    Array,
    Literal,
    Object,
    SimpleType,
    Type,
    Union,
    get_base_type,
    is_json_data,
    strip_ai_result,
    widen_type,
)

_BOOLEANS = _TRUE, _FALSE = Literal(True), Literal(False)
#: A union of inferred literals has at most this many.
_MAX_LITERALS = 50


def inhabited_options(type_: Type) -> tuple[Type, ...]:
    """Return the options of a type; `NEVER` has none."""
    type_ = type_.inner if isinstance(type_, AIResultType) else type_
    return type_.options if isinstance(type_, Union) else () if type_ is NEVER else (type_,)


def make_union(types: Iterable[Type]) -> Type:
    """Return the union of types, flattened and simplified."""
    found = dict.fromkeys([each for type_ in types for each in inhabited_options(type_)])
    if len(found) < 2:
        return next(iter(found), NEVER)
    if _TRUE in found and _FALSE in found:
        found = dict.fromkeys((BOOLEAN, *(each for each in found if each not in _BOOLEANS)))
    return Union(tuple(found)) if len(found) > 1 else BOOLEAN


def intersect_type(type_: Type, tested: Type) -> Type:
    """Return the part of a type that is of the tested type; `NEVER` if there is none."""
    if isinstance(type_, AIResultType):
        return AIResultType(intersect_type(type_.inner, tested))
    if type_ == JSON:
        return tested if _is_scalar(tested) else JSON
    return make_union(
        [_intersect_options(one, two) for one in inhabited_options(type_) for two in inhabited_options(tested)]
    )


def subtract_type(type_: Type, tested: Type) -> Type:
    """Return the part of a type that is not of the tested type; `NEVER` if there is none."""
    if isinstance(type_, AIResultType):
        return AIResultType(subtract_type(type_.inner, tested))
    against = inhabited_options(tested)
    parts = inhabited_options(type_)
    if BOOLEAN in parts and any(each in _BOOLEANS for each in against):
        parts = (*(each for each in parts if each != BOOLEAN), *_BOOLEANS)
    left = [
        one
        for one in parts
        if not any(_are_equal_literals(one, two) or is_assignable(one, two, certain=True) for two in against)
    ]
    return strip_ai_result(type_) if len(left) == len(parts) else make_union(left)


def is_never(type_: Type) -> bool:
    """Return True if the type has no values."""
    return strip_ai_result(type_) == NEVER


def find_common_field(type_: Union, name: str) -> Type | None:
    """Return the type of a field that each object of a union has, or None."""
    fields = [each.fields.get(name) if isinstance(each, Object) else None for each in type_.options]
    return make_union(each.read for each in fields if each is not None) if all(fields) else None


def find_discriminator(type_: Type, tested: Object) -> tuple[str, list[Literal]] | None:
    """Return a field whose literals identify one object of a union, and these literals, or None."""
    parts = inhabited_options(type_)
    others = [each for each in parts if each is not tested]
    if len(parts) != len(others) + 1 or not all(isinstance(each, Object) for each in parts):
        return None
    for name in tested.fields:
        own = _field_literals(tested, name)
        if own and all((there := _field_literals(each, name)) and not set(own) & set(there) for each in others):
            return name, own
    return None


def _field_literals(type_: Type, name: str) -> list[Literal]:
    """Return the literals of a field, if it has no other values."""
    field = type_.fields.get(name) if isinstance(type_, Object) else None
    if field is None or field.optional:
        return []
    found = inhabited_options(field.type)
    literals = [each for each in found if isinstance(each, Literal)]
    return literals if len(literals) == len(found) else []


def union_of_literals(types: Iterable[Type]) -> Type | None:
    """Return the union of literals, or None if there are other types among them."""
    found = dict.fromkeys(strip_ai_result(each) for type_ in types for each in inhabited_options(type_))
    literals = [each for each in found if isinstance(each, Literal) and not isinstance(each.value, bool)]
    if not 1 < len(literals) == len(found) <= _MAX_LITERALS or len({get_base_type(each) for each in literals}) > 1:
        return literals[0] if len(literals) == 1 == len(found) else None
    return Union(tuple(literals), True)


def join_branches(types: list[Type]) -> Type:
    """Return one type for the results of several branches: an AI result if all are, literals if all are."""
    given = [each for each in types if not is_never(each)]
    if not given:
        return NEVER
    literal = union_of_literals(given)
    found = literal or strip_ai_result(given[0])
    for each in given[1:] if literal is None else ():
        found = join_or_widen(found, each)
    return AIResultType(found) if all(isinstance(each, AIResultType) for each in given) else found


def join_or_widen(first: Type, second: Type) -> Type:
    """Return the common type of two alternatives, or the union of both."""
    first, second = strip_ai_result(first), strip_ai_result(second)
    found = join_types(first, second)
    if isinstance(first, Array) and isinstance(second, Array):
        is_lost = found == Array(JSON) and found not in (first, second)
    else:
        is_lost = found == JSON and JSON not in (first, second)
    if not is_lost or not (is_json_data(first) and is_json_data(second)):
        return found
    return make_union((widen_type(first, whole=False), widen_type(second, whole=False)))


def _is_scalar(type_: Type) -> bool:
    """Return True if its values are immutable: a mutable value could be changed through an alias."""
    return all(isinstance(get_base_type(each), SimpleType) and each != JSON for each in inhabited_options(type_))


def _intersect_options(one: Type, two: Type) -> Type:
    if is_assignable(one, two, certain=True):
        return one
    return two if _can_overlap(one, two, set()) else NEVER


def _can_overlap(one: Type, two: Type, seen: set[tuple[int, int]]) -> bool:
    """Return True if a value may be of both types. For recursive types, each pair is examined once."""
    if _are_equal_literals(one, two) or is_assignable(one, two, certain=True) or is_assignable(two, one, certain=True):
        return True
    if (id(one), id(two)) in seen:
        return True
    seen.add((id(one), id(two)))
    return _can_structures_overlap(one, two, seen)


def _are_equal_literals(one: Type, two: Type) -> bool:
    """Return True if two literals are equal; 1 and 1.0 are, true and 1 are not."""
    if not (isinstance(one, Literal) and isinstance(two, Literal)):
        return False
    return one.value == two.value and isinstance(one.value, bool) == isinstance(two.value, bool)


def _can_structures_overlap(one: Type, two: Type, seen: set[tuple[int, int]]) -> bool:
    """Return True if a value may be of both types though neither is assignable to the other."""
    if isinstance(one, Array) and isinstance(two, Array):
        return True
    if not (isinstance(one, Object) and isinstance(two, Object)):
        return JSON in (one, two)
    for name, field in one.fields.items():
        other = two.fields.get(name)
        if other is None or (field.optional and other.optional):
            continue
        pairs = ((a, b) for a in inhabited_options(field.read) for b in inhabited_options(other.read))
        if not any(_can_overlap(a, b, seen) for a, b in pairs):
            return False
    return True
