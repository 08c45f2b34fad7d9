"""Types: what a value may be. `json` is the gradual one: it fits everywhere and is checked when the program runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, eq=False)
class Simple:
    """A type that is just its name. There is one object of each: they are compared often."""

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
    #: What it gives besides: what is wanted where it is called, an item of its first argument, such items, or what is
    #: found by the pattern that is its second.
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


def plain(type_: Type) -> Type:
    """Without the history of an AI result."""
    return type_.inner if type(type_) is AI else type_


def base(type_: Type) -> Type:
    """What operators see: the type of a literal's value, of an AI result's, of a union that agrees."""
    type_ = type_.inner if isinstance(type_, AI) else type_
    if isinstance(type_, Simple):
        return TEXT if type_ is PROMPT else type_
    if isinstance(type_, Literal):
        return _BASES[type_.value.__class__]
    if isinstance(type_, Union):
        kinds = {base(each) for each in type_.options}
        return kinds.pop() if len(kinds) == 1 else type_
    return type_


_BASES: dict[type, Type] = {bool: BOOLEAN, str: TEXT, int: NUMBER, float: NUMBER}


def options_of(type_: Type) -> tuple[Type, ...]:
    """What a value of the type may be, one by one: the options of a union, or just this."""
    type_ = plain(type_)
    return type_.options if isinstance(type_, Union) else (type_,)


def widen(type_: Type, *, whole: bool = True, literals: bool = True) -> Type:
    """The type of a variable that may be assigned again: of a literal, that of all such values; of null, anything.

    Of what is not the `whole` yet, but will be beside others, null and what is empty stay what they are; and without
    `literals`, those do.
    """
    if isinstance(type_, Simple):
        return JSON if whole and (type_ is NULL or type_ is NEVER) else type_
    if isinstance(type_, Literal) or (isinstance(type_, Union) and type_.is_fresh):
        return base(type_) if literals else type_
    if isinstance(type_, Array | Map):
        # A type that has a name is what it is.
        inner = type_.inner
        return type_ if isinstance(inner, Alias) else type(type_)(widen(inner, whole=whole, literals=literals))
    if isinstance(type_, AI):
        return AI(widen(type_.inner, whole=whole, literals=literals))
    if isinstance(type_, Object) and not type_.name:
        if not type_.fields:
            # Which fields an empty object will get is not known.
            return JSON if whole else type_
        return Object(
            {
                name: Field(widen(each.type, whole=whole, literals=literals), each.optional, each.description)
                for name, each in type_.fields.items()
            }
        )
    return type_


def nullable(type_: Type) -> Type:
    """The type, or null."""
    if may_be_null(type_):
        return type_
    return Union((*type_.options, NULL)) if isinstance(type_, Union) else Union((type_, NULL))


def may_be_null(type_: Type) -> bool:
    """Whether null is among its values for certain knowledge; `json` says nothing of it."""
    type_ = type_.inner if isinstance(type_, AI) else type_
    return NULL in type_.members if isinstance(type_, Union) else type_ is NULL


def without_null(type_: Type) -> Type:
    """The type without null."""
    if isinstance(type_, AI):
        return AI(without_null(type_.inner))
    if not isinstance(type_, Union):
        return type_
    rest = tuple(each for each in type_.options if each != NULL)
    return rest[0] if len(rest) == 1 else Union(rest)


def is_data(type_: Type) -> bool:
    """Whether its values can be written as JSON. Types may hold each other in a long chain: this does not recur."""
    if isinstance(type_, Simple):
        return type_ is not MODEL and type_ is not TOOL
    if isinstance(type_, Literal):
        return True
    return not any(isinstance(each, Callable) or each is MODEL or each is TOOL for each in _inside(type_))


def has_function(type_: Type) -> bool:
    """Whether a function is, or is among, the values of a type."""
    return not isinstance(type_, Simple) and any(isinstance(each, Callable) for each in _inside(type_))


def is_mutable(type_: Type | None) -> bool:
    """Whether values of the type may be arrays or objects."""
    if isinstance(type_, Simple):
        return type_ is JSON
    if isinstance(type_, Union):
        return any(map(is_mutable, type_.options))
    if isinstance(type_, AI):
        return is_mutable(type_.inner)
    return not isinstance(type_, _SCALAR)


_SCALAR = (Literal, Callable)


def has_literals(type_: Type) -> bool:
    """Whether only certain values of a kind are of the type."""
    return isinstance(type_, Literal) or (isinstance(type_, Union) and any(map(has_literals, type_.options)))


def _inside(type_: Type) -> Iterator[Type]:
    """The simple types, literals and functions that a type is made of."""
    todo: list[Type] = [type_]
    seen: set[int] = set()
    while todo:
        each = todo.pop()
        if isinstance(each, _WITHOUT_PARTS):
            yield each
        elif id(each) not in seen:
            seen.add(id(each))
            todo += _parts(each)


_WITHOUT_PARTS = (Simple, Literal, Callable)


def _parts(type_: Type) -> Iterable[Type]:
    if isinstance(type_, Array):
        return (type_.item,)
    if isinstance(type_, Object):
        return [each.type for each in type_.fields.values()]
    if isinstance(type_, Union):
        return type_.options
    if isinstance(type_, Map):
        return (type_.value,)
    return (type_.inner,) if isinstance(type_, AI) else ()


def is_larger(type_: Type, most: int) -> bool:
    """Return whether a type has more than so many parts, each counted where it stands. Named types count as one."""
    todo: list[Type] = [type_]
    while todo and most >= 0:
        each = todo.pop()
        most -= 1
        if isinstance(each, Callable):
            todo += (*each.parameters, each.returns)
        elif isinstance(each, Array | Map):
            todo += () if isinstance(each.inner, Alias) else (each.inner,)
        elif not isinstance(each, Object) or not each.name:
            todo += _parts(each)
    return most < 0


def operand(type_: Type) -> Type:
    """What an operator sees of a type: neither history, nor literals, nor that it may be null."""
    if type(type_) is Simple:
        # Of what is in an empty array nothing is known.
        return TEXT if type_ is PROMPT else JSON if type_ is NEVER else type_
    if type(type_) is Array or type(type_) is Object:
        return type_
    if type(type_) is Literal:
        return base(type_)
    return base(without_null(plain(type_)))
