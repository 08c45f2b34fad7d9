"""Any Python value as plain JSON data: what has no JSON form is described, never obeyed and never an error."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, cast

from antiphon._json import clean

#: Deeper than this, a value is only named. Far beyond what anyone reads, and far below what would break a parser.
DEPTH = 60


#: So many results may stand inside one another; those further in are only named.
LEVELS = 8


class Whole:
    """A value that stays as it is inside data, and has a JSON form of its own."""

    __slots__ = ()

    levels: int

    @property
    def brief(self) -> str:
        """A short text that can stand for it."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        raise NotImplementedError


class StandIn:
    """Something that stands for a `value`: as the result of a tool it is that value."""

    __slots__ = ()
    value: Any


def plain(value: object) -> Any:
    """The value as JSON data. Cycles and depths end in an ellipsis, NaN and bytes become text."""
    return _plain(value, DEPTH, set(), False)


def kept(value: object) -> Any:
    """The same, but results stay results."""
    return _plain(value, DEPTH, set(), True)


def holds_whole(value: object) -> bool:
    """Whether there is a result in it, at any depth that is looked at."""
    return _holds(value, DEPTH, set())


def _holds(value: object, depth: int, seen: set[int]) -> bool:
    if isinstance(value, Whole):
        return True
    if value is None or isinstance(value, str | int | float | bytes) or not depth or id(value) in seen:
        return False
    seen.add(id(value))
    return any(_holds(inner, depth - 1, seen) for inner in _inner(value))


def _inner(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return cast(Mapping[object, object], value).values()
    if isinstance(value, list | tuple | set | frozenset):
        return cast(Iterable[object], value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    return vars(value).values() if _is_model(value) else ()


def _is_model(value: object) -> bool:
    return callable(getattr(value, "model_dump", None)) and not isinstance(value, type) and hasattr(value, "__dict__")


def _plain(value: object, depth: int, above: set[int], keep: bool) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        # Very long integers cannot be written as decimal text.
        return int(value) if -(2**1000) < value < 2**1000 else f"an integer of {value.bit_length()} bits"
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, bytes | bytearray):
        return f"{len(value):,} bytes"
    if isinstance(value, Whole):
        return value.to_json() if not keep else value if value.levels < LEVELS else value.brief
    return _compound(value, depth, above, keep)


def _compound(value: object, depth: int, above: set[int], keep: bool) -> Any:
    key = id(value)
    if not depth or key in above:
        return "…"
    above.add(key)
    try:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        elif _is_model(value):
            value = _dumped(value)
        if isinstance(value, Mapping):
            pairs = cast(Mapping[object, object], value).items()
            return {clean(str(key)): _plain(inner, depth - 1, above, keep) for key, inner in pairs}
        if isinstance(value, list | tuple | set | frozenset):
            return [_plain(inner, depth - 1, above, keep) for inner in cast(Iterable[object], value)]
        return clean(_described(value))
    finally:
        above.discard(key)


def _dumped(model: object) -> dict[str, Any]:
    """A pydantic model's fields; its own way of writing them would take results apart."""
    fields: dict[str, Any] = cast(Any, model).model_dump()
    return fields | {name: value for name, value in vars(model).items() if name in fields and holds_whole(value)}


def _described(value: object) -> str:
    try:
        return str(value)
    except Exception as error:
        return f"a {type(value).__name__} that cannot be shown: {type(error).__name__}"
