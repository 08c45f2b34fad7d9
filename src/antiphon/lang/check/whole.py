"""Numbers that are known before a program runs, where they must be whole."""

from __future__ import annotations

from antiphon.lang.check.state import Checker
from antiphon.lang.check.types import Literal
from antiphon.lang.syntax.nodes import Binary, Expr, NumberLit, Unary

#: Numbers are worked out so deep, and so large.
_DEEPEST, _LARGEST = 20, 1e12


def check_whole(c: Checker, node: Expr, what: str) -> None:
    """What is known to be a fraction is no index, no end of a range, and no number of times."""
    value = known_number(node)
    if isinstance(value, float) and not value.is_integer():
        hint = f"write `({c.text_of(node)}).floor()`" if not isinstance(node, NumberLit) else ""
        c.report("V0309", f"{what} is a whole number, found {value}", node, hint)


def known_number(node: Expr, depth: int = _DEEPEST) -> int | float | None:
    """The number that an expression is for certain."""
    if isinstance(node.type, Literal) and isinstance(node.type.value, int | float):
        return node.type.value
    if depth == 0:
        return None
    if isinstance(node, Unary) and node.op == "-":
        value = known_number(node.operand, depth - 1)
        return None if value is None else -value
    if not isinstance(node, Binary):
        return None
    left, right = known_number(node.left, depth - 1), known_number(node.right, depth - 1)
    if left is None or right is None or max(abs(left), abs(right)) > _LARGEST:
        return None
    return _worked_out(node.op, left, right)


def _worked_out(op: str, left: float, right: float) -> int | float | None:
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" if right:
            return left / right
        case _:
            return None
