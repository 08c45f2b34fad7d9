"""What a loop goes through, compiled."""

from __future__ import annotations

import ast

from antiphon.lang.check.types import AI, JSON, Array, Map, Object, base
from antiphon.lang.compile import emit
from antiphon.lang.compile.copies import goes_into_json
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.compile.views import picked
from antiphon.lang.compile.wholes import is_whole
from antiphon.lang.syntax import nodes as n


def iterable(c: Compiler, node: n.Expr) -> ast.expr:
    """What a `for` goes through."""
    type_ = type_of(node)
    if isinstance(node, n.Range):
        return span(c, node)
    if isinstance(type_, Array):
        return c.expr(node)
    value = c.expr(node)
    if is_whole(c, node):
        return emit.call("_vpyrange", [value], c.place(node))
    if isinstance(type_, AI):
        # An answer declared as an array is one; of any other the checker has complained.
        value = emit.call("_vunwrap", [value], c.place(node))
    return emit.call("_viter", [value], c.place(node))


def entries(c: Compiler, node: n.For) -> ast.expr:
    """The keys and values that a `for` with two names goes through.

    Where the loop could change what it goes through, it goes through those that were there when it began.
    """
    place, type_ = c.place(node.iterable), type_of(node.iterable)
    value = c.expr(node.iterable)
    if isinstance(type_, Map):
        value = emit.method(value, "items", [], place)
    else:
        value = picked(value, base(type_), place)
        if node.value is not None and node.value.symbol is not None and node.value.symbol.type == JSON:
            # What is in it is json here.
            value = emit.call("_vcopy", [value], place) if goes_into_json(node.iterable, JSON) else value
        is_known = isinstance(type_, Object)
        value = emit.method(value, "items", [], place) if is_known else emit.call("_ventries", [value], place)
    may_change = any(_may_change(each, node) for each in n.walk(node.body))
    return emit.call("_vlist", [value], place) if may_change else value


def _may_change(node: n.Node, loop: n.For) -> bool:
    """Whether a loop may gain or lose keys by what is done in it."""
    if isinstance(node, n.Assign):
        return not isinstance(node.target, n.Name) and not _is_at_key(node.target, loop)
    if not isinstance(node, n.Call):
        return isinstance(node, n.PyBlock)
    if isinstance(node.callee, n.Member):
        return node.callee.name == "remove"
    return not (isinstance(node.callee, n.Name) and node.callee.symbol and node.callee.symbol.kind == "builtin")


def _is_at_key(target: n.Member | n.Index, loop: n.For) -> bool:
    """Whether it is the item that the loop is at: its key is there already."""
    through = loop.iterable.symbol if isinstance(loop.iterable, n.Name) else None
    match target:
        case n.Index(object=n.Name(symbol=holder), index=n.Name(symbol=key)):
            return holder is not None and holder is through and key is loop.symbol
        case _:
            return False


def span(c: Compiler, node: n.Range) -> ast.expr:
    """A range, to go through."""
    place, first, last = c.place(node), c.expr(node.first), c.expr(node.last)
    if not is_whole(c, node.first) or not is_whole(c, node.last):
        return emit.call("_vspan", [first, last], place)
    end = emit.binary(last, ast.Add(), emit.constant(1, place), place)
    if isinstance(last, ast.Constant) and isinstance(last.value, int):
        end = emit.constant(last.value + 1, place)
    return emit.call("_vpyrange", [first, end], place)
