"""Compile assignments to names, members and items."""

from __future__ import annotations

import ast

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.compiler import Compiler, get_expression_type
from antiphon.lang.codegen.declarations import mark_private_span, wrap_if_private
from antiphon.lang.codegen.members import compile_index
from antiphon.lang.codegen.operators import compile_operation
from antiphon.lang.codegen.purity import is_pure_expression
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.codegen.type_guards import make_class_of
from antiphon.lang.codegen.width_subtyping import check_field_name
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.assignability import is_assignable
from antiphon.lang.typecheck.types import (
    JSON,
    NUMBER,
    TEXT,
    AIResultType,
    Array,
    Map,
    Object,
    Type,
    get_base_type,
    strip_ai_result,
)

_COMPOUND_OPERATORS = {"+=": "+", "-=": "-", "*=": "*", "/=": "/", "%=": "%"}


def compile_assignment(c: Compiler, node: n.Assign) -> list[ast.stmt]:
    """Compile `target = value`."""
    target = node.target
    if isinstance(target, n.Name):
        return _compile_name_assignment(c, node, target)
    return _compile_item_assignment(c, node, target)


def _compile_name_assignment(c: Compiler, node: n.Assign, target: n.Name) -> list[ast.stmt]:
    symbol, place = target.symbol, c.place(node)
    if symbol is None:
        return []
    mark_private_span(c, symbol, node.value)
    is_seen = symbol.is_private and not is_pure_expression(c, node.value)
    if node.op == "=":
        return wrap_if_private(is_seen, [c.bind(symbol, c.cast(node.value, symbol.type), place)], place)
    both = n.Binary(node.start, node.end, _COMPOUND_OPERATORS[node.op], target, node.value)
    value = c.convert_value(
        compile_operation(c, both, None), _get_result_type(both), strip_ai_result(symbol.type), place
    )
    return wrap_if_private(is_seen, [c.bind(symbol, value, place)], place)


def _compile_item_assignment(c: Compiler, node: n.Assign, target: n.Member | n.Index) -> list[ast.stmt]:
    place = c.place(node)
    root = n.get_root_symbol(target)
    mark_private_span(c, root, node.value)
    holder, key = c.expr(target.object), _compile_key(c, target, place)
    if node.op == "=":
        value = c.cast(node.value, get_expression_type(target))
        out = _emit_store(c, target, holder, key, value, place)
    else:
        out = _compile_compound_assignment(c, node, target, holder, key, place)
    return wrap_if_private(root is not None and root.is_private, out, place)


def _compile_key(c: Compiler, target: n.Member | n.Index, place: SourceLocation) -> ast.expr:
    """Compile the key by which Python finds the member or item."""
    if isinstance(target, n.Member):
        return emit.make_constant(target.name, place)
    key = c.expr(target.index)
    if isinstance(kind := get_base_type(get_expression_type(target.object)), Object):
        return check_field_name(key, kind, place)
    return (
        compile_index(c, target.index, key, place)
        if isinstance(get_expression_type(target.object), Array) and _has_python_assignment(target)
        else key
    )


def _has_python_assignment(target: n.Member | n.Index) -> bool:
    """Return True if Python's own item assignment does what the language says."""
    type_ = get_expression_type(target.object)
    if isinstance(target, n.Member):
        return isinstance(type_, Object)
    index = get_expression_type(target.index)
    if isinstance(type_, Map):
        return get_base_type(index) == TEXT and not isinstance(index, AIResultType)
    return isinstance(type_, Array) and get_base_type(index) == NUMBER and not isinstance(index, AIResultType)


def _compile_compound_assignment(
    c: Compiler, node: n.Assign, target: n.Member | n.Index, holder: ast.expr, key: ast.expr, place: SourceLocation
) -> list[ast.stmt]:
    """Compile `target += value` and the like for a member or an item."""
    both = n.Binary(node.start, node.end, _COMPOUND_OPERATORS[node.op], target, node.value)
    result, wanted = _get_result_type(both), get_expression_type(target)
    if _has_python_assignment(target) and result == wanted and result in (NUMBER, TEXT) and both.op in ("+", "-", "*"):
        value = compile_operation(c, both, emit.make_item(holder, key, place))
        assert isinstance(value, ast.BinOp)
        return [set_location(ast.AugAssign(emit.make_item_target(holder, key, place), value.op, value.right), place)]
    held, index = c.make_temporary(), c.make_temporary()
    out = [emit.make_assignment(held, holder, place), emit.make_assignment(index, key, place)]
    holder, key = emit.make_name(held, place), emit.make_name(index, place)
    read = (
        emit.make_item(holder, key, place)
        if _has_python_assignment(target)
        else emit.make_global_call("_vitem", [holder, key], place)
    )
    value = c.convert_value(compile_operation(c, both, read), result, wanted, place)
    return out + _emit_store(c, target, holder, key, value, place)


def _emit_store(
    c: Compiler, target: n.Member | n.Index, holder: ast.expr, key: ast.expr, value: ast.expr, place: SourceLocation
) -> list[ast.stmt]:
    if _has_python_assignment(target):
        return [emit.make_item_assignment(holder, key, value, place)]
    if isinstance(target, n.Index):
        # The value is evaluated first, as in Python.
        new = c.make_temporary()
        put = emit.make_global_call("_vsetitem", [holder, key, emit.make_name(new, place)], place)
        return [emit.make_assignment(new, value, place), emit.make_expression_statement(put, place)]
    return _emit_member_store(c, holder, key, value, place)


def _emit_member_store(
    c: Compiler, holder: ast.expr, key: ast.expr, value: ast.expr, place: SourceLocation
) -> list[ast.stmt]:
    """Compile `holder.key = value` for a holder of unknown type: direct for a plain dict."""
    held, new = c.make_temporary(), c.make_temporary()
    test = emit.make_comparison(
        make_class_of(emit.make_name(held, place), place), ast.Is(), emit.make_name("_vdict", place), place
    )
    slow = emit.make_global_call("_vsetmember", [emit.make_name(held, place), key, emit.make_name(new, place)], place)
    quick = emit.make_item_assignment(emit.make_name(held, place), key, emit.make_name(new, place), place)
    return [
        emit.make_assignment(new, value, place),
        emit.make_assignment(held, holder, place),
        set_location(ast.If(test, [quick], [emit.make_expression_statement(slow, place)]), place),
    ]


def _get_result_type(both: n.Binary) -> Type:
    """Return the type of the operation in a compound assignment."""
    one, two = get_base_type(get_expression_type(both.left)), get_base_type(get_expression_type(both.right))
    if both.op == "+" and TEXT in (one, two):
        return TEXT
    if one == two and one == NUMBER:
        return one
    if both.op == "+" and isinstance(one, Array) and is_assignable(two, one, certain=True):
        return one
    return JSON
