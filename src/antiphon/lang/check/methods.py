"""The built-in functions, and the methods of text, numbers, arrays and objects: their signatures.

Types are written as in the language; `T` is the item of the array, `self` its own type. What they do is in `library`.
"""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.lang.check.types import BOOLEAN, JSON, NULL, NUMBER, TEXT, Array, Type


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
    "split": Method("The parts between a separator; without one, the words.", ("text",), 0, "text[]"),
    "lines": Method("The lines, without their ends.", returns="text[]"),
    "replace": Method("With every occurrence of the first text replaced by the second.", ("text", "text"), 2),
    "includes": Method("Whether it holds the other text.", ("text",), 1, "boolean"),
    "startsWith": Method("Whether it begins with the other text.", ("text",), 1, "boolean"),
    "endsWith": Method("Whether it ends with the other text.", ("text",), 1, "boolean"),
    "indexOf": Method("Where the other text begins, -1 if it is not in it.", ("text",), 1, "number"),
    "slice": Method("From one position up to another, as `[a:b]`.", ("number", "number"), 1),
    "repeat": Method("So many times in a row.", ("number",), 1),
    "padStart": Method("Filled up at the start to so many characters.", ("number", "text"), 1),
    "padEnd": Method("Filled up at the end to so many characters.", ("number", "text"), 1),
    "toNumber": Method("The number it says; an error if it says none.", returns="number"),
}
NUMBER_METHODS = {
    **_EVERYWHERE,
    "round": Method(
        "The nearest number with so many digits after the point; without, whole.", ("number",), 0, "number"
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
    "pop": Method("Take the last item away, and give it.", returns="T", mutates=True),
    "insert": Method("Put an item before the one at a position.", ("number", "T"), 2, "null", mutates=True),
    "remove": Method("Take the item at a position away, and give it.", ("number",), 1, "T", mutates=True),
    "sort": Method("Sort in place, by a field if one is named; gives the array.", ("text",), 0, mutates=True),
    "reverse": Method("Turn around in place; gives the array.", mutates=True),
    "join": Method("The items as one text, with a separator between them.", ("text",), 0, "text"),
    "slice": Method("From one position up to another, as `[a:b]`.", ("number", "number"), 1),
    "includes": Method("Whether there is an equal item.", ("T",), 1, "boolean"),
    "indexOf": Method("Where the first equal item is, -1 if there is none.", ("T",), 1, "number"),
    "copy": Method("A copy that may be changed, to any depth."),
    "sum": Method("The sum of the numbers.", returns="number"),
    "min": Method("The smallest item.", returns="T"),
    "max": Method("The largest item.", returns="T"),
}
OBJECT_METHODS = {
    **_EVERYWHERE,
    **_COUNTED,
    "keys": Method("The names of its fields.", returns="text[]"),
    "values": Method("The values of its fields.", returns="json[]"),
    "entries": Method("Objects with `key` and `value`.", returns="json[]"),
    "has": Method("Whether there is a field of that name.", ("text",), 1, "boolean"),
    "get": Method("The field of that name; where there is none, the default or null.", ("text", "json"), 1, "json"),
    "remove": Method("Take a field away, and give its value.", ("text",), 1, "json", mutates=True),
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
}


def signature_type(name: str, receiver: Type = JSON) -> Type:
    """What a type in a signature means for this receiver."""
    if name == "self":
        return receiver
    if name == "T":
        return receiver.item if isinstance(receiver, Array) else JSON
    return _TYPES[name]


def methods_of(type_: Type) -> dict[str, Method] | None:
    """The methods of a type; `None` for `json`, of which nothing is known."""
    from antiphon.lang.check.types import Object, base

    kind = base(type_)
    if isinstance(kind, Array):
        return ARRAY_METHODS
    if isinstance(kind, Object):
        return OBJECT_METHODS
    known: dict[Type, dict[str, Method]] = {TEXT: TEXT_METHODS, NUMBER: NUMBER_METHODS, BOOLEAN: BOOLEAN_METHODS}
    return known.get(kind)


def all_method_names() -> frozenset[str]:
    """Every method name of any type, for calls on values of which nothing is known."""
    return frozenset[str]().union(TEXT_METHODS, NUMBER_METHODS, ARRAY_METHODS, OBJECT_METHODS)
