"""Statements, and the program they make."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal

from antiphon.lang.syntax.nodes.choices import MatchStatement
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
from antiphon.lang.syntax.nodes.tree import Node

if TYPE_CHECKING:
    from antiphon.lang.check.symbols import Symbol
    from antiphon.lang.syntax.nodes.expressions import Expr, Index, Member, Name


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
    """What stands after a loop's brace: `verbose`, `forget`, `compress("how", model)`."""

    kind: Literal["verbose", "forget", "compress"]
    how: Expr | None = None
    model: Name | None = None


class ForValue(Node):
    """The second name of `for key, value in map`."""

    name: str
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class For(Node):
    """`for name in iterable { … } mode`, `for name, value in map { … }`; where each item is taken apart there is a
    `pattern`, and no name."""

    name: str
    iterable: Expr
    body: Block
    mode: LoopMode | None = None
    name_start: int = field(default=0, compare=False)
    #: The second name, of the value beside a key.
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
    """`return value`; of a `scalar` nothing can change, so nothing is shared by it."""

    value: Expr | None = None
    scalar: bool = field(default=False, compare=False, repr=False)


class Yield(Node):
    """`yield value`, in an `async for`."""

    value: Expr


class Throw(Node):
    """`throw value`."""

    value: Expr


class Try(Node):
    """`try { … } catch name { … } finally { … }`; the name may be left out, and one of the last two."""

    body: Block
    name: str | None
    handler: Block | None
    name_start: int = field(default=0, compare=False)
    last: Block | None = None
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class ExprStatement(Node):
    """An expression on its own."""

    value: Expr


class Started(Node):
    """`async do …` on its own: it goes on meanwhile, and is waited for at the end."""

    value: Expr


class BadStatement(Node):
    """Stands where no statement could be read; there is a diagnostic of it already."""


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
    | Started
    | BadStatement
)


class Program(Node):
    """A whole file. `comments` are the spans of its comments, in order; `lost`, the names in what could not be read."""

    statements: list[Statement]
    comments: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]], compare=False, repr=False)
    lost: set[str] = field(default_factory=set[str], compare=False, repr=False)
