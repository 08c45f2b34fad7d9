"""Names of the language as names of Python, and the functions that are being compiled."""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import Type
from antiphon.lang.compile.code import MANGLED, Variable
from antiphon.lang.syntax import nodes as n

MAIN = "main"
#: The function in which the others are defined, where they share variables.
AROUND = "_varound"
_RESERVED = {*keyword.kwlist, MAIN, "__builtins__"}


def python_name(name: str) -> str:
    """What Python calls a name: itself, unless Python or this compiler has a use for it. No two become one."""
    kept = name.isidentifier() and name not in _RESERVED and not name.startswith(("_v", "__"))
    return name if kept else f"{MANGLED}{name}"


def _is_shared(symbol: Symbol) -> bool:
    return symbol.is_captured or bool(symbol.assigned_in)


class FunctionScope:
    """A Python function that is being compiled: its names and variables."""

    def __init__(self, node: Any, outer: FunctionScope | None, taken: set[str]) -> None:
        self.node = node
        self.outer = outer
        self.taken = taken
        self.variables: list[Variable] = []
        self.globals: set[str] = set()
        self.outside: set[str] = set()
        self.returns: Type | None = None
        self.collects = ""
        self.yields: Type | None = None
        #: How many loops we are in, and the variables that each of their rounds has anew.
        self.loops = 0
        self.looped: set[str] = set()
        self._holders: dict[str, Symbol] = {}

    def named(self, symbol: Symbol) -> str:
        """A Python name for a variable: its own where that hides no other that is used here, as a debugger shows it."""
        wish = python_name(symbol.name)
        known, number = wish, 1
        while self._is_taken(known, symbol) or self._is_used_outside(known):
            number += 1
            known = f"{wish}_{number}"
        self.taken.add(known)
        self._holders[known] = symbol
        return known

    def _is_taken(self, name: str, symbol: Symbol) -> bool:
        """Whether another variable has the name; one that is gone leaves it, unless functions know either."""
        before = self._holders.get(name)
        if before is None or _is_shared(symbol) or _is_shared(before):
            return name in self.taken
        return before.until > symbol.start

    def _is_used_outside(self, name: str) -> bool:
        outside = self.outer is not None and any(name in scope.taken for scope in self.outer.chain())
        return outside and name in self._used

    @cached_property
    def _used(self) -> set[str]:
        """What Python calls the variables that are used in the function; those of outside all have their names."""
        symbols = (each.symbol for each in n.walk(self.node) if isinstance(each, n.Name))
        return {each.python for each in symbols if each is not None}

    def chain(self) -> Iterable[FunctionScope]:
        """This function and those around it."""
        scope: FunctionScope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer
