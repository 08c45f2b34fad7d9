"""Formatting of costs."""

from __future__ import annotations

#: Smaller amounts would be displayed as zero.
_MIN_SHOWN_COST = 0.0001


def format_cost(cost: float | None) -> str:
    """Return a cost in dollars; "" if it is unknown or zero, as for local models."""
    if not cost:
        return ""
    if cost < _MIN_SHOWN_COST:
        return f"<${_MIN_SHOWN_COST}"
    return f"${cost:.4f}" if cost < 0.1 else f"${cost:,.2f}"
