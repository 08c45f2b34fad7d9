"""Errors as JSON data: the class by its name, its words, and what it carries besides."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, cast

from antiphon.errors import AntiphonError


def error_json(error: BaseException) -> dict[str, Any]:
    """An error as JSON data. What it carries that has no such form is left out."""
    told: dict[str, Any] = dict(getattr(error, "__dict__", {}))
    told |= {name: getattr(error, name) for name in _slots(type(error)) if hasattr(error, name)}
    if isinstance(error, OSError) and error.filename is not None:
        # Part of its words, but of neither its arguments nor its fields.
        told["filename"] = error.filename
    carried = {name: each for name, each in told.items() if not name.startswith("_") and _is_json(each)}
    args = list(error.args) if _is_json(list(error.args)) else [str(error)]
    return {"type": type(error).__name__, "text": str(error), "args": args, "carried": carried}


def error_from_json(data: Mapping[str, Any]) -> BaseException:
    """The error that `error_json` was given; one of a class that is not known here keeps its words."""
    name, text = data["type"], data["text"]
    known = _known(name)
    if known is None:
        return AntiphonError(f"{name}: {text}")
    # Not made anew: what a class of ours wants to be made of is more than it keeps as its words.
    args = data["args"]
    error = known.__new__(known, *args)
    error.args = tuple(args)
    for key, value in cast(Mapping[str, Any], data["carried"]).items():
        setattr(error, key, value)
    return error


def _known(name: str) -> type[BaseException] | None:
    found = next((each for each in _below(AntiphonError) if each.__name__ == name), None)
    if found is not None:
        return found
    own = getattr(builtins, name, None)
    return own if isinstance(own, type) and issubclass(own, Exception) else None


def _below(kind: type[BaseException]) -> list[type[BaseException]]:
    return [kind, *(each for below in kind.__subclasses__() for each in _below(below))]


def _slots(kind: type) -> list[str]:
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
