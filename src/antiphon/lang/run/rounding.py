"""Numbers with fewer digits. Half goes up, as people round, and a number is what it is written as: 1.005 is 1.01."""

from __future__ import annotations

import math
from typing import Any

from antiphon.lang.run.items import whole
from antiphon.lang.run.values import text

#: A product of floats is as near as this to what it should be, for its size.
_NEAR = 1e-15
#: Below it all digits of a float can be relied on.
_SURE = 10**15
#: For so many digits the power of ten, and how they are written.
_SHORT = {places: (10.0**places, f"%.{places}f") for places in range(1, 11)}
#: Below it a product of floats is less than the second beside what it should be.
_SMALL, _BESIDE = 1e12, 0.01


def rounded(value: float, digits: Any = 0) -> Any:
    """The nearest number with so many digits after the point; before it, where they are negative."""
    if value.__class__ is float and (short := _SHORT.get(digits)):
        factor = short[0]
        if -_SMALL < (scaled := value * factor) < _SMALL:
            low = math.floor(scaled)
            if (above := scaled - low - 0.5) < -_BESIDE:
                return low / factor
            if above > _BESIDE:
                return (low + 1) / factor
    places = whole(digits, "the number of digits") if digits.__class__ is not int else digits
    if type(value) is float and not math.isfinite(value):
        return value
    if places < 0:
        return _whole_tens(value, 10 ** min(-places, 400))
    if type(value) is not float:
        # Integers are exact, and larger ones than a float can hold.
        return value
    if places == 0:
        low = math.floor(value)
        return low + (value - low >= 0.5)
    factor = 10 ** min(places, 400)
    return _scaled(value, factor) / factor


def fixed(value: float, digits: Any) -> str:
    """A number with just so many digits after the point."""
    if value.__class__ is float and (short := _SHORT.get(digits)):
        factor, form = short
        if -_SMALL < (scaled := value * factor) < _SMALL:
            low = math.floor(scaled)
            if (above := scaled - low - 0.5) < -_BESIDE:
                return form % (low / factor)
            if above > _BESIDE:
                return form % ((low + 1) / factor)
    places = digits if digits.__class__ is int else whole(digits, "the number of digits")
    places = 0 if places < 0 else min(places, 100)
    if value.__class__ is not float:
        return f"{text(value)}{'.' * bool(places)}{'0' * places}"
    if not -math.inf < value < math.inf:
        return text(value)
    scaled = _scaled(value, factor := 10**places)
    # A whole number is written exactly; below this, so is its quotient.
    return f"{scaled / factor:.{places}f}" if abs(scaled) < _SURE else _with_point(scaled, places)


def _with_point(scaled: int, places: int) -> str:
    shown = str(abs(scaled)).rjust(places + 1, "0")
    before = len(shown) - places
    return f"{'-' * (scaled < 0)}{shown[:before]}{'.' * bool(places)}{shown[before:]}"


def _scaled(value: float, factor: int) -> int:
    """So many times a number, as the nearest whole one."""
    if factor < _SURE and -_SURE < (scaled := value * factor) < _SURE:
        low = math.floor(scaled)
        above = scaled - low
        if abs(above - 0.5) > _NEAR * (1 + abs(scaled)):
            return low + (above > 0.5)
    from decimal import Context, Decimal

    exactly = Context(prec=1000)
    return math.floor(exactly.add(exactly.multiply(Decimal(repr(value)), factor), Decimal("0.5")))


def _whole_tens(value: float, tens: int) -> int:
    from fractions import Fraction

    return math.floor(Fraction(repr(value)) / tens + Fraction(1, 2)) * tens
