"""Compile the iterables of loops."""

from __future__ import annotations

import ast

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.compiler import Compiler, get_expression_type
from antiphon.lang.codegen.copy_insertion import needs_json_copy
from antiphon.lang.codegen.number_inference import is_integer
from antiphon.lang.codegen.width_subtyping import hide_extra_fields
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.types import JSON, AIResultType, Array, Map, Object, get_base_type


def compile_iterable(c: Compiler, node: n.Expr) -> ast.expr:
    """Compile what a `for` iterates over."""
    type_ = get_expression_type(node)
    if isinstance(node, n.Range):
        return compile_range_iterable(c, node)
    if isinstance(type_, Array):
        return c.expr(node)
    value = c.expr(node)
    if is_integer(c, node):
        return emit.make_global_call("_vpyrange", [value], c.place(node))
    if isinstance(type_, AIResultType):
        # An answer declared as an array is one; the type checker has rejected all others.
        value = emit.make_global_call("_vunwrap", [value], c.place(node))
    return emit.make_global_call("_viter", [value], c.place(node))


def compile_entries(c: Compiler, node: n.For) -> ast.expr:
    """Compile the keys and values that a `for` with two names iterates over.

    If the body could change the keys, the loop iterates over a snapshot.
    """
    place, type_ = c.place(node.iterable), get_expression_type(node.iterable)
    value = c.expr(node.iterable)
    if isinstance(type_, Map):
        value = emit.make_method_call(value, "items", [], place)
    else:
        value = hide_extra_fields(value, get_base_type(type_), place)
        if node.value is not None and node.value.symbol is not None and node.value.symbol.type == JSON:
            # The values have the type `json` in the loop.
            value = emit.make_global_call("_vcopy", [value], place) if needs_json_copy(node.iterable, JSON) else value
        is_known = isinstance(type_, Object)
        value = (
            emit.make_method_call(value, "items", [], place)
            if is_known
            else emit.make_global_call("_ventries", [value], place)
        )
    may_change = any(_can_change_keys(each, node) for each in n.walk(node.body))
    return emit.make_global_call("_vlist", [value], place) if may_change else value


def _can_change_keys(node: n.Node, loop: n.For) -> bool:
    """Return True if a node in the body of a loop may add or remove keys of its iterable."""
    if isinstance(node, n.Assign):
        return not isinstance(node.target, n.Name) and not _is_current_entry(node.target, loop)
    if not isinstance(node, n.Call):
        return isinstance(node, n.PyBlock)
    if isinstance(node.callee, n.Member):
        return node.callee.name == "remove"
    return not (isinstance(node.callee, n.Name) and node.callee.symbol and node.callee.symbol.kind == "builtin")


def _is_current_entry(target: n.Member | n.Index, loop: n.For) -> bool:
    """Return True if the target is the loop's current entry, whose key exists already."""
    through = loop.iterable.symbol if isinstance(loop.iterable, n.Name) else None
    match target:
        case n.Index(object=n.Name(symbol=holder), index=n.Name(symbol=key)):
            return holder is not None and holder is through and key is loop.symbol
        case _:
            return False


def compile_range_iterable(c: Compiler, node: n.Range) -> ast.expr:
    """Compile a range that is iterated over, without making an array."""
    place, first, last = c.place(node), c.expr(node.first), c.expr(node.last)
    if not is_integer(c, node.first) or not is_integer(c, node.last):
        return emit.make_global_call("_vspan", [first, last], place)
    end = emit.make_binary(last, ast.Add(), emit.make_constant(1, place), place)
    if isinstance(last, ast.Constant) and isinstance(last.value, int):
        end = emit.make_constant(last.value + 1, place)
    return emit.make_global_call("_vpyrange", [first, end], place)
