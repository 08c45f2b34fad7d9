"""Regular expressions that somebody else wrote: they are searched in linear time, or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

#: A group that is repeated and itself repeats or has alternatives.
_NESTED_REPEAT = re.compile(r"[*+}|][^()]*\)(?:[*+]|\{\d*,)|\)[^()]*\)(?:[*+]|\{\d*,)|[*+}].*\\\d")
#: Texts for patterns that need backtracking are compared up to this length.
_MAX_BACKTRACKED = 10_000


@cache
def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """Return a function that searches a text for a pattern in linear time. Raise a ValueError if it is no pattern.

    Patterns that need backtracking, with lookaround or references, may repeat nothing that repeats.
    """
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, strict=True)).isinstance_python
    except SchemaError as error:
        reason = str(error)
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(str(error)) from None
    if _NESTED_REPEAT.search(pattern):
        raise ValueError(f"it may take endless time: {reason.splitlines()[-1].strip()}")
    return lambda text: compiled.search(text[:_MAX_BACKTRACKED]) is not None
