"""Numbers that are whole, as far as the program's text tells: such an index needs not be looked at."""

from __future__ import annotations

from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import AI, NUMBER, TEXT, Array, base
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.syntax import nodes as n

#: Methods that give whole numbers, whatever they are called on.
_COUNTING = frozenset(("len", "indexOf", "floor", "ceil", "count"))


def is_whole(c: Compiler, node: n.Expr) -> bool:
    """Whether a number is an integer of Python's, as far as that can be seen."""
    return _is_whole(c, node, None)


def _is_whole(c: Compiler, node: n.Expr, assumed: set[Symbol] | None) -> bool:
    match node:
        case n.NumberLit(value=value):
            return type(value) is int
        case n.Unary(operand=operand):
            return _is_whole(c, operand, assumed)
        case n.Name(symbol=symbol):
            if symbol is None or symbol in c.counters:
                return symbol is not None
            return symbol in (assumed if assumed is not None else _variables(c, symbol))
        case n.Binary(op="+" | "-" | "*" | "%"):
            return _is_whole(c, node.left, assumed) and _is_whole(c, node.right, assumed)
        case n.Conditional():
            return _is_whole(c, node.then, assumed) and _is_whole(c, node.otherwise, assumed)
        case n.Member(name="length", object=counted):
            return _has_methods(counted)
        case n.Call(callee=n.Member(name=name, object=counted), arguments=arguments):
            return _has_methods(counted) and (name in _COUNTING or (name == "round" and not arguments))
        case _:
            return False


def _has_methods(node: n.Expr) -> bool:
    """Whether its members are those of all texts, numbers or arrays: an object may have its own of any name."""
    kind = base(type_of(node))
    return kind in (TEXT, NUMBER) or isinstance(kind, Array)


def _variables(c: Compiler, symbol: Symbol) -> set[Symbol]:
    """The variables of a function of which all that they are ever assigned is whole."""
    if symbol.is_global or symbol.kind not in ("let", "const"):
        # Whoever runs the program may give variables of the top level another value.
        return set()
    root: n.Node = c.program if symbol.owner is None else symbol.owner
    known = c.wholes.get(id(root))
    if known is None:
        known = c.wholes[id(root)] = _found(c, root)
    return known


def _found(c: Compiler, root: n.Node) -> set[Symbol]:
    given: dict[Symbol, list[n.Expr | None]] = {}
    for node in n.walk(root):
        if isinstance(node, n.Let) and node.symbol is not None:
            given.setdefault(node.symbol, []).append(None if node.is_async else node.value)
        elif isinstance(node, n.Assign) and isinstance(node.target, n.Name) and node.target.symbol is not None:
            given.setdefault(node.target.symbol, []).append(None if node.op == "/=" else node.value)
    out = {each for each in given if base(each.type) == NUMBER and not isinstance(each.type, AI)}
    while wrong := {each for each in out if not all(v is not None and _is_whole(c, v, out) for v in given[each])}:
        out -= wrong
    return out
