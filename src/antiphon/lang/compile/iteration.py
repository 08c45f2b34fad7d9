"""What a loop goes through, compiled."""

from __future__ import annotations

import ast

from antiphon.lang.check.types import AI, Array
from antiphon.lang.compile import emit
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.syntax import nodes as n


def iterable(c: Compiler, node: n.Expr) -> ast.expr:
    """What a `for` goes through."""
    type_ = type_of(node)
    if isinstance(node, n.Range):
        return _span(c, node)
    if isinstance(type_, Array):
        return c.expr(node)
    value = c.expr(node)
    if isinstance(type_, AI):
        # An answer declared as an array is one; of any other the checker has complained.
        value = emit.call("_vunwrap", [value], c.place(node))
    return emit.call("_viter", [value], c.place(node))


def _span(c: Compiler, node: n.Range) -> ast.expr:
    """A range, to go through."""
    return emit.call("_vspan", [c.expr(node.first), c.expr(node.last)], c.place(node))
