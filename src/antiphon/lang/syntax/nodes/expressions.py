"""Expressions: what has a value."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal

from antiphon.lang.syntax.nodes.choices import Conditional, Is, Match
from antiphon.lang.syntax.nodes.tree import Node

if TYPE_CHECKING:
    from antiphon.lang.check.symbols import Symbol
    from antiphon.lang.check.types import Type
    from antiphon.lang.syntax.nodes.declarations import Parameter
    from antiphon.lang.syntax.nodes.statements import Block

Context = Literal["default", "local", "none"]


class NumberLit(Node):
    """A number; whole ones are `int`, `1e6` too."""

    value: int | float
    type: Type | None = field(default=None, compare=False, repr=False)


class Hole(Node):
    """`${expr}`, or `{path}` where `dollar` is false."""

    value: Expr
    dollar: bool


class TextLit(Node):
    """A string: pieces of text (escapes already read) and holes. The quote is one of `"` `'` and the backtick."""

    parts: list[str | Hole]
    quote: str = field(compare=False)
    type: Type | None = field(default=None, compare=False, repr=False)


class BoolLit(Node):
    """`true`, `false`."""

    value: bool
    type: Type | None = field(default=None, compare=False, repr=False)


class NullLit(Node):
    """`null`."""

    type: Type | None = field(default=None, compare=False, repr=False)


class Name(Node):
    """A name that is used."""

    name: str
    type: Type | None = field(default=None, compare=False, repr=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class Spread(Node):
    """`...value` in an array or an object: all that is in the value."""

    value: Expr


class ArrayLit(Node):
    """`[a, ...b]`."""

    items: list[Expr | Spread]
    type: Type | None = field(default=None, compare=False, repr=False)


class Entry(Node):
    """`key: value` of an object; `{name}` is short for `{name: name}`. `quoted` keys are strings."""

    key: str
    value: Expr
    quoted: bool = field(default=False, compare=False)
    short: bool = False


class ObjectLit(Node):
    """`{ key: value, "any text": value, ...other }`."""

    entries: list[Entry | Spread]
    type: Type | None = field(default=None, compare=False, repr=False)


class Unary(Node):
    """`-x`, `not x`."""

    op: Literal["-", "not"]
    operand: Expr
    type: Type | None = field(default=None, compare=False, repr=False)


class Binary(Node):
    """Two operands; `op` is one of `+ - * / % ** == != < <= > >= in and or ??`, `op_start` where it stands."""

    op: str
    left: Expr
    right: Expr
    op_start: int = field(default=0, compare=False)
    type: Type | None = field(default=None, compare=False, repr=False)


class Range(Node):
    """`a..b`, both ends included."""

    first: Expr
    last: Expr
    type: Type | None = field(default=None, compare=False, repr=False)


class Member(Node):
    """`object.name`, or `object?.name`; the name stands at `name_start`."""

    object: Expr
    name: str
    name_start: int = field(default=0, compare=False)
    optional: bool = False
    type: Type | None = field(default=None, compare=False, repr=False)


class Index(Node):
    """`object[index]`, or `object?.[index]`."""

    object: Expr
    index: Expr
    optional: bool = False
    type: Type | None = field(default=None, compare=False, repr=False)


class Slice(Node):
    """`object[first:last:step]`, as Python's: any of them may be missing."""

    object: Expr
    first: Expr | None
    last: Expr | None
    step: Expr | None
    optional: bool = False
    type: Type | None = field(default=None, compare=False, repr=False)


class Argument(Node):
    """`name: value` in a call."""

    name: str
    value: Expr


class Call(Node):
    """`callee(arguments, name: value)`; the callee is a name, or a member for a method."""

    callee: Expr
    arguments: list[Expr]
    named: list[Argument] = field(default_factory=list[Argument])
    type: Type | None = field(default=None, compare=False, repr=False)


class Ask(Node):
    """`do prompt model context`, `vibe …`. `model` is a name, or `None` for the one that is in force.

    `wanted` is the type the place wants, filled in by the checker; `None` where it wants none.
    """

    kind: Literal["do", "vibe"]
    prompt: Expr
    model: Name | None = None
    context: Context | None = None
    #: Whether the word `model` stood there for the default one.
    says_model: bool = False
    type: Type | None = field(default=None, compare=False, repr=False)
    wanted: Type | None = field(default=None, compare=False, repr=False)


class AskHuman(Node):
    """`ask prompt`: the human answers."""

    prompt: Expr
    type: Type | None = field(default=None, compare=False, repr=False)
    wanted: Type | None = field(default=None, compare=False, repr=False)


class PyBlock(Node):
    """`py(a, b) { code }`; `code` is what stands between the braces, from `code_start` on.

    One that `is_pure` may be run twice.
    """

    parameters: list[Name]
    code: str
    code_start: int = field(default=0, compare=False)
    is_pure: bool = False
    type: Type | None = field(default=None, compare=False, repr=False)


class AsyncFor(Node):
    """`async for x in xs { yield … }`: the yielded values, in order."""

    name: str
    iterable: Expr
    body: Block
    name_start: int = field(default=0, compare=False)
    in_start: int = field(default=0, compare=False)
    type: Type | None = field(default=None, compare=False, repr=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class Lambda(Node):
    """`x => x * 2`, `(a, b: number) => { … }`: a function without a name."""

    parameters: list[Parameter]
    body: Expr | Block
    type: Type | None = field(default=None, compare=False, repr=False)


class BadExpr(Node):
    """Stands where no expression could be read; there is a diagnostic of it already."""

    type: Type | None = field(default=None, compare=False, repr=False)


Expr = (
    NumberLit
    | TextLit
    | BoolLit
    | NullLit
    | Name
    | ArrayLit
    | ObjectLit
    | Unary
    | Binary
    | Range
    | Member
    | Index
    | Slice
    | Call
    | Ask
    | AskHuman
    | PyBlock
    | AsyncFor
    | Conditional
    | Is
    | Match
    | Lambda
    | BadExpr
)

_STEPS = (Member, Index, Slice)


def is_optional(step: Node | None) -> bool:
    """Whether a step of a path, which may be a call of a method, is taken only if what is before it is there."""
    step = step.callee if isinstance(step, Call) else step
    return isinstance(step, _STEPS) and step.optional


def reached(step: Node) -> Expr:
    """What a step of a path goes into."""
    step = step.callee if isinstance(step, Call) else step
    assert isinstance(step, _STEPS)
    return step.object


def root_symbol(node: Node) -> Symbol | None:
    """The variable that a path of members and items begins with."""
    while isinstance(node, _STEPS):
        node = node.object
    return node.symbol if isinstance(node, Name) else None
