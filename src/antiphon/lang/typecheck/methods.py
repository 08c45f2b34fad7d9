"""Signatures of the built-in functions, and of the methods of text, numbers, arrays and objects.

Types are written as in the language; `T` is the item type of the array or map, `self` its own type. `U`, and
`K`, which is a number or a text, are inferred from the arguments. The implementations are in
`runtime.methods`.
"""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.lang.typecheck import types as t

#: The type parameters in signatures.
T, U, K = t.SimpleType("T"), t.SimpleType("U"), t.SimpleType("K")


@dataclass(frozen=True, slots=True)
class MethodSignature:
    """The signature of a method: parameter types, how many are required, result type, and whether it mutates."""

    doc: str
    parameters: tuple[str, ...] = ()
    required: int = 0
    returns: str = "self"
    mutates: bool = False


@dataclass(frozen=True, slots=True)
class BuiltinSignature:
    """The signature of a built-in function."""

    doc: str
    parameters: tuple[str, ...] = ()
    required: int = 0
    returns: str = "null"
    variadic: bool = False
    #: True if it is available only in `test` blocks.
    in_tests: bool = False


_COMMON_METHODS = {
    "toString": MethodSignature("As text, the way `print` shows it.", returns="text"),
}
_LENGTH_METHODS = {"len": MethodSignature("How many there are, as `.length`.", returns="number")}

