"""A violated rule, as the provider would report it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a body violates. `message` is the provider's own text, `param` its own path to the place
    or "".
    """

    code: str
    message: str
    param: str = ""
    error_code: str = ""
    """What OpenAI puts in the `code` field of its errors; "" with the other providers."""
