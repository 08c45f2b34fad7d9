"""Assignability of types, the common type of two values, and width subtyping: a value may have further fields."""

from __future__ import annotations

from antiphon.lang.typecheck.types import (
    JSON,
    NEVER,
    NULL,
    PROMPT,
    TEXT,
    AIResultType,
    Array,
    CallableType,
    Literal,
    Map,
    Object,
    ObjectField,
    SimpleType,
    Type,
    TypeReference,
    Union,
    get_base_type,
    is_json_data,
    make_nullable,
    strip_ai_result,
    union_options,
)


def join_types(first: Type, second: Type) -> Type:
    """Return one type for two values; `json` where they have nothing in common."""
    first, second = strip_ai_result(first), strip_ai_result(second)
    if first is second:
        return first
    if isinstance(first, Object) and isinstance(second, Object) and not first.name and not second.name:
        return _merge_objects(first, second)
    if _is_empty_object(first) or _is_empty_object(second):
        # Every object is assignable to one without fields.
        return (
            JSON
            if is_json_data(first) and is_json_data(second) and NEVER not in (first, second)
            else Union((first, second))
        )
    if is_assignable(first, second, certain=True):
        return second
    if is_assignable(second, first, certain=True):
        return first
    if first == NULL or second == NULL:
        other = second if first == NULL else first
        return make_nullable(other) if other != JSON else JSON
    if isinstance(first, Array) and isinstance(second, Array):
        return Array(join_types(first.item, second.item))
    if get_base_type(first) == get_base_type(second) and isinstance(get_base_type(first), SimpleType):
        return get_base_type(first)
    return (
        JSON if is_json_data(first) and is_json_data(second) else Union((*union_options(first), *union_options(second)))
    )


def _is_empty_object(type_: Type) -> bool:
    return isinstance(type_, Object) and not type_.name and not type_.fields


#: Objects with more fields together are joined to json.
_MAX_MERGED_FIELDS = 100


def _merge_objects(first: Object, second: Object) -> Type:
    """Return one type for two anonymous objects: a field that one of them lacks is optional."""
    fields: dict[str, ObjectField] = {}
    for name in dict.fromkeys((*first.fields, *second.fields)):
        one, other = first.fields.get(name), second.fields.get(name)
        if one is None or other is None:
            known = one or other
            assert known is not None
            fields[name] = ObjectField(known.type, True, known.description)
        else:
            same = one.type if one.type is other.type else join_or_union(one.type, other.type)
            fields[name] = ObjectField(same, one.optional or other.optional, one.description)
    return Object(fields) if len(fields) <= _MAX_MERGED_FIELDS else JSON


#: A field with more kinds than this is json.
_MAX_KINDS = 8


def join_or_union(first: Type, second: Type) -> Type:
    """Return the common type of two values, or a union of their kinds."""
    found = join_types(first, second)
    if found is not JSON or JSON in (first, second) or _is_empty_object(first) or _is_empty_object(second):
        return found
    kinds = [_widen_literal(each) for each in union_options(first)]
    for each in map(_widen_literal, union_options(second)):
        same = next((at for at, known in enumerate(kinds) if _are_joinable(known, each)), None)
        if same is None:
            kinds.append(each)
        else:
            kinds[same] = join_types(kinds[same], each)
    return Union(tuple(kinds)) if len(kinds) <= _MAX_KINDS else JSON


def _widen_literal(type_: Type) -> Type:
    return get_base_type(type_) if isinstance(type_, Literal) else type_


def _are_joinable(first: Type, second: Type) -> bool:
    """Return True if two types are of one kind and have something in common."""
    return first is second or (NULL not in (first, second) and join_types(first, second) is not JSON)


def is_assignable(source: Type, target: Type, *, certain: bool = False) -> bool:
    """Return True if a value of one type may be used where the other is expected.

    With `certain`, return True only if no run-time check is needed: not if `json` or an AI result is involved.
    """
    if source is target:
        return True
    if type(source) is Literal and type(target) is SimpleType:
        kind = get_base_type(source)
        return target is kind or target is JSON or (kind is TEXT and target is PROMPT)
    return _is_assignable(source, target, certain, {})


#: Results for pairs of types; a pair in progress counts as assignable.
_PairResults = dict[tuple[int, int], bool]


