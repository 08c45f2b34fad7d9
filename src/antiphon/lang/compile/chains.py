"""Chains of members, items, parts and calls, compiled: of any length, from the left end."""

from __future__ import annotations

import ast
from typing import Any, cast

from antiphon.lang.check.generic_methods import WITH_FUNCTION
from antiphon.lang.check.types import AI, JSON
from antiphon.lang.compile import emit
from antiphon.lang.compile.calls import call, call_value
from antiphon.lang.compile.emit import Place
from antiphon.lang.compile.guards import once
from antiphon.lang.compile.iteration import span
from antiphon.lang.compile.members import item, member, part
from antiphon.lang.compile.methods import method
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.syntax import nodes as n


def postfix(c: Compiler, node: n.Member | n.Index | n.Slice | n.Call, leniently: bool = False) -> ast.expr:
    """A chain of members, items and calls, from its left end."""
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
    first = n.is_optional(steps[0]) if steps else False
    if type(here) is n.Call:
        value = call(c, here)
    elif type(here) is n.Range and _goes_through(steps[0]):
        value = span(c, here)
    else:
        value = lenient(c, here) if first else c.expr(here)
    return _stepped(c, steps, value, leniently)


def _goes_through(step: Any) -> bool:
    """Whether it is a method that goes through an array, and needs none for that."""
    return type(step) is n.Call and type(step.callee) is n.Member and step.callee.name in WITH_FUNCTION


def _stepped(c: Compiler, steps: list[Any], value: ast.expr, leniently: bool) -> ast.expr:
    """The steps from a value on. Where `?.` finds null, the rest is left out; what stands before it may be missing."""
    tests: list[tuple[ast.expr, Place]] = []
    optional = [*map(n.is_optional, steps), False]
    for number, step in enumerate(steps):
        if optional[number]:
            place = c.place(step)
            test, value = _is_there(c, n.reached(step), value, place)
            tests.append((test, place))
        value = _step(c, step, value, leniently or optional[number] or optional[number + 1])
    for test, place in reversed(tests):
        value = emit.either(test, value, emit.constant(None, place), place)
    return value


def _is_there(c: Compiler, node: n.Expr, value: ast.expr, place: Place) -> tuple[ast.expr, ast.expr]:
    """A test whether a value is not null, which evaluates it, and the value as it is read after it."""
    first, again = once(c, value, place)
    if isinstance(first, ast.Constant):
        # Python would warn of it.
        return emit.constant(first.value is not None, place), again
    if isinstance(type_of(node), AI) or type_of(node) == JSON:
        first = emit.call("_vunwrap", [first], place)
    return emit.compare(first, ast.IsNot(), emit.constant(None, place), place), again


def lenient(c: Compiler, node: n.Expr) -> ast.expr:
    """An expression in which a missing field is null: before `??`, compared with null, as a condition."""
    if type(node) in (n.Member, n.Index):
        return postfix(c, cast(n.Member, node), leniently=True)
    return c.expr(node)


def _step(c: Compiler, node: Any, value: ast.expr, lenient: bool) -> ast.expr:
    place = c.place(node)
    kind = node.__class__
    if kind is n.Call:
        return (method if type(node.callee) is n.Member else call_value)(c, node, value, place)
    if kind is n.Member:
        return member(c, node, value, lenient, place)
    if kind is n.Index:
        return item(c, node, value, lenient, place)
    return part(c, node, value, place)
