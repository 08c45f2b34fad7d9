"""Quotients, remainders, powers and the rounding of numbers, compiled: without a call for all that is usual."""

from __future__ import annotations

import ast

from antiphon.lang.check.types import JSON, base
from antiphon.lang.compile import emit
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.guards import class_of, is_a, once
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.compile.wholes import is_fraction, is_natural, is_number, is_whole
from antiphon.lang.syntax import nodes as n

_IS, _EQUAL, _LESS, _AT_MOST, _MORE, _AT_LEAST = ast.Is(), ast.Eq(), ast.Lt(), ast.LtE(), ast.Gt(), ast.GtE()
_ADD, _SUB, _MULT, _DIV, _FLOOR_DIV, _MOD, _POW = (
    *(ast.Add(), ast.Sub(), ast.Mult(), ast.Div(), ast.FloorDiv(), ast.Mod(), ast.Pow()),
)
#: To a larger power numbers are raised with care.
_LARGEST_POWER = 1_000


def both(c: Compiler, left: ast.expr, right: ast.expr, place: Place) -> tuple[ast.expr, ast.expr, ast.expr, ast.expr]:
    """Two operands where they are evaluated, each once, and where they are read again."""
    # What stands on the right may call a function that assigns what stands on the left.
    first, left = once(c, left, place, keep=not isinstance(right, ast.Name | ast.Constant))
    second, right = once(c, right, place)
    return first, second, left, right


def modulo(c: Compiler, node: n.Binary, left: ast.expr, place: Place) -> ast.expr:
    """`%` of numbers: Python's own where nothing is negative, as it takes the sign of the divisor."""
    right = c.expr(node.right)
    is_sure = isinstance(right, ast.Constant) and isinstance(right.value, int) and right.value > 0
    is_sure = is_sure or is_natural(c, node.right)
    if is_sure and is_natural(c, node.left):
        return emit.binary(left, _MOD, right, place)
    if JSON in (base(type_of(node.left)), base(type_of(node.right))):
        return _loose_modulo(c, left, right, place) if is_sure else emit.call("_vmod", [left, right], place)
    if not is_sure and not isinstance(right, ast.Name):
        return emit.call("_vmod", [left, right], place)
    # What is sure is no name only where it is put together of naturals, and nothing is called.
    first, left = once(c, left, place)
    zero = emit.constant(0, place)
    test, slow = emit.compare(first, _AT_LEAST, zero, place), emit.call("_vmod", [left, right], place)
    if not is_sure:
        test = at(ast.BoolOp(ast.And(), [test, emit.compare(right, _MORE, zero, place)]), place)
    elif is_number(type_of(node.left)):
        slow = _negative(emit.binary(_negative(left, place), _MOD, right, place), place)
    return emit.either(test, emit.binary(left, _MOD, right, place), slow, place)


def _loose_modulo(c: Compiler, left: ast.expr, right: ast.expr, place: Place) -> ast.expr:
    test, left = is_a(c, left, "_vint", place)
    positive = emit.compare(left, _AT_LEAST, emit.constant(0, place), place)
    test = at(ast.BoolOp(ast.And(), [test, positive]), place)
    return emit.either(test, emit.binary(left, _MOD, right, place), emit.call("_vmod", [left, right], place), place)


def _negative(value: ast.expr, place: Place) -> ast.expr:
    return at(ast.UnaryOp(ast.USub(), value), place)


def quotient(c: Compiler, node: n.Binary, left: ast.expr, place: Place) -> ast.expr:
    """`/` of numbers: a quotient of whole ones that is whole is exact."""
    right = c.expr(node.right)
    if is_fraction(node):
        return emit.binary(left, _DIV, right, place)
    operands = left, right
    first, second, left, right = both(c, left, right, place)
    tests = [emit.binary(first, _MOD, second, place)]
    if second is right and not is_whole(c, node.left):
        tests = [_is_float(first, place), emit.binary(left, _MOD, right, place)]
    elif first is left and second is right and not is_whole(c, node.right):
        tests = [_is_float(right, place), *tests]
    exact, other = emit.binary(left, _FLOOR_DIV, right, place), emit.binary(left, _DIV, right, place)
    test = tests[0] if len(tests) == 1 else at(ast.BoolOp(ast.Or(), tests), place)
    value = emit.either(test, other, exact, place)
    c.quotients[value] = operands
    return value


