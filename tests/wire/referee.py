"""The vendors' own types as referees, down to the last block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter


def judge(adapter: TypeAdapter[Any], value: object) -> None:
    """Raise unless the value is of the type. Pydantic checks an `Iterable` only while it is consumed."""
    _consume(adapter.validate_python(value))


def _consume(value: object) -> None:
    if isinstance(value, Mapping):
        for inner in value.values():
            _consume(inner)
    elif isinstance(value, list | tuple | Iterator) or type(value).__name__ == "ValidatorIterator":
        for inner in value:  # type: ignore[union-attr]
            _consume(inner)
