"""Types: what a value may be. `json` is the gradual one: it fits everywhere and is checked when the program runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice


@dataclass(frozen=True, slots=True)
class Simple:
    """A type that is just its name."""

    name: str


@dataclass(slots=True, eq=False)
class Alias:
    """A type inside its own definition, by its name; what it stands for is filled in when that has been read."""

    name: str = ""
    target: Type = field(init=False)


@dataclass(frozen=True, slots=True, match_args=False)
class Array:
    """`T[]`; an empty literal is an array of `NEVER`."""

    inner: Type | Alias

    @property
    def item(self) -> Type:
        """The type of an item."""
        return self.inner.target if self.inner.__class__ is Alias else self.inner  # type: ignore[return-value]


@dataclass(frozen=True, slots=True, match_args=False)
class Map:
    """`{ [text]: T }`: any keys, values of one type."""

    inner: Type | Alias

    @property
    def value(self) -> Type:
        """The type of a value."""
        return self.inner.target if self.inner.__class__ is Alias else self.inner  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Literal:
    """A type with one value, in a union or of a constant."""

    value: str | int | float | bool

    def __eq__(self, other: object) -> bool:
        # 1 and true are equal in Python.
        return isinstance(other, Literal) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Union:
    """One of these: literals, or a type and `null`."""

    options: tuple[Type, ...]
    #: Whether it is only what literals beside each other happen to be: a variable that may be assigned again is wider.
    is_fresh: bool = field(default=False, compare=False)
    #: The same, quick to look in: there may be many.
    members: frozenset[Type] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", frozenset(self.options))


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object type; an optional one may be missing, and reads as null then."""

    type: Type
    optional: bool = False
    description: str = ""

    @property
    def read(self) -> Type:
        """The type of what is read from it."""
        return nullable(self.type) if self.optional else self.type


@dataclass(slots=True, eq=False)
class Object:
    """An object with these fields. Structural; `name` is for messages. Fields are filled in late where types recur."""

    fields: dict[str, Field] = field(default_factory=dict[str, Field])
    name: str = ""


@dataclass(frozen=True, slots=True)
class AI:
    """What a model answered: a value of the inner type that has `toolCalls` and `run` besides."""

    inner: Type


@dataclass(frozen=True, slots=True)
class Callable:
    """A function or tool. With `variadic`, the last parameter may be repeated."""

    parameters: tuple[Type, ...]
    required: int
    returns: Type
    variadic: bool = False
    names: tuple[str, ...] = ()
    #: Nothing is known of it: it takes and gives anything.
    unchecked: bool = False
    #: What it gives besides: what is wanted where it is called, an item of its first argument, or such items.
    gives: str = ""


Type = Simple | Array | Map | Literal | Union | Object | AI | Callable

TEXT = Simple("text")
NUMBER = Simple("number")
BOOLEAN = Simple("boolean")
JSON = Simple("json")
PROMPT = Simple("prompt")
MODEL = Simple("model")
NULL = Simple("null")
#: A tool as a value, as it stands in a model's `tools`.
TOOL = Simple("tool")
#: No value at all: the items of an empty array, the result of what never returns.
NEVER = Simple("never")
#: What a type name of the language means.
NAMED: dict[str, Type] = {each.name: each for each in (TEXT, NUMBER, BOOLEAN, JSON, PROMPT, MODEL, NULL)}

TOOL_CALL = Object(
    {
        "tool": Field(TEXT),
        "args": Field(JSON),
        "result": Field(Union((TEXT, NULL))),
        "error": Field(Union((TEXT, NULL))),
        "duration": Field(NUMBER),
    },
    "ToolCall",
)
USAGE = Object(
    {
        "inputTokens": Field(Union((NUMBER, NULL))),
        "outputTokens": Field(Union((NUMBER, NULL))),
    },
    "Usage",
)
RUN = Object(
    {"usage": Field(USAGE), "cost": Field(Union((NUMBER, NULL))), "model": Field(TEXT), "id": Field(TEXT)}, "Run"
)
#: What `catch e` gives.
ERROR = Object({"message": Field(TEXT), "code": Field(TEXT), "value": Field(JSON)}, "Error")
#: Members of an AI result that are its own, besides `value`, which is the inner type.
AI_MEMBERS: dict[str, Type] = {"toolCalls": Array(TOOL_CALL), "run": RUN}
AI_NAMES = ("value", *AI_MEMBERS)


