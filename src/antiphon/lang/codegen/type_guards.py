"""Emit tests of a value's class at run time; each evaluates the value once."""

from __future__ import annotations

import ast

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.compiler import Compiler
from antiphon.lang.codegen.python_ast import SourceLocation, set_location

_IS = ast.Is()


def evaluate_once(c: Compiler, value: ast.expr, place: SourceLocation, keep: bool = False) -> tuple[ast.expr, ast.expr]:
    """Return a value where it is evaluated, and where it is read again.

    A variable is simply read twice, unless `keep` is set.
    """
    if isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and not keep):
        return value, value
    name = c.make_temporary()
    return emit.make_named_expression(name, value, place), emit.make_name(name, place)


def can_evaluate_first(value: ast.expr, other: ast.expr) -> bool:
    """Return True if a value may be read before an expression that is written before it."""
    if not isinstance(value, ast.Name):
        return isinstance(value, ast.Constant)
    return not any(isinstance(each, ast.Call | ast.NamedExpr) for each in ast.walk(other))


def make_class_of(value: ast.expr, place: SourceLocation) -> ast.expr:
    """Return the expression `value.__class__`."""
    return set_location(ast.Attribute(value, "__class__", ast.Load()), place)


def make_class_test(c: Compiler, value: ast.expr, kind: str, place: SourceLocation) -> tuple[ast.expr, ast.expr]:
    """Return a test that a value's class is exactly `kind`, and the value as it is read afterwards."""
    first, value = evaluate_once(c, value, place)
    return emit.make_comparison(make_class_of(first, place), _IS, emit.make_name(kind, place), place), value
