"""The types of values.

`json` is the gradual type: it is assignable to and from all data, and checked at run time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache


@dataclass(frozen=True, slots=True, eq=False)
class SimpleType:
    """A type that is just its name. Each exists once, since identity comparison is fast."""

    name: str


@dataclass(slots=True, eq=False)
class TypeReference:
    """A reference to a type inside its own definition; `target` is set once the definition is resolved."""

    name: str = ""
    target: Type = field(init=False)


@dataclass(frozen=True, slots=True, match_args=False)
class Array:
    """`T[]`; an empty literal is an array of `NEVER`."""

    inner: Type | TypeReference

    @property
    def item(self) -> Type:
        """The type of an item."""
        return self.inner.target if self.inner.__class__ is TypeReference else self.inner  # type: ignore[return-value]


@dataclass(frozen=True, slots=True, match_args=False)
class Map:
    """`{ [text]: T }`: arbitrary keys, values of one type."""

    inner: Type | TypeReference

    @property
    def value(self) -> Type:
        """The type of a value."""
        return self.inner.target if self.inner.__class__ is TypeReference else self.inner  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Literal:
    """A type with a single value, in a union or of a constant."""

    value: str | int | float | bool

    def __eq__(self, other: object) -> bool:
        # 1 and true are equal in Python.
        return isinstance(other, Literal) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@lru_cache(maxsize=2_048, typed=True)
def make_literal(value: str | int | float | bool) -> Literal:
    """Return the literal type of a value; equal values mostly have the same type object, which is fast to compare."""
    return Literal(value)


@dataclass(frozen=True, slots=True)
class Union:
    """A type with several options: literals, or a type and `null`."""

    options: tuple[Type, ...]
    #: True if it was inferred from literals only: the type of a reassignable variable is widened.
    is_fresh: bool = field(default=False, compare=False)
    #: The options as a set, for fast lookup.
    members: frozenset[Type] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", frozenset(self.options))


@dataclass(frozen=True, slots=True)
class ObjectField:
    """A field of an object type; an optional field may be missing, and reads as null then."""

    type: Type
    optional: bool = False
    description: str = ""

    @property
    def read(self) -> Type:
        """The type of a read of the field: nullable if it is optional."""
        return make_nullable(self.type) if self.optional else self.type


@dataclass(slots=True, eq=False)
class Object:
    """A structural object type; `name` is for messages. The fields of recursive types are filled in later."""

    fields: dict[str, ObjectField] = field(default_factory=dict[str, ObjectField])
    name: str = ""


@dataclass(frozen=True, slots=True)
class AIResultType:
    """The type of a model's answer: a value of the inner type, with `toolCalls` and `run`."""

    inner: Type


@dataclass(frozen=True, slots=True)
class CallableType:
    """The type of a function or tool. With `variadic`, the last parameter may be repeated."""

    parameters: tuple[Type, ...]
    required: int
    returns: Type
    variadic: bool = False
    names: tuple[str, ...] = ()
    #: True if nothing is known of its signature: it takes and returns anything.
    is_unchecked: bool = False
    #: How the call determines the result: "wanted", the expected type; "item" or items of the first argument; "found",
    #: the matches of the regular expression that is the second argument.
    gives: str = ""


Type = SimpleType | Array | Map | Literal | Union | Object | AIResultType | CallableType

TEXT = SimpleType("text")
NUMBER = SimpleType("number")
BOOLEAN = SimpleType("boolean")
JSON = SimpleType("json")
PROMPT = SimpleType("prompt")
MODEL = SimpleType("model")
NULL = SimpleType("null")
#: A tool as a value, in a model's `tools`.
TOOL = SimpleType("tool")
#: The bottom type: the items of an empty array, the result of code that never returns.
NEVER = SimpleType("never")
#: The built-in types by name.
TYPES_BY_NAME: dict[str, Type] = {each.name: each for each in (TEXT, NUMBER, BOOLEAN, JSON, PROMPT, MODEL, NULL)}

TOOL_CALL = Object(
    {
        "tool": ObjectField(TEXT),
        "args": ObjectField(JSON),
        "result": ObjectField(Union((TEXT, NULL))),
        "error": ObjectField(Union((TEXT, NULL))),
        "duration": ObjectField(NUMBER),
    },
    "ToolCall",
)
USAGE = Object(
    {
        "inputTokens": ObjectField(Union((NUMBER, NULL))),
        "outputTokens": ObjectField(Union((NUMBER, NULL))),
    },
    "Usage",
)
RUN = Object(
    {
        "usage": ObjectField(USAGE),
        "cost": ObjectField(Union((NUMBER, NULL))),
        "model": ObjectField(TEXT),
        "id": ObjectField(TEXT),
    },
    "Run",
)
#: The type of a caught error.
ERROR = Object({"message": ObjectField(TEXT), "code": ObjectField(TEXT), "value": ObjectField(JSON)}, "Error")
#: The own members of an AI result, besides `value`, which has the inner type.
AI_MEMBERS: dict[str, Type] = {"toolCalls": Array(TOOL_CALL), "run": RUN}
AI_MEMBER_NAMES = ("value", *AI_MEMBERS)


def strip_ai_result(type_: Type) -> Type:
    """Return the inner type of an AI result, and any other type unchanged."""
    return type_.inner if type(type_) is AIResultType else type_


def get_base_type(type_: Type) -> Type:
    """Return the base type that operators see: of a literal, of an AI result, or of a union whose options agree."""
    type_ = type_.inner if isinstance(type_, AIResultType) else type_
    if isinstance(type_, SimpleType):
        return TEXT if type_ is PROMPT else type_
    if isinstance(type_, Literal):
        return _BASE_TYPES[type_.value.__class__]
    if isinstance(type_, Union):
        kinds = {get_base_type(each) for each in type_.options}
        return kinds.pop() if len(kinds) == 1 else type_
    return type_


