"""Methods that are compiled to what Python has itself for them."""

from __future__ import annotations

import ast
from typing import cast

from antiphon.lang.check.types import NUMBER, TEXT, Array, Map, Object, Type
from antiphon.lang.compile import emit
from antiphon.lang.compile.arithmetic import rounding
from antiphon.lang.compile.emit import Place
from antiphon.lang.compile.guards import is_a, may_come_first, once
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
    if kind == NUMBER and name in ("floor", "ceil", "round", "toFixed"):
        return rounding(c, name, n.reached(node), value, arguments, place)
    if isinstance(kind, Map) and name == "get":
        return emit.method(value, name, arguments, place)
    if isinstance(kind, Map | Object) and name == "has" and may_come_first(arguments[0], value):
        return emit.compare(arguments[0], _IN, value, place)
    return None


def _text_method(name: str, value: ast.expr, arguments: list[ast.expr], place: Place) -> ast.expr | None:
    if name in _TEXT_DIRECT:
        return emit.method(value, _TEXT_DIRECT[name], arguments, place)
    if name == "includes" and may_come_first(arguments[0], value):
        return emit.compare(arguments[0], _IN, value, place)
    if name != "split" or not all(isinstance(each, ast.Constant) for each in arguments):
        return None
    if any(isinstance(each, ast.Constant) and each.value == "" for each in arguments):
        return emit.call("_vlist", [value], place)
    return emit.method(value, name, arguments, place)


def _array_method(
    c: Compiler, kind: Array, name: str, value: ast.expr, arguments: list[ast.expr], place: Place
) -> ast.expr | None:
    if name == "push":
        return emit.method(value, "append", arguments, place)
    if name == "pop":
        return emit.method(value, name, arguments, place)
    if name == "join" and kind.item == TEXT and len(arguments) == 1 and may_come_first(arguments[0], value):
        return emit.method(arguments[0], "join", [value], place)
    if name == "includes" and kind.item in (TEXT, NUMBER) and may_come_first(arguments[0], value):
        return emit.compare(arguments[0], _IN, value, place)
    if name == "indexOf" and kind.item in (TEXT, NUMBER):
        return emit.call("_vplaceof", [value, *arguments], place)
    if name == "sum" and kind.item == NUMBER:
        return emit.call("_vsum", [value], place)
    if name == "sort" and kind.item in (TEXT, NUMBER) and not arguments:
        return emit.call("_vsort", [value], place)
    if name == "unique" and kind.item in (TEXT, NUMBER):
        once_each = emit.method(emit.name("_vdict", place), "fromkeys", [value], place)
        return emit.call("_vlist", [once_each], place)
    if name in ("min", "max") and kind.item in (TEXT, NUMBER):
        return _extreme(c, name, value, place)
    return None


def _extreme(c: Compiler, name: str, value: ast.expr, place: Place) -> ast.expr:
    first, value = once(c, value, place)
    found, none = emit.call(f"_v{name}", [value], place), emit.call(f"_vm_array_{name}", [value], place)
    return emit.either(first, found, none, place)
