"""A function of a `system/…` module: its signature, what it does, and what is known of doing it twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.check.types import Type

#: What a function gives besides what its signature says: a value of the type that is wanted where it is called, an
#: item of its first argument, an array of such items, or what is found by the pattern that is its second.
Gives = Literal["", "wanted", "item", "items", "found"]


@dataclass(frozen=True, slots=True)
class Function:
    """One function. What only computes is called with the arguments; what is an effect, with the run before them."""

    doc: str
    do: Callable[..., Any]
    parameters: Mapping[str, Type]
    returns: Type
    #: How many arguments may be left out.
    optional: int = 0
    #: Nothing for what only computes; else what the journal is told of doing it twice, unless its effects are inside.
    again: Literal["", "harmless", "unsure", "inside"] = ""
    gives: Gives = ""
    #: The value of the language that is made of what was done, where that is kept in another form.
    shaped: Callable[[Any], Any] | None = field(default=None)

    @property
    def signature(self) -> Signature:
        """As the checker knows it."""
        types = tuple(self.parameters.values())
        names = tuple(self.parameters)
        return Signature(types, len(types) - self.optional, self.returns, names=names, gives=self.gives)
