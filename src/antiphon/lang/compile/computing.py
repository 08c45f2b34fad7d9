"""What only computes: it asks nobody, and nothing that it calls does."""

from __future__ import annotations

from antiphon.lang.check.members import field_function
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import JSON, NUMBER, TEXT, Array, Map
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.syntax import nodes as n

_ASKING = frozenset((n.Ask, n.AskHuman, n.AsyncFor, n.PyBlock, n.Started))
#: What may be started meanwhile, and loops that may have a mode.
_MAY_ASK = frozenset((n.Let, n.Destructure, n.For, n.While))


def only_computes(c: Compiler, root: n.Node) -> bool:
    """Whether neither a node nor any function that it names asks somebody, or changes what models are shown."""
    seen: set[Symbol] = set()
    todo: list[n.Node] = [root]
    reached: list[Symbol] = []
    while todo:
        for node in n.walk(todo.pop()):
            if not _computes(node):
                return False
            if isinstance(node, n.Name) and node.symbol is not None and isinstance(node.symbol.type, Signature):
                reached.append(node.symbol)
        for symbol in reached:
            if symbol in seen or symbol in c.computing or symbol.kind == "builtin":
                continue
            if symbol.kind != "function" or not isinstance(symbol.node, n.Function):
                return False
            seen.add(symbol)
            todo.append(symbol.node)
        reached.clear()
    c.computing |= seen
    return True


def is_quiet(c: Compiler, node: n.Expr | None) -> bool:
    """Whether nothing at all is done for a value that anybody could see: it calls only what belongs to its parts."""
    return node is None or (not c.is_concurrent and all(map(_is_silent, n.walk(node))))


def _is_silent(node: n.Node) -> bool:
    if isinstance(node, n.Call):
        callee = node.callee
        kind = type_of(callee.object) if isinstance(callee, n.Member) else JSON
        return kind in (TEXT, NUMBER) or isinstance(kind, Array | Map)
    if isinstance(node, n.Name):
        return node.symbol is None or not isinstance(node.symbol.type, Signature)
    return node.__class__ not in _ASKING and node.__class__ is not n.Lambda


def _computes(node: n.Node) -> bool:
    kind = node.__class__
    if kind in _ASKING:
        return False
    if kind in _MAY_ASK:
        return not getattr(node, "is_async", False) and getattr(node, "mode", None) is None
    if isinstance(node, n.Name):
        return node.symbol is None or node.symbol.kind != "builtin" or node.symbol.name != "note"
    if not isinstance(node, n.Call):
        return True
    if isinstance(node.callee, n.Name):
        return node.callee.symbol is not None and node.callee.symbol.kind in ("function", "builtin")
    return isinstance(node.callee, n.Member) and field_function(type_of(node.callee.object), node.callee.name) is None
