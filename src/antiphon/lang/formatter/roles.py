"""What the tree knows of the tokens of a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from antiphon.lang.formatter.pieces import COMMENTS, Piece
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.tokens import RESERVED

#: Kinds of pieces on which a bracket follows that is a call or an index.
VALUES = frozenset(
    ["name", "number", "text", "true", "false", "null", "py", "call", "index", "paren", "array", "object", "match"]
)
_COMPOUND = (n.Block, n.If, n.MatchStatement, n.For, n.While, n.Try, n.Function, n.Test)


@dataclass(slots=True)
class Roles:
    """What the tree knows: by their offsets, what signs and brackets are, and where statements and fields begin."""

    statements: frozenset[int]
    blocks: dict[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    #: Blocks that may stand on one line, and where they end: the only ones of their statement, with one plain in them.
    short: dict[int, int] = field(default_factory=dict[int, int])
    patterns: set[int] = field(default_factory=set[int])
    #: Where fields begin, and where they end.
    fields: dict[int, int] = field(default_factory=dict[int, int])
    operators: set[int] = field(default_factory=set[int])
    #: The signs of `c ? a : b`.
    choices: set[int] = field(default_factory=set[int])
    #: Each `match`, and each `in` of a loop.
    words: set[int] = field(default_factory=set[int])
    #: The braces of each `match`, and where its arms begin and end.
    matches: set[int] = field(default_factory=set[int])
    arms: dict[int, int] = field(default_factory=dict[int, int])
    #: The brackets of the keys of maps.
    keys: set[int] = field(default_factory=set[int])
    #: Where slices end.
    slices: set[int] = field(default_factory=set[int])
    #: Each `if` that follows an `else`.
    _others: set[int] = field(default_factory=set[int])

    @classmethod
    def of(cls, program: n.Program) -> Roles:
        """The roles in a program."""
        roles = cls(_starts(program.statements))
        pending: list[Any] = [program]
        # It grows while it is gone through.
        for node in pending:
            rule, parts, lists = _ENTRIES[node.__class__]
            if rule is not None:
                rule(roles, node)
            for name in parts:
                value = getattr(node, name)
                if value.__class__ in _ENTRIES:
                    pending.append(value)
            for name in lists:
                pending += [each for each in getattr(node, name) if each.__class__ in _ENTRIES]
        return roles

    def kind_of(self, kind: str, start: int) -> str:
        """What an operator's sign or word is here: a `-` may stand before its operand, a word be a key or a member."""
        if kind in ("?", ":"):
            return "choice" if start in self.choices else kind
        if start in self.operators:
            return kind
        if start in self.words:
            return "word"
        return "unary" if kind == "-" else "name"

    def bracket_kind(self, kind: str, start: int, before: list[Piece]) -> str:
        """What a bracket is, which opens no block: one that follows on a value is a call or an index."""
        if kind == "{":
            return "match" if start in self.matches else "object"
        real = (piece.kind for piece in reversed(before) if piece.kind not in COMMENTS)
        last = next(real, "")
        follows_value = last in VALUES or last == "?." or (last in RESERVED and next(real, "") in (".", "?."))
        if follows_value and start not in self.keys:
            return "call" if kind == "(" else "index"
        return "paren" if kind == "(" or start in self.keys else "array"

    def brace_kind(self, start: int) -> str:
        """What a brace opens: a block, a pattern, or a list of fields or arms."""
        return "block" if start in self.blocks else "pattern" if start in self.patterns else "list"

    def note_block(self, node: n.Block) -> None:
        """What begins in a block; but in an arm of a `match` it has no braces."""
        if not (node.statements and node.statements[0].start == node.start):
            self.blocks[node.start] = _starts(node.statements)

    def note_body(self, node: n.AsyncFor | n.For | n.While | n.Test) -> None:
        """Whether the one block of a statement is short."""
        self._note_short(node.body)
        if isinstance(node, n.For | n.AsyncFor):
            self.words.add(node.in_start)

    def note_lambda(self, node: n.Lambda) -> None:
        """The same, of a function without a name whose body is a block."""
        if isinstance(node.body, n.Block):
            self._note_short(node.body)

    def note_function(self, node: n.Function) -> None:
        """The same, of what has no lines that describe it before its block."""
        if node.description is None:
            self._note_short(node.body)

    def note_if(self, node: n.If) -> None:
        """The same, of an `if` that stands alone."""
        if isinstance(node.otherwise, n.If):
            self._others.add(node.otherwise.start)
        elif node.otherwise is None and node.start not in self._others:
            self._note_short(node.then)

    def note_operator(self, node: n.Binary) -> None:
        """That a sign stands between operands."""
        self.operators.add(node.op_start)

    def note_choice(self, node: n.Conditional) -> None:
        """What the signs of a choice are, which are something else in types and objects."""
        self.choices |= {node.question, node.colon}

    def note_match(self, node: n.Match | n.MatchStatement) -> None:
        """That a name is a word, and a brace opens arms."""
        self.words.add(node.start)
        self.matches.add(node.brace)

    def note_arm(self, node: n.Arm) -> None:
        """Where an arm is."""
        self.arms[node.start] = node.end
        if isinstance(node.body, n.Block):
            self._note_short(node.body)

    def note_pattern(self, node: n.Pattern) -> None:
        """That a brace opens no object."""
        self.patterns.add(node.start)

    def note_field(self, node: n.Entry | n.Spread | n.TypeField | n.PatternField) -> None:
        """Where a field is."""
        self.fields[node.start] = node.end

    def note_slice(self, node: n.Slice) -> None:
        """That the colons in a bracket part no key from its value."""
        self.slices.add(node.end)

    def note_map(self, node: n.MapType) -> None:
        """That a bracket holds the key of a map."""
        self.keys.add(node.key_start)

    def _note_short(self, block: n.Block) -> None:
        if len(block.statements) == 1 and not isinstance(block.statements[0], _COMPOUND):
            self.short[block.start] = block.end


