"""Filters by name, to be applied one after another."""

from collections.abc import Callable


def title(text: str) -> str:
    """A text in which every word begins with a capital letter; the rest of a word stays."""
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


FILTERS: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "title": title,
}


def applied(text: str, *names: str) -> str:
    """A text after the filters of these names."""
    for name in names:
        text = FILTERS[name](text)
    return text
