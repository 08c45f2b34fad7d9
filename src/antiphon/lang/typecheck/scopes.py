"""Scopes: the names that are visible in each block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from antiphon.lang.syntax.nodes import ArrayPattern, Destructure, Function, Input, Let, ModelDecl, Pattern, Statement
from antiphon.lang.typecheck.methods import BUILTIN_VALUES, BUILTINS, resolve_signature_type
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.types import JSON, CallableType

#: An offset beyond the end of every source.
UNBOUNDED_END = 1 << 62


@dataclass(slots=True, eq=False, repr=False)
class Scope:
    """The names of one block. A REPL passes the scope of the module to the next check."""

    names: dict[str, Symbol] = field(default_factory=dict[str, Symbol])
    parent: Scope | None = None
    start: int = 0
    end: int = UNBOUNDED_END
    statements: list[Statement] = field(default_factory=list[Statement])
    #: Functions whose bodies are checked once all names of the block are known.
    waiting: list[Function] = field(default_factory=list[Function])
    _later: dict[str, tuple[int, int]] | None = None

    def begin(self, statements: list[Statement], start: int, end: int) -> None:
        """Continue with the statements of another source, as a REPL does."""
        self.statements, self.start, self.end, self._later = statements, start, end, None

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


def _iterate_declarations(statements: list[Statement]) -> Iterator[tuple[str, tuple[int, int]]]:
    for each in statements:
        if isinstance(each, Let | Input | ModelDecl):
            yield each.name, (each.name_start, each.name_start + len(each.name))
        elif isinstance(each, Destructure):
            yield from _iterate_pattern_names(each.pattern)


def _iterate_pattern_names(pattern: Pattern | ArrayPattern) -> Iterator[tuple[str, tuple[int, int]]]:
    if isinstance(pattern, ArrayPattern):
        yield from ((each.name, (each.start, each.start + len(each.name))) for each in pattern.items)
        return
    for each in pattern.fields:
        if each.nested is not None:
            yield from _iterate_pattern_names(each.nested)
        else:
            yield each.name, (each.name_start, each.name_start + len(each.name))


def _make_builtin_scope() -> Scope:
    scope = Scope()
    for name, each in BUILTINS.items():
        parameters = tuple(map(resolve_signature_type, each.parameters))
        type_ = CallableType(parameters, each.required, resolve_signature_type(each.returns), each.variadic)
        scope.names[name] = Symbol(name, "builtin", type_, is_global=True)
    for name, type_ in BUILTIN_VALUES.items():
        scope.names[name] = Symbol(name, "builtin", type_, is_global=True)
    return scope


#: The built-in names.
BUILTIN_SCOPE = _make_builtin_scope()


def make_outer_scope(lost: set[str]) -> Scope:
    """Return the scope around a module: the built-in names, and names that may be declared in unreadable text."""
    unsure = {name: Symbol(name, "let", JSON, used=True) for name in lost - BUILTIN_SCOPE.names.keys()}
    return Scope(unsure, BUILTIN_SCOPE)
