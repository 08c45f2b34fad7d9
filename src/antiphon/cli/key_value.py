"""Parse `name=value` options."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.errors import ConfigurationError


def parse_pairs(values: Iterable[str], flag: str) -> dict[str, str]:
    """Parse repeated `name=value` options into a dict; if a name is repeated, the last value wins."""
    out: dict[str, str] = {}
    for each in values:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise ConfigurationError(f"`{flag}` takes name=value, not {each!r}")
        out[name.strip()] = value
    return out
