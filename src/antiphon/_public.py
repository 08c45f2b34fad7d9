"""Public names: what a package exports says the package as its `__module__`, because users import it from there.

Python, pydantic and dataclasses look up the names in annotations in the module that `__module__` says. So that they are
still found, annotations of classes are bound to the module they were written in, and those of functions are looked up
here. Source code is found for functions and methods; a class has only its `__module__` to be found by.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any, ForwardRef


def publish(namespace: Mapping[str, Any]) -> None:
    """Give what a package exports the name of the package: the last line of its `__init__`, called with `globals()`.

    What is not there yet is `lazy`.
    """
    for name in namespace["__all__"]:
        _give(namespace.get(name), namespace["__name__"])


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose names are imported from their modules when they are first used."""

    def __getattr__(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        import_module(f"{package}.{homes[name]}")
        namespace = vars(sys.modules[package])
        # What came along is given its name too: nobody may ever ask the package for the class of what it made.
        for each, home in homes.items():
            if each not in namespace and (module := sys.modules.get(f"{package}.{home}")) and hasattr(module, each):
                if (late := vars(module).pop("late_names", None)) is not None:
                    # Who looks up annotations finds there what the module itself does without.
                    vars(module).update(late())
                namespace[each] = getattr(module, each)
                _give(namespace[each], package)
        return namespace[name]

    return __getattr__


def _give(value: object, package: str) -> None:
    if not isinstance(value, type | FunctionType) or not value.__module__.startswith(f"{package}."):
        return
    if isinstance(value, type):
        _bind(value)
    else:
        _look_up(value)
    value.__module__ = package


def _bind(cls: type) -> None:
    written: dict[str, Any] = vars(cls).get("__annotations__", {})
    for name, annotation in written.items():
        if isinstance(annotation, ForwardRef) and annotation.__forward_module__ is None:
            # As named tuples have them.
            annotation = annotation.__forward_arg__
        written[name] = _bound(annotation, cls.__module__) if isinstance(annotation, str) else annotation
    for name, field in vars(cls).get("__dataclass_fields__", {}).items():
        field.type = written.get(name, field.type)


@cache
def _bound(annotation: str, module: str) -> ForwardRef:
    return ForwardRef(annotation, is_argument=False, module=module, is_class=True)


def _look_up(function: FunctionType) -> None:
    try:
        function.__annotations__ = {
            name: _evaluated(written, function.__module__) if isinstance(written, str) else written
            for name, written in function.__annotations__.items()
        }
    except NameError:
        # Imported for type checkers alone: nobody could look it up before, either.
        return


@cache
def _evaluated(annotation: str, module: str) -> Any:
    return eval(annotation, vars(sys.modules[module]))
