"""Public exports: exported names report their package as `__module__`, because users import them from there.

Python, pydantic and dataclasses resolve annotations in the module that `__module__` names. To keep this
working, the annotations of classes are bound to the module that defines them, and those of functions are
resolved here. `inspect` still finds the source code of functions and methods. For a class it finds only
the package.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any, ForwardRef


def publish_exports(namespace: Mapping[str, Any]) -> None:
    """Set `__module__` of everything in `__all__` to the package.

    Call it with `globals()` in the last line of a package's `__init__`. Names that are not imported yet are
    left to `make_lazy_getattr`.
    """
    for name in namespace["__all__"]:
        _set_public_module(namespace.get(name), namespace["__name__"])


def make_lazy_getattr(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a `__getattr__` for a package that imports each name from its module on first use."""

    def __getattr__(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        import_module(f"{package}.{homes[name]}")
        namespace = vars(sys.modules[package])
        # Publish the other names of that module too: users may meet an instance without ever importing its class.
        for each, home in homes.items():
            if each not in namespace and (module := sys.modules.get(f"{package}.{home}")) and hasattr(module, each):
                if (late := vars(module).pop("late_names", None)) is not None:
                    # Resolving annotations needs names that the module itself imports only for type checkers.
                    vars(module).update(late())
                namespace[each] = getattr(module, each)
                _set_public_module(namespace[each], package)
        return namespace[name]

    return __getattr__


def _set_public_module(value: object, package: str) -> None:
    if not isinstance(value, type | FunctionType) or not value.__module__.startswith(f"{package}."):
        return
    if isinstance(value, type):
        _bind_class_annotations(value)
    else:
        _resolve_function_annotations(value)
    value.__module__ = package


def _bind_class_annotations(cls: type) -> None:
    written: dict[str, Any] = vars(cls).get("__annotations__", {})
    for name, annotation in written.items():
        if isinstance(annotation, ForwardRef) and annotation.__forward_module__ is None:
            # Named tuples store their annotations like this.
            annotation = annotation.__forward_arg__
        written[name] = _make_forward_ref(annotation, cls.__module__) if isinstance(annotation, str) else annotation
    for name, field in vars(cls).get("__dataclass_fields__", {}).items():
        field.type = written.get(name, field.type)


@cache
def _make_forward_ref(annotation: str, module: str) -> ForwardRef:
    return ForwardRef(annotation, is_argument=False, module=module, is_class=True)


def _resolve_function_annotations(function: FunctionType) -> None:
    try:
        function.__annotations__ = {
            name: _evaluate_annotation(written, function.__module__) if isinstance(written, str) else written
            for name, written in function.__annotations__.items()
        }
    except NameError:
        # Imported only for type checkers, so it could not be resolved before either.
        return


@cache
def _evaluate_annotation(annotation: str, module: str) -> Any:
    return eval(annotation, vars(sys.modules[module]))
