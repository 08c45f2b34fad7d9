"""Compile division, modulo, power and rounding inline, with as few run-time tests as the kinds of numbers allow."""

from __future__ import annotations

import ast

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.compiler import (
    Compiler,
    can_evaluate_first,
    evaluate_once,
    get_expression_type,
    has_plain_type,
    make_class_test,
)
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t

#: Methods that return integers, on every receiver but numbers.
_COUNTING_METHODS = frozenset(("len", "indexOf", "count"))


def is_integer(c: Compiler, node: n.Expr) -> bool:
    """Return True if a number is a Python integer: a literal, a counter, a length, or computed from those."""
    match node:
        case n.NumberLit(value=value):
            return type(value) is int
        case n.Unary(operand=operand):
            return is_integer(c, operand)
        case n.Name(symbol=symbol):
            return symbol in c.integer_variables
        case n.Binary(op="+" | "-" | "*" | "%"):
            return is_integer(c, node.left) and is_integer(c, node.right)
        case n.Member(name="length", object=counted):
            return _has_standard_members(counted)
        case n.Call(callee=n.Member(name=name, object=counted)):
            return (
                name in _COUNTING_METHODS
                and _has_standard_members(counted)
                and t.get_base_type(get_expression_type(counted)) != t.NUMBER
            )
        case _:
            return False


def is_nonnegative_integer(c: Compiler, node: n.Expr) -> bool:
    """Return True if a number is known to be an integer and not negative."""
    match node:
        case n.NumberLit(value=value):
            return type(value) is int
        case n.Name(symbol=symbol):
            return symbol in c.nonnegative_variables
        case n.Binary(op="+" | "*" | "%"):
            return is_nonnegative_integer(c, node.left) and is_nonnegative_integer(c, node.right)
        case n.Member(name="length", object=counted):
            return _has_standard_members(counted)
        case _:
            return False


def is_float(node: n.Expr) -> bool:
    """Return True if a number is a Python float: a float literal, or computed from one and any number."""
    match node:
        case n.NumberLit(value=value):
            return type(value) is float
        case n.Unary(operand=operand):
            return is_float(operand)
        case n.Binary(op="+" | "-" | "*" | "/" | "%" | "**"):
            both = has_plain_type(node.left, t.NUMBER) and has_plain_type(node.right, t.NUMBER)
            return both and (is_float(node.left) or is_float(node.right))
        case _:
            return False


def _has_standard_members(node: n.Expr) -> bool:
    """Return True if the members of an expression are those of its kind: an object may define its own `length`."""
    kind = t.get_base_type(get_expression_type(node))
    return kind in (t.TEXT, t.NUMBER) or isinstance(kind, t.Array)


_IS, _EQUAL, _LESS, _AT_MOST, _MORE, _AT_LEAST = ast.Is(), ast.Eq(), ast.Lt(), ast.LtE(), ast.Gt(), ast.GtE()
_ADD, _SUB, _MULT, _DIV, _FLOOR_DIV, _MOD, _POW = (
    *(ast.Add(), ast.Sub(), ast.Mult(), ast.Div(), ast.FloorDiv(), ast.Mod(), ast.Pow()),
)
#: Larger exponents go through the runtime, which bounds the size of the result.
_MAX_FAST_EXPONENT = 1_000


def evaluate_both_once(
    c: Compiler, left: ast.expr, right: ast.expr, place: SourceLocation
) -> tuple[ast.expr, ast.expr, ast.expr, ast.expr]:
    """Return two operands where each is evaluated, once, and where each is read again."""
    # The right operand may call a function that assigns the variable on the left.
    first, left = evaluate_once(c, left, place, keep=not isinstance(right, ast.Name | ast.Constant))
    second, right = evaluate_once(c, right, place)
    return first, second, left, right


