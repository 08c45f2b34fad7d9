"""Nodes of statements, and the program that consists of them."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal

from antiphon.lang.syntax.nodes.base import Node
from antiphon.lang.syntax.nodes.declarations import (
    ArrayPattern,
    Destructure,
    Function,
    Import,
    Input,
    Let,
    ModelDecl,
    Pattern,
    Returns,
    Test,
    TypeDecl,
)
from antiphon.lang.syntax.nodes.match import MatchStatement

if TYPE_CHECKING:
    from antiphon.lang.syntax.nodes.expressions import Expr, Index, Member, Name
    from antiphon.lang.typecheck.symbols import Symbol


class Block(Node):
    """`{ statements }`."""

    statements: list[Statement]


class Assign(Node):
    """`target = value`; `op` is one of `= += -= *= /= %=`."""

    target: Name | Member | Index
    op: str
    value: Expr


class If(Node):
    """`if condition { … } else …`."""

    condition: Expr
    then: Block
    otherwise: Block | If | None = None


class LoopMode(Node):
    """The mode after a loop's closing brace: `verbose`, `forget` or `compress("how", model)`."""

    kind: Literal["verbose", "forget", "compress"]
    how: Expr | None = None
    model: Name | None = None


class ForValue(Node):
    """The second name of `for key, value in map`."""

    name: str
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class For(Node):
    """`for name in iterable { … } mode`, `for name, value in map { … }`.

    Where each item is destructured, `pattern` is set and the name is empty.
    """

    name: str
    iterable: Expr
    body: Block
    mode: LoopMode | None = None
    name_start: int = field(default=0, compare=False)
    #: The second name, bound to the value of each key.
    value: ForValue | None = None
    pattern: Pattern | ArrayPattern | None = None
    in_start: int = field(default=0, compare=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class While(Node):
    """`while condition { … } mode`."""

    condition: Expr
    body: Block
    mode: LoopMode | None = None


class Break(Node):
    """`break`."""


class Continue(Node):
    """`continue`."""


class Return(Node):
    """`return value`; `scalar` is true if the value is immutable, so that returning it creates no alias."""

    value: Expr | None = None
    scalar: bool = field(default=False, compare=False, repr=False)


class Yield(Node):
    """`yield value`, in an `async for`."""

    value: Expr


class Throw(Node):
    """`throw value`."""

    value: Expr


class Try(Node):
    """`try { … } catch name { … } finally { … }`; the name and one of the last two may be omitted."""

    body: Block
    name: str | None
    handler: Block | None
    name_start: int = field(default=0, compare=False)
    last: Block | None = None
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class ExprStatement(Node):
    """An expression on its own."""

    value: Expr


class AsyncAsk(Node):
    """`async do …` as a statement: it runs concurrently, and the program awaits it at the end."""

    value: Expr


class BadStatement(Node):
    """Placeholder for an unreadable statement, which has already been reported."""


Statement = (
    Let
    | Destructure
    | Input
    | Returns
    | Assign
    | If
    | MatchStatement
    | For
    | While
    | Break
    | Continue
    | Return
    | Yield
    | Throw
    | Try
    | Function
    | ModelDecl
    | TypeDecl
    | Import
    | Test
    | ExprStatement
    | Block
    | AsyncAsk
    | BadStatement
)


class Program(Node):
    """A whole file. `comments` are the spans of its comments in order; `lost` holds the names in unreadable text."""

    statements: list[Statement]
    comments: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]], compare=False, repr=False)
    lost: set[str] = field(default_factory=set[str], compare=False, repr=False)
