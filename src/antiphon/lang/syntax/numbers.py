"""Parsing of number literals."""

from __future__ import annotations

import re

#: Python's own limit for converting between digits and integers.
_MAX_DIGITS = 4300
#: Compiled on first use: most numbers are digits alone.
_HEX = r"0[xX][0-9a-fA-F]+(?:_[0-9a-fA-F]+)*"
_DECIMAL = r"([0-9]+(?:_[0-9]+)*)(\.[0-9]+(?:_[0-9]+)*)?(?:[eE]([-+]?[0-9]+(?:_[0-9]+)*))?"


class InvalidNumberLiteral(ValueError):
    """Raised for an invalid number literal; `hint` says what to write."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def parse_number(text: str) -> int | float:
    """Return the value of a literal: an int, unless it has a decimal point or a negative exponent."""
    if len(text) > _MAX_DIGITS:
        raise InvalidNumberLiteral(f"this number has more than {_MAX_DIGITS} digits", "compute it, as in `10 ** 5000`")
    if text.isascii() and text.isdigit() and (text[0] != "0" or len(text) == 1):
        return int(text)
    if re.fullmatch(_HEX, text):
        return int(text, 16)
    match = re.fullmatch(_DECIMAL, text)
    if match is None:
        raise InvalidNumberLiteral(
            f"`{text[:40]}` is not a number", "numbers are written as in 42, 3.14, 1e6, 1_000 and 0x1f"
        )
    if text[0] == "0" and len(match[1]) > 1:
        raise InvalidNumberLiteral("a number does not begin with `0`", f"write `{text.lstrip('0_') or '0'}`")
    return _parse_decimal(text, *match.groups())


def _parse_decimal(text: str, whole: str, fraction: str | None, exponent: str | None) -> int | float:
    if fraction is None and exponent is None:
        return int(whole)
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise InvalidNumberLiteral("this number is too large", "the largest is about 1.8e308")
    if fraction is None and exponent is not None and not exponent.startswith("-"):
        # Exact, where a float would be rounded.
        return int(whole) * 10 ** int(exponent) if int(whole) else 0
    return value
