"""The syntax tree. Every node has its span in the source; trees that differ only in spans are equal.

The parser creates the nodes, the checker fills in `type`, `symbol` and `wanted`, and the compiler reads both.
Fields that are filled in later do not count in comparisons. Each node is an `Expr`, a `Statement`, a
`TypeNode` or a `Part` of one; `require_all` verifies that a table has an entry for each.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal

from antiphon.lang.syntax.node_base import Node as Node
from antiphon.lang.syntax.node_base import child_fields as child_fields
from antiphon.lang.syntax.node_base import children as children
from antiphon.lang.syntax.node_base import require_all as require_all
from antiphon.lang.syntax.node_base import walk as walk

if TYPE_CHECKING:
    from antiphon.lang.typecheck.symbols import Symbol
    from antiphon.lang.typecheck.types import Type

Context = Literal["default", "local", "none"]


class TypedNode(Node):
    """Base class of nodes that have a type, which the checker fills in."""

    type: Type | None = field(default=None, compare=False, repr=False, kw_only=True)


class NamingNode(Node):
    """Base class of nodes that declare or read a name, whose symbol the checker fills in."""

    symbol: Symbol | None = field(default=None, compare=False, repr=False, kw_only=True)


# Types


class TypeName(TypedNode):
    """`text`, `number`, `boolean`, `json`, `prompt`, `model`, `null`, or a declared type."""

    name: str


class ArrayType(TypedNode):
    """`T[]`."""

    item: TypeNode


class LiteralType(TypedNode):
    """`"low"`, `3`, `true`: a type with one value."""

    value: str | int | float | bool


class UnionType(TypedNode):
    """`"low" | "high"`, `text | null`."""

    options: list[TypeNode]


class TypeField(Node):
    """`age?: number "in whole years"`; the name spans `start` to `name_end`."""

    name: str
    declared: TypeNode
    optional: bool = False
    description: str = ""
    name_end: int = field(default=0, compare=False)


class ObjectType(TypedNode):
    """`{ name: text, age?: number }`."""

    fields: list[TypeField]


class MapType(TypedNode):
    """`{ [text]: number }`; `key_start` is the offset of the bracket of the key."""

    key: TypeNode
    value: TypeNode
    key_start: int = field(default=0, compare=False)


class FunctionType(TypedNode):
    """`(number, text) => boolean`."""

    parameters: list[TypeNode]
    returns: TypeNode


TypeNode = TypeName | ArrayType | LiteralType | UnionType | ObjectType | MapType | FunctionType


# Expressions


class NumberLit(TypedNode):
    """A number literal; integers are `int`, including `1e6`."""

    value: int | float


class Interpolation(Node):
    """`${expr}`, or `{path}` where `dollar` is false."""

    value: Expr
    dollar: bool


class TextLit(TypedNode):
    """A string literal: text with escapes resolved, and interpolations.

    The quote is one of `"` `'` and the backtick.
    """

    parts: list[str | Interpolation]
    quote: str = field(compare=False)


class BoolLit(TypedNode):
    """`true`, `false`."""

    value: bool


class NullLit(TypedNode):
    """`null`."""


class Name(TypedNode):
    """A use of a name."""

    name: str
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class Spread(Node):
    """`...value` in an array or an object: inserts all items or fields of the value."""

    value: Expr


class ArrayLit(TypedNode):
    """`[a, ...b]`."""

    items: list[Expr | Spread]


class ObjectEntry(Node):
    """`key: value` of an object; `{name}` is short for `{name: name}`. `quoted` keys are strings."""

    key: str
    value: Expr
    quoted: bool = field(default=False, compare=False)
    short: bool = False


class ObjectLit(TypedNode):
    """`{ key: value, "any text": value, ...other }`."""

    entries: list[ObjectEntry | Spread]


class Unary(TypedNode):
    """`-x`, `not x`."""

    op: Literal["-", "not"]
    operand: Expr


class Binary(TypedNode):
    """A binary operation; `op` is one of `+ - * / % ** == != < <= > >= in and or ??`, `op_start` its offset."""

    op: str
    left: Expr
    right: Expr
    op_start: int = field(default=0, compare=False)


class Range(TypedNode):
    """`a..b`, both ends included."""

    first: Expr
    last: Expr


class Member(TypedNode):
    """`object.name` or `object?.name`; `name_start` is the offset of the name."""

    object: Expr
    name: str
    name_start: int = field(default=0, compare=False)
    optional: bool = False


class Index(TypedNode):
    """`object[index]`, or `object?.[index]`."""

    object: Expr
    index: Expr
    optional: bool = False


class Slice(TypedNode):
    """`object[first:last:step]`, as in Python: each of the three may be missing."""

    object: Expr
    first: Expr | None
    last: Expr | None
    step: Expr | None
    optional: bool = False


class Argument(Node):
    """`name: value` in a call."""

    name: str
    value: Expr


class Call(TypedNode):
    """`callee(arguments, name: value)`; the callee is a name, or a member for a method."""

    callee: Expr
    arguments: list[Expr]
    named: list[Argument] = field(default_factory=list[Argument])


class ModelCall(TypedNode):
    """`do prompt model context`, `vibe …`. `model` is a name, or `None` for the current default.

    `wanted` is the expected type, which the checker fills in; `None` where any type is accepted.
    """

    kind: Literal["do", "vibe"]
    prompt: Expr
    model: Name | None = None
    context: Context | None = None
    #: True if the keyword `model` is written for the default model.
    says_model: bool = False
    wanted: Type | None = field(default=None, compare=False, repr=False)


class AskHuman(TypedNode):
    """`ask prompt`: the human answers."""

    prompt: Expr
    wanted: Type | None = field(default=None, compare=False, repr=False)


class PyBlock(TypedNode):
    """`py(a, b) { code }`; `code` is the text between the braces, which begins at `code_start`.

    A block with `is_pure` may run twice.
    """

    parameters: list[Name]
    code: str
    code_start: int = field(default=0, compare=False)
    is_pure: bool = False


class AsyncFor(TypedNode):
    """`async for x in xs { yield … }`: an array of the yielded values, in order."""

    name: str
    iterable: Expr
    body: Block
    name_start: int = field(default=0, compare=False)
    in_start: int = field(default=0, compare=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class Lambda(TypedNode):
    """`x => x * 2`, `(a, b: number) => { … }`: an anonymous function."""

    parameters: list[Parameter]
    body: Expr | Block


class BadExpr(TypedNode):
    """Placeholder for an unreadable expression, which has already been reported."""


class Conditional(TypedNode):
    """`condition ? then : otherwise`; `question` and `colon` are the offsets of the two signs."""

    condition: Expr
    then: Expr
    otherwise: Expr
    question: int = field(default=0, compare=False)
    colon: int = field(default=0, compare=False)


class Is(TypedNode):
    """`value is type`; `op_start` is the offset of the keyword."""

    value: Expr
    tested: TypeNode
    op_start: int = field(default=0, compare=False)


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


class Match(TypedNode):
    """`match value { arms }` as an expression: every body is one."""

    value: Expr
    arms: list[Arm]
    brace: int = field(default=0, compare=False)


class MatchStatement(Node):
    """`match value { arms }` as a statement: every body is a block."""

    value: Expr
    arms: list[Arm]
    brace: int = field(default=0, compare=False)


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

#: The steps of a path: nodes that read a part of another value.
PATH_STEPS = (Member, Index, Slice)


def is_optional_step(step: Node | None) -> bool:
    """Return True if a step of a path, or the callee of a method call, is written with `?.`."""
    step = step.callee if isinstance(step, Call) else step
    return isinstance(step, PATH_STEPS) and step.optional


def get_step_receiver(step: Node) -> Expr:
    """Return the expression that a step of a path is applied to."""
    step = step.callee if isinstance(step, Call) else step
    assert isinstance(step, PATH_STEPS)
    return step.object


def get_plain_text(node: Node) -> str | None:
    """Return the value of a string literal without interpolations; None for any other node."""
    if not isinstance(node, TextLit) or any(isinstance(part, Interpolation) for part in node.parts):
        return None
    return "".join(part for part in node.parts if isinstance(part, str))


def get_root_symbol(node: Node) -> Symbol | None:
    """Return the variable that a path of members and items begins with."""
    while isinstance(node, PATH_STEPS):
        node = node.object
    return node.symbol if isinstance(node, Name) else None


# Declarations


class PatternField(TypedNode):
    """`private name: type "description" = default`, or `name: { nested pattern }`."""

    name: str
    declared: TypeNode | None = None
    nested: Pattern | None = None
    default: Expr | None = None
    is_private: bool = False
    description: str = ""
    name_start: int = field(default=0, compare=False)
    #: The inferred type where none is declared.
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class Pattern(TypedNode):
    """`{ fields }` on the left of a declaration; `type` is that of the object it destructures."""

    fields: list[PatternField]


class PatternItem(NamingNode):
    """`name: type` in the pattern of an array; the type may be omitted."""

    name: str
    declared: TypeNode | None = None


class ArrayPattern(Node):
    """`[ items ]` on the left of a declaration: one for each item of the array."""

    items: list[PatternItem]


class Let(NamingNode):
    """`let name: type = value` or `const …`, with the modifiers `export`, `private` and `async`."""

    is_const: bool
    name: str
    declared: TypeNode | None
    value: Expr | None
    is_private: bool = False
    is_async: bool = False
    exported: bool = False
    name_start: int = field(default=0, compare=False)


class Destructure(Node):
    """`const { name: text } = value`, `const [a, b] = value`."""

    is_const: bool
    pattern: Pattern | ArrayPattern
    value: Expr
    is_private: bool = False
    is_async: bool = False
    exported: bool = False


class Input(NamingNode):
    """`input name: type = default "description"`, with the modifier `private`."""

    name: str
    declared: TypeNode | None
    default: Expr | None = None
    description: str = ""
    is_private: bool = False
    name_start: int = field(default=0, compare=False)


class Returns(Node):
    """`returns type`: the result type of the program."""

    declared: TypeNode


class Parameter(NamingNode):
    """`name: type "description" = default`."""

    name: str
    declared: TypeNode | None = None
    description: str = ""
    default: Expr | None = None
    is_private: bool = False


class Function(NamingNode):
    """`function name(…): type { … }`, or `tool`, whose `description` is its own or the comment above it."""

    name: str
    parameters: list[Parameter]
    returns: TypeNode | None
    body: Block
    is_tool: bool = False
    description: str | None = None
    exported: bool = False
    #: The comment above it, used for a tool without a description.
    doc: str = field(default="", compare=False)
    name_start: int = field(default=0, compare=False)


class ModelDecl(NamingNode):
    """`model name = { name: "…" }`."""

    name: str
    settings: ObjectLit
    exported: bool = False
    name_start: int = field(default=0, compare=False)


class TypeDecl(NamingNode):
    """`type Name { fields }`, `type Name = "a" | "b"`."""

    name: str
    declared: TypeNode
    exported: bool = False
    name_start: int = field(default=0, compare=False)


class ImportName(NamingNode):
    """`name`, or `name as alias`."""

    name: str
    alias: str | None = None
    alias_start: int = field(default=0, compare=False)


class Import(Node):
    """`import { names } from "path"`."""

    names: list[ImportName]
    path: str
    path_start: int = field(default=0, compare=False)


class Test(Node):
    """`test "what it shows" { … }`."""

    name: str
    body: Block


# Statements


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


class ForValue(NamingNode):
    """The second name of `for key, value in map`."""

    name: str


class For(NamingNode):
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


class Try(NamingNode):
    """`try { … } catch name { … } finally { … }`; the name and one of the last two may be omitted."""

    body: Block
    name: str | None
    handler: Block | None
    name_start: int = field(default=0, compare=False)
    last: Block | None = None


class ExprStatement(Node):
    """An expression on its own."""

    value: Expr


class AsyncAsk(Node):
    """`async do …` as a statement: it runs concurrently, and the program awaits it at the end."""

    value: Expr


class BadStatement(Node):
    """Placeholder for an unreadable statement, which has already been reported."""


class Program(Node):
    """A whole file. `comments` are the spans of its comments in order; `lost` holds the names in unreadable text."""

    statements: list[Statement]
    comments: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]], compare=False, repr=False)
    lost: set[str] = field(default_factory=set[str], compare=False, repr=False)


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


#: Nodes that occur only inside others.
Part = (
    Program
    | Interpolation
    | ObjectEntry
    | Spread
    | Argument
    | Arm
    | TypeField
    | Pattern
    | PatternField
    | ArrayPattern
    | PatternItem
    | Parameter
    | ImportName
    | LoopMode
    | ForValue
)
