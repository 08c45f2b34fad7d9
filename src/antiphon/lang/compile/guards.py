"""Tests of what a value is when the program runs; each evaluates it once."""

from __future__ import annotations

import ast

from antiphon.lang.compile import emit
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.state import Compiler

_IS = ast.Is()


def once(c: Compiler, value: ast.expr, place: Place, keep: bool = False) -> tuple[ast.expr, ast.expr]:
    """A value where it is evaluated, and where it is read again; a variable is read again unless `keep` is set."""
    if isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and not keep):
        return value, value
    name = c.temporary()
    return emit.named(name, value, place), emit.name(name, place)


def may_come_first(value: ast.expr, other: ast.expr) -> bool:
    """Whether it makes no difference if a value is read before another that is written before it."""
    if not isinstance(value, ast.Name):
        return isinstance(value, ast.Constant)
    return not any(isinstance(each, ast.Call | ast.NamedExpr) for each in ast.walk(other))


def class_of(value: ast.expr, place: Place) -> ast.expr:
    """The class of a value."""
    return at(ast.Attribute(value, "__class__", ast.Load()), place)


def is_a(c: Compiler, value: ast.expr, kind: str, place: Place) -> tuple[ast.expr, ast.expr]:
    """A test whether a value is just a list or dict of Python's, and the value as it is read after it."""
    first, value = once(c, value, place)
    return emit.compare(class_of(first, place), _IS, emit.name(kind, place), place), value