_BASE_TYPES: dict[type, Type] = {bool: BOOLEAN, str: TEXT, int: NUMBER, float: NUMBER}


def union_options(type_: Type) -> tuple[Type, ...]:
    """Return the options of a union, or the type itself as the only one."""
    type_ = strip_ai_result(type_)
    return type_.options if isinstance(type_, Union) else (type_,)


def widen_type(type_: Type, *, whole: bool = True, literals: bool = True) -> Type:
    """Return the type of a reassignable variable: literals become base types, null and empty values json.

    Unless it is the `whole` value, null and empty parts stay as they are. Without `literals`, literals stay too.
    """
    if isinstance(type_, SimpleType):
        return JSON if whole and (type_ is NULL or type_ is NEVER) else type_
    if isinstance(type_, Literal) or (isinstance(type_, Union) and type_.is_fresh):
        return get_base_type(type_) if literals else type_
    if isinstance(type_, Array | Map):
        # A named type is not widened.
        inner = type_.inner
        if isinstance(inner, TypeReference):
            return type_
        return type(type_)(widen_type(inner, whole=whole, literals=literals))
    if isinstance(type_, AIResultType):
        return AIResultType(widen_type(type_.inner, whole=whole, literals=literals))
    if isinstance(type_, Object) and not type_.name:
        if not type_.fields:
            # The fields that an empty object will get are unknown.
            return JSON if whole else type_
        return Object(
            {
                name: ObjectField(
                    widen_type(each.type, whole=whole, literals=literals), each.optional, each.description
                )
                for name, each in type_.fields.items()
            }
        )
    return type_


def make_nullable(type_: Type) -> Type:
    """Return the type with null as an option."""
    if is_nullable(type_):
        return type_
    return Union((*type_.options, NULL)) if isinstance(type_, Union) else Union((type_, NULL))


def is_nullable(type_: Type) -> bool:
    """Return True if null is known to be among the values; for `json` it is not known."""
    type_ = type_.inner if isinstance(type_, AIResultType) else type_
    return NULL in type_.members if isinstance(type_, Union) else type_ is NULL


def remove_null(type_: Type) -> Type:
    """Return the type without null."""
    if isinstance(type_, AIResultType):
        return AIResultType(remove_null(type_.inner))
    if not isinstance(type_, Union):
        return type_
    rest = tuple(each for each in type_.options if each != NULL)
    return rest[0] if len(rest) == 1 else Union(rest)


def is_json_data(type_: Type) -> bool:
    """Return True if all values are representable as JSON. Iterative, since types may be nested in a long chain."""
    if isinstance(type_, SimpleType):
        return type_ is not MODEL and type_ is not TOOL
    if isinstance(type_, Literal):
        return True
    return not any(isinstance(each, CallableType) or each is MODEL or each is TOOL for each in _leaf_types(type_))


def has_function(type_: Type) -> bool:
    """Return True if a function is, or is inside, a value of the type."""
    return not isinstance(type_, SimpleType) and any(isinstance(each, CallableType) for each in _leaf_types(type_))


def is_mutable(type_: Type | None) -> bool:
    """Return True if values of the type may be arrays or objects."""
    if isinstance(type_, SimpleType):
        return type_ is JSON
    if isinstance(type_, Union):
        return any(map(is_mutable, type_.options))
    if isinstance(type_, AIResultType):
        return is_mutable(type_.inner)
    return not isinstance(type_, _SCALAR)


_SCALAR = (Literal, CallableType)


def has_literals(type_: Type) -> bool:
    """Return True if the type is a literal or has one as an option."""
    return isinstance(type_, Literal) or (isinstance(type_, Union) and any(map(has_literals, type_.options)))


def _leaf_types(type_: Type) -> Iterator[Type]:
    """Yield the simple types, literals and functions that a type is composed of."""
    todo: list[Type] = [type_]
    seen: set[int] = set()
    while todo:
        each = todo.pop()
        if isinstance(each, _WITHOUT_PARTS):
            yield each
        elif id(each) not in seen:
            seen.add(id(each))
            todo += _component_types(each)


_WITHOUT_PARTS = (SimpleType, Literal, CallableType)


def _component_types(type_: Type) -> Iterable[Type]:
    if isinstance(type_, Array):
        return (type_.item,)
    if isinstance(type_, Object):
        return [each.type for each in type_.fields.values()]
    if isinstance(type_, Union):
        return type_.options
    if isinstance(type_, Map):
        return (type_.value,)
    return (type_.inner,) if isinstance(type_, AIResultType) else ()


def has_more_parts(type_: Type, most: int) -> bool:
    """Return True if a type has more than `most` parts, counting repeated ones. A named type counts as one."""
    todo: list[Type] = [type_]
    while todo and most >= 0:
        each = todo.pop()
        most -= 1
        if isinstance(each, CallableType):
            todo += (*each.parameters, each.returns)
        elif isinstance(each, Array | Map):
            todo += () if isinstance(each.inner, TypeReference) else (each.inner,)
        elif not isinstance(each, Object) or not each.name:
            todo += _component_types(each)
    return most < 0


def get_operand_type(type_: Type) -> Type:
    """Return the type that an operator sees: without AI result, literals and null."""
    if type(type_) is SimpleType:
        # The items of an empty array are unknown.
        return TEXT if type_ is PROMPT else JSON if type_ is NEVER else type_
    if type(type_) is Array or type(type_) is Object:
        return type_
    if type(type_) is Literal:
        return get_base_type(type_)
    return get_base_type(remove_null(strip_ai_result(type_)))
