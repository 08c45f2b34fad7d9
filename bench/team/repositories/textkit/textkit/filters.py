"""Filters by name, to be applied one after another."""

from collections.abc import Callable

FILTERS: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
}


def applied(text: str, *names: str) -> str:
    """A text after the filters of these names."""
    for name in names:
        text = FILTERS[name](text)
    return text
