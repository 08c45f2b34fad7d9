"""The syntax tree. Every node has its span in the source; two trees are equal if they differ only in spans.

The parser makes the nodes, the checker fills in what it finds out (`type`, `symbol`, `wanted`), the compiler reads
both. What is filled in later is no part of what a tree says. Each node is an `Expr`, a `Statement`, a `TypeNode` or a
`Part` of one; who has a table of them lets `require_all` look whether it is whole.
"""

from __future__ import annotations

from antiphon.lang.syntax.nodes.choices import Arm, Conditional, Is, Match, MatchStatement
from antiphon.lang.syntax.nodes.declarations import (
    ArrayPattern,
    Destructure,
    Function,
    Import,
    ImportName,
    Input,
    Let,
    ModelDecl,
    Parameter,
    Pattern,
    PatternField,
    PatternItem,
    Returns,
    Test,
    TypeDecl,
)
from antiphon.lang.syntax.nodes.expressions import (
    Argument,
    ArrayLit,
    Ask,
    AskHuman,
    AsyncFor,
    BadExpr,
    Binary,
    BoolLit,
    Call,
    Context,
    Entry,
    Expr,
    Hole,
    Index,
    Lambda,
    Member,
    Name,
    NullLit,
    NumberLit,
    ObjectLit,
    PyBlock,
    Range,
    Slice,
    Spread,
    TextLit,
    Unary,
    is_optional,
    reached,
    root_symbol,
)
from antiphon.lang.syntax.nodes.statements import (
    Assign,
    BadStatement,
    Block,
    Break,
    Continue,
    ExprStatement,
    For,
    ForValue,
    If,
    LoopMode,
    Program,
    Return,
    Started,
    Statement,
    Throw,
    Try,
    While,
    Yield,
)
from antiphon.lang.syntax.nodes.tree import Node, children, parts_of, require_all, walk
from antiphon.lang.syntax.nodes.written_types import (
    ArrayType,
    FunctionType,
    LiteralType,
    MapType,
    ObjectType,
    TypeExpr,
    TypeField,
    TypeName,
    TypeNode,
    UnionType,
)

__all__ = [
    "Argument",
    "Arm",
    "ArrayLit",
    "ArrayPattern",
    "ArrayType",
    "Ask",
    "AskHuman",
    "Assign",
    "AsyncFor",
    "BadExpr",
    "BadStatement",
    "Binary",
    "Block",
    "BoolLit",
    "Break",
    "Call",
    "Conditional",
    "Context",
    "Continue",
    "Destructure",
    "Entry",
    "Expr",
    "ExprStatement",
    "For",
    "ForValue",
    "Function",
    "FunctionType",
    "Hole",
    "If",
    "Import",
    "ImportName",
    "Index",
    "Input",
    "Is",
    "Lambda",
    "Let",
    "LiteralType",
    "LoopMode",
    "MapType",
    "Match",
    "MatchStatement",
    "Member",
    "ModelDecl",
    "Name",
    "Node",
    "NullLit",
    "NumberLit",
    "ObjectLit",
    "ObjectType",
    "Parameter",
    "Part",
    "Pattern",
    "PatternField",
    "PatternItem",
    "Program",
    "PyBlock",
    "Range",
    "Return",
    "Returns",
    "Slice",
    "Spread",
    "Started",
    "Statement",
    "Test",
    "TextLit",
    "Throw",
    "Try",
    "TypeDecl",
    "TypeExpr",
    "TypeField",
    "TypeName",
    "TypeNode",
    "Unary",
    "UnionType",
    "While",
    "Yield",
    "children",
    "is_optional",
    "parts_of",
    "reached",
    "require_all",
    "root_symbol",
    "walk",
]

#: Nodes that stand only inside others.
Part = (
    Program
    | Hole
    | Entry
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