TEXT_METHODS = {
    **_COMMON_METHODS,
    **_LENGTH_METHODS,
    "upper": MethodSignature("In capitals."),
    "lower": MethodSignature("In small letters."),
    "trim": MethodSignature("Without white space at both ends."),
    "split": MethodSignature(
        'The parts between a separator; without one, the words; for `""`, the characters.', ("text",), 0, "text[]"
    ),
    "lines": MethodSignature("The lines, without their ends; none of an empty text.", returns="text[]"),
    "replace": MethodSignature("With every occurrence of the first text replaced by the second.", ("text", "text"), 2),
    "includes": MethodSignature("Whether it holds the other text.", ("text",), 1, "boolean"),
    "startsWith": MethodSignature("Whether it begins with the other text.", ("text",), 1, "boolean"),
    "endsWith": MethodSignature("Whether it ends with the other text.", ("text",), 1, "boolean"),
    "indexOf": MethodSignature("Where the other text begins, -1 if it is not in it.", ("text",), 1, "number"),
    "slice": MethodSignature(
        "From one position up to another, as `[a:b]`; as far as there is something.", ("number", "number"), 1
    ),
    "repeat": MethodSignature("So many times in a row; nothing for 0 and below.", ("number",), 1),
    "padStart": MethodSignature(
        "Filled up at the start to so many characters, with blanks or a text.", ("number", "text"), 1
    ),
    "padEnd": MethodSignature(
        "Filled up at the end to so many characters, with blanks or a text.", ("number", "text"), 1
    ),
    "toNumber": MethodSignature("The number it says; an error if it says none.", returns="number"),
}
NUMBER_METHODS = {
    **_COMMON_METHODS,
    "round": MethodSignature(
        "The nearest number with so many digits after the point; without, whole. Half goes up.",
        ("number",),
        0,
        "number",
    ),
    "floor": MethodSignature("The whole number below.", returns="number"),
    "ceil": MethodSignature("The whole number above.", returns="number"),
    "abs": MethodSignature("Without its sign.", returns="number"),
    "toFixed": MethodSignature("As text with just so many digits after the point.", ("number",), 1, "text"),
}
ARRAY_METHODS = {
    **_COMMON_METHODS,
    **_LENGTH_METHODS,
    "push": MethodSignature("Put an item at the end.", ("T",), 1, "null", mutates=True),
    "pop": MethodSignature(
        "Take the last item away, and give it; an error if there is none.", returns="T", mutates=True
    ),
    "insert": MethodSignature(
        "Put an item before the one at a position; outside, at that end.", ("number", "T"), 2, "null", mutates=True
    ),
    "remove": MethodSignature(
        "Take the item at a position away, and give it; an error outside.", ("number",), 1, "T", mutates=True
    ),
    "sort": MethodSignature(
        "Sort numbers or texts in place, by a field if one is named; gives the array.", ("text",), 0, mutates=True
    ),
    "reverse": MethodSignature("Turn around in place; gives the array.", mutates=True),
    "join": MethodSignature(
        "The items as one text, with a separator between them, `,` if none is given.", ("text",), 0, "text"
    ),
    "slice": MethodSignature(
        "From one position up to another, as `[a:b]`; as far as there is something.", ("number", "number"), 1
    ),
    "includes": MethodSignature("Whether there is an equal item.", ("T",), 1, "boolean"),
    "indexOf": MethodSignature("Where the first equal item is, -1 if there is none.", ("T",), 1, "number"),
    "copy": MethodSignature("A copy that may be changed, to any depth."),
    "map": MethodSignature("What a function makes of each item.", ("(T) => U",), 1, "U[]"),
    "filter": MethodSignature("The items for which a function gives true.", ("(T) => boolean",), 1, "T[]"),
    "find": MethodSignature(
        "The first item for which a function gives true, or null.", ("(T) => boolean",), 1, "T | null"
    ),
    "some": MethodSignature("Whether a function gives true for any item.", ("(T) => boolean",), 1, "boolean"),
    "every": MethodSignature(
        "Whether it gives true for all items; true if there are none.", ("(T) => boolean",), 1, "boolean"
    ),
    "count": MethodSignature("For how many items it gives true.", ("(T) => boolean",), 1, "number"),
    "reduce": MethodSignature(
        "One value of all items: a function of it and each item, and its first value.", ("(U, T) => U", "U"), 2, "U"
    ),
    "sortBy": MethodSignature(
        "A new array, in the order of what a function gives for each item.", ("(T) => K",), 1, "T[]"
    ),
    "groupBy": MethodSignature(
        "A map of arrays: the items by the text a function gives for each.", ("(T) => text",), 1, "{ [text]: T[] }"
    ),
    "unique": MethodSignature("Each of the items once: the first of equal ones.", returns="T[]"),
    "flat": MethodSignature("The items of the arrays in it, one level of them, as one array.", returns="U[]"),
    "zip": MethodSignature(
        "Pairs with the items of another array, as far as both go.", ("U[]",), 1, "{ first: T, second: U }[]"
    ),
    "sum": MethodSignature(
        "The sum of the numbers, or of what a function gives for each item; 0 if there are none.",
        ("(T) => number",),
        0,
        "number",
    ),
    "min": MethodSignature(
        "The smallest item, or that for which a function gives the least; an error if there is none.",
        ("(T) => K",),
        0,
        "T",
    ),
    "max": MethodSignature(
        "The largest item, or that for which it gives the most; an error if there is none.", ("(T) => K",), 0, "T"
    ),
}
#: Methods that take a function.
METHODS_WITH_FUNCTION = frozenset(
    name for name, each in ARRAY_METHODS.items() if any("=>" in p for p in each.parameters)
)
#: Methods that pass each item, and its position if the function takes two parameters.
METHODS_WITH_POSITION = METHODS_WITH_FUNCTION - {"reduce"}
MAP_METHODS = {
    **_COMMON_METHODS,
    **_LENGTH_METHODS,
    "has": MethodSignature("Whether there is that key.", ("text",), 1, "boolean"),
    "get": MethodSignature(
        "The value of a key; where there is none, the default or null.", ("text", "T"), 1, "T | null"
    ),
    "keys": MethodSignature("The keys, in the order in which they came.", returns="text[]"),
    "values": MethodSignature("The values, in the order of the keys.", returns="T[]"),
    "entries": MethodSignature("Objects with `key` and `value`.", returns="{ key: text, value: T }[]"),
    "remove": MethodSignature(
        "Take a key away, and give its value; an error if it is not there.", ("text",), 1, "T", mutates=True
    ),
    "copy": MethodSignature("A copy that may be changed, to any depth."),
}
OBJECT_METHODS = {
    **_COMMON_METHODS,
    **_LENGTH_METHODS,
    "keys": MethodSignature("The names of its fields.", returns="text[]"),
    "values": MethodSignature("The values of its fields.", returns="json[]"),
    "entries": MethodSignature("Objects with `key` and `value`.", returns="json[]"),
    "has": MethodSignature("Whether there is a field of that name.", ("text",), 1, "boolean"),
    "get": MethodSignature(
        "The field of that name; where there is none, the default or null.", ("text", "json"), 1, "json"
    ),
    "remove": MethodSignature(
        "Take a field away, and give its value; an error if it is not there.", ("text",), 1, "json", mutates=True
    ),
    "copy": MethodSignature("A copy that may be changed, to any depth."),
}
BOOLEAN_METHODS = _COMMON_METHODS
BUILTINS = {
    "print": BuiltinSignature("Print values, with a space between them.", ("json",), 0, variadic=True),
    "note": BuiltinSignature("Print, and tell the models asked from here on.", ("json",), 1, variadic=True),
    "len": BuiltinSignature("How many characters, items or fields there are.", ("json",), 1, "number"),
    "env": BuiltinSignature("An environment variable; the default where it is not set.", ("text", "text"), 1, "text"),
    "now": BuiltinSignature("The time now, as ISO 8601 text in UTC.", returns="text"),
    "sleep": BuiltinSignature("Wait so many seconds.", ("number",), 1),
    "assert": BuiltinSignature("Stop with an error unless the condition holds.", ("boolean", "text"), 1),
    "parseJson": BuiltinSignature("The value a JSON text says.", ("text",), 1, "json"),
    "toJson": BuiltinSignature("A value as JSON text, indented by so many spaces.", ("json", "number"), 1, "text"),
    "result": BuiltinSignature(
        "A semantic result for a tool to return: kind, data, options.", ("text", "json", "json"), 2, "json"
    ),
    "answers": BuiltinSignature("The answers the models will give in this test.", ("json",), 1, in_tests=True),
}
#: Built-in names that are not functions.
BUILTIN_VALUES: dict[str, t.Type] = {"args": t.Array(t.TEXT)}

