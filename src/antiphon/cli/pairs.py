"""`name=value` on the command line."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.errors import ConfigurationError


def pairs(values: Iterable[str], flag: str) -> dict[str, str]:
    """`name=value`, as often as it is given behind a flag."""
    out: dict[str, str] = {}
    for each in values:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise ConfigurationError(f"`{flag}` takes name=value, not {each!r}")
        out[name.strip()] = value
    return out
