"""The state of one check, and the types of expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.source import Source
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import is_assignable
from antiphon.lang.typecheck.fix_hints import report_mismatch
from antiphon.lang.typecheck.mutable_aliasing import AliasChecker
from antiphon.lang.typecheck.name_usage import NameUsage
from antiphon.lang.typecheck.narrowing import Narrowing
from antiphon.lang.typecheck.reporter import Reporter
from antiphon.lang.typecheck.scopes import Scope, ScopeStack
from antiphon.lang.typecheck.side_effects import SideEffectAnalysis
from antiphon.lang.typecheck.symbols import ModuleExports
from antiphon.lang.typecheck.type_annotations import TypeResolver

#: Infers the type of an expression; the last argument is the expected type, if any.
ExpressionRule = Callable[["Checker", Any, t.Type | None], t.Type]
#: Checks a statement and returns True if the code after it is unreachable.
StatementRule = Callable[["Checker", Any], bool]
EXPRESSION_RULES: dict[type, ExpressionRule] = {}
STATEMENT_RULES: dict[type, StatementRule] = {}
#: Expressions that have the expected type, whatever types their branches have.
_BRANCHING_NODES = frozenset((n.Conditional, n.Match))
#: Classes of types whose values are immutable.
_IMMUTABLE_CLASSES = frozenset((t.SimpleType, t.Literal))
#: Expressions with composed types, and how many parts such a type may have besides those written out.
_COMPOSED_NODES: frozenset[type] = frozenset(
    (n.ArrayLit, n.ObjectLit, n.Conditional, n.Match, n.Binary, n.Call, n.Lambda, n.AsyncFor)
)
MAX_TYPE_PARTS = 1_000
#: Classes of types that may include null.
_NULLABLE_CLASSES = frozenset((t.Union, t.AIResultType))


class Checker(Reporter):
    """The state of one check of one program."""

    __slots__ = ("aliases", "importer", "in_repl", "narrowing", "scopes", "types", "untrusted", "usage")

    def __init__(
        self,
        source: Source,
        module: Scope,
        importer: Callable[[str], ModuleExports] | None = None,
        *,
        untrusted: bool = False,
        in_repl: bool = False,
    ) -> None:
        super().__init__(source)
        self.importer = importer
        self.untrusted = untrusted
        self.in_repl = in_repl
        self.scopes = ScopeStack(self, module)
        self.types = TypeResolver(self, self.scopes)
        self.aliases = AliasChecker(self)
        self.usage = NameUsage(self, self.scopes)
        self.narrowing = Narrowing(SideEffectAnalysis(self.scopes, "async" in source.text), in_repl=in_repl)

    def infer(self, node: n.Expr, wanted: t.Type | None = None) -> t.Type:
        """Infer the type of an expression, record it on the node and return it."""
        type_ = EXPRESSION_RULES[type(node)](self, node, wanted)
        if type(node) in _COMPOSED_NODES and type(type_) not in _IMMUTABLE_CLASSES:
            type_ = self._limit_type(node, type_)
        node.type = type_
        return type_

    def _limit_type(self, node: n.Expr, type_: t.Type) -> t.Type:
        """Return the type, or report it and return json if it has too many parts.

        Types composed of other types could grow without end.
        """
        if not t.has_more_parts(type_, MAX_TYPE_PARTS + len(self.source.text)):
            return type_
        hint = "declare a type for it: `const x: T = …`, or `json`"
        self.report("V0364", "the type of this has too many parts to be followed", node, hint)
        return t.JSON

    def check_value(self, node: n.Expr, wanted: t.Type, place: str) -> t.Type:
        """Check that a value fits a place that shares it, and return its type; `place` is its name in messages.

        Unlike `check_assignable`, this rejects aliases of mutable values under another type.
        """
        type_ = self.check_assignable(node, wanted, place)
        if (type_ is not wanted or type(node) in _BRANCHING_NODES) and type(type_) not in _IMMUTABLE_CLASSES:
            self.aliases.check(node, type_, wanted)
        return type_

    def check_assignable(self, node: n.Expr, wanted: t.Type, place: str) -> t.Type:
        """Check that a value fits a place that copies or only reads it, and return its type."""
        type_ = self.infer(node, wanted)
        if type_ is not wanted and not is_assignable(type_, wanted):
            report_mismatch(self, node, type_, wanted, place)
        return type_

    def require_non_null(self, node: n.Expr, type_: t.Type, member: str = "") -> t.Type:
        """Return the type of a used value without null; report a nullable one. `member` is the member that follows."""
        if type_.__class__ not in _NULLABLE_CLASSES or not t.is_nullable(type_):
            return type_
        text = self.quote(node)
        what = f"`{text}`" if text == self.source.text[node.start : node.end] else "this"
        text = self.quote_receiver(node)
        first = f"write `{text}?.{member}`" if member else f"give a value for that case, `({text} ?? …)`"
        self.report("V0330", f"{what} may be null", node, f"{first}, or test before: `if {text} != null {{ … }}`")
        return t.remove_null(type_)
