"""Relations of types: assignability, the common type of two values, and operations on unions.

Width subtyping: a value may have further fields.
"""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.lang.typecheck import types as t


def join_types(first: t.Type, second: t.Type) -> t.Type:
    """Return one type for two values; `json` where they have nothing in common."""
    first, second = t.strip_ai_result(first), t.strip_ai_result(second)
    if first is second:
        return first
    if isinstance(first, t.Object) and isinstance(second, t.Object) and not first.name and not second.name:
        fields: dict[str, t.ObjectField] = {}
        for name in dict.fromkeys((*first.fields, *second.fields)):
            one, other = first.fields.get(name), second.fields.get(name)
            if one is None or other is None:
                known = one or other
                assert known is not None
                fields[name] = t.ObjectField(known.type, True, known.description)
            else:
                same = one.type if one.type is other.type else join_or_union(one.type, other.type)
                fields[name] = t.ObjectField(same, one.optional or other.optional, one.description)
        return t.Object(fields) if len(fields) <= _MAX_MERGED_FIELDS else t.JSON
    if _is_empty_object(first) or _is_empty_object(second):
        # Every object is assignable to one without fields.
        if t.is_json_data(first) and t.is_json_data(second) and t.NEVER not in (first, second):
            return t.JSON
        return t.Union((first, second))
    if is_assignable(first, second, certain=True):
        return second
    if is_assignable(second, first, certain=True):
        return first
    if first == t.NULL or second == t.NULL:
        other = second if first == t.NULL else first
        return t.make_nullable(other) if other != t.JSON else t.JSON
    if isinstance(first, t.Array) and isinstance(second, t.Array):
        return t.Array(join_types(first.item, second.item))
    if t.get_base_type(first) == t.get_base_type(second) and isinstance(t.get_base_type(first), t.SimpleType):
        return t.get_base_type(first)
    if t.is_json_data(first) and t.is_json_data(second):
        return t.JSON
    return t.Union((*t.union_options(first), *t.union_options(second)))


def _is_empty_object(type_: t.Type) -> bool:
    return isinstance(type_, t.Object) and not type_.name and not type_.fields


#: Objects with more fields together are joined to json.
_MAX_MERGED_FIELDS = 100


#: A field with more kinds than this is json.
_MAX_KINDS = 8


def join_or_union(first: t.Type, second: t.Type) -> t.Type:
    """Return the common type of two values, or a union of their kinds."""
    found = join_types(first, second)
    if found is not t.JSON or t.JSON in (first, second) or _is_empty_object(first) or _is_empty_object(second):
        return found
    kinds = [_widen_literal(each) for each in t.union_options(first)]
    for each in map(_widen_literal, t.union_options(second)):
        same = next((at for at, known in enumerate(kinds) if _are_joinable(known, each)), None)
        if same is None:
            kinds.append(each)
        else:
            kinds[same] = join_types(kinds[same], each)
    return t.Union(tuple(kinds)) if len(kinds) <= _MAX_KINDS else t.JSON


def _widen_literal(type_: t.Type) -> t.Type:
    return t.get_base_type(type_) if isinstance(type_, t.Literal) else type_


def _are_joinable(first: t.Type, second: t.Type) -> bool:
    """Return True if two types are of one kind and have something in common."""
    return first is second or (t.NULL not in (first, second) and join_types(first, second) is not t.JSON)


def is_assignable(source: t.Type, target: t.Type, *, certain: bool = False) -> bool:
    """Return True if a value of one type may be used where the other is expected.

    With `certain`, return True only if no run-time check is needed: not if `json` or an AI result is involved.
    """
    if source is target:
        return True
    if type(source) is t.Literal and type(target) is t.SimpleType:
        kind = t.get_base_type(source)
        return target is kind or target is t.JSON or (kind is t.TEXT and target is t.PROMPT)
    return _is_assignable(source, target, certain, {})


#: Results for pairs of types; a pair in progress counts as assignable.
_PairResults = dict[tuple[int, int], bool]


