"""What something cost, as people read it."""

from __future__ import annotations

#: Below this, a sum would read as nothing.
_LEAST = 0.0001


def money(cost: float | None) -> str:
    """A sum of dollars; nothing where it is not known, and nothing for what models of this machine cost."""
    if not cost:
        return ""
    if cost < _LEAST:
        return f"<${_LEAST}"
    return f"${cost:.4f}" if cost < 0.1 else f"${cost:,.2f}"
