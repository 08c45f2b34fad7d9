"""Constant expressions: numbers where an integer is required, and the defaults of inputs."""

from __future__ import annotations

from typing import Any, TypeVar

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.types import Literal

_Part = TypeVar("_Part", n.Expr, n.ObjectEntry)  #: Limits on the depth and the size of constants that are evaluated.
_MAX_DEPTH, _MAX_OPERAND = 20, 1e12


class NotConstant(Exception):
    """Raised for an expression that must be evaluated; `node` is the part that is not constant."""

    def __init__(self, node: n.Expr) -> None:
        super().__init__()
        self.node = node


def check_integer(c: Checker, node: n.Expr, what: str) -> None:
    """Report a constant fraction where an index, an end of a range or a count is required."""
    value = evaluate_constant_number(node)
    if isinstance(value, float) and not value.is_integer():
        hint = f"write `({c.quote(node)}).floor()`" if not isinstance(node, n.NumberLit) else ""
        c.report("V0309", f"{what} is a whole number, found {value}", node, hint)


def evaluate_constant_number(node: n.Expr, depth: int = _MAX_DEPTH) -> int | float | None:
    """Return the number that an expression always evaluates to, or None."""
    if isinstance(node.type, Literal) and isinstance(node.type.value, int | float):
        return node.type.value
    if depth == 0:
        return None
    if isinstance(node, n.Unary) and node.op == "-":
        value = evaluate_constant_number(node.operand, depth - 1)
        return None if value is None else -value
    if not isinstance(node, n.Binary):
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


def evaluate_constant(node: n.Expr) -> Any:
    """Return the value of a constant expression; raise `NotConstant` if it must be evaluated."""
    match node:
        case n.NumberLit() | n.BoolLit():
            return node.value
        case n.NullLit():
            return None
        case n.TextLit(parts=parts) if all(isinstance(part, str) for part in parts):
            return "".join(part for part in parts if isinstance(part, str))
        case n.Unary(op="-", operand=n.NumberLit() as number):
            return -number.value
        case n.ArrayLit():
            return [evaluate_constant(_reject_spread(each)) for each in node.items]
        case n.ObjectLit():
            entries = [_reject_spread(each) for each in node.entries]
            return {each.key: evaluate_constant(each.value) for each in entries}
        case _:
            raise NotConstant(node)


def _reject_spread(node: _Part | n.Spread) -> _Part:
    """Return an item that is not a spread; raise `NotConstant` for a spread."""
    if isinstance(node, n.Spread):
        raise NotConstant(node.value)
    return node
