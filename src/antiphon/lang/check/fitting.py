"""Which values fit where: whether one type may go where another is wanted, and one type for two values."""

from __future__ import annotations

from antiphon.lang.check.types import (
    AI,
    JSON,
    NEVER,
    NULL,
    PROMPT,
    TEXT,
    Alias,
    Array,
    Callable,
    Field,
    Literal,
    Map,
    Object,
    Simple,
    Type,
    Union,
    base,
    is_data,
    nullable,
    options_of,
    plain,
)


def join(first: Type, second: Type) -> Type:
    """One type for two values; `json` where they have nothing in common."""
    first, second = plain(first), plain(second)
    if first is second:
        return first
    if isinstance(first, Object) and isinstance(second, Object) and not first.name and not second.name:
        return _merged(first, second)
    if _is_empty(first) or _is_empty(second):
        # Whatever an object may be, it fits one without fields.
        return JSON if is_data(first) and is_data(second) and NEVER not in (first, second) else Union((first, second))
    if assignable(first, second, certain=True):
        return second
    if assignable(second, first, certain=True):
        return first
    if first == NULL or second == NULL:
        other = second if first == NULL else first
        return nullable(other) if other != JSON else JSON
    if isinstance(first, Array) and isinstance(second, Array):
        return Array(join(first.item, second.item))
    if base(first) == base(second) and isinstance(base(first), Simple):
        return base(first)
    return JSON if is_data(first) and is_data(second) else Union((*options_of(first), *options_of(second)))


def _is_empty(type_: Type) -> bool:
    return isinstance(type_, Object) and not type_.name and not type_.fields


#: Objects that have more fields between them have nothing in common.
_MOST_MERGED = 100


def _merged(first: Object, second: Object) -> Type:
    """One type for two objects as they are written: a field that one of them lacks is optional."""
    fields: dict[str, Field] = {}
    for name in dict.fromkeys((*first.fields, *second.fields)):
        one, other = first.fields.get(name), second.fields.get(name)
        if one is None or other is None:
            known = one or other
            assert known is not None
            fields[name] = Field(known.type, True, known.description)
        else:
            same = one.type if one.type is other.type else either(one.type, other.type)
            fields[name] = Field(same, one.optional or other.optional, one.description)
    return Object(fields) if len(fields) <= _MOST_MERGED else JSON


#: A field that is of more kinds than these may be anything.
_MOST_KINDS = 8


def either(first: Type, second: Type) -> Type:
    """One type for two values: what they have in common, or of several kinds one of them."""
    found = join(first, second)
    if found is not JSON or JSON in (first, second) or _is_empty(first) or _is_empty(second):
        return found
    kinds = [_kind(each) for each in options_of(first)]
    for each in map(_kind, options_of(second)):
        same = next((at for at, known in enumerate(kinds) if _is_alike(known, each)), None)
        if same is None:
            kinds.append(each)
        else:
            kinds[same] = join(kinds[same], each)
    return Union(tuple(kinds)) if len(kinds) <= _MOST_KINDS else JSON


def _kind(type_: Type) -> Type:
    return base(type_) if isinstance(type_, Literal) else type_


def _is_alike(first: Type, second: Type) -> bool:
    """Whether two types are of one kind, and have something in common."""
    return first is second or (NULL not in (first, second) and join(first, second) is not JSON)


def assignable(source: Type, target: Type, *, certain: bool = False) -> bool:
    """Whether a value of one type may go where the other is wanted.

    With `certain`, whether that is known without looking at the value: not if `json` or an AI result is involved.
    """
    if source is target:
        return True
    if type(source) is Literal and type(target) is Simple:
        kind = base(source)
        return target is kind or target is JSON or (kind is TEXT and target is PROMPT)
    return _assignable(source, target, certain, {})


#: What is known of pairs of types; a pair that is being looked at fits until it is found not to.
_Seen = dict[tuple[int, int], bool]


def _assignable(source: Type, target: Type, certain: bool, seen: _Seen) -> bool:
    if source is target or source is NEVER or (source.__class__ is target.__class__ and source == target):
        return True
    if isinstance(target, AI):
        return _assignable(plain(source), target.inner, certain, seen)
    if isinstance(source, AI):
        # An AI result is taken out of its history where another type than json is wanted.
        return _assignable(source.inner, target, False, seen) and (not certain or target is JSON)
    if target is JSON:
        return is_data(source)
    if source is JSON:
        return not certain and is_data(target)
    if isinstance(source, Union):
        return all(_assignable(each, target, certain, seen) for each in source.options)
    if isinstance(target, Union):
        return source in target.members or any(_assignable(source, each, certain, seen) for each in target.options)
    if isinstance(source, Literal):
        return base(source) == base(target) and not isinstance(target, Literal)
    if (isinstance(source, Array) and isinstance(target, Array)) or (
        isinstance(source, Map) and isinstance(target, Map)
    ):
        # One that can change is not shared with a wider type; that is looked at where it gets another name.
        return _items_fit(source, target, certain, seen)
    if isinstance(source, Object) and isinstance(target, Object):
        return _fits(source, target, certain, seen)
    if isinstance(source, Callable) and isinstance(target, Callable):
        return _may_stand_for(source, target, certain, seen)
    return (source is TEXT and target is PROMPT) or (source is PROMPT and target is TEXT)


def _items_fit(source: Array | Map, target: Array | Map, certain: bool, seen: _Seen) -> bool:
    one = source.item if isinstance(source, Array) else source.value
    two = target.item if isinstance(target, Array) else target.value
    if not isinstance(source.inner, Alias) and not isinstance(target.inner, Alias):
        return _assignable(one, two, certain or not is_data(one), seen)
    pair = (id(one), id(two))
    if pair not in seen:
        seen[pair] = True
        seen[pair] = _assignable(one, two, certain or not is_data(one), seen)
    return seen[pair]


def _fits(source: Object, target: Object, certain: bool, seen: _Seen) -> bool:
    pair = (id(source), id(target))
    if pair in seen or len(seen) > _MOST_PAIRS:
        return seen.get(pair, True)
    seen[pair] = True
    seen[pair] = all(_field_fits(source.fields.get(n), each, certain, seen) for n, each in target.fields.items())
    return seen[pair]


#: Object types that name each other in a long chain are compared so far; what is deeper is checked when it runs.
_MOST_PAIRS = 64


def _field_fits(given: Field | None, wanted: Field, certain: bool, seen: _Seen) -> bool:
    if given is None:
        return wanted.optional
    return (wanted.optional or not given.optional) and _assignable(given.type, wanted.type, certain, seen)


def _may_stand_for(source: Callable, target: Callable, certain: bool, seen: _Seen) -> bool:
    """Whether one function may be called as the other. Of functions they take or give nothing can be looked at."""
    given = len(target.parameters)
    if source.unchecked or target.unchecked:
        taken = all(map(is_data, target.parameters)) and is_data(target.returns)
        return source.unchecked and taken and (not certain or target.returns == JSON)
    if given < source.required or (given > len(source.parameters) and not source.variadic):
        return False
    taken = [*source.parameters, *source.parameters[-1:] * (given - len(source.parameters))]
    pairs = [*zip(target.parameters, taken, strict=False), (source.returns, target.returns)]
    return all(_assignable(each, wanted, certain or not is_data(each), seen) for each, wanted in pairs)
