"""Numbers that are whole, as far as the program's text tells: such an index needs not be looked at."""

from __future__ import annotations

from collections.abc import Callable

from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import AI, NUMBER, TEXT, Array, base
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.syntax import nodes as n

#: Methods that give whole numbers, whatever they are called on.
_COUNTING = frozenset(("len", "indexOf", "floor", "ceil", "count"))


#: A test of a number, where these variables are assumed to hold it.
_Test = Callable[[Compiler, n.Expr, set[Symbol] | None], bool]


def is_whole(c: Compiler, node: n.Expr, assumed: set[Symbol] | None = None) -> bool:
    """Whether a number is an integer of Python's, as far as that can be seen."""
    match node:
        case n.NumberLit(value=value):
            return type(value) is int
        case n.Unary(operand=operand):
            return is_whole(c, operand, assumed)
        case n.Name(symbol=symbol):
            if symbol is None or symbol in c.counters:
                return symbol is not None
            return symbol in (assumed if assumed is not None else _variables(c, symbol, is_whole))
        case n.Binary(op="+" | "-" | "*" | "%"):
            return is_whole(c, node.left, assumed) and is_whole(c, node.right, assumed)
        case n.Conditional():
            return is_whole(c, node.then, assumed) and is_whole(c, node.otherwise, assumed)
        case n.Member(name="length", object=counted):
            return _has_methods(counted)
        case n.Call(callee=n.Member(name=name, object=counted), arguments=arguments):
            return _has_methods(counted) and (name in _COUNTING or (name == "round" and not arguments))
        case _:
            return False


def is_natural(c: Compiler, node: n.Expr, assumed: set[Symbol] | None = None) -> bool:
    """Whether a number is whole and not negative, as far as that can be seen."""
    match node:
        case n.NumberLit(value=value):
            return type(value) is int
        case n.Name(symbol=symbol):
            if symbol is None or symbol in c.naturals:
                return symbol is not None
            return symbol in (assumed if assumed is not None else _variables(c, symbol, is_natural))
        case n.Binary(op="+" | "*" | "%"):
            return is_natural(c, node.left, assumed) and is_natural(c, node.right, assumed)
        case n.Conditional():
            return is_natural(c, node.then, assumed) and is_natural(c, node.otherwise, assumed)
        case n.Member(name="length", object=counted):
            return _has_methods(counted)
        case _:
            return False


def _has_methods(node: n.Expr) -> bool:
    """Whether its members are those of all texts, numbers or arrays: an object may have its own of any name."""
    kind = base(type_of(node))
    return kind in (TEXT, NUMBER) or isinstance(kind, Array)


def _variables(c: Compiler, symbol: Symbol, test: _Test) -> set[Symbol]:
    """The variables of a function for which the test holds, whatever they are assigned."""
    if symbol.is_global or symbol.kind not in ("let", "const"):
        # Whoever runs the program may give variables of the top level another value.
        return set()
    root: n.Node = c.program if symbol.owner is None else symbol.owner
    key = id(root), test.__name__
    known = c.wholes.get(key)
    if known is None:
        known = c.wholes[key] = _found(c, root, test)
    return known


def _found(c: Compiler, root: n.Node, test: _Test) -> set[Symbol]:
    given: dict[Symbol, list[n.Expr | None]] = {}
    for node in n.walk(root):
        if isinstance(node, n.Let) and node.symbol is not None:
            given.setdefault(node.symbol, []).append(None if node.is_async else node.value)
        elif isinstance(node, n.Assign) and isinstance(node.target, n.Name) and node.target.symbol is not None:
            lost = node.op == "/=" or (node.op == "-=" and test is is_natural)
            given.setdefault(node.target.symbol, []).append(None if lost else node.value)
    out = {each for each in given if base(each.type) == NUMBER and not isinstance(each.type, AI)}
    while wrong := {each for each in out if not all(v is not None and test(c, v, out) for v in given[each])}:
        out -= wrong
    return out
