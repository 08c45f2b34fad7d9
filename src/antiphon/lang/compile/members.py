"""Members, items and parts of values, compiled."""

from __future__ import annotations

import ast

from antiphon.lang.check.types import (
    AI,
    AI_NAMES,
    JSON,
    NUMBER,
    TEXT,
    Array,
    Map,
    Object,
    Type,
    Union,
    base,
    without_null,
)
from antiphon.lang.compile import emit
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.guards import is_a
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.compile.views import of_fields, picked
from antiphon.lang.compile.wholes import is_whole
from antiphon.lang.syntax import nodes as n

_IN = ast.In()


def member(c: Compiler, node: n.Member, value: ast.expr, lenient: bool, place: Place) -> ast.expr:
    """`value.name`; null where it is missing and that is `lenient`."""
    type_, name = type_of(node.object), node.name
    key = emit.constant(name, place)
    if isinstance(type_, AI):
        if name in AI_NAMES:
            return emit.call("_vai", [value, key], place)
        value, type_ = emit.call("_vunwrap", [value], place), type_.inner
    kind = base(without_null(type_)) if node.optional else base(type_)
    if isinstance(kind, Union) and all(isinstance(each, Object) and _has(each, name) for each in kind.options):
        return emit.item(value, key, place)
    if isinstance(kind, Object) and name in kind.fields:
        if kind.fields[name].optional:
            return emit.method(value, "get", [key], place)
        return emit.item(value, key, place)
    if name == "length" and (kind == TEXT or isinstance(kind, Array | Object | Map)):
        return emit.call("_vpylen", [picked(value, kind, place)], place)
    if lenient:
        return emit.call("_voptional", [value, key], place)
    test, value = is_a(c, value, "_vdict", place)
    there = at(ast.BoolOp(ast.And(), [test, emit.compare(key, _IN, value, place)]), place)
    return emit.either(there, emit.item(value, key, place), emit.call("_vmember", [value, key], place), place)


def _has(type_: Type, name: str) -> bool:
    return isinstance(type_, Object) and name in type_.fields and not type_.fields[name].optional


def item(c: Compiler, node: n.Index, value: ast.expr, lenient: bool, place: Place) -> ast.expr:
    """`value[key]`; null where there is no such field and that is `lenient`."""
    key, type_ = c.expr(node.index), type_of(node.object)
    type_ = without_null(type_) if node.optional else type_
    if isinstance(type_, Map) and base(type_of(node.index)) == TEXT and not isinstance(type_of(node.index), AI):
        return emit.method(value, "get", [key], place) if lenient else emit.item(value, key, place)
    if is_sequence(type_) and type_of(node.index) != JSON and base(type_of(node.index)) == NUMBER:
        return emit.item(value, whole(c, node.index, key, place), place)
    if isinstance(key, ast.Constant) and key.value.__class__ is int and not lenient:
        test, value = is_a(c, value, "_vlist", place)
        return emit.either(test, emit.item(value, key, place), emit.call("_vitem", [value, key], place), place)
    kind = base(type_)
    if isinstance(kind, Object) and not isinstance(key, ast.Constant):
        value = picked(value, kind, place)
    found = emit.call("_voptionalitem" if lenient else "_vitem", [value, key], place)
    return of_fields(found, kind, type_of(node), place) if isinstance(kind, Object) else found


def part(c: Compiler, node: n.Slice, value: ast.expr, place: Place) -> ast.expr:
    """`value[first:last:step]`."""
    bounds = [node.first, node.last, node.step]
    kind = type_of(node.object)
    kind = without_null(kind) if node.optional else kind
    if _is_step(node.step) and is_sequence(kind) and all(map(is_number, bounds)):
        found = [None if each is None else whole(c, each, c.expr(each), place) for each in bounds]
        return emit.part(value, found, place)
    return emit.call(
        "_vpart", [value, *(c.expr(each) if each else emit.constant(None, place) for each in bounds)], place
    )


def _is_step(node: n.Expr | None) -> bool:
    """Whether a step is none, or written out and not 0."""
    if isinstance(node, n.Unary):
        node = node.operand
    return node is None or (isinstance(node, n.NumberLit) and type(node.value) is int and node.value != 0)


def whole(c: Compiler, node: n.Expr, key: ast.expr, place: Place) -> ast.expr:
    """A number as an index: one that is whole but was computed with fractions, such as 0.5 * 4, is one too."""
    if is_whole(c, node):
        return key
    test, key = is_a(c, key, "_vint", place)
    return emit.either(test, key, emit.call("_vwhole", [key], place), place)


def is_sequence(type_: Type) -> bool:
    """Whether Python's own way to take an item or a part is the language's."""
    return isinstance(type_, Array) or (base(type_) == TEXT and not isinstance(type_, AI))


def is_number(node: n.Expr | None) -> bool:
    """Whether a bound is known to be a number, or left out."""
    return node is None or (base(type_of(node)) == NUMBER and not isinstance(type_of(node), AI))