#: What is noted of a node; nothing, where its tokens say all.
_RULES: dict[type, Callable[[Roles, Any], None] | None] = {
    n.Block: Roles.note_block,
    n.Function: Roles.note_function,
    n.Lambda: Roles.note_lambda,
    n.MapType: Roles.note_map,
    n.Slice: Roles.note_slice,
    n.If: Roles.note_if,
    n.Binary: Roles.note_operator,
    n.Pattern: Roles.note_pattern,
    **dict.fromkeys((n.AsyncFor, n.For, n.While, n.Test), Roles.note_body),
    n.Conditional: Roles.note_choice,
    n.Arm: Roles.note_arm,
    **dict.fromkeys((n.Match, n.MatchStatement), Roles.note_match),
    **dict.fromkeys((n.Entry, n.Spread, n.TypeField, n.PatternField), Roles.note_field),
    **dict.fromkeys(
        (
            n.NumberLit,
            n.TextLit,
            n.BoolLit,
            n.NullLit,
            n.Name,
            n.ArrayLit,
            n.ObjectLit,
            n.Unary,
            n.Range,
            n.Member,
            n.Index,
            n.Call,
            n.Ask,
            n.AskHuman,
            n.PyBlock,
            n.Is,
            n.BadExpr,
            n.Let,
            n.Destructure,
            n.Input,
            n.Returns,
            n.Assign,
            n.Break,
            n.Continue,
            n.Return,
            n.Yield,
            n.Throw,
            n.Try,
            n.ModelDecl,
            n.TypeDecl,
            n.Import,
            n.ExprStatement,
            n.BadStatement,
            n.Started,
            n.TypeName,
            n.ArrayType,
            n.LiteralType,
            n.UnionType,
            n.ObjectType,
            n.FunctionType,
            n.Program,
            n.Hole,
            n.Argument,
            n.ArrayPattern,
            n.PatternItem,
            n.Parameter,
            n.ImportName,
            n.LoopMode,
            n.ForValue,
        ),
        None,
    ),
}
n.require_all(_RULES, n.Expr | n.Statement | n.TypeNode | n.Part)


#: Nodes in which there is nothing to note: a string is printed as it is, with its holes.
_LEAVES = (n.Name, n.TextLit, n.NumberLit, n.BoolLit, n.NullLit, n.TypeName, n.LiteralType, n.Break, n.Continue)


def _parts(kind: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields of a kind that hold a node, and those that hold a list of them."""
    names = n.parts_of(kind)
    lists = tuple(name for name in names if kind.__annotations__[name].startswith("list["))
    return tuple(name for name in names if name not in lists), lists


#: Of the others what is noted, and where others are in them.
_ENTRIES = {kind: (rule, *_parts(kind)) for kind, rule in _RULES.items() if kind not in _LEAVES}


def _starts(statements: list[n.Statement]) -> frozenset[int]:
    return frozenset([each.start for each in statements])