def _is_assignable(source: t.Type, target: t.Type, certain: bool, seen: _PairResults) -> bool:
    if source is target or source is t.NEVER or (source.__class__ is target.__class__ and source == target):
        return True
    if isinstance(target, t.AIResultType):
        return _is_assignable(t.strip_ai_result(source), target.inner, certain, seen)
    if isinstance(source, t.AIResultType):
        # An AI result is unwrapped where another type than json is expected.
        return _is_assignable(source.inner, target, False, seen) and (not certain or target is t.JSON)
    if target is t.JSON:
        return t.is_json_data(source)
    if source is t.JSON:
        return not certain and t.is_json_data(target)
    if isinstance(source, t.Union):
        return all(_is_assignable(each, target, certain, seen) for each in source.options)
    if isinstance(target, t.Union):
        return source in target.members or any(_is_assignable(source, each, certain, seen) for each in target.options)
    if isinstance(source, t.Literal):
        return t.get_base_type(source) == t.get_base_type(target) and not isinstance(target, t.Literal)
    if (isinstance(source, t.Array) and isinstance(target, t.Array)) or (
        isinstance(source, t.Map) and isinstance(target, t.Map)
    ):
        # A mutable value must not be shared with a wider type; that is checked where an alias is created.
        one = source.item if isinstance(source, t.Array) else source.value
        two = target.item if isinstance(target, t.Array) else target.value
        if not isinstance(source.inner, t.TypeReference) and not isinstance(target.inner, t.TypeReference):
            return _is_assignable(one, two, certain or not t.is_json_data(one), seen)
        pair = (id(one), id(two))
        if pair not in seen:
            seen[pair] = True
            seen[pair] = _is_assignable(one, two, certain or not t.is_json_data(one), seen)
        return seen[pair]
    if isinstance(source, t.Object) and isinstance(target, t.Object):
        return _is_object_assignable(source, target, certain, seen)
    if isinstance(source, t.CallableType) and isinstance(target, t.CallableType):
        return _is_callable_assignable(source, target, certain, seen)
    return (source is t.TEXT and target is t.PROMPT) or (source is t.PROMPT and target is t.TEXT)


def _is_object_assignable(source: t.Object, target: t.Object, certain: bool, seen: _PairResults) -> bool:
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


def _is_field_assignable(given: t.ObjectField | None, wanted: t.ObjectField, certain: bool, seen: _PairResults) -> bool:
    if given is None:
        return wanted.optional
    return (wanted.optional or not given.optional) and _is_assignable(given.type, wanted.type, certain, seen)


def _is_callable_assignable(source: t.CallableType, target: t.CallableType, certain: bool, seen: _PairResults) -> bool:
    """Return True if one function may be called as the other.

    Functions that they take or return must match exactly, since they cannot be checked at run time.
    """
    given = len(target.parameters)
    if source.is_unchecked or target.is_unchecked:
        taken = all(map(t.is_json_data, target.parameters)) and t.is_json_data(target.returns)
        return source.is_unchecked and taken and (not certain or target.returns == t.JSON)
    if given < source.required or (given > len(source.parameters) and not source.variadic):
        return False
    taken = [*source.parameters, *source.parameters[-1:] * (given - len(source.parameters))]
    pairs = [*zip(target.parameters, taken, strict=False), (source.returns, target.returns)]
    return all(_is_assignable(each, wanted, certain or not t.is_json_data(each), seen) for each, wanted in pairs)


#: Types that reference each other are compared up to this many pairs; deeper ones are checked at run time.
_MAX_EXPOSED_PAIRS = 48


def exposes_hidden_field(given: t.Type, wanted: t.Type) -> bool:
    """Return True if `wanted` has an optional field that `given` lacks.

    A value may have a hidden field of that name and of any type, which would become visible.
    """
    return given is not wanted and not isinstance(wanted, t.SimpleType) and _exposes_hidden_field(given, wanted, set())


