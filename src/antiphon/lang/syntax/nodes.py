"""The syntax tree. Every node has its span in the source; two trees are equal if they differ only in spans.

The parser makes the nodes, the checker fills in what it finds out (`type`, `symbol`, `wanted`), the compiler reads
both. What is filled in later is no part of what a tree says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from antiphon.lang.check.symbols import Symbol
    from antiphon.lang.check.types import Type


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """Anything in a tree: from `start` up to `end`, as offsets."""

    start: int = field(compare=False)
    end: int = field(compare=False)

    # Written once for all nodes: made anew for each of fifty classes they would slow down every start.
    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, each.name) == getattr(other, each.name) for each in fields(self) if each.compare)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return f"{type(self).__name__}({', '.join(shown)})"


# Types as they are written


@dataclass(slots=True, eq=False, repr=False)
class TypeExpr(Node):
    """A type as it is written; `type` is what it means."""


@dataclass(slots=True, eq=False, repr=False)
class TypeName(TypeExpr):
    """`text`, `number`, `boolean`, `json`, `prompt`, `model`, `null`, or a declared type."""

    name: str
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class ArrayType(TypeExpr):
    """`T[]`."""

    item: TypeNode
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class LiteralType(TypeExpr):
    """`"low"`, `3`, `true`: a type with one value."""

    value: str | int | float | bool
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class UnionType(TypeExpr):
    """`"low" | "high"`, `text | null`."""

    options: list[TypeNode]
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class TypeField(Node):
    """`age?: number "in whole years"`; the span of the name is `start` and `name_end`."""

    name: str
    declared: TypeNode
    optional: bool = False
    description: str = ""
    name_end: int = field(default=0, compare=False)


@dataclass(slots=True, eq=False, repr=False)
class ObjectType(TypeExpr):
    """`{ name: text, age?: number }`."""

    fields: list[TypeField]
    type: Type | None = field(default=None, compare=False, repr=False)


TypeNode = TypeName | ArrayType | LiteralType | UnionType | ObjectType


# Expressions


@dataclass(slots=True, eq=False, repr=False)
class NumberLit(Node):
    """A number; whole ones are `int`, `1e6` too."""

    value: int | float
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class Hole(Node):
    """`${expr}`, or `{path}` where `dollar` is false."""

    value: Expr
    dollar: bool


@dataclass(slots=True, eq=False, repr=False)
class TextLit(Node):
    """A string: pieces of text (escapes already read) and holes. The quote is one of `"` `'` and the backtick."""

    parts: list[str | Hole]
    quote: str = field(compare=False)
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class BoolLit(Node):
    """`true`, `false`."""

    value: bool
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class NullLit(Node):
    """`null`."""

    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class Name(Node):
    """A name that is used."""

    name: str
    type: Type | None = field(default=None, compare=False, repr=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class ArrayLit(Node):
    """`[a, b]`."""

    items: list[Expr]
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class Entry(Node):
    """`key: value` of an object; `{name}` is short for `{name: name}`. `quoted` keys are strings."""

    key: str
    value: Expr
    quoted: bool = field(default=False, compare=False)
    short: bool = False


@dataclass(slots=True, eq=False, repr=False)
class ObjectLit(Node):
    """`{ key: value, "any text": value }`."""

    entries: list[Entry]
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class Unary(Node):
    """`-x`, `not x`."""

    op: Literal["-", "not"]
    operand: Expr
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class Binary(Node):
    """Two operands; `op` is one of `+ - * / % ** == != < <= > >= and or ??`, `op_start` where it stands."""

    op: str
    left: Expr
    right: Expr
    op_start: int = field(default=0, compare=False)
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class Range(Node):
    """`a..b`, both ends included."""

    first: Expr
    last: Expr
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class Member(Node):
    """`object.name`; the name stands at `name_start`."""

    object: Expr
    name: str
    name_start: int = field(default=0, compare=False)
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class Index(Node):
    """`object[index]`."""

    object: Expr
    index: Expr
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class Slice(Node):
    """`object[first:last:step]`, as Python's: any of them may be missing."""

    object: Expr
    first: Expr | None
    last: Expr | None
    step: Expr | None
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class Call(Node):
    """`callee(arguments)`; the callee is a name, or a member for a method."""

    callee: Expr
    arguments: list[Expr]
    type: Type | None = field(default=None, compare=False, repr=False)


Context = Literal["default", "local", "none"]


@dataclass(slots=True, eq=False, repr=False)
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


@dataclass(slots=True, eq=False, repr=False)
class AskHuman(Node):
    """`ask prompt`: the human answers."""

    prompt: Expr
    type: Type | None = field(default=None, compare=False, repr=False)
    wanted: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class PyBlock(Node):
    """`py(a, b) { code }`; `code` is what stands between the braces, from `code_start` on."""

    parameters: list[Name]
    code: str
    code_start: int = field(default=0, compare=False)
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class AsyncFor(Node):
    """`async for x in xs { yield … }`: the yielded values, in order."""

    name: str
    iterable: Expr
    body: Block
    name_start: int = field(default=0, compare=False)
    type: Type | None = field(default=None, compare=False, repr=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
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
    | BadExpr
)


# Statements


@dataclass(slots=True, eq=False, repr=False)
class Block(Node):
    """`{ statements }`."""

    statements: list[Statement]


@dataclass(slots=True, eq=False, repr=False)
class Let(Node):
    """`let name: type = value`, `const …`, with `export`, `private` and `async` in front of it."""

    is_const: bool
    name: str
    declared: TypeNode | None
    value: Expr | None
    is_private: bool = False
    is_async: bool = False
    exported: bool = False
    name_start: int = field(default=0, compare=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class PatternField(Node):
    """`private name: type "description" = default`, or `name: { nested pattern }`."""

    name: str
    declared: TypeNode | None = None
    nested: Pattern | None = None
    default: Expr | None = None
    is_private: bool = False
    description: str = ""
    name_start: int = field(default=0, compare=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class Pattern(Node):
    """`{ fields }` on the left of a declaration; `type` is that of the object it takes apart."""

    fields: list[PatternField]
    type: Type | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class Destructure(Node):
    """`const { name: text } = value`."""

    is_const: bool
    pattern: Pattern
    value: Expr
    is_private: bool = False
    is_async: bool = False
    exported: bool = False


@dataclass(slots=True, eq=False, repr=False)
class Assign(Node):
    """`target = value`; `op` is one of `= += -= *= /= %=`."""

    target: Name | Member | Index
    op: str
    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class If(Node):
    """`if condition { … } else …`."""

    condition: Expr
    then: Block
    otherwise: Block | If | None = None


@dataclass(slots=True, eq=False, repr=False)
class LoopMode(Node):
    """What stands after a loop's brace: `verbose`, `forget`, `compress("how", model)`."""

    kind: Literal["verbose", "forget", "compress"]
    how: Expr | None = None
    model: Name | None = None


@dataclass(slots=True, eq=False, repr=False)
class For(Node):
    """`for name in iterable { … } mode`."""

    name: str
    iterable: Expr
    body: Block
    mode: LoopMode | None = None
    name_start: int = field(default=0, compare=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class While(Node):
    """`while condition { … } mode`."""

    condition: Expr
    body: Block
    mode: LoopMode | None = None


@dataclass(slots=True, eq=False, repr=False)
class Break(Node):
    """`break`."""


@dataclass(slots=True, eq=False, repr=False)
class Continue(Node):
    """`continue`."""


@dataclass(slots=True, eq=False, repr=False)
class Return(Node):
    """`return value`."""

    value: Expr | None = None


@dataclass(slots=True, eq=False, repr=False)
class Yield(Node):
    """`yield value`, in an `async for`."""

    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class Throw(Node):
    """`throw value`."""

    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class Try(Node):
    """`try { … } catch name { … }`; the name may be left out."""

    body: Block
    name: str | None
    handler: Block
    name_start: int = field(default=0, compare=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class Parameter(Node):
    """`name: type "description" = default`."""

    name: str
    declared: TypeNode | None = None
    description: str = ""
    default: Expr | None = None
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class Function(Node):
    """`function name(…): type { … }`, and `tool`, whose `description` is its own or the comment above it."""

    name: str
    parameters: list[Parameter]
    returns: TypeNode | None
    body: Block
    is_tool: bool = False
    description: str | None = None
    exported: bool = False
    #: The comment above it, which serves a tool without a description.
    doc: str = field(default="", compare=False)
    name_start: int = field(default=0, compare=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class ModelDecl(Node):
    """`model name = { name: "…" }`."""

    name: str
    settings: ObjectLit
    exported: bool = False
    name_start: int = field(default=0, compare=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class TypeDecl(Node):
    """`type Name { fields }`, `type Name = "a" | "b"`."""

    name: str
    declared: TypeNode
    exported: bool = False
    name_start: int = field(default=0, compare=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class ImportName(Node):
    """`name`, or `name as alias`."""

    name: str
    alias: str | None = None
    alias_start: int = field(default=0, compare=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class Import(Node):
    """`import { names } from "path"`."""

    names: list[ImportName]
    path: str
    path_start: int = field(default=0, compare=False)


@dataclass(slots=True, eq=False, repr=False)
class Test(Node):
    """`test "what it shows" { … }`."""

    name: str
    body: Block


@dataclass(slots=True, eq=False, repr=False)
class ExprStatement(Node):
    """An expression on its own."""

    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class BadStatement(Node):
    """Stands where no statement could be read; there is a diagnostic of it already."""


Statement = (
    Let
    | Destructure
    | Assign
    | If
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
    | BadStatement
)


@dataclass(slots=True, eq=False, repr=False)
class Program(Node):
    """A whole file. `comments` are the spans of its comments, in order."""

    statements: list[Statement]
    comments: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]], compare=False, repr=False)


def root_symbol(node: Node) -> Symbol | None:
    """The variable that a path of members and items begins with."""
    while isinstance(node, Member | Index | Slice):
        node = node.object
    return node.symbol if isinstance(node, Name) else None


def require_all(table: Mapping[type, object], kinds: Any) -> None:
    """Raise unless a table has an entry for each kind: a node that was forgotten is found when its room is imported."""
    missing = [each.__name__ for each in get_args(kinds) if each not in table]
    if missing:
        raise NotImplementedError(f"nothing is said of {', '.join(missing)}")
