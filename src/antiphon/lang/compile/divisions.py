"""Divisions behind a test that there is no rest: `if x % 2 == 0 { x = x / 2 }`. Such a quotient is Python's `//`."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.lang.check.symbols import Symbol
from antiphon.lang.syntax import nodes as n

#: What evaluates its parts before it assigns anything.
_SIMPLE = n.Let | n.Assign | n.Return | n.ExprStatement


def even_divisions(node: n.If | n.While | n.Conditional) -> Iterable[n.Binary]:
    """The divisions of which a condition says that they leave no rest."""
    match node.condition:
        case n.Binary(op="==", left=n.Binary(op="%") as rest, right=n.NumberLit(value=0)):
            pass
        case _:
            return
    symbols = [each.symbol for each in (rest.left, rest.right) if isinstance(each, n.Name)]
    if not isinstance(rest.left, n.Name) or not isinstance(rest.right, n.Name | n.NumberLit):
        return
    if any(each is None or each.assigned_in for each in symbols):
        return
    for part in _unchanged(node.body if isinstance(node, n.While) else node.then, symbols):
        yield from (each for each in _now(part) if _is_same(each, rest))


def _unchanged(block: n.Expr | n.Block, symbols: list[Symbol | None]) -> Iterable[n.Node]:
    """What runs before one of the variables is assigned."""
    if not isinstance(block, n.Block):
        yield block
        return
    for statement in block.statements:
        changes = any(
            isinstance(each, n.Assign) and isinstance(each.target, n.Name) and each.target.symbol in symbols
            for each in n.walk(statement)
        )
        if not changes or isinstance(statement, _SIMPLE):
            yield statement
        if changes:
            return


def _now(root: n.Node) -> Iterable[n.Binary]:
    """The divisions in a node, but for those in functions, which run at another time."""
    todo: list[n.Node] = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, n.Binary) and node.op == "/":
            yield node
        if not isinstance(node, n.Function | n.Lambda | n.AsyncFor):
            todo += n.children(node)


def _is_same(division: n.Binary, rest: n.Binary) -> bool:
    return _is_one(division.left, rest.left) and _is_one(division.right, rest.right)


def _is_one(one: n.Expr, two: n.Expr) -> bool:
    if isinstance(one, n.Name) and isinstance(two, n.Name):
        return one.symbol is two.symbol
    return isinstance(one, n.NumberLit) and isinstance(two, n.NumberLit) and one.value == two.value
