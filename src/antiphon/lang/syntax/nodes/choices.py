"""Choosing by what a value is: `c ? a : b`, `x is T`, and `match`."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from antiphon.lang.syntax.nodes.tree import Node

if TYPE_CHECKING:
    from antiphon.lang.check.types import Type
    from antiphon.lang.syntax.nodes.expressions import Expr
    from antiphon.lang.syntax.nodes.statements import Block, Throw
    from antiphon.lang.syntax.nodes.written_types import TypeNode


class Conditional(Node):
    """`condition ? then : otherwise`; where the two signs stand is noted."""

    condition: Expr
    then: Expr
    otherwise: Expr
    question: int = field(default=0, compare=False)
    colon: int = field(default=0, compare=False)
    type: Type | None = field(default=None, compare=False, repr=False)


class Is(Node):
    """`value is type`; the word stands at `op_start`."""

    value: Expr
    tested: TypeNode
    op_start: int = field(default=0, compare=False)
    type: Type | None = field(default=None, compare=False, repr=False)


class Arm(Node):
    """`"low", is number => body`, or `else => body`, whose patterns are none.

    The body is an expression or `throw`, or in a `match` that is a statement a block; one statement without braces is
    a block of one. A pattern is a type: of a literal, of null, or what follows `is`. The arrow stands at `arrow`.
    """

    patterns: list[TypeNode]
    body: Expr | Throw | Block
    is_else: bool = False
    arrow: int = field(default=0, compare=False)


class Match(Node):
    """`match value { arms }` as an expression: every body is one."""

    value: Expr
    arms: list[Arm]
    brace: int = field(default=0, compare=False)
    type: Type | None = field(default=None, compare=False, repr=False)


class MatchStatement(Node):
    """`match value { arms }` as a statement: every body is a block."""

    value: Expr
    arms: list[Arm]
    brace: int = field(default=0, compare=False)
