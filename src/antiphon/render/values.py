"""Single values as text: numbers, dates, addresses and paths by the type their field is said to have."""

from __future__ import annotations

from datetime import UTC, datetime

from antiphon.render.context import Context
from antiphon.views import Cell, Json

_STYLES = {"url": "underline"}
_UNITS = ("kB", "MB", "GB", "TB", "PB", "EB")


def formatted(value: Cell, kind: str, context: Context, *, null: str = "") -> tuple[str, str]:
    """A value as one harmless line, and its style."""
    if value is None:
        return null, "dim"
    if isinstance(value, bool):
        return ("true" if value else "false"), ""
    if kind == "date" and (date := _date(value)):
        return date, ""
    if isinstance(value, int | float):
        return (f"{value:,}" if kind == "number" else str(value)), ""
    if isinstance(value, Json):
        return context.line(value.text, len(value.text)) + context.sign("…", "~") * value.cut, "dim"
    return context.line(value), _STYLES.get(kind, "")


def size(count: float | None) -> str:
    """A number of bytes as people read it; nothing for what cannot be one."""
    if count is None or not 0 <= count < 1e18:
        return ""
    if count < 1000:
        return f"{int(count)} B"
    power = next(power for power in range(1, 7) if count < 999.95 * 1000**power)
    return f"{count / 1000**power:.1f} {_UNITS[power - 1]}"


def _date(value: object) -> str:
    """A date in ISO format, or in seconds or milliseconds since 1970; nothing if it is neither."""
    try:
        if isinstance(value, str):
            if not 8 <= len(value) <= 40:
                return ""
            when = datetime.fromisoformat(value)
            if len(value) == 10:
                return when.date().isoformat()
            return when.strftime("%Y-%m-%d %H:%M:%S") + (f" {when.strftime('%z')}" if when.tzinfo else "")
        if isinstance(value, int | float):
            seconds = value / 1000 if abs(value) > 1e11 else value
            return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        pass
    return ""
