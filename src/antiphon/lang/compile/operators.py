"""Operators, compiled: Python's own where types are known or a value turns out to be whole, else the library's."""

from __future__ import annotations

import ast
from collections.abc import Callable

from antiphon.lang.check.types import (
    AI,
    BOOLEAN,
    JSON,
    NULL,
    NUMBER,
    TEXT,
    base,
)
from antiphon.lang.compile.basics import Basics, type_of
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.syntax import nodes as n

_OPERATORS = {"+": ast.Add(), "-": ast.Sub(), "*": ast.Mult()}
_COMPARISONS = {
    "==": ast.Eq(),
    "!=": ast.NotEq(),
    "<": ast.Lt(),
    "<=": ast.LtE(),
    ">": ast.Gt(),
    ">=": ast.GtE(),
}
_HELPERS = {
    "+": "_vadd",
    "-": "_vsub",
    "*": "_vmul",
    "/": "_vdiv",
    "%": "_vmod",
    "**": "_vpow",
    "<": "_vlt",
    "<=": "_vle",
    ">": "_vgt",
    ">=": "_vge",
}
_IS, _IS_NOT, _IN = ast.Is(), ast.IsNot(), ast.In()


class Operators(Basics):
    """Compiles what stands between operands."""

    def unary(self, node: n.Unary) -> ast.expr:
        """`-x`, `not x`."""
        place = self.place(node)
        if node.op == "not":
            return self.negation(self.condition(node.operand), place)
        value = self.expr(node.operand)
        if base(type_of(node.operand)) == NUMBER:
            return at(ast.UnaryOp(ast.USub(), value), place)
        return self.call("_vneg", [value], place)

    def binary_chain(self, node: n.Binary) -> ast.expr:
        """Operations of any number, from the left."""
        spine: list[n.Binary] = [node]
        while type(spine[-1].left) is n.Binary:
            spine.append(spine[-1].left)
        value: ast.expr | None = None
        for each, outer in zip(reversed(spine), [*reversed(spine[:-1]), None], strict=True):
            if each.op == "??" and outer is not None and outer.op == "??":
                value = self._coalescing(each, value, self.place(each), self.lenient)
            else:
                value = self.operation(each, value)
        assert value is not None
        return value

    def operation(self, node: n.Binary, left: ast.expr | None) -> ast.expr:
        """One operation; `left` is given where it is compiled already."""
        op, place = node.op, self.place(node)
        if op in ("and", "or"):
            return self._logical(node, left, place)
        if op == "??":
            return self._coalescing(node, left, place)
        if op in ("==", "!="):
            return self._equality(node, left, place)
        left = self.expr(node.left) if left is None else left
        one, two = base(type_of(node.left)), base(type_of(node.right))
        if op == "%" and one in (NUMBER, JSON) and two in (NUMBER, JSON):
            return self._modulo(node, left, place)
        if op == "+" and TEXT in (one, two) and one != two:
            left = left if one == TEXT else self.call("_vtext", [left], place)
            right = self.expr(node.right) if two == TEXT else self.as_text(node.right)
            return self.binary(left, _OPERATORS["+"], _text_of(self, right, place), place)
        right = self.expr(node.right)
        if one == two and op in _OPERATORS and (one == NUMBER or (op == "+" and one == TEXT)):
            return self.binary(left, _OPERATORS[op], right, place)
        if one == two and one in (NUMBER, TEXT) and op in _COMPARISONS:
            return self.compare(left, _COMPARISONS[op], right, place)
        return self._guarded(node, left, right, place)

    def _guarded(self, node: n.Binary, left: ast.expr, right: ast.expr, place: Place) -> ast.expr:
        """An operation on what may be anything: Python's own for whole numbers, the library's for all else."""
        op = node.op
        direct = _OPERATORS.get(op) or _COMPARISONS.get(op)
        known = {base(type_of(node.left)), base(type_of(node.right))} - {JSON, NUMBER}
        if direct is None or known:
            return self.call(_HELPERS[op], [left, right], place)
        test, left, right = self._both_whole(left, right, place)
        if isinstance(direct, ast.operator):
            quick = self.binary(left, direct, right, place)
        else:
            quick = self.compare(left, direct, right, place)
        return self.either(test, quick, self.call(_HELPERS[op], [left, right], place), place)

    def _both_whole(self, left: ast.expr, right: ast.expr, place: Place) -> tuple[ast.expr, ast.expr, ast.expr]:
        """A test whether both are whole numbers, which evaluates each once; and the two as they are read after it."""
        whole = self.name("_vint", place)
        if isinstance(right, ast.Constant):
            first, left = self.once(left, place)
            return self.compare(self.class_of(first, place), _IS, whole, place), left, right
        # What stands on the right may call a function that assigns what stands on the left.
        first, left = self.once(left, place, keep=not isinstance(right, ast.Name))
        second, right = self.once(right, place)
        test = ast.Compare(self.class_of(first, place), [_IS, _IS], [self.class_of(second, place), whole])
        return at(test, place), left, right

    def _modulo(self, node: n.Binary, left: ast.expr, place: Place) -> ast.expr:
        """`%` of numbers: Python's own where nothing is negative."""
        right = self.expr(node.right)
        if isinstance(right, ast.Constant) and isinstance(right.value, int) and right.value > 0:
            first, left = self.once(left, place)
            test = self.compare(first, _COMPARISONS[">="], self.constant(0, place), place)
            if base(type_of(node.left)) != NUMBER:
                whole = self.compare(self.class_of(first, place), _IS, self.name("_vint", place), place)
                positive = self.compare(left, _COMPARISONS[">="], self.constant(0, place), place)
                test = at(ast.BoolOp(ast.And(), [whole, positive]), place)
            return self.either(
                test, self.binary(left, ast.Mod(), right, place), self.call("_vmod", [left, right], place), place
            )
        return self.call("_vmod", [left, right], place)

    def _logical(self, node: n.Binary, left: ast.expr | None, place: Place) -> ast.expr:
        operator = ast.And() if node.op == "and" else ast.Or()
        first = self.condition(node.left) if left is None else self._as_condition(left, node.left)
        if isinstance(first, ast.BoolOp) and type(first.op) is type(operator):
            # A long chain is one operation: it stays flat.
            first.values.append(self.condition(node.right))
            return at(first, place)
        return at(ast.BoolOp(operator, [first, self.condition(node.right)]), place)

    def _as_condition(self, value: ast.expr, node: n.Expr) -> ast.expr:
        return value if base(type_of(node)) == BOOLEAN else self.call("_vcond", [value], self.place(node))

    def _coalescing(
        self, node: n.Binary, left: ast.expr | None, place: Place, right: Callable[[n.Expr], ast.expr] | None = None
    ) -> ast.expr:
        left = self.lenient(node.left) if left is None else left
        if isinstance(type_of(node.left), AI) or type_of(node.left) == JSON:
            left = self.call("_vunwrap", [left], place)
        name = self.temporary()
        test = self.compare(self.named(name, left, place), _IS_NOT, self.constant(None, place), place)
        return self.either(test, self.name(name, place), (right or self.expr)(node.right), place)

    def _equality(self, node: n.Binary, left: ast.expr | None, place: Place) -> ast.expr:
        one, two = type_of(node.left), type_of(node.right)
        if NULL in (one, two):
            return self._null_test(node, left, place)
        left = self.expr(node.left) if left is None else left
        right = self.expr(node.right)
        if base(one) == base(two) and base(one) in (NUMBER, TEXT, BOOLEAN):
            return self.compare(left, _COMPARISONS[node.op], right, place)
        if isinstance(right, ast.Constant) and right.value.__class__ in (int, str):
            kind = "_vint" if right.value.__class__ is int else "_vstr"
            test, left = self.is_a(left, kind, place)
            quick = self.compare(left, _COMPARISONS[node.op], right, place)
            helper = self.call("_veq", [left, right], place)
            slow = helper if node.op == "==" else self.negation(helper, place)
            return self.either(test, quick, slow, place)
        same = self.call("_veq", [left, right], place)
        return same if node.op == "==" else self.negation(same, place)

    def _null_test(self, node: n.Binary, left: ast.expr | None, place: Place) -> ast.expr:
        other = node.right if type_of(node.left) == NULL and type(node.left) is n.NullLit else node.left
        value = left if left is not None and other is node.left else self.lenient(other)
        if isinstance(type_of(other), AI) or type_of(other) == JSON:
            value = self.call("_vunwrap", [value], place)
        operator = _IS if node.op == "==" else _IS_NOT
        return self.compare(value, operator, self.constant(None, place), place)

    def range(self, node: n.Range) -> ast.expr:
        """`a..b`, as an array."""
        return self.call("_vrange", [self.expr(node.first), self.expr(node.last)], self.place(node))

    def span(self, node: n.Range) -> ast.expr:
        """A range, to go through."""
        return self.call("_vspan", [self.expr(node.first), self.expr(node.last)], self.place(node))


def _text_of(emitter: Operators, value: ast.expr, place: Place) -> ast.expr:
    """The right side of a text's `+`, which `as_text` may have left a number."""
    if isinstance(value, ast.IfExp):
        value.body = emitter.call("_vstr", [value.body], place)
    return value