def compile_modulo(c: Compiler, node: n.Binary, left: ast.expr, place: SourceLocation) -> ast.expr:
    """Compile `%` of numbers: Python's own if nothing is negative, because it takes the sign of the divisor."""
    right = c.expr(node.right)
    is_sure = isinstance(right, ast.Constant) and isinstance(right.value, int) and right.value > 0
    is_sure = is_sure or is_nonnegative_integer(c, node.right)
    if is_sure and is_nonnegative_integer(c, node.left):
        return emit.make_binary(left, _MOD, right, place)
    if t.JSON in (t.get_base_type(get_expression_type(node.left)), t.get_base_type(get_expression_type(node.right))):
        return (
            _compile_json_modulo(c, left, right, place) if is_sure else emit.make_call("modulo", [left, right], place)
        )
    if not is_sure and not isinstance(right, ast.Name):
        return emit.make_call("modulo", [left, right], place)
    # A divisor known to be positive that is no name is built of non-negative integers, and calls nothing.
    first, left = evaluate_once(c, left, place)
    zero = emit.make_constant(0, place)
    test, slow = (emit.make_comparison(first, _AT_LEAST, zero, place), emit.make_call("modulo", [left, right], place))
    if not is_sure:
        test = set_location(ast.BoolOp(ast.And(), [test, emit.make_comparison(right, _MORE, zero, place)]), place)
    elif has_plain_type(node.left, t.NUMBER):
        slow = _make_negative(emit.make_binary(_make_negative(left, place), _MOD, right, place), place)
    return emit.make_conditional(test, emit.make_binary(left, _MOD, right, place), slow, place)


def _compile_json_modulo(c: Compiler, left: ast.expr, right: ast.expr, place: SourceLocation) -> ast.expr:
    test, left = make_class_test(c, left, "int", place)
    positive = emit.make_comparison(left, _AT_LEAST, emit.make_constant(0, place), place)
    test = set_location(ast.BoolOp(ast.And(), [test, positive]), place)
    return emit.make_conditional(
        test, emit.make_binary(left, _MOD, right, place), emit.make_call("modulo", [left, right], place), place
    )


def _make_negative(value: ast.expr, place: SourceLocation) -> ast.expr:
    return set_location(ast.UnaryOp(ast.USub(), value), place)


def compile_division(c: Compiler, node: n.Binary, left: ast.expr, place: SourceLocation) -> ast.expr:
    """Compile `/` of numbers: the quotient of two integers is an exact integer where there is no remainder."""
    right = c.expr(node.right)
    if is_float(node):
        return emit.make_binary(left, _DIV, right, place)
    operands = left, right
    first, second, left, right = evaluate_both_once(c, left, right, place)
    tests = [emit.make_binary(first, _MOD, second, place)]
    if second is right and not is_integer(c, node.left):
        tests = [emit.make_class_comparison(first, "float", place), emit.make_binary(left, _MOD, right, place)]
    elif first is left and second is right and not is_integer(c, node.right):
        tests = [emit.make_class_comparison(right, "float", place), *tests]
    exact, other = emit.make_binary(left, _FLOOR_DIV, right, place), emit.make_binary(left, _DIV, right, place)
    test = tests[0] if len(tests) == 1 else set_location(ast.BoolOp(ast.Or(), tests), place)
    value = emit.make_conditional(test, other, exact, place)
    c.quotient_operands[value] = operands
    return value


def compile_float_quotient(c: Compiler, node: n.Expr, beside: n.Expr) -> ast.expr | None:
    """Compile a quotient that is an operand beside a float, and so becomes a float anyway; None for others."""
    if not isinstance(node, n.Binary) or node.op != "/" or not is_float(beside):
        return None
    if not has_plain_type(node.left, t.NUMBER) or not has_plain_type(node.right, t.NUMBER):
        return None
    return emit.make_binary(c.expr(node.left), _DIV, c.expr(node.right), c.place(node))