def added_quotient(c: Compiler, node: n.Expr, beside: n.Expr) -> ast.expr | None:
    """A quotient that goes into a sum or product with a fraction, which makes it one anyway."""
    if not isinstance(node, n.Binary) or node.op != "/" or not is_fraction(beside):
        return None
    if not is_number(type_of(node.left)) or not is_number(type_of(node.right)):
        return None
    return emit.binary(c.expr(node.left), _DIV, c.expr(node.right), c.place(node))


def power(c: Compiler, node: n.Binary, left: ast.expr, place: Place) -> ast.expr:
    """`**` of numbers: Python's own where it can be seen that it does not take for ever, and gives a number."""
    right = c.expr(node.right)
    quick, slow = emit.binary(left, _POW, right, place), emit.call("_vpow", [left, right], place)
    if isinstance(right, ast.Constant) and type(right.value) is int and right.value <= _LARGEST_POWER:
        return quick
    if not is_number(type_of(node.left)) or not is_number(type_of(node.right)):
        return slow
    if isinstance(right, ast.Constant) and type(right.value) is float:
        first, left = once(c, left, place)
        test = emit.compare(first, _AT_LEAST, emit.constant(0, place), place)
        return emit.either(test, emit.binary(left, _POW, right, place), emit.call("_vpow", [left, right], place), place)
    if not isinstance(left, ast.Name | ast.Constant):
        return slow
    second, right = once(c, right, place)
    tests = [emit.compare(second, _AT_MOST, emit.constant(_LARGEST_POWER, place), place)]
    if not is_natural(c, node.right):
        whole = emit.compare(class_of(second, place), _IS, emit.name("_vint", place), place)
        tests = [whole, emit.compare(emit.constant(0, place), _AT_MOST, right, place)]
        tests.append(emit.compare(right, _AT_MOST, emit.constant(_LARGEST_POWER, place), place))
    quick, slow = emit.binary(left, _POW, right, place), emit.call("_vpow", [left, right], place)
    return emit.either(_all_of(tests, place), quick, slow, place)


def rounding(
    c: Compiler, name: str, receiver: n.Expr, value: ast.expr, arguments: list[ast.expr], place: Place
) -> ast.expr | None:
    """`floor`, `ceil` and `round` of a number, where that needs no call of the library."""
    if arguments:
        return None
    if is_whole(c, receiver):
        return value
    if name == "floor" and value in c.quotients:
        return _floor_of_quotient(c, receiver, value, place)
    tests, first, value = _float_tests(c, receiver, value, place)
    # Of no other number is it its own difference: of what is not finite, that is no number.
    difference = emit.binary(value if tests else first, _SUB, value, place)
    tests.append(emit.compare(difference, _EQUAL, emit.constant(0.0, place), place))
    whole = emit.call("_vceil" if name == "ceil" else "_vfloor", [value], place)
    if name == "round":
        # Half goes up. What is behind the point is exact, which half a number more would not be.
        low = c.temporary()
        behind = emit.binary(value, _SUB, emit.name(low, place), place)
        is_up = emit.compare(behind, _AT_LEAST, emit.constant(0.5, place), place)
        whole = emit.binary(emit.named(low, whole, place), _ADD, is_up, place)
    return emit.either(_all_of(tests, place), whole, value, place)


def _floor_of_quotient(c: Compiler, node: n.Expr, value: ast.expr, place: Place) -> ast.expr:
    """`(a / b).floor()` of whole numbers is Python's `a // b`, and exact."""
    left, right = c.quotients[value]
    assert isinstance(node, n.Binary)
    if is_whole(c, node.left) and is_whole(c, node.right):
        return emit.binary(left, _FLOOR_DIV, right, place)
    first, second, left, right = both(c, left, right, place)
    test, whole = is_a(c, emit.binary(first, _FLOOR_DIV, second, place), "_vint", place)
    slow = emit.call("_vm_number_floor", [emit.binary(left, _DIV, right, place)], place)
    return emit.either(test, whole, slow, place)


def _float_tests(c: Compiler, node: n.Expr, value: ast.expr, place: Place) -> tuple[list[ast.expr], ast.expr, ast.expr]:
    """Tests whether a number is a float, none if that is known; the number where it is evaluated, and read again."""
    first, again = once(c, value, place)
    return [] if is_fraction(node) else [_is_float(first, place)], first, again


def _is_float(value: ast.expr, place: Place) -> ast.expr:
    return emit.compare(class_of(value, place), _IS, emit.name("_vfloat", place), place)


def _all_of(tests: list[ast.expr], place: Place) -> ast.expr:
    return tests[0] if len(tests) == 1 else at(ast.BoolOp(ast.And(), tests), place)
