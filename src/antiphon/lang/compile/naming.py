"""Names of the language as names of Python, and the functions that are being compiled."""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from typing import Any

from antiphon.lang.check.types import Type
from antiphon.lang.compile.code import MANGLED, Variable

MAIN = "main"
#: The function in which the others are defined, where they share variables.
AROUND = "_varound"
_RESERVED = {*keyword.kwlist, MAIN, "__builtins__"}


def python_name(name: str) -> str:
    """What Python calls a name: itself, unless Python or this compiler has a use for it. No two become one."""
    kept = name.isidentifier() and name not in _RESERVED and not name.startswith(("_v", "__"))
    return name if kept else f"{MANGLED}{name}"


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

    def named(self, name: str) -> str:
        """A Python name for a variable that hides no other."""
        wish = python_name(name)
        known, number = wish, 1
        while any(known in scope.taken for scope in self.chain()):
            number += 1
            known = f"{wish}_{number}"
        self.taken.add(known)
        return known

    def chain(self) -> Iterable[FunctionScope]:
        """This function and those around it."""
        scope: FunctionScope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer
