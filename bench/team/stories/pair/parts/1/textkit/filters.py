"""Filters by name, to be applied one after another."""

import re
from collections.abc import Callable


def snake(text: str) -> str:
    """A text in small letters, with `_` between words."""
    return "_".join(re.findall(r"[a-z0-9]+", text.lower()))


FILTERS: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "snake": snake,
}


def applied(text: str, *names: str) -> str:
    """A text after the filters of these names."""
    for name in names:
        text = FILTERS[name](text)
    return text