def _is_assignable(source: Type, target: Type, certain: bool, seen: _PairResults) -> bool:
    if source is target or source is NEVER or (source.__class__ is target.__class__ and source == target):
        return True
    if isinstance(target, AIResultType):
        return _is_assignable(strip_ai_result(source), target.inner, certain, seen)
    if isinstance(source, AIResultType):
        # An AI result is unwrapped where another type than json is expected.
        return _is_assignable(source.inner, target, False, seen) and (not certain or target is JSON)
    if target is JSON:
        return is_json_data(source)
    if source is JSON:
        return not certain and is_json_data(target)
    if isinstance(source, Union):
        return all(_is_assignable(each, target, certain, seen) for each in source.options)
    if isinstance(target, Union):
        return source in target.members or any(_is_assignable(source, each, certain, seen) for each in target.options)
    if isinstance(source, Literal):
        return get_base_type(source) == get_base_type(target) and not isinstance(target, Literal)
    if (isinstance(source, Array) and isinstance(target, Array)) or (
        isinstance(source, Map) and isinstance(target, Map)
    ):
        # A mutable value must not be shared with a wider type; that is checked where an alias is created.
        return _are_items_assignable(source, target, certain, seen)
    if isinstance(source, Object) and isinstance(target, Object):
        return _is_object_assignable(source, target, certain, seen)
    if isinstance(source, CallableType) and isinstance(target, CallableType):
        return _is_callable_assignable(source, target, certain, seen)
    return (source is TEXT and target is PROMPT) or (source is PROMPT and target is TEXT)


def _are_items_assignable(source: Array | Map, target: Array | Map, certain: bool, seen: _PairResults) -> bool:
    one = source.item if isinstance(source, Array) else source.value
    two = target.item if isinstance(target, Array) else target.value
    if not isinstance(source.inner, TypeReference) and not isinstance(target.inner, TypeReference):
        return _is_assignable(one, two, certain or not is_json_data(one), seen)
    pair = (id(one), id(two))
    if pair not in seen:
        seen[pair] = True
        seen[pair] = _is_assignable(one, two, certain or not is_json_data(one), seen)
    return seen[pair]


def _is_object_assignable(source: Object, target: Object, certain: bool, seen: _PairResults) -> bool:
    pair = (id(source), id(target))
    if pair in seen or len(seen) > _MAX_PAIRS:
        return seen.get(pair, True)
    seen[pair] = True
    seen[pair] = all(
        _is_field_assignable(source.fields.get(n), each, certain, seen) for n, each in target.fields.items()
    )
    return seen[pair]


#: Object types that reference each other are compared up to this many pairs; the rest is checked at run time.
_MAX_PAIRS = 64


def _is_field_assignable(given: ObjectField | None, wanted: ObjectField, certain: bool, seen: _PairResults) -> bool:
    if given is None:
        return wanted.optional
    return (wanted.optional or not given.optional) and _is_assignable(given.type, wanted.type, certain, seen)


def _is_callable_assignable(source: CallableType, target: CallableType, certain: bool, seen: _PairResults) -> bool:
    """Return True if one function may be called as the other.

    Functions that they take or return must match exactly, since they cannot be checked at run time.
    """
    given = len(target.parameters)
    if source.is_unchecked or target.is_unchecked:
        taken = all(map(is_json_data, target.parameters)) and is_json_data(target.returns)
        return source.is_unchecked and taken and (not certain or target.returns == JSON)
    if given < source.required or (given > len(source.parameters) and not source.variadic):
        return False
    taken = [*source.parameters, *source.parameters[-1:] * (given - len(source.parameters))]
    pairs = [*zip(target.parameters, taken, strict=False), (source.returns, target.returns)]
    return all(_is_assignable(each, wanted, certain or not is_json_data(each), seen) for each, wanted in pairs)


#: Types that reference each other are compared up to this many pairs; deeper ones are checked at run time.
_MAX_EXPOSED_PAIRS = 48


def exposes_hidden_field(given: Type, wanted: Type) -> bool:
    """Return True if `wanted` has an optional field that `given` lacks.

    A value may have a hidden field of that name and of any type, which would become visible.
    """
    return given is not wanted and not isinstance(wanted, SimpleType) and _exposes_hidden_field(given, wanted, set())


def _exposes_hidden_field(given: Type, wanted: Type, seen: set[tuple[int, int]]) -> bool:
    given, wanted = strip_ai_result(given), strip_ai_result(wanted)
    if given is wanted or (id(given), id(wanted)) in seen:
        return False
    if len(seen) > _MAX_EXPOSED_PAIRS:
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
