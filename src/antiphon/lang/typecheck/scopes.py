"""Scopes: the names that are visible in each block, and the functions around the code that is being checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import DiagnosticLabel
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.methods import BUILTIN_VALUES, BUILTINS, resolve_signature_type
from antiphon.lang.typecheck.reporter import Reporter, get_name_span
from antiphon.lang.typecheck.symbols import Symbol, SymbolKind

#: An offset beyond the end of every source.
UNBOUNDED_END = 1 << 62
#: Kinds of symbols that have no value before their declaration runs.
VARIABLE_KINDS = frozenset(("let", "const", "model"))
#: Keywords after a prompt, which therefore cannot name a model.
_RESERVED_MODEL_NAMES = frozenset(("default", "local", "none", "model", "with"))


@dataclass(slots=True, eq=False, repr=False)
class Scope:
    """The names of one block. A REPL passes the scope of the module to the next check."""

    names: dict[str, Symbol] = field(default_factory=dict[str, Symbol])
    parent: Scope | None = None
    start: int = 0
    end: int = UNBOUNDED_END
    statements: list[n.Statement] = field(default_factory=list[n.Statement])
    #: Functions whose bodies are checked once all names of the block are known.
    waiting: list[n.Function] = field(default_factory=list[n.Function])
    #: Symbols of earlier sources, which may be redeclared.
    earlier: frozenset[Symbol] = frozenset()
    _later: dict[str, tuple[int, int]] | None = None

    def begin(self, statements: list[n.Statement], start: int, end: int) -> None:
        """Continue with the statements of another source, as a REPL does."""
        self.statements, self.start, self.end, self._later = statements, start, end, None
        self.earlier = frozenset(self.names.values())

    def find(self, name: str) -> Symbol | None:
        """Return the symbol that a name refers to here, or None."""
        scope: Scope | None = self
        while scope is not None:
            if (symbol := scope.names.get(name)) is not None:
                return symbol
            scope = scope.parent
        return None

    def iterate_names(self) -> Iterator[str]:
        """Yield every visible name, the innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield from scope.names
            scope = scope.parent

    def find_later_declaration(self, name: str) -> tuple[int, int] | None:
        """Return the span of a later declaration of a name, or None."""
        scope: Scope | None = self
        while scope is not None:
            if scope._later is None:
                scope._later = {}
                for each, where in _iterate_declarations(scope.statements):
                    scope._later.setdefault(each, where)
            if name in scope._later:
                return scope._later[name]
            scope = scope.parent
        return None


def _iterate_declarations(statements: list[n.Statement]) -> Iterator[tuple[str, tuple[int, int]]]:
    for each in statements:
        if isinstance(each, n.Let | n.Input | n.ModelDecl):
            yield each.name, get_name_span(each)
        elif isinstance(each, n.Destructure):
            yield from _iterate_pattern_names(each.pattern)


def _iterate_pattern_names(pattern: n.Pattern | n.ArrayPattern) -> Iterator[tuple[str, tuple[int, int]]]:
    if isinstance(pattern, n.ArrayPattern):
        yield from ((each.name, (each.start, each.start + len(each.name))) for each in pattern.items)
        return
    for each in pattern.fields:
        if each.nested is not None:
            yield from _iterate_pattern_names(each.nested)
        else:
            yield each.name, get_name_span(each)


def _make_builtin_scope() -> Scope:
    scope = Scope()
    for name, each in BUILTINS.items():
        parameters = tuple(map(resolve_signature_type, each.parameters))
        type_ = t.CallableType(parameters, each.required, resolve_signature_type(each.returns), each.variadic)
        scope.names[name] = Symbol(name, "builtin", type_, is_global=True)
    for name, type_ in BUILTIN_VALUES.items():
        scope.names[name] = Symbol(name, "builtin", type_, is_global=True)
    return scope


#: The built-in names.
BUILTIN_SCOPE = _make_builtin_scope()


def make_outer_scope(lost: set[str]) -> Scope:
    """Return the scope around a module: the built-in names, and names that may be declared in unreadable text."""
    unsure = {name: Symbol(name, "let", t.JSON, used=True) for name in lost - BUILTIN_SCOPE.names.keys()}
    return Scope(unsure, BUILTIN_SCOPE)


@dataclass(slots=True, eq=False, repr=False)
class FunctionFrame:
    """The function or `async for` that is being checked; for the module itself, `node` is `None`."""

    node: Any = None
    parent: FunctionFrame | None = None
    #: The declared return type.
    returns: t.Type | None = None
    is_async_for: bool = False
    #: True if it is called immediately, so that it runs as part of the enclosing code.
    is_called_immediately: bool = False
    is_test: bool = False
    #: For each enclosing loop, whether it contains a `break`.
    loops: list[bool] = field(default_factory=list[bool])
    #: In an `async for`: the type of the yielded values, and the expected one.
    yields: t.Type | None = None
    wanted_item: t.Type | None = None
    #: In a lambda without an expected type: the inferred return type.
    inferred_returns: t.Type | None = None

    @property
    def title(self) -> str:
        """The name of the function as messages show it."""
        name = getattr(self.node, "name", "")
        return f"`{name}`" if name else "the program" if self.node is None else "the function"


