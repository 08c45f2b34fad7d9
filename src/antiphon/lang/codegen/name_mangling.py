"""Name mangling: Python names for names of the language, and the scopes of functions being compiled."""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from antiphon.lang.codegen.code_object import MANGLED_PREFIX, ScopeVariable
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.types import Type

MAIN_FUNCTION = "main"
#: The function that contains all others if they share variables.
WRAPPER_FUNCTION = "_varound"
_RESERVED_NAMES = {*keyword.kwlist, MAIN_FUNCTION, "__builtins__"}


def mangle_name(name: str) -> str:
    """Return the Python name of a name: itself, or mangled if Python or the compiler uses it. Injective."""
    kept = name.isidentifier() and name not in _RESERVED_NAMES and not name.startswith(("_v", "__"))
    return name if kept else f"{MANGLED_PREFIX}{name}"


def _is_captured(symbol: Symbol) -> bool:
    return symbol.is_captured or bool(symbol.assigned_in)


class FunctionScope:
    """The scope of a Python function that is being compiled: its names and variables."""

    def __init__(self, node: Any, outer: FunctionScope | None, taken: set[str]) -> None:
        self.node = node
        self.outer = outer
        self.taken = taken
        self.variables: list[ScopeVariable] = []
        self.globals: set[str] = set()
        self.outside: set[str] = set()
        self.returns: Type | None = None
        self.result_list = ""
        self.yields: Type | None = None
        #: How many loops enclose the current statement, and the variables that are new in each iteration.
        self.loops = 0
        self.loop_variables: set[str] = set()
        self._symbols_by_name: dict[str, Symbol] = {}

    def named(self, symbol: Symbol) -> str:
        """Choose a Python name for a variable: its own, unless that shadows one used here. Debuggers show it."""
        wish = mangle_name(symbol.name)
        known, number = wish, 1
        while self._is_taken(known, symbol) or self._is_used_outside(known):
            number += 1
            known = f"{wish}_{number}"
        self.taken.add(known)
        self._symbols_by_name[known] = symbol
        return known

    def _is_taken(self, name: str, symbol: Symbol) -> bool:
        """Return True if another variable has the name.

        A variable that went out of scope frees its name, unless a function captured it or the new one.
        """
        before = self._symbols_by_name.get(name)
        if before is None or _is_captured(symbol) or _is_captured(before):
            return name in self.taken
        return before.until > symbol.start

    def _is_used_outside(self, name: str) -> bool:
        outside = self.outer is not None and any(name in scope.taken for scope in self.outer.chain())
        return outside and name in self._used

    @cached_property
    def _used(self) -> set[str]:
        """Return the Python names of the variables that the function uses; outer ones are named already."""
        symbols = (each.symbol for each in n.walk(self.node) if isinstance(each, n.Name))
        return {each.python for each in symbols if each is not None}

    def chain(self) -> Iterable[FunctionScope]:
        """Yield this scope and those around it, innermost first."""
        scope: FunctionScope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer
