"""Nodes of declarations, which bind names."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from antiphon.lang.syntax.nodes.base import Node

if TYPE_CHECKING:
    from antiphon.lang.syntax.nodes.expressions import Expr, ObjectLit
    from antiphon.lang.syntax.nodes.statements import Block
    from antiphon.lang.syntax.nodes.types import TypeNode
    from antiphon.lang.typecheck.symbols import Symbol
    from antiphon.lang.typecheck.types import Type


class PatternField(Node):
    """`private name: type "description" = default`, or `name: { nested pattern }`."""

    name: str
    declared: TypeNode | None = None
    nested: Pattern | None = None
    default: Expr | None = None
    is_private: bool = False
    description: str = ""
    name_start: int = field(default=0, compare=False)
    #: The inferred type where none is declared.
    type: Type | None = field(default=None, compare=False, repr=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class Pattern(Node):
    """`{ fields }` on the left of a declaration; `type` is that of the object it destructures."""

    fields: list[PatternField]
    type: Type | None = field(default=None, compare=False, repr=False)


class PatternItem(Node):
    """`name: type` in the pattern of an array; the type may be omitted."""

    name: str
    declared: TypeNode | None = None
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class ArrayPattern(Node):
    """`[ items ]` on the left of a declaration: one for each item of the array."""

    items: list[PatternItem]


class Let(Node):
    """`let name: type = value` or `const …`, with the modifiers `export`, `private` and `async`."""

    is_const: bool
    name: str
    declared: TypeNode | None
    value: Expr | None
    is_private: bool = False
    is_async: bool = False
    exported: bool = False
    name_start: int = field(default=0, compare=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class Destructure(Node):
    """`const { name: text } = value`, `const [a, b] = value`."""

    is_const: bool
    pattern: Pattern | ArrayPattern
    value: Expr
    is_private: bool = False
    is_async: bool = False
    exported: bool = False


class Input(Node):
    """`input name: type = default "description"`, with the modifier `private`."""

    name: str
    declared: TypeNode | None
    default: Expr | None = None
    description: str = ""
    is_private: bool = False
    name_start: int = field(default=0, compare=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class Returns(Node):
    """`returns type`: the result type of the program."""

    declared: TypeNode


class Parameter(Node):
    """`name: type "description" = default`."""

    name: str
    declared: TypeNode | None = None
    description: str = ""
    default: Expr | None = None
    is_private: bool = False
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class Function(Node):
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
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class ModelDecl(Node):
    """`model name = { name: "…" }`."""

    name: str
    settings: ObjectLit
    exported: bool = False
    name_start: int = field(default=0, compare=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class TypeDecl(Node):
    """`type Name { fields }`, `type Name = "a" | "b"`."""

    name: str
    declared: TypeNode
    exported: bool = False
    name_start: int = field(default=0, compare=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class ImportName(Node):
    """`name`, or `name as alias`."""

    name: str
    alias: str | None = None
    alias_start: int = field(default=0, compare=False)
    symbol: Symbol | None = field(default=None, compare=False, repr=False)


class Import(Node):
    """`import { names } from "path"`."""

    names: list[ImportName]
    path: str
    path_start: int = field(default=0, compare=False)


class Test(Node):
    """`test "what it shows" { … }`."""

    name: str
    body: Block
