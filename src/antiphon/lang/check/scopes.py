"""Scopes: which names are known where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from antiphon.lang.check.methods import BUILTIN_VALUES, BUILTINS, signature_type
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import JSON, Callable
from antiphon.lang.syntax.nodes import ArrayPattern, Destructure, Function, Input, Let, ModelDecl, Pattern, Statement

#: As far as any source goes.
NO_END = 1 << 62


@dataclass(slots=True, eq=False, repr=False)
class Scope:
    """The names of one block. The scope of a module may be handed to the next check, as a REPL does."""

    names: dict[str, Symbol] = field(default_factory=dict[str, Symbol])
    parent: Scope | None = None
    start: int = 0
    end: int = NO_END
    statements: list[Statement] = field(default_factory=list[Statement])
    #: Functions whose bodies are looked at when all names of the block are known.
    waiting: list[Function] = field(default_factory=list[Function])
    _later: dict[str, tuple[int, int]] | None = None

    def begin(self, statements: list[Statement], start: int, end: int) -> None:
        """Go on with the statements of another source, as a REPL does."""
        self.statements, self.start, self.end, self._later = statements, start, end, None

    def find(self, name: str) -> Symbol | None:
        """What the name stands for here."""
        scope: Scope | None = self
        while scope is not None:
            if (symbol := scope.names.get(name)) is not None:
                return symbol
            scope = scope.parent
        return None

    def all_names(self) -> Iterator[str]:
        """Every name known here, the nearest first."""
        scope: Scope | None = self
        while scope is not None:
            yield from scope.names
            scope = scope.parent

    def declared_later(self, name: str) -> tuple[int, int] | None:
        """Where a name is declared that is not known yet."""
        scope: Scope | None = self
        while scope is not None:
            if scope._later is None:
                scope._later = {}
                for each, where in _declared(scope.statements):
                    scope._later.setdefault(each, where)
            if name in scope._later:
                return scope._later[name]
            scope = scope.parent
        return None


def _declared(statements: list[Statement]) -> Iterator[tuple[str, tuple[int, int]]]:
    for each in statements:
        if isinstance(each, Let | Input | ModelDecl):
            yield each.name, (each.name_start, each.name_start + len(each.name))
        elif isinstance(each, Destructure):
            yield from _leaves(each.pattern)


def _leaves(pattern: Pattern | ArrayPattern) -> Iterator[tuple[str, tuple[int, int]]]:
    if isinstance(pattern, ArrayPattern):
        yield from ((each.name, (each.start, each.start + len(each.name))) for each in pattern.items)
        return
    for each in pattern.fields:
        if each.nested is not None:
            yield from _leaves(each.nested)
        else:
            yield each.name, (each.name_start, each.name_start + len(each.name))


def _builtins() -> Scope:
    scope = Scope()
    for name, each in BUILTINS.items():
        parameters = tuple(map(signature_type, each.parameters))
        type_ = Callable(parameters, each.required, signature_type(each.returns), each.variadic)
        scope.names[name] = Symbol(name, "builtin", type_, is_global=True)
    for name, type_ in BUILTIN_VALUES.items():
        scope.names[name] = Symbol(name, "builtin", type_, is_global=True)
    return scope


#: The names that are always there.
BUILTIN_SCOPE = _builtins()


def beyond(lost: set[str]) -> Scope:
    """What is known around a module: what is always there, and names that may be declared where nothing was read."""
    unsure = {name: Symbol(name, "let", JSON, used=True) for name in lost - BUILTIN_SCOPE.names.keys()}
    return Scope(unsure, BUILTIN_SCOPE)
