"""Formatting of single values: numbers, dates, URLs and paths by their field type."""

from __future__ import annotations

from datetime import UTC, datetime

from antiphon.terminal.render_context import Context
from antiphon.views import CellValue, Json

_FIELD_STYLES = {"url": "underline"}
_BYTE_UNITS = ("kB", "MB", "GB", "TB", "PB", "EB")


def format_cell_value(value: CellValue, kind: str, context: Context, *, null: str = "") -> tuple[str, str]:
    """Return a value as one sanitized line, and its style."""
    if value is None:
        return null, "dim"
    if isinstance(value, bool):
        return ("true" if value else "false"), ""
    if kind == "date" and (date := _format_date(value)):
        return date, ""
    if isinstance(value, int | float):
        return (f"{value:,}" if kind == "number" else str(value)), ""
    if isinstance(value, Json):
        return context.line(value.text, len(value.text)) + context.sign("…", "~") * value.cut, "dim"
    return context.line(value), _FIELD_STYLES.get(kind, "")


def format_byte_size(count: float | None) -> str:
    """Return a number of bytes with a unit; "" for an invalid number."""
    if count is None or not 0 <= count < 1e18:
        return ""
    if count < 1000:
        return f"{int(count)} B"
    power = next(power for power in range(1, 7) if count < 999.95 * 1000**power)
    return f"{count / 1000**power:.1f} {_BYTE_UNITS[power - 1]}"


def _format_date(value: object) -> str:
    """Return a date given in ISO format, or in seconds or milliseconds since 1970; "" otherwise."""
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
