"""Symbols, which names refer to, and the exports of a module."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from antiphon.lang.typecheck import types as t

SymbolKind = Literal[
    "let", "const", "parameter", "loop", "caught", "function", "tool", "model", "type", "builtin", "import"
]


@dataclass(slots=True, eq=False)
class Symbol:
    """A declared name. `start` and `end` are the span of the name in its declaration."""

    name: str
    kind: SymbolKind
    type: t.Type
    start: int = 0
    end: int = 0
    #: The span in which the name is visible: from its declaration to the end of its block.
    since: int = 0
    until: int = 1 << 62
    is_private: bool = False
    #: True if it was declared with `async`: reading it may wait.
    is_async: bool = False
    #: True if it is declared at the top level of its module.
    is_global: bool = False
    exported: bool = False
    #: The function node it is declared in; `None` at the top level. `async for` bodies count as functions.
    owner: Any = None
    #: Functions, other than the owner, in which it is assigned.
    assigned_in: tuple[Any, ...] = ()
    used: bool = False
    #: True if a function other than the owner uses it.
    is_captured: bool = False
    is_assigned: bool = False
    #: True if it was initialized with null and has no declared type.
    is_open: bool = False
    #: For an array literal: the type of its items, where that is more precise than its type.
    items: t.Type | None = None
    #: For functions, tools and constants that are functions: the node. For imported names: the symbol in the other
    #: module.
    node: Any = None
    #: True if its value is mutated through this name.
    is_changed: bool = False
    #: The Python name, which the compiler sets.
    python: str = ""

    @property
    def is_unreadable(self) -> bool:
        """True if it may be declared in unreadable text, so that nothing is known of it."""
        return self.kind == "let" and self.end == 0

    @property
    def is_constant(self) -> bool:
        """True if it may never be assigned."""
        return self.kind not in ("let", "parameter")


@dataclass(slots=True)
class ModuleExports:
    """The exports of a module. `complete` is false if not all names are known before it runs."""

    names: dict[str, Symbol] = field(default_factory=dict[str, Symbol])
    complete: bool = True
    #: The reason why it cannot be imported; the other fields are then empty.
    problem: str = ""
    code: str = "V0601"
    hint: str = ""