def _exposes_hidden_field(given: t.Type, wanted: t.Type, seen: set[tuple[int, int]]) -> bool:
    given, wanted = t.strip_ai_result(given), t.strip_ai_result(wanted)
    if given is wanted or (id(given), id(wanted)) in seen:
        return False
    if len(seen) > _MAX_EXPOSED_PAIRS:
        return True
    seen.add((id(given), id(wanted)))
    if isinstance(given, t.Union):
        return any(_exposes_hidden_field(each, wanted, seen) for each in given.options)
    if isinstance(wanted, t.Union):
        return any(_exposes_hidden_field(given, each, seen) for each in wanted.options if is_assignable(given, each))
    match given, wanted:
        case (t.Array(), t.Array()):
            return _exposes_hidden_field(given.item, wanted.item, seen)
        case (t.Map(), t.Map()):
            return _exposes_hidden_field(given.value, wanted.value, seen)
        case (t.Object(), t.Object()):
            known = given.fields
            return any(
                each.optional if name not in known else _exposes_hidden_field(known[name].type, each.type, seen)
                for name, each in wanted.fields.items()
            )
        case _:
            return False


_BOOLEANS = _TRUE, _FALSE = t.Literal(True), t.Literal(False)
#: A union of inferred literals has at most this many.
_MAX_LITERALS = 50


def inhabited_options(type_: t.Type) -> tuple[t.Type, ...]:
    """Return the options of a type; `NEVER` has none."""
    type_ = type_.inner if isinstance(type_, t.AIResultType) else type_
    return type_.options if isinstance(type_, t.Union) else () if type_ is t.NEVER else (type_,)


def make_union(types: Iterable[t.Type]) -> t.Type:
    """Return the union of types, flattened and simplified."""
    found = dict.fromkeys([each for type_ in types for each in inhabited_options(type_)])
    if len(found) < 2:
        return next(iter(found), t.NEVER)
    if _TRUE in found and _FALSE in found:
        found = dict.fromkeys((t.BOOLEAN, *(each for each in found if each not in _BOOLEANS)))
    return t.Union(tuple(found)) if len(found) > 1 else t.BOOLEAN


def intersect_type(type_: t.Type, tested: t.Type) -> t.Type:
    """Return the part of a type that is of the tested type; `NEVER` if there is none."""
    if isinstance(type_, t.AIResultType):
        return t.AIResultType(intersect_type(type_.inner, tested))
    if type_ == t.JSON:
        return tested if _is_scalar(tested) else t.JSON
    return make_union(
        [_intersect_options(one, two) for one in inhabited_options(type_) for two in inhabited_options(tested)]
    )


def subtract_type(type_: t.Type, tested: t.Type) -> t.Type:
    """Return the part of a type that is not of the tested type; `NEVER` if there is none."""
    if isinstance(type_, t.AIResultType):
        return t.AIResultType(subtract_type(type_.inner, tested))
    against = inhabited_options(tested)
    parts = inhabited_options(type_)
    if t.BOOLEAN in parts and any(each in _BOOLEANS for each in against):
        parts = (*(each for each in parts if each != t.BOOLEAN), *_BOOLEANS)
    left = [
        one
        for one in parts
        if not any(_are_equal_literals(one, two) or is_assignable(one, two, certain=True) for two in against)
    ]
    return t.strip_ai_result(type_) if len(left) == len(parts) else make_union(left)


def is_never(type_: t.Type) -> bool:
    """Return True if the type has no values."""
    return t.strip_ai_result(type_) == t.NEVER


def find_common_field(type_: t.Union, name: str) -> t.Type | None:
    """Return the type of a field that each object of a union has, or None."""
    fields = [each.fields.get(name) if isinstance(each, t.Object) else None for each in type_.options]
    return make_union(each.read for each in fields if each is not None) if all(fields) else None


def find_discriminator(type_: t.Type, tested: t.Object) -> tuple[str, list[t.Literal]] | None:
    """Return a field whose literals identify one object of a union, and these literals, or None."""
    parts = inhabited_options(type_)
    others = [each for each in parts if each is not tested]
    if len(parts) != len(others) + 1 or not all(isinstance(each, t.Object) for each in parts):
        return None
    for name in tested.fields:
        own = _field_literals(tested, name)
        if own and all((there := _field_literals(each, name)) and not set(own) & set(there) for each in others):
            return name, own
    return None


