"""Texts that arrive in pieces: they are joined once, at the end, since joining at every piece costs the square."""

from __future__ import annotations

from typing import Any, cast


class Growing:
    """A text that may still get longer; it stands in data where the text will stand."""

    __slots__ = ("_pieces",)

    def __init__(self, *pieces: str) -> None:
        self._pieces = list(pieces)

    def __str__(self) -> str:
        return "".join(self._pieces)

    def add(self, piece: str) -> None:
        """Make it longer."""
        self._pieces.append(piece)


def longer(text: object, piece: str) -> Growing:
    """The text with its next piece; what is no text is none."""
    if not isinstance(text, Growing):
        text = Growing(text if isinstance(text, str) else "")
    text.add(piece)
    return text


def settled(value: Any) -> Any:
    """The data with its texts whole."""
    if isinstance(value, Growing):
        return str(value)
    if isinstance(value, dict):
        return {name: settled(inner) for name, inner in cast(dict[str, Any], value).items()}
    return [settled(inner) for inner in cast(list[Any], value)] if isinstance(value, list) else value
