"""Constant numbers where an integer is required."""

from __future__ import annotations

from antiphon.lang.syntax.nodes import Binary, Expr, NumberLit, Unary
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.types import Literal

#: Limits on the depth and the size of constants that are evaluated.
_MAX_DEPTH, _MAX_OPERAND = 20, 1e12


def check_integer(c: Checker, node: Expr, what: str) -> None:
    """Report a constant fraction where an index, an end of a range or a count is required."""
    value = evaluate_constant_number(node)
    if isinstance(value, float) and not value.is_integer():
        hint = f"write `({c.source_text(node)}).floor()`" if not isinstance(node, NumberLit) else ""
        c.report("V0309", f"{what} is a whole number, found {value}", node, hint)


def evaluate_constant_number(node: Expr, depth: int = _MAX_DEPTH) -> int | float | None:
    """Return the number that an expression always evaluates to, or None."""
    if isinstance(node.type, Literal) and isinstance(node.type.value, int | float):
        return node.type.value
    if depth == 0:
        return None
    if isinstance(node, Unary) and node.op == "-":
        value = evaluate_constant_number(node.operand, depth - 1)
        return None if value is None else -value
    if not isinstance(node, Binary):
        return None
    left, right = evaluate_constant_number(node.left, depth - 1), evaluate_constant_number(node.right, depth - 1)
    if left is None or right is None or max(abs(left), abs(right)) > _MAX_OPERAND:
        return None
    return _evaluate_operator(node.op, left, right)


def _evaluate_operator(op: str, left: float, right: float) -> int | float | None:
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