def compile_power(c: Compiler, node: n.Binary, left: ast.expr, place: SourceLocation) -> ast.expr:
    """Compile `**` of numbers: Python's own if the exponent is known to be small and the result is real."""
    right = c.expr(node.right)
    quick, slow = emit.make_binary(left, _POW, right, place), emit.make_call("power", [left, right], place)
    if isinstance(right, ast.Constant) and type(right.value) is int and right.value <= _MAX_FAST_EXPONENT:
        return quick
    if not has_plain_type(node.left, t.NUMBER) or not has_plain_type(node.right, t.NUMBER):
        return slow
    if isinstance(right, ast.Constant) and type(right.value) is float:
        first, left = evaluate_once(c, left, place)
        test = emit.make_comparison(first, _AT_LEAST, emit.make_constant(0, place), place)
        return emit.make_conditional(
            test, emit.make_binary(left, _POW, right, place), emit.make_call("power", [left, right], place), place
        )
    if not can_evaluate_first(left, right):
        return slow
    second, right = evaluate_once(c, right, place)
    tests = [emit.make_comparison(second, _AT_MOST, emit.make_constant(_MAX_FAST_EXPONENT, place), place)]
    if not is_nonnegative_integer(c, node.right):
        whole = emit.make_class_comparison(second, "int", place)
        tests = [whole, emit.make_comparison(emit.make_constant(0, place), _AT_MOST, right, place)]
        tests.append(emit.make_comparison(right, _AT_MOST, emit.make_constant(_MAX_FAST_EXPONENT, place), place))
    quick, slow = emit.make_binary(left, _POW, right, place), emit.make_call("power", [left, right], place)
    return emit.make_conditional(_make_conjunction(tests, place), quick, slow, place)


def compile_rounding(
    c: Compiler, name: str, receiver: n.Expr, value: ast.expr, arguments: list[ast.expr], place: SourceLocation
) -> ast.expr | None:
    """Compile `floor`, `ceil` and `round` of a number inline; None if that needs the runtime's function."""
    if arguments:
        return None
    if is_integer(c, receiver):
        return value
    if name == "floor" and value in c.quotient_operands:
        return _compile_floor_division(c, receiver, value, place)
    first, value = evaluate_once(c, value, place)
    tests = [] if is_float(receiver) else [emit.make_class_comparison(first, "float", place)]
    # `x - x` is 0 for finite numbers only: for infinity and NaN it is NaN.
    difference = emit.make_binary(value if tests else first, _SUB, value, place)
    tests.append(emit.make_comparison(difference, _EQUAL, emit.make_constant(0.0, place), place))
    whole = emit.make_call("ceil" if name == "ceil" else "floor", [value], place)
    if name == "round":
        # Half rounds up. The fractional part is exact, and `x + 0.5` would not be.
        low = c.make_temporary()
        behind = emit.make_binary(value, _SUB, emit.make_name(low, place), place)
        is_up = emit.make_comparison(behind, _AT_LEAST, emit.make_constant(0.5, place), place)
        whole = emit.make_binary(emit.make_named_expression(low, whole, place), _ADD, is_up, place)
    return emit.make_conditional(_make_conjunction(tests, place), whole, value, place)


def _compile_floor_division(c: Compiler, node: n.Expr, value: ast.expr, place: SourceLocation) -> ast.expr:
    """Compile `(a / b).floor()` of integers to Python's exact `a // b`."""
    left, right = c.quotient_operands[value]
    assert isinstance(node, n.Binary)
    if is_integer(c, node.left) and is_integer(c, node.right):
        return emit.make_binary(left, _FLOOR_DIV, right, place)
    first, second, left, right = evaluate_both_once(c, left, right, place)
    test, whole = make_class_test(c, emit.make_binary(first, _FLOOR_DIV, second, place), "int", place)
    slow = emit.make_global_call("_vm_number_floor", [emit.make_binary(left, _DIV, right, place)], place)
    return emit.make_conditional(test, whole, slow, place)


def _make_conjunction(tests: list[ast.expr], place: SourceLocation) -> ast.expr:
    return tests[0] if len(tests) == 1 else set_location(ast.BoolOp(ast.And(), tests), place)
