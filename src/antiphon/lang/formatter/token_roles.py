"""Roles of tokens that the tree determines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from antiphon.lang.formatter.tokens import COMMENT_KINDS, FormatToken
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.tokens import RESERVED_WORDS

#: Token kinds after which a bracket is a call or an index.
VALUE_KINDS = frozenset(
    ["name", "number", "text", "true", "false", "null", "py", "call", "index", "paren", "array", "object", "match"]
)
_COMPOUND_STATEMENTS = (n.Block, n.If, n.MatchStatement, n.For, n.While, n.Try, n.Function, n.Test)


@dataclass(slots=True)
class TokenRoles:
    """Roles of tokens by their offsets: signs, brackets, and the starts of statements and fields."""

    statements: frozenset[int]
    blocks: dict[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    #: Blocks that may be on one line, and their ends: the only block of a statement, with one simple statement in it.
    short: dict[int, int] = field(default_factory=dict[int, int])
    patterns: set[int] = field(default_factory=set[int])
    #: The start and end of each field.
    fields: dict[int, int] = field(default_factory=dict[int, int])
    operators: set[int] = field(default_factory=set[int])
    #: The offsets of the signs of `c ? a : b`.
    choices: set[int] = field(default_factory=set[int])
    #: The offsets of each keyword `match`, and each `in` of a loop.
    words: set[int] = field(default_factory=set[int])
    #: The braces of each `match`, and the start and end of its arms.
    matches: set[int] = field(default_factory=set[int])
    arms: dict[int, int] = field(default_factory=dict[int, int])
    #: The brackets of the keys in map types.
    keys: set[int] = field(default_factory=set[int])
    #: The ends of slices.
    slice_ends: set[int] = field(default_factory=set[int])
    #: The offsets of each `if` that follows an `else`.
    _else_ifs: set[int] = field(default_factory=set[int])

    @classmethod
    def of(cls, program: n.Program) -> TokenRoles:
        """Collect the roles in a program."""
        roles = cls(_statement_starts(program.statements))
        pending: list[Any] = [program]
        # The list grows while it is iterated.
        for node in pending:
            rule, parts, lists = _VISITED_NODES[node.__class__]
            if rule is not None:
                rule(roles, node)
            for name in parts:
                value = getattr(node, name)
                if value.__class__ in _VISITED_NODES:
                    pending.append(value)
            for name in lists:
                pending += [each for each in getattr(node, name) if each.__class__ in _VISITED_NODES]
        return roles

    def get_token_kind(self, kind: str, start: int) -> str:
        """Return the kind of an ambiguous sign or word: a `-` may be unary, and a word may be a key or a member."""
        if kind in ("?", ":"):
            return "choice" if start in self.choices else kind
        if start in self.operators:
            return kind
        if start in self.words:
            return "word"
        return "unary" if kind == "-" else "name"

    def get_bracket_kind(self, kind: str, start: int, before: list[FormatToken]) -> str:
        """Return the kind of a bracket that opens no block: after a value it is a call or an index."""
        if kind == "{":
            return "match" if start in self.matches else "object"
        real = (piece.kind for piece in reversed(before) if piece.kind not in COMMENT_KINDS)
        last = next(real, "")
        follows_value = (
            last in VALUE_KINDS or last == "?." or (last in RESERVED_WORDS and next(real, "") in (".", "?."))
        )
        if follows_value and start not in self.keys:
            return "call" if kind == "(" else "index"
        return "paren" if kind == "(" or start in self.keys else "array"

    def get_brace_kind(self, start: int) -> str:
        """Return what a brace opens: a block, a pattern, or a list of fields or arms."""
        return "block" if start in self.blocks else "pattern" if start in self.patterns else "list"

    def record_block(self, node: n.Block) -> None:
        """Record the statements of a block; a block in an arm of a `match` may have no braces."""
        if not (node.statements and node.statements[0].start == node.start):
            self.blocks[node.start] = _statement_starts(node.statements)

    def record_loop_body(self, node: n.AsyncFor | n.For | n.While | n.Test) -> None:
        """Record the block of a loop or test, which may be on one line."""
        self._record_one_line_block(node.body)
        if isinstance(node, n.For | n.AsyncFor):
            self.words.add(node.in_start)

    def record_lambda(self, node: n.Lambda) -> None:
        """Record the block of a lambda, which may be on one line."""
        if isinstance(node.body, n.Block):
            self._record_one_line_block(node.body)

    def record_function(self, node: n.Function) -> None:
        """Record the block of a function without description lines, which may be on one line."""
        if node.description is None:
            self._record_one_line_block(node.body)

    def record_if(self, node: n.If) -> None:
        """Record the block of an `if` without `else`, which may be on one line."""
        if isinstance(node.otherwise, n.If):
            self._else_ifs.add(node.otherwise.start)
        elif node.otherwise is None and node.start not in self._else_ifs:
            self._record_one_line_block(node.then)

    def record_operator(self, node: n.Binary) -> None:
        """Record a binary operator."""
        self.operators.add(node.op_start)

    def record_conditional(self, node: n.Conditional) -> None:
        """Record the signs of a conditional, which have other meanings in types and objects."""
        self.choices |= {node.question, node.colon}

    def record_match(self, node: n.Match | n.MatchStatement) -> None:
        """Record the keyword and the brace of a `match`."""
        self.words.add(node.start)
        self.matches.add(node.brace)

    def record_arm(self, node: n.Arm) -> None:
        """Record the span of an arm."""
        self.arms[node.start] = node.end
        if isinstance(node.body, n.Block):
            self._record_one_line_block(node.body)

    def record_pattern(self, node: n.Pattern) -> None:
        """Record the brace of a pattern."""
        self.patterns.add(node.start)

    def record_field(self, node: n.ObjectEntry | n.Spread | n.TypeField | n.PatternField) -> None:
        """Record the span of a field."""
        self.fields[node.start] = node.end

    def record_slice(self, node: n.Slice) -> None:
        """Record a slice, whose colons do not separate a key from its value."""
        self.slice_ends.add(node.end)

    def record_map(self, node: n.MapType) -> None:
        """Record the bracket of a map's key."""
        self.keys.add(node.key_start)

    def _record_one_line_block(self, block: n.Block) -> None:
        if len(block.statements) == 1 and not isinstance(block.statements[0], _COMPOUND_STATEMENTS):
            self.short[block.start] = block.end


