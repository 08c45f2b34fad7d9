"""Assignments to names, members and items, compiled."""

from __future__ import annotations

import ast

from antiphon.lang.check.fitting import assignable
from antiphon.lang.check.types import AI, JSON, NUMBER, TEXT, Array, Map, Object, Type, base, plain
from antiphon.lang.compile import emit
from antiphon.lang.compile.computing import is_quiet
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
    is_seen = symbol.is_private and not is_quiet(c, node.value)
    if node.op == "=":
        return sealed(is_seen, [c.bind(symbol, c.cast(node.value, symbol.type), place)], place)
    both = n.Binary(node.start, node.end, _COMPOUND[node.op], target, node.value)
    value = c.fitted(operation(c, both, None), _result(both), plain(symbol.type), place)
    return sealed(is_seen, [c.bind(symbol, value, place)], place)


def _assign_inside(c: Compiler, node: n.Assign, target: n.Member | n.Index) -> list[ast.stmt]:
    place = c.place(node)
    root = n.root_symbol(target)
    hide(c, root, node.value)
    holder, key = c.expr(target.object), _key(c, target, place)
    if node.op == "=":
        value = c.cast(node.value, type_of(target))
        out = _store(c, target, holder, key, value, place)
    else:
        out = _change(c, node, target, holder, key, place)
    return sealed(root is not None and root.is_private, out, place)


def _key(c: Compiler, target: n.Member | n.Index, place: Place) -> ast.expr:
    """What Python finds the place by."""
    if isinstance(target, n.Member):
        return emit.constant(target.name, place)
    key = c.expr(target.index)
    if isinstance(kind := base(type_of(target.object)), Object):
        return named_field(key, kind, place)
    return (
        whole(c, target.index, key, place) if isinstance(type_of(target.object), Array) and _is_known(target) else key
    )


def _is_known(target: n.Member | n.Index) -> bool:
    """Whether Python's own assignment to an item does it."""
    type_ = type_of(target.object)
    if isinstance(target, n.Member):
        return isinstance(type_, Object)
    index = type_of(target.index)
    if isinstance(type_, Map):
        return base(index) == TEXT and not isinstance(index, AI)
    return isinstance(type_, Array) and base(index) == NUMBER and not isinstance(index, AI)


def _change(
    c: Compiler, node: n.Assign, target: n.Member | n.Index, holder: ast.expr, key: ast.expr, place: Place
) -> list[ast.stmt]:
    """`target += value`."""
    both = n.Binary(node.start, node.end, _COMPOUND[node.op], target, node.value)
    result, wanted = _result(both), type_of(target)
    if _is_known(target) and result == wanted and result in (NUMBER, TEXT) and both.op in ("+", "-", "*"):
        value = operation(c, both, emit.item(holder, key, place))
        assert isinstance(value, ast.BinOp)
        return [at(ast.AugAssign(emit.item_target(holder, key, place), value.op, value.right), place)]
    held, index = c.temporary(), c.temporary()
    out = [emit.assign(held, holder, place), emit.assign(index, key, place)]
    holder, key = emit.name(held, place), emit.name(index, place)
    read = emit.item(holder, key, place) if _is_known(target) else emit.call("_vitem", [holder, key], place)
    value = c.fitted(operation(c, both, read), result, wanted, place)
    return out + _store(c, target, holder, key, value, place)


def _store(
    c: Compiler, target: n.Member | n.Index, holder: ast.expr, key: ast.expr, value: ast.expr, place: Place
) -> list[ast.stmt]:
    if _is_known(target):
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
