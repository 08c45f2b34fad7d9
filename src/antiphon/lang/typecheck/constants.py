"""Constant expressions: numbers where an integer is required, defaults of inputs, and regular expressions."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.checker import Checker

_Part = TypeVar("_Part", n.Expr, n.ObjectEntry)
#: Limits on the depth and the size of constants that are evaluated.
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
    if isinstance(node.type, t.Literal) and isinstance(node.type.value, int | float):
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
    match node.op:
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
        case n.TextLit() if (text := n.get_plain_text(node)) is not None:
            return text
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


def _make_match_type(group: t.Type) -> t.Object:
    fields = {"text": t.TEXT, "groups": t.Array(group), "names": t.Map(group), "start": t.NUMBER, "end": t.NUMBER}
    return t.Object({name: t.ObjectField(type_) for name, type_ in fields.items()}, "Match")


#: The type of a match, and of one in which every group takes part.
MATCH_TYPE, _COMPLETE_MATCH_TYPE = _make_match_type(t.make_nullable(t.TEXT)), _make_match_type(t.TEXT)

#: Escapes, character sets, brackets with their quantifiers, and `|`; compiled on first use.
_REGEX_TOKEN = (
    r"(?s)\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\|"
    r"|(?P<open>\((?:\?(?:P<\w+>|:|<?=|[aimsu]+\)|[^)]?))?)|(?P<close>\)(?:[?*]|\{0|\{,)?)"
)


def infer_match_result(pattern: t.Type | None, found: t.Type) -> t.Type:
    """Return the result type of a search: with non-null groups, if every group of the pattern takes part in a match."""
    said = t.strip_ai_result(pattern) if pattern is not None else None
    if not isinstance(said, t.Literal) or not isinstance(said.value, str) or not _has_only_required_groups(said.value):
        return found
    if isinstance(found, t.Array):
        return t.Array(_COMPLETE_MATCH_TYPE)
    return t.make_nullable(_COMPLETE_MATCH_TYPE) if isinstance(found, t.Union) else found


def _has_only_required_groups(pattern: str) -> bool:
    """Return True if no group can be skipped; False where that is not obvious."""
    # For each open bracket: whether it is a group, whether it contains groups, whether it has a `|`.
    levels = [[False, False, False]]
    for piece in re.finditer(_REGEX_TOKEN, pattern):
        text = piece[0]
        if opened := piece["open"]:
            if opened.startswith("(?") and opened[-1] == ")":
                continue
            if opened not in ("(", "(?:", "(?=", "(?<=") and not opened.startswith("(?P<"):
                return False
            levels.append([opened == "(" or opened.startswith("(?P<"), False, False])
        elif piece["close"]:
            if len(levels) == 1 or not _close_bracket(levels, optional=len(text) > 1):
                return False
        elif text == "|":
            levels[-1][2] = True
    return len(levels) == 1 and not (levels[0][1] and levels[0][2])


def _close_bracket(levels: list[list[bool]], *, optional: bool) -> bool:
    """Close a bracket. Return False if it, or a group in it, may be skipped."""
    is_group, has_groups, has_choice = levels.pop()
    levels[-1][1] = levels[-1][1] or is_group or has_groups
    return not (has_groups and has_choice) and not (optional and (is_group or has_groups))
