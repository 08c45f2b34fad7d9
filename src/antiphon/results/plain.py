"""Any Python value as plain JSON data: what has no JSON form is described, never obeyed and never an error."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, cast

from antiphon._json import clean

#: Deeper than this, a value is only named. Far beyond what anyone reads, and far below what would break a parser.
DEPTH = 60


def plain(value: object) -> Any:
    """The value as JSON data. Cycles and depths end in an ellipsis, NaN and bytes become text."""
    return _plain(value, DEPTH, set())


def _plain(value: object, depth: int, above: set[int]) -> Any:
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
    return _compound(value, depth, above)


def _compound(value: object, depth: int, above: set[int]) -> Any:
    key = id(value)
    if not depth or key in above:
        return "…"
    above.add(key)
    try:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        elif callable(dump := getattr(value, "model_dump", None)) and not isinstance(value, type):
            value = dump()
        if isinstance(value, Mapping):
            pairs = cast(Mapping[object, object], value).items()
            return {clean(str(key)): _plain(inner, depth - 1, above) for key, inner in pairs}
        if isinstance(value, list | tuple | set | frozenset):
            return [_plain(inner, depth - 1, above) for inner in cast(Iterable[object], value)]
        return clean(_described(value))
    finally:
        above.discard(key)


def _described(value: object) -> str:
    try:
        return str(value)
    except Exception as error:
        return f"a {type(value).__name__} that cannot be shown: {type(error).__name__}"