def _field_literals(type_: t.Type, name: str) -> list[t.Literal]:
    """Return the literals of a field, if it has no other values."""
    field = type_.fields.get(name) if isinstance(type_, t.Object) else None
    if field is None or field.optional:
        return []
    found = inhabited_options(field.type)
    literals = [each for each in found if isinstance(each, t.Literal)]
    return literals if len(literals) == len(found) else []


def union_of_literals(types: Iterable[t.Type]) -> t.Type | None:
    """Return the union of literals, or None if there are other types among them."""
    found = dict.fromkeys(t.strip_ai_result(each) for type_ in types for each in inhabited_options(type_))
    literals = [each for each in found if isinstance(each, t.Literal) and not isinstance(each.value, bool)]
    if not 1 < len(literals) == len(found) <= _MAX_LITERALS or len({t.get_base_type(each) for each in literals}) > 1:
        return literals[0] if len(literals) == 1 == len(found) else None
    return t.Union(tuple(literals), True)


def join_branches(types: list[t.Type]) -> t.Type:
    """Return one type for the results of several branches: an AI result if all are, literals if all are."""
    given = [each for each in types if not is_never(each)]
    if not given:
        return t.NEVER
    literal = union_of_literals(given)
    found = literal or t.strip_ai_result(given[0])
    for each in given[1:] if literal is None else ():
        found = join_or_widen(found, each)
    return t.AIResultType(found) if all(isinstance(each, t.AIResultType) for each in given) else found


def join_or_widen(first: t.Type, second: t.Type) -> t.Type:
    """Return the common type of two alternatives, or the union of both."""
    first, second = t.strip_ai_result(first), t.strip_ai_result(second)
    found = join_types(first, second)
    if isinstance(first, t.Array) and isinstance(second, t.Array):
        is_lost = found == t.Array(t.JSON) and found not in (first, second)
    else:
        is_lost = found == t.JSON and t.JSON not in (first, second)
    if not is_lost or not (t.is_json_data(first) and t.is_json_data(second)):
        return found
    return make_union((t.widen_type(first, whole=False), t.widen_type(second, whole=False)))


def _is_scalar(type_: t.Type) -> bool:
    """Return True if its values are immutable: a mutable value could be changed through an alias."""
    return all(isinstance(t.get_base_type(each), t.SimpleType) and each != t.JSON for each in inhabited_options(type_))


def _intersect_options(one: t.Type, two: t.Type) -> t.Type:
    if is_assignable(one, two, certain=True):
        return one
    return two if _can_overlap(one, two, set()) else t.NEVER


def _can_overlap(one: t.Type, two: t.Type, seen: set[tuple[int, int]]) -> bool:
    """Return True if a value may be of both types. For recursive types, each pair is examined once."""
    if _are_equal_literals(one, two) or is_assignable(one, two, certain=True) or is_assignable(two, one, certain=True):
        return True
    if (id(one), id(two)) in seen:
        return True
    seen.add((id(one), id(two)))
    if isinstance(one, t.Array) and isinstance(two, t.Array):
        return True
    if not (isinstance(one, t.Object) and isinstance(two, t.Object)):
        return t.JSON in (one, two)
    for name, field in one.fields.items():
        other = two.fields.get(name)
        if other is None or (field.optional and other.optional):
            continue
        pairs = ((a, b) for a in inhabited_options(field.read) for b in inhabited_options(other.read))
        if not any(_can_overlap(a, b, seen) for a, b in pairs):
            return False
    return True


def _are_equal_literals(one: t.Type, two: t.Type) -> bool:
    """Return True if two literals are equal; 1 and 1.0 are, true and 1 are not."""
    if not (isinstance(one, t.Literal) and isinstance(two, t.Literal)):
        return False
    return one.value == two.value and isinstance(one.value, bool) == isinstance(two.value, bool)
