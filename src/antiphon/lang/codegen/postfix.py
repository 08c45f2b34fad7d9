"""Compile chains of members, items, slices and calls of any length, from the left end."""

from __future__ import annotations

import ast
from typing import Any, cast

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.calls import compile_call, compile_value_call
from antiphon.lang.codegen.compiler import Compiler, make_not_null_test
from antiphon.lang.codegen.loops import compile_range_iterable
from antiphon.lang.codegen.members import compile_item, compile_member, compile_slice
from antiphon.lang.codegen.methods import compile_method
from antiphon.lang.codegen.python_ast import SourceLocation
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.method_calls import METHODS_WITH_FUNCTION


def compile_postfix(c: Compiler, node: n.Member | n.Index | n.Slice | n.Call, leniently: bool = False) -> ast.expr:
    """Compile a chain of members, items and calls, from its left end."""
    steps: list[Any] = []
    here: Any = node
    while True:
        kind = here.__class__
        if kind is n.Call:
            if type(here.callee) is n.Name:
                break
            steps.append(here)
            here = here.callee.object if type(here.callee) is n.Member else here.callee
        elif kind in (n.Member, n.Index, n.Slice):
            steps.append(here)
            here = here.object
        else:
            break
    steps.reverse()
    first = n.is_optional_step(steps[0]) if steps else False
    if type(here) is n.Call:
        value = compile_call(c, here)
    elif type(here) is n.Range and _is_iterating_method(steps[0]):
        value = compile_range_iterable(c, here)
    else:
        value = compile_lenient(c, here) if first else c.expr(here)
    return _compile_steps(c, steps, value, leniently)


def _is_iterating_method(step: Any) -> bool:
    """Return True if a step is an array method that only iterates, and so needs no array."""
    return type(step) is n.Call and type(step.callee) is n.Member and step.callee.name in METHODS_WITH_FUNCTION


def _compile_steps(c: Compiler, steps: list[Any], value: ast.expr, leniently: bool) -> ast.expr:
    """Compile the steps that follow a value.

    Where `?.` finds null, the remaining steps are skipped; a field before `?.` may be missing.
    """
    tests: list[tuple[ast.expr, SourceLocation]] = []
    optional = [*map(n.is_optional_step, steps), False]
    for number, step in enumerate(steps):
        if optional[number]:
            place = c.place(step)
            test, value = make_not_null_test(c, value, place, n.get_step_receiver(step))
            tests.append((test, place))
        value = _compile_step(c, step, value, leniently or optional[number] or optional[number + 1])
    for test, place in reversed(tests):
        value = emit.make_conditional(test, value, emit.make_constant(None, place), place)
    return value


def compile_lenient(c: Compiler, node: n.Expr) -> ast.expr:
    """Compile an expression in which a missing field is null: before `??`, compared with null, as a condition."""
    if type(node) in (n.Member, n.Index):
        return compile_postfix(c, cast(n.Member, node), leniently=True)
    return c.expr(node)


def _compile_step(c: Compiler, node: Any, value: ast.expr, lenient: bool) -> ast.expr:
    place = c.place(node)
    kind = node.__class__
    if kind is n.Call:
        return (compile_method if type(node.callee) is n.Member else compile_value_call)(c, node, value, place)
    if kind is n.Member:
        return compile_member(c, node, value, lenient, place)
    if kind is n.Index:
        return compile_item(c, node, value, lenient, place)
    return compile_slice(c, node, value, place)
