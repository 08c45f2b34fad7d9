"""Numbers that are whole, natural or fractions where that is written there: such need not be looked at."""

from __future__ import annotations

from antiphon.lang.check.types import AI, NUMBER, TEXT, Array, Type, base
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.syntax import nodes as n

#: Methods that give whole numbers, of whatever has them and is no number.
_COUNTING = frozenset(("len", "indexOf", "count"))


def is_whole(c: Compiler, node: n.Expr) -> bool:
    """Return whether a number is an integer of Python's: a literal, a counter, a length, or made of such."""
    match node:
        case n.NumberLit(value=value):
            return type(value) is int
        case n.Unary(operand=operand):
            return is_whole(c, operand)
        case n.Name(symbol=symbol):
            return symbol in c.counters
        case n.Binary(op="+" | "-" | "*" | "%"):
            return is_whole(c, node.left) and is_whole(c, node.right)
        case n.Member(name="length", object=counted):
            return _has_methods(counted)
        case n.Call(callee=n.Member(name=name, object=counted)):
            return name in _COUNTING and _has_methods(counted) and base(type_of(counted)) != NUMBER
        case _:
            return False


def is_natural(c: Compiler, node: n.Expr) -> bool:
    """Return whether a number is whole and not negative, as far as it is written there."""
    match node:
        case n.NumberLit(value=value):
            return type(value) is int
        case n.Name(symbol=symbol):
            return symbol in c.naturals
        case n.Binary(op="+" | "*" | "%"):
            return is_natural(c, node.left) and is_natural(c, node.right)
        case n.Member(name="length", object=counted):
            return _has_methods(counted)
        case _:
            return False


def is_fraction(node: n.Expr) -> bool:
    """Return whether a number is a float of Python's: with any number, a fraction that is written there gives one."""
    match node:
        case n.NumberLit(value=value):
            return type(value) is float
        case n.Unary(operand=operand):
            return is_fraction(operand)
        case n.Binary(op="+" | "-" | "*" | "/" | "%" | "**"):
            both = is_number(type_of(node.left)) and is_number(type_of(node.right))
            return both and (is_fraction(node.left) or is_fraction(node.right))
        case _:
            return False


def is_number(type_: Type) -> bool:
    """Return whether all that is known of a type is that it is a number, and no answer of a model."""
    return base(type_) == NUMBER and not isinstance(type_, AI)


def _has_methods(node: n.Expr) -> bool:
    """Return whether its members are those of all texts, numbers or arrays: an object may have its own of any name."""
    kind = base(type_of(node))
    return kind in (TEXT, NUMBER) or isinstance(kind, Array)