#: So many fields or options of a type are shown.
_MOST_SHOWN = 12


def show(type_: Type, *, literals: bool = True) -> str:
    """The type as it is written, with an ellipsis where it is long. Without `literals`, `"low"` is just text."""
    match type_:
        case Simple():
            return type_.name
        case Array():
            return _shown_array(type_, literals)
        case Map():
            return f"{{ [text]: {_shown_inside(type_, literals)} }}"
        case Literal():
            from antiphon._json import dumps

            return dumps(type_.value) if literals else show(base(type_))
        case Union():
            return " | ".join(_some(_shown_options(type_.options[: _MOST_SHOWN + 1])))
        case Object():
            if type_.name:
                return type_.name
            fields = islice(type_.fields.items(), _MOST_SHOWN + 1)
            parts = [f"{n}{'?' * f.optional}: {show(f.type, literals=literals)}" for n, f in fields]
            return f"{{{', '.join(_some(parts))}}}"
        case AI():
            return show(type_.inner, literals=literals)
        case Callable():
            return _function(type_)


def _shown_inside(type_: Array | Map, literals: bool) -> str:
    inner = type_.inner
    return inner.name or "…" if isinstance(inner, Alias) else show(inner, literals=literals)


def _shown_array(type_: Array, literals: bool) -> str:
    inner = _shown_inside(type_, literals)
    if isinstance(type_.inner, Union | Callable):
        return f"({inner})[]"
    return f"{inner}[]" if type_.inner != NEVER else "[]"


def _option(type_: Type) -> str:
    return f"({show(type_)})" if isinstance(type_, Callable) else show(type_)


def _function(type_: Callable) -> str:
    if type_.unchecked:
        return "a function"
    parameters = [show(each) for each in type_.parameters]
    if type_.variadic:
        parameters[-1] += ", …"
    return f"({', '.join(parameters)}) => {show(type_.returns)}"


def _shown_options(options: tuple[Type, ...]) -> list[str]:
    """Options as they are written; of objects that share a name, their fields."""
    shown = [_option(each) for each in options]
    return [
        show(Object(each.fields)) if isinstance(each, Object) and shown.count(text) > 1 else text
        for each, text in zip(options, shown, strict=True)
    ]


def _some(parts: list[str]) -> list[str]:
    return parts if len(parts) <= _MOST_SHOWN else [*parts[:_MOST_SHOWN], "…"]


def plain(type_: Type) -> Type:
    """Without the history of an AI result."""
    return type_.inner if isinstance(type_, AI) else type_


def base(type_: Type) -> Type:
    """What operators see: the type of a literal's value, of an AI result's, of a union that agrees."""
    if type_.__class__ is Simple:
        return TEXT if type_ == PROMPT else type_
    type_ = plain(type_)
    if isinstance(type_, Literal):
        return BOOLEAN if isinstance(type_.value, bool) else TEXT if isinstance(type_.value, str) else NUMBER
    if isinstance(type_, Union):
        kinds = {base(each) for each in type_.options}
        return kinds.pop() if len(kinds) == 1 else type_
    return TEXT if type_ == PROMPT else type_


def widen(type_: Type, *, whole: bool = True) -> Type:
    """The type of a variable that may be assigned again: of a literal, that of all such values; of null, anything.

    Of what is not the `whole` yet, but will be beside others, null and what is empty stay what they are.
    """
    if isinstance(type_, Simple):
        return JSON if whole and type_ in (NULL, NEVER) else type_
    if isinstance(type_, Literal) or (isinstance(type_, Union) and type_.is_fresh):
        return base(type_)
    if isinstance(type_, Array | Map):
        # A type that has a name is what it is.
        return type_ if isinstance(type_.inner, Alias) else type(type_)(widen(type_.inner, whole=whole))
    if isinstance(type_, AI):
        return AI(widen(type_.inner, whole=whole))
    if isinstance(type_, Object) and not type_.name:
        if not type_.fields:
            # Which fields an empty object will get is not known.
            return JSON if whole else type_
        fields = type_.fields.items()
        return Object({name: Field(widen(f.type, whole=whole), f.optional, f.description) for name, f in fields})
    return type_


def nullable(type_: Type) -> Type:
    """The type, or null."""
    return type_ if may_be_null(type_) else Union((*_options(type_), NULL))


