"""Single values as text: numbers, dates, addresses and paths by the type their field is said to have."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from antiphon.render.context import Context
from antiphon.render.registry import Unfit
from antiphon.render.safe import json_text

_STYLES = {"url": "underline", "path": "magenta", "date": "cyan", "number": "cyan"}
_UNITS = ("kB", "MB", "GB", "TB", "PB", "EB")


def formatted(value: object, kind: str, context: Context, *, null: str = "") -> tuple[str, str]:
    """A value as one harmless line, and its style."""
    if value is None:
        return null, "dim"
    if isinstance(value, bool):
        return ("true" if value else "false"), "yellow"
    if kind == "date" and (date := _date(value)):
        return date, _STYLES["date"]
    if isinstance(value, int | float):
        return (f"{value:,}" if kind == "number" else str(value)), _STYLES["number"]
    if isinstance(value, str):
        return context.line(value), _STYLES.get(kind, "") if kind in ("url", "path") else ""
    return context.line(json_text(value, context.line_limit)), "dim"


def size(count: object) -> str:
    """A number of bytes as people read it; nothing for what is no number."""
    if not isinstance(count, int | float) or isinstance(count, bool) or not 0 <= count < 1e18:
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


def object_of(data: object, what: str) -> dict[str, Any]:
    """The data as an object."""
    if not isinstance(data, dict):
        raise Unfit(f"the data of {what} is an object")
    return cast(dict[str, Any], data)


def list_of(data: dict[str, Any], key: str, what: str) -> list[Any]:
    """A field that holds a list."""
    value: object = data.get(key)
    if not isinstance(value, list):
        raise Unfit(f"{what} has a list `{key}`")
    return cast(list[Any], value)


def text_of(data: dict[str, Any], *keys: str) -> str:
    """The first of these fields that is text; nothing if none is."""
    return next((value for key in keys if isinstance(value := data.get(key), str)), "")


def needed_text(data: dict[str, Any], key: str, what: str) -> str:
    """A field that must be text."""
    value = data.get(key)
    if not isinstance(value, str):
        raise Unfit(f"{what} has a text `{key}`")
    return value


def content_of(data: object) -> str:
    """The text of data that is text, or that holds it where results keep it."""
    if isinstance(data, str):
        return data
    if isinstance(data, dict):
        fields = cast(dict[str, Any], data)
        for key in ("content", "text"):
            if isinstance(fields.get(key), str):
                return fields[key]
    raise Unfit("there is no text in the data")
