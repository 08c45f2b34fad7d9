"""The syntax tree. Every node has its span in the source; trees that differ only in spans are equal.

The parser creates the nodes, the checker fills in `type`, `symbol` and `wanted`, and the compiler reads both.
Fields that are filled in later do not count in comparisons. Each node is an `Expr`, a `Statement`, a
`TypeNode` or a `Part` of one; `require_all` verifies that a table has an entry for each.
"""

from __future__ import annotations

from antiphon.lang.syntax.nodes.base import Node, child_fields, children, require_all, walk
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
    AskHuman,
    AsyncFor,
    BadExpr,
    Binary,
    BoolLit,
    Call,
    Context,
    Expr,
    Index,
    Interpolation,
    Lambda,
    Member,
    ModelCall,
    Name,
    NullLit,
    NumberLit,
    ObjectEntry,
    ObjectLit,
    PyBlock,
    Range,
    Slice,
    Spread,
    TextLit,
    Unary,
    get_root_symbol,
    get_step_receiver,
    is_optional_step,
)
from antiphon.lang.syntax.nodes.match import Arm, Conditional, Is, Match, MatchStatement
from antiphon.lang.syntax.nodes.statements import (
    Assign,
    AsyncAsk,
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
    Statement,
    Throw,
    Try,
    While,
    Yield,
)
from antiphon.lang.syntax.nodes.types import (
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
    "AskHuman",
    "Assign",
    "AsyncAsk",
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
    "Expr",
    "ExprStatement",
    "For",
    "ForValue",
    "Function",
    "FunctionType",
    "If",
    "Import",
    "ImportName",
    "Index",
    "Input",
    "Interpolation",
    "Is",
    "Lambda",
    "Let",
    "LiteralType",
    "LoopMode",
    "MapType",
    "Match",
    "MatchStatement",
    "Member",
    "ModelCall",
    "ModelDecl",
    "Name",
    "Node",
    "NullLit",
    "NumberLit",
    "ObjectEntry",
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
    "child_fields",
    "children",
    "get_root_symbol",
    "get_step_receiver",
    "is_optional_step",
    "require_all",
    "walk",
]

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
