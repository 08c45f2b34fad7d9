"""Accumulation of streamed text: pieces are joined once, because joining at every piece takes
quadratic time.
"""

from __future__ import annotations

from typing import Any, cast


class TextAccumulator:
    """A text that may still grow. It takes the text's place inside JSON data."""

    __slots__ = ("_pieces",)

    def __init__(self, *pieces: str) -> None:
        self._pieces = list(pieces)

    def __str__(self) -> str:
        return "".join(self._pieces)

    def add(self, piece: str) -> None:
        """Append a piece."""
        self._pieces.append(piece)


def append_text(text: object, piece: str) -> TextAccumulator:
    """Return an accumulator with the next piece. A previous value that is no text counts as empty."""
    if not isinstance(text, TextAccumulator):
        text = TextAccumulator(text if isinstance(text, str) else "")
    text.add(piece)
    return text


def join_accumulated(value: Any) -> Any:
    """Return the data with every accumulator replaced by its text."""
    if isinstance(value, TextAccumulator):
        return str(value)
    if isinstance(value, dict):
        return {name: join_accumulated(inner) for name, inner in cast(dict[str, Any], value).items()}
    return [join_accumulated(inner) for inner in cast(list[Any], value)] if isinstance(value, list) else value
