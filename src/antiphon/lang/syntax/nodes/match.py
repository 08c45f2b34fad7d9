"""Nodes of conditional values: `c ? a : b`, `x is T` and `match`."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from antiphon.lang.syntax.nodes.base import Node

if TYPE_CHECKING:
    from antiphon.lang.syntax.nodes.expressions import Expr
    from antiphon.lang.syntax.nodes.statements import Block, Throw
    from antiphon.lang.syntax.nodes.types import TypeNode
    from antiphon.lang.typecheck.types import Type


class Conditional(Node):
    """`condition ? then : otherwise`; `question` and `colon` are the offsets of the two signs."""

    condition: Expr
    then: Expr
    otherwise: Expr
    question: int = field(default=0, compare=False)
    colon: int = field(default=0, compare=False)
    type: Type | None = field(default=None, compare=False, repr=False)


class Is(Node):
    """`value is type`; `op_start` is the offset of the keyword."""

    value: Expr
    tested: TypeNode
    op_start: int = field(default=0, compare=False)
    type: Type | None = field(default=None, compare=False, repr=False)


class Arm(Node):
    """`"low", is number => body`, or `else => body`, which has no patterns.

    The body is an expression or `throw`, or in a `match` statement a block; a single statement without braces
    becomes a block. A pattern is a type: of a literal, of null, or the one after `is`. `arrow` is the offset of
    the arrow.
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
