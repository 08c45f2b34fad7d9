"""The modules `system/…`: files, data, the web, processes, time, text, chance and hashes, for programs.

Each function that reaches the world is one effect: written down, played back, and refused or confined where the program
is not trusted. What only computes is just called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from antiphon.effects.values import CallTool
from antiphon.lang.check.symbols import Exports, Symbol
from antiphon.lang.check.types import JSON, Type
from antiphon.lang.run.fitting import as_type
from antiphon.lang.run.system.function import Function
from antiphon.lang.run.values import described, plain

if TYPE_CHECKING:
    from antiphon.lang.run.execution import Execution

#: The modules, by the names that programs use; each is the Python module of that name here.
MODULES = ("files", "data", "http", "process", "time", "text", "random", "hash")
PREFIX = "system/"
#: Stands for an argument that was left out.
MISSING = object()


@cache
def functions(module: str) -> dict[str, Function]:
    """What a module gives, by name."""
    return import_module(f"{__name__}.{module}").FUNCTIONS


def module_of(path: str) -> str | None:
    """The module that a path names, if it is one of these."""
    name = path.removeprefix(PREFIX)
    return name if path.startswith(PREFIX) and name in MODULES else None


def exports(module: str) -> Exports:
    """What a program can import from a module."""
    table = functions(module).items()
    return Exports({name: Symbol(name, "function", each.signature, exported=True) for name, each in table})


def bound(execution: Execution, module: str, name: str) -> Callable[..., Any]:
    """A function of a module, for one run."""
    function = functions(module)[name]

    def called(*arguments: Any, wanted: Type | None = None) -> Any:
        # One that is left out before a named one has no value; those at the end are not there.
        given = [None if each is MISSING else plain(each) for each in arguments]
        value = _done(execution, f"{module}.{name}", function, given, wanted)
        return value if wanted is None else as_type(value, wanted)

    called.__name__ = name
    return called


def _done(execution: Execution, title: str, function: Function, given: list[Any], wanted: Type | None) -> Any:
    if not function.again:
        return function.do(*given, wanted or JSON) if function.gives == "wanted" else function.do(*given)
    if function.again == "inside":
        return function.do(execution, *given)
    told = described(dict(zip(function.parameters, given, strict=False)))
    value = execution.perform(CallTool(title, told, function.again), lambda: function.do(execution, *given))
    return value if function.shaped is None else function.shaped(value)


def read_as(function: Callable[..., Any], wanted: Type, *arguments: Any) -> Any:
    """Call a function that gives what is wanted where it is called."""
    return function(*arguments, wanted=wanted)
