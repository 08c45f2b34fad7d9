"""The description of a function in a `system/…` module: signature, implementation and repeat safety."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from antiphon.lang.typecheck.types import CallableType as Signature
from antiphon.lang.typecheck.types import Type

#: What a function returns beyond its signature: a value of the type wanted at the call ("wanted"), an
#: item of its first argument, an array of such items, or the matches of the pattern that is its second.
ReturnRule = Literal["", "wanted", "item", "items", "found"]


@dataclass(frozen=True, slots=True)
class SystemFunction:
    """A system function. A pure one gets its arguments; one with effects gets the execution before them."""

    doc: str
    do: Callable[..., Any]
    parameters: Mapping[str, Type]
    returns: Type
    #: How many arguments may be omitted.
    optional: int = 0
    #: Empty for pure functions; else whether repeating is safe, or "inside" if it performs effects itself.
    again: Literal["", "harmless", "unsure", "inside"] = ""
    gives: ReturnRule = ""
    #: Converts the recorded result to a value of the language, if the two differ.
    convert_result: Callable[[Any], Any] | None = field(default=None)

    @property
    def signature(self) -> Signature:
        """Return the signature for the type checker."""
        types = tuple(self.parameters.values())
        names = tuple(self.parameters)
        return Signature(types, len(types) - self.optional, self.returns, names=names, gives=self.gives)
