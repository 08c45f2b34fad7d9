"""Number inference: expressions known to be integers, non-negative integers or floats need no run-time test."""

from __future__ import annotations

from antiphon.lang.codegen.compiler import Compiler, get_expression_type
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.types import NUMBER, TEXT, AIResultType, Array, Type, get_base_type

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
                and get_base_type(get_expression_type(counted)) != NUMBER
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
            both = is_number_type(get_expression_type(node.left)) and is_number_type(get_expression_type(node.right))
            return both and (is_float(node.left) or is_float(node.right))
        case _:
            return False


def is_number_type(type_: Type) -> bool:
    """Return True if a type is a number, and not the answer of a model."""
    return get_base_type(type_) == NUMBER and not isinstance(type_, AIResultType)


def _has_standard_members(node: n.Expr) -> bool:
    """Return True if the members of an expression are those of its kind: an object may define its own `length`."""
    kind = get_base_type(get_expression_type(node))
    return kind in (TEXT, NUMBER) or isinstance(kind, Array)