_SIGNATURE_TYPES: dict[str, t.Type] = {
    "text": t.TEXT,
    "number": t.NUMBER,
    "boolean": t.BOOLEAN,
    "json": t.JSON,
    "null": t.NULL,
    "text[]": t.Array(t.TEXT),
    "json[]": t.Array(t.JSON),
    "T": T,
    "U": U,
    "T[]": t.Array(T),
    "U[]": t.Array(U),
    "T | null": t.Union((T, t.NULL)),
    "(T) => U": t.CallableType((T,), 1, U),
    "(T) => K": t.CallableType((T,), 1, K),
    "(T) => text": t.CallableType((T,), 1, t.TEXT),
    "(T) => number": t.CallableType((T,), 1, t.NUMBER),
    "(T) => boolean": t.CallableType((T,), 1, t.BOOLEAN),
    "(U, T) => U": t.CallableType((U, T), 2, U),
    "{ [text]: T[] }": t.Map(t.Array(T)),
    "{ first: T, second: U }[]": t.Array(t.Object({"first": t.ObjectField(T), "second": t.ObjectField(U)})),
    "{ key: text, value: T }[]": t.Array(t.Object({"key": t.ObjectField(t.TEXT), "value": t.ObjectField(T)})),
}


#: The types without type parameters, which need no substitution.
_FIXED_TYPES = {name: type_ for name, type_ in _SIGNATURE_TYPES.items() if not {T.name, U.name, K.name} & set(name)}


def resolve_signature_type(name: str, receiver: t.Type = t.JSON) -> t.Type:
    """Return the type that a signature's notation means for this receiver."""
    if name == "self":
        return receiver
    if name in _FIXED_TYPES:
        return _FIXED_TYPES[name]
    inner = (
        receiver.item if isinstance(receiver, t.Array) else receiver.value if isinstance(receiver, t.Map) else t.JSON
    )
    return substitute_type(_SIGNATURE_TYPES[name], {T: inner, U: t.JSON})


def parse_signature_type(name: str) -> t.Type:
    """Return a type of a signature, with its type parameters."""
    return _SIGNATURE_TYPES[name]


def substitute_type(type_: t.Type, known: dict[t.Type, t.Type]) -> t.Type:
    """Return a type of a signature with its type parameters replaced."""
    if isinstance(type_, t.SimpleType):
        return known.get(type_, type_)
    if isinstance(type_, t.Array):
        return t.Array(substitute_type(type_.item, known))
    if isinstance(type_, t.Map):
        return t.Map(substitute_type(type_.value, known))
    if isinstance(type_, t.Object):
        return t.Object({name: t.ObjectField(substitute_type(each.type, known)) for name, each in type_.fields.items()})
    if isinstance(type_, t.Union):
        first = substitute_type(type_.options[0], known)
        return t.make_nullable(first) if first != t.JSON else t.JSON
    if isinstance(type_, t.CallableType):
        return t.CallableType(
            tuple(substitute_type(each, known) for each in type_.parameters),
            type_.required,
            substitute_type(type_.returns, known),
        )
    return type_


_METHOD_TABLES = {
    "text": TEXT_METHODS,
    "number": NUMBER_METHODS,
    "boolean": BOOLEAN_METHODS,
    "array": ARRAY_METHODS,
    "map": MAP_METHODS,
    "object": OBJECT_METHODS,
}
_KIND_NAMES: dict[type[t.Type], str] = {t.Array: "array", t.Map: "map", t.Object: "object"}


def name_kind(kind: t.Type) -> str:
    """Return the key of a kind of values in method tables, or ""."""
    return kind.name if isinstance(kind, t.SimpleType) else _KIND_NAMES.get(type(kind), "")


def get_methods(type_: t.Type) -> dict[str, MethodSignature] | None:
    """Return the methods of a type; `None` for `json`, of which nothing is known."""
    kind = t.get_base_type(type_)
    return _common_methods(kind) if isinstance(kind, t.Union) else _METHOD_TABLES.get(name_kind(kind))


def _common_methods(type_: t.Union) -> dict[str, MethodSignature]:
    """Return the methods that are the same for every option of a union."""
    if any(isinstance(each, t.Object) for each in type_.options):
        # An object's fields beyond its type must stay hidden, so a union with objects has only the common methods.
        return _COMMON_METHODS if t.is_json_data(type_) else {}
    first, *others = [get_methods(each) or {} for each in type_.options]
    return {
        name: method
        for name, method in first.items()
        if all(each.get(name) is method for each in others)
        and {*method.parameters, method.returns} <= _FIXED_TYPES.keys()
    }


def list_method_names() -> frozenset[str]:
    """Return the method names of all types, for calls on values of unknown type."""
    return frozenset[str]().union(TEXT_METHODS, NUMBER_METHODS, ARRAY_METHODS, OBJECT_METHODS)
