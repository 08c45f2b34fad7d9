"""Errors as JSON data: class name, message and attributes."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, cast

from antiphon.errors import AntiphonError


def error_to_json(error: BaseException) -> dict[str, Any]:
    """Return an error as JSON data. Attributes without a JSON form are omitted."""
    told: dict[str, Any] = dict(getattr(error, "__dict__", {}))
    told |= {name: getattr(error, name) for name in _collect_slots(type(error)) if hasattr(error, name)}
    if isinstance(error, OSError) and error.filename is not None:
        # The file name is in the message, but in neither `args` nor `__dict__`.
        told["filename"] = error.filename
    carried = {name: each for name, each in told.items() if not name.startswith("_") and _is_json(each)}
    args = list(error.args) if _is_json(list(error.args)) else [str(error)]
    return {"type": type(error).__name__, "text": str(error), "args": args, "carried": carried}


def error_from_json(data: Mapping[str, Any]) -> BaseException:
    """Decode an error of `error_to_json`. An unknown class becomes an AntiphonError with the same message."""
    name, text = data["type"], data["text"]
    known = _find_error_class(name)
    if known is None:
        return AntiphonError(f"{name}: {text}")
    # Bypass `__init__`, because our classes take more arguments than they store in `args`.
    args = data["args"]
    error = known.__new__(known, *args)
    error.args = tuple(args)
    for key, value in cast(Mapping[str, Any], data["carried"]).items():
        setattr(error, key, value)
    return error


def _find_error_class(name: str) -> type[BaseException] | None:
    found = next((each for each in _list_subclasses(AntiphonError) if each.__name__ == name), None)
    if found is not None:
        return found
    own = getattr(builtins, name, None)
    return own if isinstance(own, type) and issubclass(own, Exception) else None


def _list_subclasses(kind: type[BaseException]) -> list[type[BaseException]]:
    return [kind, *(each for below in kind.__subclasses__() for each in _list_subclasses(below))]


def _collect_slots(kind: type) -> list[str]:
    return [name for each in kind.__mro__ for name in getattr(each, "__slots__", ())]


def _is_json(value: Any) -> bool:
    if value is None or isinstance(value, str | bool | int | float):
        return value == value
    if isinstance(value, list):
        return all(map(_is_json, cast(list[Any], value)))
    if isinstance(value, dict):
        given = cast(dict[Any, Any], value)
        return all(isinstance(key, str) and _is_json(each) for key, each in given.items())
    return False
