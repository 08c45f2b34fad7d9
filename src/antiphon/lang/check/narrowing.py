"""Narrowing: what a condition says about values that may be null."""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.lang.check.state import Checker, Path
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import Type, may_be_null, without_null
from antiphon.lang.syntax.nodes import Binary, Expr, Member, Name, NullLit, Unary

#: Conditions are looked at so far, and paths so long.
_MOST_TERMS, _LONGEST = 50, 4
#: So much is kept in mind: it is copied with every block.
_MOST_FACTS = 64


def narrow(c: Checker, condition: Expr, holds: bool) -> None:
    """Take note of what is known where the condition holds, or where it does not."""
    for node in _present(condition, holds, _MOST_TERMS):
        path = _path(node)
        if len(c.narrowed) >= _MOST_FACTS:
            return
        if path is not None and node.type is not None and may_be_null(node.type):
            c.narrowed[path] = (c.assignments.get(path[0], 0), without_null(node.type))


def narrowed_type(c: Checker, node: Name | Member, type_: Type) -> Type:
    """The type of a value, less what the conditions around it rule out."""
    path = _path(node)
    found = c.narrowed.get(path) if path is not None else None
    if path is None or found is None or found[0] != c.assignments.get(path[0], 0):
        return type_
    return found[1]


def assigned(c: Checker, symbol: Symbol, type_: Type | None = None) -> None:
    """What was known of a variable is known no more; `type_` is what it holds now."""
    count = c.assignments[symbol] = c.assignments.get(symbol, 0) + 1
    if type_ is not None and len(c.narrowed) < _MOST_FACTS and may_be_null(symbol.type) and not may_be_null(type_):
        c.narrowed[(symbol, "")] = (count, without_null(symbol.type))


def forget_variables(c: Checker) -> dict[Path, tuple[int, Type]]:
    """What is known at the start of a loop's body, in which variables may be assigned later on."""
    return {path: known for path, known in c.narrowed.items() if path[0].is_constant}


def _present(node: Expr, holds: bool, left: int) -> Iterator[Name | Member]:
    """The names and members that are not null."""
    while left > 0:
        left -= 1
        if isinstance(node, Name | Member):
            if holds:
                yield node
            return
        if isinstance(node, Unary) and node.op == "not":
            node, holds = node.operand, not holds
        elif isinstance(node, Binary) and node.op == ("and" if holds else "or"):
            yield from _present(node.right, holds, min(left, 5))
            node = node.left
        elif isinstance(node, Binary) and node.op == ("!=" if holds else "=="):
            other = node.left if isinstance(node.right, NullLit) else node.right
            if isinstance(other, Name | Member) and (isinstance(node.right, NullLit) or isinstance(node.left, NullLit)):
                yield other
            return
        else:
            return


def _path(node: Expr) -> Path | None:
    members: list[str] = []
    while isinstance(node, Member) and len(members) < _LONGEST:
        members.append(node.name)
        node = node.object
    if isinstance(node, Name) and node.symbol is not None:
        return node.symbol, ".".join(reversed(members))
    return None
