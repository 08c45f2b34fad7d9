"""Purity: expressions that ask no model or human, directly or through calls."""

from __future__ import annotations

from antiphon.lang.codegen.compiler import Compiler, get_expression_type
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.method_calls import find_field_function
from antiphon.lang.typecheck.symbols import Symbol

_ASKING_NODES = frozenset((n.ModelCall, n.AskHuman, n.AsyncFor, n.PyBlock, n.AsyncAsk))


def is_ask_free(c: Compiler, root: n.Node) -> bool:
    """Return True if neither a node nor a function it names asks anyone who sees variables, or notes anything."""
    seen: set[Symbol] = set()
    todo: list[n.Node] = [root]
    reached: list[Symbol] = []
    while todo:
        for node in n.walk(todo.pop()):
            if not _is_ask_free_node(node):
                return False
            if isinstance(node, n.Name) and node.symbol is not None and isinstance(node.symbol.type, t.CallableType):
                reached.append(node.symbol)
        for symbol in reached:
            if symbol in seen or symbol in c.ask_free_functions or symbol.kind == "builtin":
                continue
            if symbol.kind != "function" or not isinstance(symbol.node, n.Function):
                return False
            seen.add(symbol)
            todo.append(symbol.node)
        reached.clear()
    c.ask_free_functions |= seen
    return True


def is_pure_expression(c: Compiler, node: n.Expr | None) -> bool:
    """Return True if a value is computed without any effect: only by methods of texts, numbers, arrays and maps."""
    return node is None or (not c.is_concurrent and all(map(_is_pure_node, n.walk(node))))


def _is_pure_node(node: n.Node) -> bool:
    if isinstance(node, n.Call):
        callee = node.callee
        kind = get_expression_type(callee.object) if isinstance(callee, n.Member) else t.JSON
        return kind in (t.TEXT, t.NUMBER) or isinstance(kind, t.Array | t.Map)
    if isinstance(node, n.Name):
        return node.symbol is None or not isinstance(node.symbol.type, t.CallableType)
    return node.__class__ not in _ASKING_NODES and node.__class__ is not n.Lambda


def _is_ask_free_node(node: n.Node) -> bool:
    kind = node.__class__
    if kind in _ASKING_NODES:
        return False
    if isinstance(node, n.Let | n.Destructure):
        return not node.is_async
    if isinstance(node, n.Name):
        return node.symbol is None or node.symbol.kind != "builtin" or node.symbol.name != "note"
    if not isinstance(node, n.Call):
        return True
    if isinstance(node.callee, n.Name):
        return node.callee.symbol is not None and node.callee.symbol.kind in ("function", "builtin")
    return (
        isinstance(node.callee, n.Member)
        and find_field_function(get_expression_type(node.callee.object), node.callee.name) is None
    )
