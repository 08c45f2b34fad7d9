"""The state of one check, and its reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from antiphon._base.did_you_mean import suggest_name
from antiphon.lang.syntax.diagnostics import Diagnostic, DiagnosticLabel, Severity
from antiphon.lang.syntax.nodes import (
    ArrayLit,
    AskHuman,
    AsyncFor,
    Binary,
    Block,
    Call,
    Conditional,
    Expr,
    Function,
    Lambda,
    Match,
    ModelCall,
    Name,
    Node,
    ObjectLit,
    Range,
    Return,
    Statement,
    Test,
    TypeDecl,
    Unary,
)
from antiphon.lang.syntax.source import Source
from antiphon.lang.typecheck.assignability import is_assignable
from antiphon.lang.typecheck.scopes import Scope
from antiphon.lang.typecheck.symbols import ModuleExports, Symbol, SymbolKind
from antiphon.lang.typecheck.type_printer import format_type_general, format_type_short
from antiphon.lang.typecheck.types import (
    JSON,
    MODEL,
    Literal,
    Object,
    SimpleType,
    Type,
    TypeReference,
    has_literals,
    has_more_parts,
    strip_ai_result,
)

#: Infers the type of an expression; the last argument is the expected type, if any.
ExpressionRule = Callable[["Checker", Any, Type | None], Type]
#: Checks a statement and returns True if the code after it is unreachable.
StatementRule = Callable[["Checker", Any], bool]
EXPRESSION_RULES: dict[type, ExpressionRule] = {}
STATEMENT_RULES: dict[type, StatementRule] = {}
#: Suggestions are slow to compute, so a program gets at most this many.
MAX_SUGGESTIONS = 100
#: Kinds of symbols that have no value before their declaration runs.
VARIABLE_KINDS = frozenset(("let", "const", "model"))
#: Declared in the whole block, so never unreachable; nor is a test, which runs separately.
HOISTED_NODES: frozenset[type] = frozenset((Function, TypeDecl))
_ALWAYS_REACHABLE: frozenset[type] = HOISTED_NODES | {Test}
#: Expressions that have the expected type, whatever types their branches have.
_BRANCHING_NODES = frozenset((Conditional, Match))
#: Classes of types whose values are immutable.
_IMMUTABLE_CLASSES = frozenset((SimpleType, Literal))
#: Keywords after a prompt, which therefore cannot name a model.
RESERVED_MODEL_NAMES = frozenset(("default", "local", "none", "model", "with"))
#: Expressions with composed types, and how many parts such a type may have besides those written out.
_COMPOSED_NODES: frozenset[type] = frozenset((ArrayLit, ObjectLit, Conditional, Match, Binary, Call, Lambda, AsyncFor))
MAX_TYPE_PARTS = 1_000
#: Kinds of symbols for which an unused one is a warning.
_WARNED_KINDS = frozenset(("let", "const", "function"))
#: The path of a narrowed value: its variable, then members and items; an index may be a variable.
ValuePath = tuple[Symbol, tuple[str | int | Symbol, ...]]


@dataclass(slots=True, eq=False, repr=False)
class FunctionFrame:
    """The function or `async for` that is being checked; for the module itself, `node` is `None`."""

    node: Any = None
    parent: FunctionFrame | None = None
    #: The declared return type.
    returns: Type | None = None
    is_async_for: bool = False
    #: True if it is called immediately, so that it runs as part of the enclosing code.
    is_called_immediately: bool = False
    #: For each enclosing loop, whether it contains a `break`.
    loops: list[bool] = field(default_factory=list[bool])
    #: In an `async for`: the type of the yielded values, and the expected one.
    yields: Type | None = None
    wanted: Type | None = None
    #: In a lambda without an expected type: the inferred return type.
    given: Type | None = None

    @property
    def title(self) -> str:
        """The name of the function as messages show it."""
        name = getattr(self.node, "name", "")
        return f"`{name}`" if name else "the program" if self.node is None else "the function"


@dataclass(slots=True, eq=False, repr=False)
class Checker:
    """The state of one check of one program."""

    source: Source
    module: Scope
    imports: Callable[[str], ModuleExports] | None = None
    untrusted: bool = False
    in_repl: bool = False
    scope: Scope = field(init=False)
    frame: FunctionFrame = field(default_factory=FunctionFrame)
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    #: Types narrowed by the conditions around this place, with the number of changes at that time.
    narrowed_types: dict[ValuePath, tuple[int, Type]] = field(default_factory=dict[ValuePath, tuple[int, Type]])
    #: The narrowed types at the end of the block that was checked last.
    left: dict[ValuePath, tuple[int, Type]] = field(default_factory=dict[ValuePath, tuple[int, Type]])
    #: The number of changes so far, by variable or by name of a member.
    change_counts: dict[Symbol | str, int] = field(default_factory=dict[Symbol | str, int])
    #: Cached side effects: of nodes by their ids, of concurrent code, and of unknown calls.
    effects: dict[int, tuple[Any, Any]] = field(default_factory=dict[int, tuple[Any, Any]])
    reassigned_names: frozenset[str] | None = None
    concurrent: Any = None
    unknown_effects: Any = None
    tools: list[Any] | None = None
    #: Arguments passed as json, with the function and the position of the parameter.
    json_arguments: list[tuple[Expr, Symbol, int]] = field(default_factory=list[tuple[Expr, Symbol, int]])
    #: Expressions that combine values of several types: arrays, `+`, and conditional values.
    combined_values: list[Expr] = field(default_factory=list[Expr])
    #: Calls of declared functions, each with the function that contains it; and the declared variables.
    early: list[tuple[Name, Symbol, Any]] = field(default_factory=list[tuple[Name, Symbol, Any]])
    variables: list[Symbol] = field(default_factory=list[Symbol])
    #: Warnings about unused variables, dropped if a model is shown the variables.
    unread: list[Diagnostic] = field(default_factory=list[Diagnostic])
    shows_variables: bool = False
    #: Symbols of blocks that have ended.
    closed: dict[str, Symbol] = field(default_factory=dict[str, Symbol])
    is_in_test: bool = False
    #: The first name of the `{path}` that is being checked, which may be meant as plain text.
    path_root: Expr | None = None
    imported: list[Symbol] = field(default_factory=list[Symbol])
    imported_types: set[Symbol] = field(default_factory=set[Symbol])
    #: Module-level symbols of earlier checks, which may be redeclared.
    earlier: frozenset[Symbol] = frozenset()
    #: Declared types that are not resolved yet; True while one is being resolved.
    aliases: dict[Symbol, bool] = field(default_factory=dict[Symbol, bool])
    resolution_depth: int = 0
    #: The declared type that is being resolved.
    defined: Symbol | None = None
    #: Object types and references whose contents are still to be resolved.
    incomplete_types: list[tuple[Object | TypeReference, Any]] = field(
        default_factory=list[tuple[Object | TypeReference, Any]]
    )
    _texts: dict[str, Literal] = field(default_factory=dict[str, Literal])
    _numbers: dict[float, Literal] = field(default_factory=dict[float, Literal])
    _suggestion_count: int = 0

    def __post_init__(self) -> None:
        self.scope = self.module
        self.earlier = frozenset(self.module.names.values())

    # Traversal

    def expr(self, node: Expr, wanted: Type | None = None) -> Type:
        """Infer the type of an expression, record it on the node and return it."""
        type_ = EXPRESSION_RULES[type(node)](self, node, wanted)
        if type(node) in _COMPOSED_NODES and type(type_) not in _IMMUTABLE_CLASSES:
            type_ = self._bounded(node, type_)
        node.type = type_
        return type_

    def _bounded(self, node: Expr, type_: Type) -> Type:
        """Return the type, or report it and return json if it has too many parts.

        Types composed of other types could grow without end.
        """
        if not has_more_parts(type_, MAX_TYPE_PARTS + len(self.source.text)):
            return type_
        hint = "declare a type for it: `const x: T = …`, or `json`"
        self.report("V0364", "the type of this has too many parts to be followed", node, hint)
        return JSON

    def want(self, node: Expr, wanted: Type, name: str) -> Type:
        """Check that a value fits a place that shares it, and return its type; `name` is the place in messages.

        Unlike `require_type`, this rejects aliases of mutable values under another type.
        """
        type_ = self.fit(node, wanted, name)
        if (type_ is not wanted or type(node) in _BRANCHING_NODES) and type(type_) not in _IMMUTABLE_CLASSES:
            from antiphon.lang.typecheck.mutability.alias_check import check_alias

            check_alias(self, node, type_, wanted)
        return type_

    def fit(self, node: Expr, wanted: Type, name: str) -> Type:
        """Check that a value fits a place that copies or only reads it, and return its type."""
        type_ = self.expr(node, wanted)
        if type_ is not wanted and not is_assignable(type_, wanted):
            self.report_mismatch(node, type_, wanted, name)
        return type_

    def block(self, block: Block, symbols: Iterable[Symbol] = ()) -> bool:
        """Check a block in a scope of its own. Return True if its end is unreachable."""
        outer = self.scope
        self.scope = Scope({}, outer, block.start, block.end, block.statements, [])
        for each in symbols:
            self.declare_symbol(each)
        narrowed = self.narrowed_types
        self.narrowed_types = dict(narrowed) if narrowed else {}
        ends = self.statements(block.statements)
        self._warn_unused(self.scope)
        self.left = self.narrowed_types
        self.scope, self.narrowed_types = outer, narrowed
        return ends

    def statements(self, statements: list[Statement]) -> bool:
        """Check the statements of the current scope. Return True if the code after them is unreachable."""
        if not HOISTED_NODES.isdisjoint(map(type, statements)):
            from antiphon.lang.typecheck.declarations import hoist_declarations

            hoist_declarations(self, statements)
        ends = warned = False
        before: Statement | None = None
        for each in statements:
            if ends and not warned and type(each) not in _ALWAYS_REACHABLE:
                warned = True
                self.warn("V0701", "this code cannot be reached", each, _hint_unreachable(before))
            if STATEMENT_RULES[type(each)](self, each):
                ends, before = True, each
        if self.scope.waiting:
            from antiphon.lang.typecheck.functions import check_function_body

            for function in self.scope.waiting:
                check_function_body(self, function)
            self.scope.waiting.clear()
        return ends

    @property
    def running(self) -> Any:
        """The function that runs the code being checked; `None` for the module itself."""
        frame = self.frame
        while (frame.is_called_immediately or frame.is_async_for) and frame.parent is not None:
            frame = frame.parent
        return frame.node

    # Names

    def symbol(
        self,
        name: str,
        kind: SymbolKind,
        type_: Type,
        start: int,
        since: int,
        *,
        private: bool = False,
        node: Any = None,
    ) -> Symbol:
        """Create a symbol that belongs to the current scope."""
        scope = self.scope
        end, until = start + len(name), scope.end
        is_global = scope is self.module
        return Symbol(
            name, kind, type_, start, end, since, until, private, False, is_global, False, self.frame.node, node=node
        )

    def declare_symbol(self, symbol: Symbol) -> None:
        """Add a symbol to the current scope; report a name that the scope already has."""
        names = self.scope.names
        first = names.get(symbol.name)
        if first is not None and first not in self.earlier:
            where = (DiagnosticLabel(first.start, first.end, "it is first declared here"),)
            message = f"`{symbol.name}` is declared twice"
            self.report("V0203", message, symbol, "give one of them another name", where)
        names[symbol.name] = symbol
        if symbol.name in RESERVED_MODEL_NAMES:
            self._check_model_name(symbol)
        if symbol.kind in VARIABLE_KINDS:
            self.variables.append(symbol)

    def _check_model_name(self, symbol: Symbol) -> None:
        """Report a model that cannot be asked, because its name is a keyword after a prompt."""
        is_imported = symbol.kind == "import" or isinstance(symbol.node, Symbol)
        if strip_ai_result(symbol.type) is not MODEL and not (is_imported and symbol.type is JSON):
            return
        message = f"a model cannot be called `{symbol.name}`: behind a prompt, that word means something else"
        hint = f"give it another name, as `{symbol.name}Model`"
        if is_imported:
            hint = f"import it under another name: `{symbol.name} as {symbol.name}Model`"
        self.report("V0422", message, symbol, hint)

    def is_outside_async_for(self, symbol: Symbol) -> bool:
        """Return True if a variable is declared outside of the enclosing `async for`."""
        frame: FunctionFrame | None = self.frame
        while frame is not None and frame.node is not symbol.owner:
            if frame.is_async_for:
                return True
            frame = frame.parent
        return False

    def nearest(self, name: str, known: Iterable[str]) -> str | None:
        """Return the known name that was probably meant, or None."""
        if self._suggestion_count >= MAX_SUGGESTIONS:
            return None
        self._suggestion_count += 1
        return suggest_name(name, known)

    def meant(self, name: str, known: Iterable[str]) -> str:
        """Return a hint with the known name that was probably meant, or ""."""
        found = self.nearest(name, known)
        return f"did you mean `{found}`?" if found else ""

    # Literal types, interned

    def get_text_literal(self, value: str) -> Type:
        """Return the literal type of a text."""
        found = self._texts.get(value)
        if found is None:
            found = self._texts[value] = Literal(value)
        return found

    def get_number_literal(self, value: int | float) -> Type:
        """Return the literal type of a number."""
        if type(value) is float:
            # As dict keys, 1 and 1.0 are equal.
            return Literal(value)
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = Literal(value)
        return found

    # Reports

    def report(
        self,
        code: str,
        message: str,
        where: Node | Symbol | tuple[int, int],
        hint: str = "",
        labels: tuple[DiagnosticLabel, ...] = (),
        severity: Severity = "error",
        is_habit: bool = False,
    ) -> None:
        """Add a diagnostic."""
        start, end = where if isinstance(where, tuple) else (where.start, where.end)
        self.diagnostics.append(Diagnostic(code, message, start, end, hint, labels, severity, is_habit))

    def warn(self, code: str, message: str, where: Node | Symbol | tuple[int, int], hint: str = "") -> None:
        """Add a warning."""
        self.report(code, message, where, hint, severity="warning")

    def report_mismatch(self, node: Node, found: Type, wanted: Type, name: str) -> None:
        """Report a value whose type does not fit its place."""
        from antiphon.lang.typecheck.fix_hints import hint_mismatch

        place = f" for `{name}`" if name else ""
        # The literal itself matters only where literals are expected.
        what = format_type_short(found) if has_literals(wanted) else format_type_general(found)
        message = f"expected `{format_type_short(wanted)}`{place}, found `{what}`"
        hint = hint_mismatch(self, node, found, wanted)
        if name == "returns" and not hint:
            hint = f"give what is declared, or declare `returns {what}`"
        self.report("V0301", message, node, hint)

    def source_text(self, node: Node) -> str:
        """Return the source of a node if it is short, else "x"."""
        text = self.source.text[node.start : node.end]
        return text if len(text) <= 40 and "\n" not in text else "x"

    def receiver_text(self, node: Node) -> str:
        """Return the source of a node, in parentheses where a member could not follow it."""
        text = self.source_text(node)
        return f"({text})" if isinstance(node, Binary | Unary | Range | ModelCall | AskHuman) and text != "x" else text

    def warn_unused_imports(self) -> None:
        """Warn of imported names that the module does not use."""
        for each in self.imported:
            if not each.used and not each.name.startswith("_"):
                self.warn("V0702", f"`{each.name}` is imported and never used", each, "remove it from the import")

    def _warn_unused(self, scope: Scope) -> None:
        self.closed.update(scope.names)
        for each in scope.names.values():
            if each.used or each.exported or each.kind not in _WARNED_KINDS or each.name.startswith("_"):
                continue
            what = "assigned but never read" if each.is_assigned else "never used"
            hint = f"remove it, or call it `_{each.name}`"
            message = f"`{each.name}` is {what}"
            found = Diagnostic("V0702", message, each.start, each.end, hint, severity="warning")
            shows = each.kind in ("let", "const") and not each.is_private
            (self.unread if shows else self.diagnostics).append(found)


def _hint_unreachable(before: Statement | None) -> str:
    """Return the hint for unreachable code after a statement."""
    if isinstance(before, Return) and before.value is None:
        return "what is returned stands on the line of `return`"
    return "remove it, or what leaves the block before it"
