"""Methods that are compiled to what Python has itself for them."""

from __future__ import annotations

import ast
from typing import cast

from antiphon.lang.check.sharing import holds_values
from antiphon.lang.check.types import NUMBER, TEXT, Array, Map, Object, Type, is_mutable
from antiphon.lang.compile import emit
from antiphon.lang.compile.arithmetic import rounding
from antiphon.lang.compile.emit import Place
from antiphon.lang.compile.guards import may_come_first, once
from antiphon.lang.compile.literals import number_text
from antiphon.lang.compile.members import is_number, is_sequence, whole
from antiphon.lang.compile.state import Compiler
from antiphon.lang.syntax import nodes as n

_IN = ast.In()
#: Methods of text that are Python's own.
_TEXT_DIRECT = {
    "upper": "upper",
    "lower": "lower",
    "trim": "strip",
    "startsWith": "startswith",
    "endsWith": "endswith",
    "replace": "replace",
    "indexOf": "find",
}


def direct_method(
    c: Compiler, node: n.Call, kind: Type, value: ast.expr, arguments: list[ast.expr], place: Place
) -> ast.expr | None:
    """The same as Python's own method, where there is one."""
    name = cast(n.Member, node.callee).name
    if kind == NUMBER and name == "toString":
        return number_text(c, n.reached(node), value, place)
    if name == "len":
        return emit.call("_vpylen", [value], place)
    if name == "slice" and is_sequence(kind) and all(map(is_number, node.arguments)):
        bounds = [whole(c, each, given, place) for each, given in zip(node.arguments, arguments, strict=True)]
        return emit.part(value, [*bounds, *[None] * (2 - len(bounds))], place)
    if kind == TEXT:
        return _text_method(name, value, arguments, place)
    if isinstance(kind, Array):
        return _array_method(c, kind, name, value, arguments, place)
    if kind == NUMBER and name in ("floor", "ceil", "round"):
        return rounding(c, name, n.reached(node), value, arguments, place)
    if isinstance(kind, Map) and name == "get":
        return emit.method(value, name, arguments, place)
    if isinstance(kind, Map | Object) and name == "keys":
        return emit.call("_vlist", [value], place)
    if isinstance(kind, Map | Object) and name == "values" and not _is_loose(kind):
        return emit.call("_vlist", [emit.method(value, name, [], place)], place)
    if isinstance(kind, Map | Object) and name == "has" and may_come_first(arguments[0], value):
        return emit.compare(arguments[0], _IN, value, place)
    return None


def _text_method(name: str, value: ast.expr, arguments: list[ast.expr], place: Place) -> ast.expr | None:
    if name in _TEXT_DIRECT:
        return emit.method(value, _TEXT_DIRECT[name], arguments, place)
    if name == "includes" and may_come_first(arguments[0], value):
        return emit.compare(arguments[0], _IN, value, place)
    if name in _PADDING and _is_width(arguments[0]) and all(map(_is_one_character, arguments[1:])):
        return emit.method(value, _PADDING[name], arguments, place)
    if name == "split":
        return _split(value, arguments, place)
    if name == "repeat" and isinstance(value, ast.Name | ast.Constant):
        return _repeated(value, arguments[0], place)
    return None


#: Widths up to this need no look at how long a text gets.
_WIDE = 100_000
_PADDING = {"padStart": "rjust", "padEnd": "ljust"}


def _is_width(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value <= _WIDE


def _is_one_character(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) == 1


def _repeated(value: ast.expr, count: ast.expr, place: Place) -> ast.expr | None:
    """A text so many times in a row, where that does not get too long."""
    if not isinstance(count, ast.Constant) or type(count.value) is not int or not 0 < count.value <= _WIDE:
        return None
    most = emit.constant(_WIDE // count.value, place)
    is_short = emit.compare(emit.call("_vpylen", [value], place), ast.LtE(), most, place)
    quick, slow = emit.binary(value, ast.Mult(), count, place), emit.call("_vm_text_repeat", [value, count], place)
    return emit.either(is_short, quick, slow, place)


def _split(value: ast.expr, arguments: list[ast.expr], place: Place) -> ast.expr | None:
    """Python splits at no empty text: in the language that gives the characters."""
    separator = arguments[0] if arguments else None
    if isinstance(separator, ast.Constant) and separator.value == "":
        return emit.call("_vlist", [value], place)
    split = emit.method(value, "split", arguments, place)
    if separator is None or isinstance(separator, ast.Constant):
        return split
    if not isinstance(separator, ast.Name) or not isinstance(value, ast.Name | ast.Constant):
        return None
    return emit.either(separator, split, emit.call("_vlist", [value], place), place)


def _array_method(
    c: Compiler, kind: Array, name: str, value: ast.expr, arguments: list[ast.expr], place: Place
) -> ast.expr | None:
    if name == "push":
        return emit.method(value, "append", arguments, place)
    if name == "pop":
        return emit.method(value, name, arguments, place)
    if name == "copy" and holds_values(kind):
        return emit.call("_vlist", [value], place)
    if name == "join" and kind.item == TEXT:
        separator = arguments[0] if arguments else emit.constant(",", place)
        return emit.method(separator, "join", [value], place) if may_come_first(separator, value) else None
    if name == "includes" and kind.item in (TEXT, NUMBER):
        if may_come_first(arguments[0], value):
            return emit.compare(arguments[0], _IN, value, place)
        return emit.call("_vcontains", [value, *arguments], place)
    if name == "indexOf" and kind.item in (TEXT, NUMBER):
        return emit.call("_vplaceof", [value, *arguments], place)
    if name == "sum" and kind.item == NUMBER:
        return emit.call("_vsum", [value], place)
    if name == "sort" and kind.item in (TEXT, NUMBER) and not arguments:
        return emit.call("_vsort", [value], place)
    if name == "sort" and arguments and _has_order(kind.item, arguments[0]):
        return emit.call("_vsortfield", [value, *arguments], place)
    if name == "unique" and kind.item in (TEXT, NUMBER):
        once_each = emit.method(emit.name("_vdict", place), "fromkeys", [value], place)
        return emit.call("_vlist", [once_each], place)
    if name in ("min", "max") and kind.item in (TEXT, NUMBER):
        return _extreme(c, name, value, place)
    return None


def _is_loose(kind: Map | Object) -> bool:
    """Whether what the fields of an object give has to be copied."""
    return isinstance(kind, Object) and any(is_mutable(each.type) for each in kind.fields.values())


def _has_order(type_: Type, name: ast.expr) -> bool:
    """Whether objects have a field that is a number, or a text, for certain."""
    if not isinstance(type_, Object) or not isinstance(name, ast.Constant):
        return False
    field = type_.fields.get(str(name.value))
    return field is not None and not field.optional and field.type in (TEXT, NUMBER)


def _extreme(c: Compiler, name: str, value: ast.expr, place: Place) -> ast.expr:
    first, value = once(c, value, place)
    found, none = emit.call(f"_v{name}", [value], place), emit.call(f"_vm_array_{name}", [value], place)
    return emit.either(first, found, none, place)
