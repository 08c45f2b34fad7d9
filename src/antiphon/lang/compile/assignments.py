"""Assignments to names, members and items, compiled."""

from __future__ import annotations

import ast

from antiphon.lang.check.types import JSON, NUMBER, TEXT, Array, Map, Object, Type, assignable, base, plain
from antiphon.lang.compile import emit
from antiphon.lang.compile.declarations import hide, sealed
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.guards import class_of
from antiphon.lang.compile.members import whole
from antiphon.lang.compile.operators import operation
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.compile.views import named_field
from antiphon.lang.syntax import nodes as n

_COMPOUND = {"+=": "+", "-=": "-", "*=": "*", "/=": "/", "%=": "%"}


def assign(c: Compiler, node: n.Assign) -> list[ast.stmt]:
    """`target = value`."""
    target = node.target
    if isinstance(target, n.Name):
        return _assign_name(c, node, target)
    return _assign_inside(c, node, target)


def _assign_name(c: Compiler, node: n.Assign, target: n.Name) -> list[ast.stmt]:
    symbol, place = target.symbol, c.place(node)
    if symbol is None:
        return []
    hide(c, symbol, node.value)
    if node.op == "=":
        return sealed(symbol.is_private, [c.bind(symbol, c.cast(node.value, symbol.type, symbol), place)], place)
    both = n.Binary(node.start, node.end, _COMPOUND[node.op], target, node.value)
    value = c.fitted(operation(c, both, None), _result(both), plain(symbol.type), place)
    return sealed(symbol.is_private, [c.bind(symbol, value, place)], place)


def _assign_inside(c: Compiler, node: n.Assign, target: n.Member | n.Index) -> list[ast.stmt]:
    place = c.place(node)
    out: list[ast.stmt] = []
    root = n.root_symbol(target)
    hide(c, root, node.value)
    holder = c.expr(target.object)
    place_type = type_of(target)
    key: ast.expr
    if isinstance(target, n.Member):
        key = emit.constant(target.name, place)
    else:
        key = c.expr(target.index)
        if isinstance(kind := base(type_of(target.object)), Object):
            key = named_field(key, kind, place)
    if node.op == "=":
        value = c.cast(node.value, place_type)
    else:
        held, index = c.temporary(), c.temporary()
        out += [emit.assign(held, holder, place), emit.assign(index, key, place)]
        holder, key = emit.name(held, place), emit.name(index, place)
        read = _read(target, held, index, place)
        both = n.Binary(node.start, node.end, _COMPOUND[node.op], target, node.value)
        value = c.fitted(operation(c, both, read), _result(both), place_type, place)
    return sealed(root is not None and root.is_private, out + _store(c, target, holder, key, value, place), place)


def _read(target: n.Member | n.Index, held: str, index: str, place: Place) -> ast.expr:
    holder, key = emit.name(held, place), emit.name(index, place)
    if isinstance(type_of(target.object), Map):
        return emit.item(holder, key, place)
    return emit.call("_vitem", [holder, key], place)


def _store(
    c: Compiler, target: n.Member | n.Index, holder: ast.expr, key: ast.expr, value: ast.expr, place: Place
) -> list[ast.stmt]:
    type_ = type_of(target.object)
    known = isinstance(type_, Object) if isinstance(target, n.Member) else isinstance(type_, Array)
    if known and isinstance(target, n.Index):
        known = base(type_of(target.index)) == NUMBER
    if isinstance(target, n.Index) and isinstance(type_, Map) and type_of(target.index) == TEXT:
        return [emit.assign_item(holder, key, value, place)]
    if known:
        key = whole(c, target.index, key, place) if isinstance(target, n.Index) else key
        return [emit.assign_item(holder, key, value, place)]
    if isinstance(target, n.Index):
        # The value comes first, as in Python.
        new = c.temporary()
        put = emit.call("_vsetitem", [holder, key, emit.name(new, place)], place)
        return [emit.assign(new, value, place), emit.expression(put, place)]
    return _store_member(c, holder, key, value, place)


def _store_member(c: Compiler, holder: ast.expr, key: ast.expr, value: ast.expr, place: Place) -> list[ast.stmt]:
    """`holder.key = value` where nothing is known of the holder: quick for an object that may be changed."""
    held, new = c.temporary(), c.temporary()
    test = emit.compare(class_of(emit.name(held, place), place), ast.Is(), emit.name("_vdict", place), place)
    slow = emit.call("_vsetmember", [emit.name(held, place), key, emit.name(new, place)], place)
    quick = emit.assign_item(emit.name(held, place), key, emit.name(new, place), place)
    return [
        emit.assign(new, value, place),
        emit.assign(held, holder, place),
        at(ast.If(test, [quick], [emit.expression(slow, place)]), place),
    ]


def _result(both: n.Binary) -> Type:
    """The type of a compound assignment's operation."""
    one, two = base(type_of(both.left)), base(type_of(both.right))
    if both.op == "+" and TEXT in (one, two):
        return TEXT
    if one == two and one == NUMBER:
        return one
    if both.op == "+" and isinstance(one, Array) and assignable(two, one, certain=True):
        return one
    return JSON
