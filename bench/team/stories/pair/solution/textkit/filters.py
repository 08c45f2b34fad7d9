"""Filters by name, to be applied one after another."""

import re
from collections.abc import Callable


def snake(text: str) -> str:
    """A text in small letters, with `_` between words."""
    return "_".join(re.findall(r"[a-z0-9]+", text.lower()))


def title(text: str) -> str:
    """A text in which every word begins with a capital letter; the rest of a word stays."""
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


FILTERS: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "snake": snake,
    "title": title,
}


def applied(text: str, *names: str) -> str:
    """A text after the filters of these names."""
    for name in names:
        text = FILTERS[name](text)
    return text
