"""Decimal rounding: half rounds up, and a number is taken as it is written, so that 1.005 becomes 1.01."""

from __future__ import annotations

import math
from typing import Any

from antiphon.lang.runtime.members import require_integer
from antiphon.lang.runtime.values import to_text

#: The relative error of a product of floats is below this.
_RELATIVE_ERROR = 1e-15
#: Below this, all digits of a float are exact.
_EXACT_LIMIT = 10**15
#: By number of digits: the power of ten, and the format.
_FAST_DIGITS = {places: (10.0**places, f"%.{places}f") for places in range(1, 11)}
#: Below the first, the error of a product of floats is less than the second.
_FAST_LIMIT, _FAST_MARGIN = 1e12, 0.01


def round_number(value: float, digits: Any = 0) -> Any:
    """Round to so many digits after the point; negative numbers of digits count before it."""
    places = require_integer(digits, "the number of digits") if digits.__class__ is not int else digits
    if type(value) is float and not math.isfinite(value):
        return value
    if places < 0:
        tens = 10 ** min(-places, 400)
        from fractions import Fraction

        return math.floor(Fraction(repr(value)) / tens + Fraction(1, 2)) * tens
    if type(value) is not float:
        # Integers are exact, and larger ones than a float can hold.
        return value
    if places == 0:
        low = math.floor(value)
        return low + (value - low >= 0.5)
    factor = 10 ** min(places, 400)
    return _scale_to_integer(value, factor) / factor


def format_fixed(value: float, digits: Any) -> str:
    """Format a number with exactly so many digits after the point."""
    if value.__class__ is float and (short := _FAST_DIGITS.get(digits)):
        factor, form = short
        if -_FAST_LIMIT < (scaled := value * factor) < _FAST_LIMIT:
            low = math.floor(scaled)
            if (above := scaled - low - 0.5) < -_FAST_MARGIN:
                return form % (low / factor)
            if above > _FAST_MARGIN:
                return form % ((low + 1) / factor)
    places = digits if digits.__class__ is int else require_integer(digits, "the number of digits")
    places = 0 if places < 0 else min(places, 100)
    if value.__class__ is not float:
        return f"{to_text(value)}{'.' * bool(places)}{'0' * places}"
    if not -math.inf < value < math.inf:
        return to_text(value)
    scaled = _scale_to_integer(value, factor := 10**places)
    # An integer is formatted exactly; below this limit, so is its quotient.
    return f"{scaled / factor:.{places}f}" if abs(scaled) < _EXACT_LIMIT else _insert_point(scaled, places)


def _insert_point(scaled: int, places: int) -> str:
    shown = str(abs(scaled)).rjust(places + 1, "0")
    before = len(shown) - places
    return f"{'-' * (scaled < 0)}{shown[:before]}{'.' * bool(places)}{shown[before:]}"


def _scale_to_integer(value: float, factor: int) -> int:
    """Return a number times a factor, rounded to the nearest integer."""
    if factor < _EXACT_LIMIT and -_EXACT_LIMIT < (scaled := value * factor) < _EXACT_LIMIT:
        low = math.floor(scaled)
        above = scaled - low
        if abs(above - 0.5) > _RELATIVE_ERROR * (1 + abs(scaled)):
            return low + (above > 0.5)
    from decimal import Context, Decimal

    exactly = Context(prec=1000)
    return math.floor(exactly.add(exactly.multiply(Decimal(repr(value)), factor), Decimal("0.5")))
