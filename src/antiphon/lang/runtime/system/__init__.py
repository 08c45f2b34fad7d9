"""The modules `system/…` for programs: files, data, HTTP, processes, time, text, random numbers and hashes.

Each function with an effect is journaled, replayed, and refused or confined for untrusted programs. Pure
functions are just called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from antiphon.effects.types import CallTool
from antiphon.lang.runtime.type_conversion import convert_to_type
from antiphon.lang.runtime.values import describe_for_effect, to_plain_value
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.symbols import ModuleExports, Symbol

if TYPE_CHECKING:
    from antiphon.lang.runtime.execution import ProgramExecution

#: What a function returns beyond its signature: a value of the type wanted at the call ("wanted"), an
#: item of its first argument, an array of such items, or the matches of the pattern that is its second.
ReturnRule = Literal["", "wanted", "item", "items", "found"]


@dataclass(frozen=True, slots=True)
class SystemFunction:
    """A system function. A pure one gets its arguments; one with effects gets the execution before them."""

    doc: str
    do: Callable[..., Any]
    parameters: Mapping[str, t.Type]
    returns: t.Type
    #: How many arguments may be omitted.
    optional: int = 0
    #: Empty for pure functions; else whether repeating is safe, or "inside" if it performs effects itself.
    again: Literal["", "harmless", "unsure", "inside"] = ""
    gives: ReturnRule = ""
    #: Converts the recorded result to a value of the language, if the two differ.
    convert_result: Callable[[Any], Any] | None = field(default=None)

    @property
    def signature(self) -> t.CallableType:
        """Return the signature for the type checker."""
        types = tuple(self.parameters.values())
        names = tuple(self.parameters)
        return t.CallableType(types, len(types) - self.optional, self.returns, names=names, gives=self.gives)


#: The modules, by their names in programs; each is a Python module of this package.
SYSTEM_MODULES = ("files", "data", "http", "process", "time", "text", "random", "hash")
SYSTEM_PREFIX = "system/"
#: Stands for an omitted argument.
MISSING_ARGUMENT = object()


@cache
def load_system_functions(module: str) -> dict[str, SystemFunction]:
    """Return the functions of a system module by name."""
    return import_module(f"{__name__}.{module}").FUNCTIONS


def parse_system_path(path: str) -> str | None:
    """Return the system module that a path names, or None."""
    name = path.removeprefix(SYSTEM_PREFIX)
    return name if path.startswith(SYSTEM_PREFIX) and name in SYSTEM_MODULES else None


def make_system_exports(module: str) -> ModuleExports:
    """Return the exports of a system module."""
    table = load_system_functions(module).items()
    return ModuleExports({name: Symbol(name, "function", each.signature, exported=True) for name, each in table})


def bind_system_function(execution: ProgramExecution, module: str, name: str) -> Callable[..., Any]:
    """Return a function of a system module, bound to one execution."""
    function = load_system_functions(module)[name]

    def called(*arguments: Any, wanted: t.Type | None = None) -> Any:
        # An omitted argument before a named one is None; omitted ones at the end are not passed.
        given = [None if each is MISSING_ARGUMENT else to_plain_value(each) for each in arguments]
        value = _call_system_function(execution, f"{module}.{name}", function, given, wanted)
        return value if wanted is None else convert_to_type(value, wanted)

    called.__name__ = name
    return called


def _call_system_function(
    execution: ProgramExecution, title: str, function: SystemFunction, given: list[Any], wanted: t.Type | None
) -> Any:
    if not function.again:
        return function.do(*given, wanted or t.JSON) if function.gives == "wanted" else function.do(*given)
    if function.again == "inside":
        return function.do(execution, *given)
    told = describe_for_effect(dict(zip(function.parameters, given, strict=False)))
    value = execution.perform(CallTool(title, told, function.again), lambda: function.do(execution, *given))
    return value if function.convert_result is None else function.convert_result(value)


def call_with_wanted_type(function: Callable[..., Any], wanted: t.Type, *arguments: Any) -> Any:
    """Call a function that returns a value of the type wanted at the call."""
    return function(*arguments, wanted=wanted)
