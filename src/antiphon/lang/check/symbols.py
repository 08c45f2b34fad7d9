"""What a name stands for, and what a module gives to others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from antiphon.lang.check.types import Type

Kind = Literal["let", "const", "parameter", "loop", "caught", "function", "tool", "model", "type", "builtin", "import"]


@dataclass(slots=True, eq=False)
class Symbol:
    """One declared name. `start` and `end` are the span of the name where it is declared."""

    name: str
    kind: Kind
    type: Type
    start: int = 0
    end: int = 0
    #: The part of the source in which the name is seen: from its declaration to the end of its block.
    since: int = 0
    until: int = 1 << 62
    is_private: bool = False
    #: Whether it was declared with `async`: reading it may wait.
    is_async: bool = False
    #: Whether it lives at the top level of its module, outside every block.
    is_global: bool = False
    exported: bool = False
    #: The function node it is declared in; `None` at the top level. `async for` bodies count as functions.
    owner: Any = None
    #: Functions, other than the owner, in which it is assigned.
    assigned_in: tuple[Any, ...] = ()
    used: bool = False
    #: Whether a function other than the owner uses it.
    is_captured: bool = False
    assigned: bool = False
    #: Whether it began with null, and nobody said what else it may hold.
    is_open: bool = False
    #: Of an array that is written out: what its items are where that is more than its type says.
    items: Type | None = None
    #: For functions, tools and constants that are functions: the node. For imported names: the symbol in the other
    #: module.
    node: Any = None
    #: Whether something is put into it by its name.
    is_changed: bool = False
    #: What it is called in Python; the compiler's.
    python: str = ""

    @property
    def is_lost(self) -> bool:
        """Whether it may be declared in what could not be read: nothing is known of it."""
        return self.kind == "let" and self.end == 0

    @property
    def is_constant(self) -> bool:
        """Whether it may never be assigned."""
        return self.kind not in ("let", "parameter")


@dataclass(slots=True)
class Exports:
    """What a module gives. Where not all names are known before it runs, `complete` is false."""

    names: dict[str, Symbol] = field(default_factory=dict[str, Symbol])
    complete: bool = True
    #: Why it cannot be imported; then there is nothing else.
    problem: str = ""
    code: str = "V0601"
    hint: str = ""
