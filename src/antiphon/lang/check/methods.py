"""The built-in functions, and the methods of text, numbers, arrays and objects: their signatures.

Types are written as in the language; `T` is what is in the array or map, `self` its own type; what `U` is, and `K`,
which is a number or a text, the arguments say. What they do is in `receivers`.
"""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.lang.check.types import (
    BOOLEAN,
    JSON,
    NULL,
    NUMBER,
    TEXT,
    Array,
    Callable,
    Field,
    Map,
    Object,
    Simple,
    Type,
    Union,
    base,
    is_data,
    nullable,
)

#: The letters in signatures.
T, U, K = Simple("T"), Simple("U"), Simple("K")


@dataclass(frozen=True, slots=True)
class Method:
    """A method: the types of its parameters, how many are needed, and what it gives. `mutates` changes its object."""

    doc: str
    parameters: tuple[str, ...] = ()
    required: int = 0
    returns: str = "self"
    mutates: bool = False


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function that is always there."""

    doc: str
    parameters: tuple[str, ...] = ()
    required: int = 0
    returns: str = "null"
    variadic: bool = False
    #: Only in `test` blocks.
    in_tests: bool = False


_EVERYWHERE = {
    "toString": Method("As text, the way `print` shows it.", returns="text"),
}
_COUNTED = {"len": Method("How many there are, as `.length`.", returns="number")}

TEXT_METHODS = {
    **_EVERYWHERE,
    **_COUNTED,
    "upper": Method("In capitals."),
    "lower": Method("In small letters."),
    "trim": Method("Without white space at both ends."),
    "split": Method(
        'The parts between a separator; without one, the words; for `""`, the characters.', ("text",), 0, "text[]"
    ),
    "lines": Method("The lines, without their ends; none of an empty text.", returns="text[]"),
    "replace": Method("With every occurrence of the first text replaced by the second.", ("text", "text"), 2),
    "includes": Method("Whether it holds the other text.", ("text",), 1, "boolean"),
    "startsWith": Method("Whether it begins with the other text.", ("text",), 1, "boolean"),
    "endsWith": Method("Whether it ends with the other text.", ("text",), 1, "boolean"),
    "indexOf": Method("Where the other text begins, -1 if it is not in it.", ("text",), 1, "number"),
    "slice": Method(
        "From one position up to another, as `[a:b]`; as far as there is something.", ("number", "number"), 1
    ),
    "repeat": Method("So many times in a row; nothing for 0 and below.", ("number",), 1),
    "padStart": Method("Filled up at the start to so many characters, with blanks or a text.", ("number", "text"), 1),
    "padEnd": Method("Filled up at the end to so many characters, with blanks or a text.", ("number", "text"), 1),
    "toNumber": Method("The number it says; an error if it says none.", returns="number"),
}
NUMBER_METHODS = {
    **_EVERYWHERE,
    "round": Method(
        "The nearest number with so many digits after the point; without, whole. Half goes up.",
        ("number",),
        0,
        "number",
    ),
    "floor": Method("The whole number below.", returns="number"),
    "ceil": Method("The whole number above.", returns="number"),
    "abs": Method("Without its sign.", returns="number"),
    "toFixed": Method("As text with just so many digits after the point.", ("number",), 1, "text"),
}
ARRAY_METHODS = {
    **_EVERYWHERE,
    **_COUNTED,
    "push": Method("Put an item at the end.", ("T",), 1, "null", mutates=True),
    "pop": Method("Take the last item away, and give it; an error if there is none.", returns="T", mutates=True),
    "insert": Method(
        "Put an item before the one at a position; outside, at that end.", ("number", "T"), 2, "null", mutates=True
    ),
    "remove": Method(
        "Take the item at a position away, and give it; an error outside.", ("number",), 1, "T", mutates=True
    ),
    "sort": Method(
        "Sort numbers or texts in place, by a field if one is named; gives the array.", ("text",), 0, mutates=True
    ),
    "reverse": Method("Turn around in place; gives the array.", mutates=True),
    "join": Method("The items as one text, with a separator between them, `,` if none is given.", ("text",), 0, "text"),
    "slice": Method(
        "From one position up to another, as `[a:b]`; as far as there is something.", ("number", "number"), 1
    ),
    "includes": Method("Whether there is an equal item.", ("T",), 1, "boolean"),
    "indexOf": Method("Where the first equal item is, -1 if there is none.", ("T",), 1, "number"),
    "copy": Method("A copy that may be changed, to any depth."),
    "map": Method("What a function makes of each item.", ("(T) => U",), 1, "U[]"),
    "filter": Method("The items for which a function gives true.", ("(T) => boolean",), 1, "T[]"),
    "find": Method("The first item for which a function gives true, or null.", ("(T) => boolean",), 1, "T | null"),
    "some": Method("Whether a function gives true for any item.", ("(T) => boolean",), 1, "boolean"),
    "every": Method("Whether it gives true for all items; true if there are none.", ("(T) => boolean",), 1, "boolean"),
    "count": Method("For how many items it gives true.", ("(T) => boolean",), 1, "number"),
    "reduce": Method(
        "One value of all items: a function of it and each item, and its first value.", ("(U, T) => U", "U"), 2, "U"
    ),
    "sortBy": Method("A new array, in the order of what a function gives for each item.", ("(T) => K",), 1, "T[]"),
    "groupBy": Method(
        "A map of arrays: the items by the text a function gives for each.", ("(T) => text",), 1, "{ [text]: T[] }"
    ),
    "unique": Method("Each of the items once: the first of equal ones.", returns="T[]"),
    "flat": Method("The items of the arrays in it, one level of them, as one array.", returns="U[]"),
    "zip": Method(
        "Pairs with the items of another array, as far as both go.", ("U[]",), 1, "{ first: T, second: U }[]"
    ),
    "sum": Method(
        "The sum of the numbers, or of what a function gives for each item; 0 if there are none.",
        ("(T) => number",),
        0,
        "number",
    ),
    "min": Method(
        "The smallest item, or that for which a function gives the least; an error if there is none.",
        ("(T) => K",),
        0,
        "T",
    ),
    "max": Method(
        "The largest item, or that for which it gives the most; an error if there is none.", ("(T) => K",), 0, "T"
    ),
}
MAP_METHODS = {
    **_EVERYWHERE,
    **_COUNTED,
    "has": Method("Whether there is that key.", ("text",), 1, "boolean"),
    "get": Method("The value of a key; where there is none, the default or null.", ("text", "T"), 1, "T | null"),
    "keys": Method("The keys, in the order in which they came.", returns="text[]"),
    "values": Method("The values, in the order of the keys.", returns="T[]"),
    "entries": Method("Objects with `key` and `value`.", returns="{ key: text, value: T }[]"),
    "remove": Method(
        "Take a key away, and give its value; an error if it is not there.", ("text",), 1, "T", mutates=True
    ),
    "copy": Method("A copy that may be changed, to any depth."),
}
OBJECT_METHODS = {
    **_EVERYWHERE,
    **_COUNTED,
    "keys": Method("The names of its fields.", returns="text[]"),
    "values": Method("The values of its fields.", returns="json[]"),
    "entries": Method("Objects with `key` and `value`.", returns="json[]"),
    "has": Method("Whether there is a field of that name.", ("text",), 1, "boolean"),
    "get": Method("The field of that name; where there is none, the default or null.", ("text", "json"), 1, "json"),
    "remove": Method(
        "Take a field away, and give its value; an error if it is not there.", ("text",), 1, "json", mutates=True
    ),
    "copy": Method("A copy that may be changed, to any depth."),
}
BOOLEAN_METHODS = _EVERYWHERE
BUILTINS = {
    "print": Builtin("Print values, with a space between them.", ("json",), 0, variadic=True),
    "note": Builtin("Print, and tell the models asked from here on.", ("json",), 1, variadic=True),
    "len": Builtin("How many characters, items or fields there are.", ("json",), 1, "number"),
    "env": Builtin("An environment variable; the default where it is not set.", ("text", "text"), 1, "text"),
    "now": Builtin("The time now, as ISO 8601 text in UTC.", returns="text"),
    "sleep": Builtin("Wait so many seconds.", ("number",), 1),
    "assert": Builtin("Stop with an error unless the condition holds.", ("boolean", "text"), 1),
    "parseJson": Builtin("The value a JSON text says.", ("text",), 1, "json"),
    "toJson": Builtin("A value as JSON text, indented by so many spaces.", ("json", "number"), 1, "text"),
    "result": Builtin(
        "A semantic result for a tool to return: kind, data, options.", ("text", "json", "json"), 2, "json"
    ),
    "answers": Builtin("The answers the models will give in this test.", ("json",), 1, in_tests=True),
}
#: Names that are always there and are no functions.
BUILTIN_VALUES: dict[str, Type] = {"args": Array(TEXT)}

_TYPES: dict[str, Type] = {
    "text": TEXT,
    "number": NUMBER,
    "boolean": BOOLEAN,
    "json": JSON,
    "null": NULL,
    "text[]": Array(TEXT),
    "json[]": Array(JSON),
    "T": T,
    "U": U,
    "T[]": Array(T),
    "U[]": Array(U),
    "T | null": Union((T, NULL)),
    "(T) => U": Callable((T,), 1, U),
    "(T) => K": Callable((T,), 1, K),
    "(T) => text": Callable((T,), 1, TEXT),
    "(T) => number": Callable((T,), 1, NUMBER),
    "(T) => boolean": Callable((T,), 1, BOOLEAN),
    "(U, T) => U": Callable((U, T), 2, U),
    "{ [text]: T[] }": Map(Array(T)),
    "{ first: T, second: U }[]": Array(Object({"first": Field(T), "second": Field(U)})),
    "{ key: text, value: T }[]": Array(Object({"key": Field(TEXT), "value": Field(T)})),
}


#: Those without letters mean the same everywhere.
_FIXED = {name: type_ for name, type_ in _TYPES.items() if not {T.name, U.name, K.name} & set(name)}


def signature_type(name: str, receiver: Type = JSON) -> Type:
    """What a type in a signature means for this receiver."""
    if name == "self":
        return receiver
    if name in _FIXED:
        return _FIXED[name]
    inner = receiver.item if isinstance(receiver, Array) else receiver.value if isinstance(receiver, Map) else JSON
    return put(_TYPES[name], {T: inner, U: JSON})


def written_type(name: str) -> Type:
    """A type in a signature, with the letters in it."""
    return _TYPES[name]


def put(type_: Type, known: dict[Type, Type]) -> Type:
    """A type of a signature with what its letters stand for."""
    if isinstance(type_, Simple):
        return known.get(type_, type_)
    if isinstance(type_, Array):
        return Array(put(type_.item, known))
    if isinstance(type_, Map):
        return Map(put(type_.value, known))
    if isinstance(type_, Object):
        return Object({name: Field(put(each.type, known)) for name, each in type_.fields.items()})
    if isinstance(type_, Union):
        first = put(type_.options[0], known)
        return nullable(first) if first != JSON else JSON
    if isinstance(type_, Callable):
        return Callable(tuple(put(each, known) for each in type_.parameters), type_.required, put(type_.returns, known))
    return type_


_TABLES = {
    "text": TEXT_METHODS,
    "number": NUMBER_METHODS,
    "boolean": BOOLEAN_METHODS,
    "array": ARRAY_METHODS,
    "map": MAP_METHODS,
    "object": OBJECT_METHODS,
}
_WORDS: dict[type[Type], str] = {Array: "array", Map: "map", Object: "object"}


def kind_word(kind: Type) -> str:
    """The word under which what belongs to a kind of values is kept; empty where there is none."""
    return kind.name if isinstance(kind, Simple) else _WORDS.get(type(kind), "")


def methods_of(type_: Type) -> dict[str, Method] | None:
    """The methods of a type; `None` for `json`, of which nothing is known."""
    kind = base(type_)
    return _common_methods(kind) if isinstance(kind, Union) else _TABLES.get(kind_word(kind))


def _common_methods(type_: Union) -> dict[str, Method]:
    """The methods that do the same whichever of several kinds a value is."""
    if any(isinstance(each, Object) for each in type_.options):
        # What an object has besides its type's fields must not be seen: so these are of each type alone.
        return _EVERYWHERE if is_data(type_) else {}
    first, *others = [methods_of(each) or {} for each in type_.options]
    return {
        name: method
        for name, method in first.items()
        if all(each.get(name) is method for each in others) and {*method.parameters, method.returns} <= _FIXED.keys()
    }


def all_method_names() -> frozenset[str]:
    """Every method name of any type, for calls on values of which nothing is known."""
    return frozenset[str]().union(TEXT_METHODS, NUMBER_METHODS, ARRAY_METHODS, OBJECT_METHODS)
