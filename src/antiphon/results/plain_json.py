"""Convert any Python value to plain JSON data. Values without a JSON form are described instead of raising."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, cast

from antiphon._base.json import sanitize_unicode

#: Deeper values become an ellipsis. Far beyond what anyone reads, and far below what would break a parser.
MAX_DEPTH = 60


#: Results may be nested this deep; deeper ones are replaced by their placeholder text.
MAX_NESTED_LEVELS = 8


class NestableResult:
    """Base class of results, which stay unchanged inside data and have their own JSON form."""

    __slots__ = ()

    levels: int

    @property
    def placeholder_text(self) -> str:
        """A short text that replaces the result if there is no space for it."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        raise NotImplementedError


class ValueProxy:
    """A proxy for a `value`: if a tool returns the proxy, its result is that value."""

    __slots__ = ()
    value: Any


class JsonFields:
    """Base class of values whose JSON is an object with these fields."""

    __slots__ = ()

    @property
    def json_fields(self) -> Mapping[str, Any]:
        """The fields of the JSON object."""
        raise NotImplementedError


def to_plain_json(value: object) -> Any:
    """Return the value as JSON data. Cycles and deep nesting end in an ellipsis; NaN and bytes become text."""
    return _convert_value(value, MAX_DEPTH, set(), False)


def to_plain_json_with_results(value: object) -> Any:
    """Like `to_plain_json`, but nested results stay `Result` objects."""
    return _convert_value(value, MAX_DEPTH, set(), True)


def has_nested_result(value: object) -> bool:
    """Return whether the value contains a result, down to the maximum depth."""
    return _has_nested(value, MAX_DEPTH, set())


def _has_nested(value: object, depth: int, seen: set[int]) -> bool:
    if isinstance(value, NestableResult):
        return True
    if value is None or isinstance(value, str | int | float | bytes) or not depth or id(value) in seen:
        return False
    seen.add(id(value))
    return any(_has_nested(inner, depth - 1, seen) for inner in _iter_children(value))


def _iter_children(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return cast(Mapping[object, object], value).values()
    if isinstance(value, list | tuple | set | frozenset):
        return cast(Iterable[object], value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    return vars(value).values() if _is_model(value) else ()


def _is_model(value: object) -> bool:
    return callable(getattr(value, "model_dump", None)) and not isinstance(value, type) and hasattr(value, "__dict__")


def _convert_value(value: object, depth: int, above: set[int], keep: bool) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        # Very long integers cannot be written as decimal text.
        return int(value) if -(2**1000) < value < 2**1000 else f"an integer of {value.bit_length()} bits"
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return sanitize_unicode(value)
    if isinstance(value, bytes | bytearray):
        return f"{len(value):,} bytes"
    if isinstance(value, NestableResult):
        return value.to_json() if not keep else value if value.levels < MAX_NESTED_LEVELS else value.placeholder_text
    return _convert_compound(value, depth, above, keep)


def _convert_compound(value: object, depth: int, above: set[int], keep: bool) -> Any:
    key = id(value)
    if not depth or key in above:
        return "…"
    above.add(key)
    try:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        elif isinstance(value, JsonFields):
            value = value.json_fields
        elif _is_model(value):
            value = _dump_model(value)
        if isinstance(value, Mapping):
            pairs = cast(Mapping[object, object], value).items()
            return {sanitize_unicode(str(key)): _convert_value(inner, depth - 1, above, keep) for key, inner in pairs}
        if isinstance(value, list | tuple | set | frozenset):
            return [_convert_value(inner, depth - 1, above, keep) for inner in cast(Iterable[object], value)]
        return sanitize_unicode(_describe_value(value))
    finally:
        above.discard(key)


def _dump_model(model: object) -> dict[str, Any]:
    """Return the fields of a pydantic model. Nested results are kept, because `model_dump` would convert them."""
    fields: dict[str, Any] = cast(Any, model).model_dump()
    return fields | {name: value for name, value in vars(model).items() if name in fields and has_nested_result(value)}


def _describe_value(value: object) -> str:
    try:
        return str(value)
    except Exception as error:
        return f"a {type(value).__name__} that cannot be shown: {type(error).__name__}"