class ScopeStack:
    """The scopes and the functions around the code that is being checked."""

    __slots__ = ("_reporter", "current", "ended", "frame", "hoisted_imports", "module", "variables")

    def __init__(self, reporter: Reporter, module: Scope) -> None:
        self._reporter = reporter
        self.module = self.current = module
        self.frame = FunctionFrame()
        #: The variables of all blocks.
        self.variables: list[Symbol] = []
        #: Imported types, which are declared before everything else.
        self.hoisted_imports: set[Symbol] = set()
        #: The symbols of blocks that have ended, by name.
        self.ended: dict[str, Symbol] = {}

    def enter_scope(self, node: n.Node, statements: list[n.Statement], names: dict[str, Symbol] | None = None) -> None:
        """Enter the scope of a node."""
        self.current = Scope({} if names is None else names, self.current, node.start, node.end, statements)

    def leave_block(self) -> None:
        """Leave the scope of a block, and remember its names for messages."""
        self.ended.update(self.current.names)
        self.leave_scope()

    def leave_scope(self) -> None:
        """Return to the enclosing scope."""
        assert self.current.parent is not None
        self.current = self.current.parent

    def enter_frame(self, frame: FunctionFrame) -> None:
        """Enter the body of a function or `async for`."""
        frame.parent = self.frame
        self.frame = frame

    def leave_frame(self) -> None:
        """Return to the enclosing function."""
        assert self.frame.parent is not None
        self.frame = self.frame.parent

    def find(self, name: str) -> Symbol | None:
        """Return the symbol that a name refers to here, or None."""
        return self.current.find(name)

    def make_symbol(
        self,
        name: str,
        kind: SymbolKind,
        type_: t.Type,
        start: int,
        since: int,
        *,
        private: bool = False,
        node: Any = None,
    ) -> Symbol:
        """Create a symbol that belongs to the current scope."""
        return Symbol(
            name,
            kind,
            type_,
            start,
            start + len(name),
            since,
            self.current.end,
            is_private=private,
            is_global=self.current is self.module,
            owner=self.frame.node,
            node=node,
        )

    def make_local(self, name: str, kind: SymbolKind, type_: t.Type, start: int, body: n.Node, private: bool) -> Symbol:
        """Create a symbol that is visible in a body: a parameter, a loop variable or a caught error."""
        symbol = self.make_symbol(name, kind, type_, start, body.start, private=private)
        symbol.until, symbol.is_global = body.end, False
        return symbol

    def declare(self, symbol: Symbol) -> None:
        """Add a symbol to the current scope; report a name that the scope already has."""
        names = self.current.names
        first = names.get(symbol.name)
        if first is not None and first not in self.module.earlier:
            where = (DiagnosticLabel(first.start, first.end, "it is first declared here"),)
            message = f"`{symbol.name}` is declared twice"
            self._reporter.report("V0203", message, symbol, "give one of them another name", where)
        names[symbol.name] = symbol
        if symbol.name in _RESERVED_MODEL_NAMES:
            self._check_model_name(symbol)
        if symbol.kind in VARIABLE_KINDS:
            self.variables.append(symbol)

    def _check_model_name(self, symbol: Symbol) -> None:
        """Report a model that cannot be asked, because its name is a keyword after a prompt."""
        is_imported = symbol.kind == "import" or isinstance(symbol.node, Symbol)
        if t.strip_ai_result(symbol.type) is not t.MODEL and not (is_imported and symbol.type is t.JSON):
            return
        message = f"a model cannot be called `{symbol.name}`: behind a prompt, that word means something else"
        hint = f"give it another name, as `{symbol.name}Model`"
        if is_imported:
            hint = f"import it under another name: `{symbol.name} as {symbol.name}Model`"
        self._reporter.report("V0422", message, symbol, hint)

    def export(self, node: n.Node, symbol: Symbol) -> None:
        """Mark a symbol as exported; report one that is not at the top level of its module."""
        symbol.exported = True
        if self.current is not self.module:
            message = "only what stands at the top level of a file can be exported"
            self._reporter.report("V0507", message, (node.start, node.start + len("export")))

    def suppress_unknown_name(self, name: str) -> None:
        """Declare a name around the module, so that its further uses are not reported."""
        if self.module.parent is not None:
            self.module.parent.names[name] = Symbol(name, "let", t.JSON, used=True)

    def record_use(self, symbol: Symbol) -> None:
        """Record that the current function uses a symbol."""
        symbol.used = True
        if symbol.owner is not self.frame.node:
            symbol.is_captured = True

    def is_at_top_level(self) -> bool:
        """Return True at the top level of a file."""
        return self.current is self.module and self.frame.node is None

    def is_in_test(self) -> bool:
        """Return True inside a test."""
        return any(each.is_test for each in self._iterate_frames())

    def is_outside_async_for(self, symbol: Symbol) -> bool:
        """Return True if a variable is declared outside of the enclosing `async for`."""
        for each in self._iterate_frames():
            if each.node is symbol.owner:
                return False
            if each.is_async_for:
                return True
        return False

    def find_running_function(self) -> Any:
        """Return the function that runs the current code; None for the module itself."""
        frame = self.frame
        while (frame.is_called_immediately or frame.is_async_for) and frame.parent is not None:
            frame = frame.parent
        return frame.node

    def _iterate_frames(self) -> Iterator[FunctionFrame]:
        frame: FunctionFrame | None = self.frame
        while frame is not None:
            yield frame
            frame = frame.parent