def may_be_null(type_: Type) -> bool:
    """Whether null is among its values for certain knowledge; `json` says nothing of it."""
    type_ = plain(type_)
    return type_ == NULL or (isinstance(type_, Union) and NULL in type_.members)


def without_null(type_: Type) -> Type:
    """The type without null."""
    if isinstance(type_, AI):
        return AI(without_null(type_.inner))
    if not isinstance(type_, Union):
        return type_
    rest = tuple(each for each in type_.options if each != NULL)
    return rest[0] if len(rest) == 1 else Union(rest)


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
    return JSON if is_data(first) and is_data(second) else Union((*_options(first), *_options(second)))


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
            same = one.type if one.type is other.type else join(one.type, other.type)
            fields[name] = Field(same, one.optional or other.optional, one.description)
    return Object(fields) if len(fields) <= _MOST_MERGED else JSON


def assignable(source: Type, target: Type, *, certain: bool = False) -> bool:
    """Whether a value of one type may go where the other is wanted.

    With `certain`, whether that is known without looking at the value: not if `json` or an AI result is involved.
    """
    if source is target:
        return True
    if type(source) is Literal and type(target) is Simple:
        kind = base(source)
        return target in (kind, JSON) or (kind is TEXT and target == PROMPT)
    return _assignable(source, target, certain, {})


#: What is known of pairs of types; a pair that is being looked at fits until it is found not to.
_Seen = dict[tuple[int, int], bool]


def _assignable(source: Type, target: Type, certain: bool, seen: _Seen) -> bool:
    if source is target or source in (target, NEVER):
        return True
    if isinstance(target, AI):
        return _assignable(plain(source), target.inner, certain, seen)
    if isinstance(source, AI):
        # An AI result is taken out of its history where another type than json is wanted.
        return _assignable(source.inner, target, False, seen) and (not certain or target == JSON)
    if target == JSON:
        return is_data(source)
    if source == JSON:
        return not certain and is_data(target)
    if isinstance(source, Union):
        return all(_assignable(each, target, certain, seen) for each in source.options)
    if isinstance(target, Union):
        return source in target.members or any(_assignable(source, each, certain, seen) for each in target.options)
    if isinstance(source, Literal):
        return base(source) == base(target) and not isinstance(target, Literal)
    if isinstance(source, Array) and isinstance(target, Array):
        return _items_fit(source, target, certain, seen)
    if isinstance(source, Object) and isinstance(target, Object):
        return _fits(source, target, certain, seen)
    if isinstance(source, Map) and isinstance(target, Map):
        # A map can change: through a wider type, it would come to hold what the narrower one has not.
        return _items_fit(source, target, True, seen) and _items_fit(target, source, True, seen)
    if isinstance(source, Callable) and isinstance(target, Callable):
        return _may_stand_for(source, target, certain, seen)
    return {source, target} == {TEXT, PROMPT} if isinstance(source, Simple) and isinstance(target, Simple) else False


def _items_fit(source: Array | Map, target: Array | Map, certain: bool, seen: _Seen) -> bool:
    one, two = (each.item if isinstance(each, Array) else each.value for each in (source, target))
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


def is_data(type_: Type) -> bool:
    """Whether its values can be written as JSON. Types may hold each other in a long chain: this does not recur."""
    if isinstance(type_, Simple):
        return type_ not in (MODEL, TOOL)
    return not any(isinstance(each, Callable) or each in (MODEL, TOOL) for each in _inside(type_))


def has_function(type_: Type) -> bool:
    """Whether a function is, or is among, the values of a type."""
    return not isinstance(type_, Simple) and any(isinstance(each, Callable) for each in _inside(type_))


def _inside(type_: Type) -> Iterator[Type]:
    """The simple types, literals and functions that a type is made of."""
    todo: list[Type] = [type_]
    seen: set[int] = set()
    while todo:
        each = todo.pop()
        if isinstance(each, Simple | Literal | Callable):
            yield each
        elif id(each) not in seen:
            seen.add(id(each))
            todo += _parts(each)


def _parts(type_: Array | Map | Union | AI | Object) -> Iterable[Type]:
    match type_:
        case Array():
            return (type_.item,)
        case Map():
            return (type_.value,)
        case Union():
            return type_.options
        case AI():
            return (type_.inner,)
        case Object():
            return (each.type for each in type_.fields.values())


def _options(type_: Type) -> tuple[Type, ...]:
    return type_.options if isinstance(type_, Union) else (type_,)
