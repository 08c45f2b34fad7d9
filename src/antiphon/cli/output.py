"""What is printed comes from files and models: it is shown, never obeyed."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """The text with control, format and other invisible characters written out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char == "\n" or _is_shown(char) else _escaped(char) for char in text)


def printable_line(text: str) -> str:
    """The same in one line: a name with a line break in it could pass for a line of ours."""
    return printable(text).replace("\n", "\\n")


def _is_shown(char: str) -> bool:
    return not unicodedata.category(char).startswith("C")


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()
