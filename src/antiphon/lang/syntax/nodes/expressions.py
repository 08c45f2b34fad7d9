"""Nodes of expressions, which have values."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal

from antiphon.lang.syntax.nodes.base import Node
from antiphon.lang.syntax.nodes.match import Conditional, Is, Match

if TYPE_CHECKING:
    from antiphon.lang.syntax.nodes.declarations import Parameter
    from antiphon.lang.syntax.nodes.statements import Block
    from antiphon.lang.typecheck.symbols import Symbol
    from antiphon.lang.typecheck.types import Type

Context = Literal["default", "local", "none"]


class NumberLit(Node):
    """A number literal; integers are `int`, including `1e6`."""

    value: int | float
    type: Type | None = field(default=None, compare=False, repr=False)


class Interpolation(Node):
    """`${expr}`, or `{path}` where `dollar` is false."""

    value: Expr
    dollar: bool


class TextLit(Node):
    """A string literal: text with escapes resolved, and interpolations.

    The quote is one of `"` `'` and the backtick.
    """

    parts: list[str | Interpolation]
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
    """A use of a name."""

    name: str
    type: Type | None = field(default=None, compare=False, repr=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class Spread(Node):
    """`...value` in an array or an object: inserts all items or fields of the value."""

    value: Expr


class ArrayLit(Node):
    """`[a, ...b]`."""

    items: list[Expr | Spread]
    type: Type | None = field(default=None, compare=False, repr=False)


class ObjectEntry(Node):
    """`key: value` of an object; `{name}` is short for `{name: name}`. `quoted` keys are strings."""

    key: str
    value: Expr
    quoted: bool = field(default=False, compare=False)
    short: bool = False


class ObjectLit(Node):
    """`{ key: value, "any text": value, ...other }`."""

    entries: list[ObjectEntry | Spread]
    type: Type | None = field(default=None, compare=False, repr=False)


class Unary(Node):
    """`-x`, `not x`."""

    op: Literal["-", "not"]
    operand: Expr
    type: Type | None = field(default=None, compare=False, repr=False)


class Binary(Node):
    """A binary operation; `op` is one of `+ - * / % ** == != < <= > >= in and or ??`, `op_start` its offset."""

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
    """`object.name` or `object?.name`; `name_start` is the offset of the name."""

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
    """`object[first:last:step]`, as in Python: each of the three may be missing."""

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


class ModelCall(Node):
    """`do prompt model context`, `vibe …`. `model` is a name, or `None` for the current default.

    `wanted` is the expected type, which the checker fills in; `None` where any type is accepted.
    """

    kind: Literal["do", "vibe"]
    prompt: Expr
    model: Name | None = None
    context: Context | None = None
    #: True if the keyword `model` is written for the default model.
    says_model: bool = False
    type: Type | None = field(default=None, compare=False, repr=False)
    wanted: Type | None = field(default=None, compare=False, repr=False)


class AskHuman(Node):
    """`ask prompt`: the human answers."""

    prompt: Expr
    type: Type | None = field(default=None, compare=False, repr=False)
    wanted: Type | None = field(default=None, compare=False, repr=False)


class PyBlock(Node):
    """`py(a, b) { code }`; `code` is the text between the braces, which begins at `code_start`.

    A block with `is_pure` may run twice.
    """

    parameters: list[Name]
    code: str
    code_start: int = field(default=0, compare=False)
    is_pure: bool = False
    type: Type | None = field(default=None, compare=False, repr=False)


class AsyncFor(Node):
    """`async for x in xs { yield … }`: an array of the yielded values, in order."""

    name: str
    iterable: Expr
    body: Block
    name_start: int = field(default=0, compare=False)
    in_start: int = field(default=0, compare=False)
    type: Type | None = field(default=None, compare=False, repr=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class Lambda(Node):
    """`x => x * 2`, `(a, b: number) => { … }`: an anonymous function."""

    parameters: list[Parameter]
    body: Expr | Block
    type: Type | None = field(default=None, compare=False, repr=False)


class BadExpr(Node):
    """Placeholder for an unreadable expression, which has already been reported."""

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
    | ModelCall
    | AskHuman
    | PyBlock
    | AsyncFor
    | Conditional
    | Is
    | Match
    | Lambda
    | BadExpr
)

_PATH_STEPS = (Member, Index, Slice)


def is_optional_step(step: Node | None) -> bool:
    """Return True if a step of a path, or the callee of a method call, is written with `?.`."""
    step = step.callee if isinstance(step, Call) else step
    return isinstance(step, _PATH_STEPS) and step.optional


def get_step_receiver(step: Node) -> Expr:
    """Return the expression that a step of a path is applied to."""
    step = step.callee if isinstance(step, Call) else step
    assert isinstance(step, _PATH_STEPS)
    return step.object


def get_root_symbol(node: Node) -> Symbol | None:
    """Return the variable that a path of members and items begins with."""
    while isinstance(node, _PATH_STEPS):
        node = node.object
    return node.symbol if isinstance(node, Name) else None