_NODES_WITHOUT_ROLES = (
    *(n.NumberLit, n.TextLit, n.BoolLit, n.NullLit, n.Name, n.ArrayLit, n.ObjectLit, n.Unary, n.Range, n.Member),
    *(n.Index, n.Call, n.ModelCall, n.AskHuman, n.PyBlock, n.Is, n.BadExpr, n.Let, n.Destructure, n.Input),
    *(n.Returns, n.Assign, n.Break, n.Continue, n.Return, n.Yield, n.Throw, n.Try, n.ModelDecl, n.TypeDecl),
    *(n.Import, n.ExprStatement, n.BadStatement, n.AsyncAsk, n.TypeName, n.ArrayType, n.LiteralType),
    *(n.UnionType, n.ObjectType, n.FunctionType, n.Program, n.Interpolation, n.Argument, n.ArrayPattern),
    *(n.PatternItem, n.Parameter, n.ImportName, n.LoopMode, n.ForValue),
)
#: The method that records the roles of a node class; None if it has none.
_ROLE_RULES: dict[type, Callable[[TokenRoles, Any], None] | None] = {
    n.Block: TokenRoles.record_block,
    n.Function: TokenRoles.record_function,
    n.Lambda: TokenRoles.record_lambda,
    n.MapType: TokenRoles.record_map,
    n.Slice: TokenRoles.record_slice,
    n.If: TokenRoles.record_if,
    n.Binary: TokenRoles.record_operator,
    n.Pattern: TokenRoles.record_pattern,
    **dict.fromkeys((n.AsyncFor, n.For, n.While, n.Test), TokenRoles.record_loop_body),
    n.Conditional: TokenRoles.record_conditional,
    n.Arm: TokenRoles.record_arm,
    **dict.fromkeys((n.Match, n.MatchStatement), TokenRoles.record_match),
    **dict.fromkeys((n.ObjectEntry, n.Spread, n.TypeField, n.PatternField), TokenRoles.record_field),
    **dict.fromkeys(_NODES_WITHOUT_ROLES, None),
}
n.require_all(_ROLE_RULES, n.Expr | n.Statement | n.TypeNode | n.Part)


#: Nodes without roles inside: a string is printed as it is, with its interpolations.
_LEAF_NODES = (n.Name, n.TextLit, n.NumberLit, n.BoolLit, n.NullLit, n.TypeName, n.LiteralType, n.Break, n.Continue)


def _split_child_fields(kind: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields of a node class that hold a node, and those that hold a list of nodes."""
    names = n.child_fields(kind)
    lists = tuple(name for name in names if kind.__annotations__[name].startswith("list["))
    return tuple(name for name in names if name not in lists), lists


#: For all other classes: the rule, and the fields that hold nodes.
_VISITED_NODES = {
    kind: (rule, *_split_child_fields(kind)) for kind, rule in _ROLE_RULES.items() if kind not in _LEAF_NODES
}


def _statement_starts(statements: list[n.Statement]) -> frozenset[int]:
    return frozenset([each.start for each in statements])
