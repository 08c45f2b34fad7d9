"""`system/time`: instants as ISO 8601 text, dates as `2026-01-31`, durations as seconds."""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.members import require_integer
from antiphon.lang.runtime.system import SystemFunction
from antiphon.lang.typecheck import types as t

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from antiphon.lang.runtime.execution import ProgramExecution

_UNITS = ("years", "months", "weeks", "days", "hours", "minutes", "seconds")
DURATION = t.Object({name: t.ObjectField(t.NUMBER, True) for name in _UNITS}, "Duration")
PARTS = t.Object(
    {name: t.ObjectField(t.NUMBER) for name in ("year", "month", "day", "hour", "minute", "second", "weekday", "week")},
    "Parts",
)


def _today(_: ProgramExecution, zone: str = "UTC") -> str:
    return datetime.now(_get_zone(zone)).date().isoformat()


def _parse_time(text: str, format: str | None = None, zone: str = "UTC") -> str:
    try:
        found = datetime.strptime(text, format) if format else datetime.fromisoformat(text.strip())
    except ValueError:
        how = f"in the format {format!r}" if format else "of ISO 8601"
        hint = "" if format else 'name its format: `parseTime("31.01.2026", "%d.%m.%Y")`'
        raise VibeError("V0945", f"{text!r:.60} is not a time {how}", hint) from None
    return (found if found.tzinfo else _localize(found, zone)).isoformat()


def _localize(time: datetime, zone: str) -> datetime:
    """Return a wall-clock time in a zone: the first of two when clocks go back; skipped times are an error."""
    at = time.replace(tzinfo=_get_zone(zone))
    if at.astimezone(UTC).astimezone(at.tzinfo).replace(tzinfo=None) != time:
        raise VibeError("V0945", f"there is no {time.isoformat(' ')} in {zone}: clocks are put forward then")
    return at


def _format_time(time: str, format: str, zone: str = "") -> str:
    try:
        return _parse_moment(time, zone).strftime(format)
    except ValueError:
        raise VibeError("V0945", f"{format!r:.60} is not a format for times") from None


def _in_zone(time: str, zone: str) -> str:
    return _parse_moment(time, zone).isoformat()


def _parts(time: str, zone: str = "") -> dict[str, int]:
    at = _parse_moment(time, zone)
    names = ("year", "month", "day", "hour", "minute", "second")
    return {**{name: getattr(at, name) for name in names}, "weekday": at.isoweekday(), "week": at.isocalendar()[1]}


def _add(time: str, duration: Any, zone: str = "") -> str:
    """Add a duration to a time or date.

    Years and months keep the day of the month if it exists, and days keep the wall-clock time. Smaller units
    are added to that instant.
    """
    given: dict[str, float] = {"seconds": duration} if isinstance(duration, int | float) else duration
    at = _parse_moment(time, zone)
    try:
        months = _require_whole_unit(given, "years") * 12 + _require_whole_unit(given, "months") + at.month - 1
        year, month = at.year + months // 12, months % 12 + 1
        moved = at.replace(year=year, month=month, day=min(at.day, calendar.monthrange(year, month)[1]))
        moved += timedelta(**{name: given.get(name) or 0 for name in _UNITS[2:4]})
        if zone and not _is_date(time):
            moved = _localize(moved.replace(tzinfo=None), zone)
        later = timedelta(**{name: given.get(name) or 0 for name in _UNITS[4:]})
        moved = (moved.astimezone(UTC) + later).astimezone(moved.tzinfo) if later else moved
    except (ValueError, OverflowError, calendar.IllegalMonthError):
        raise VibeError("V0945", "the time would be before year 1 or after 9999") from None
    is_date = len(time) == 10 and moved.time() == at.time()
    return moved.date().isoformat() if is_date else moved.isoformat()


def _require_whole_unit(given: dict[str, float], name: str) -> int:
    return require_integer(given.get(name) or 0, f"`{name}`")


def _seconds_between(start: str, end: str) -> float:
    seconds = (_parse_moment(end) - _parse_moment(start)).total_seconds()
    return int(seconds) if seconds.is_integer() else seconds


def _unix(time: str) -> float:
    seconds = _parse_moment(time).timestamp()
    return int(seconds) if seconds.is_integer() else seconds


def _from_unix(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        raise VibeError("V0945", f"{seconds:g} seconds are not a valid time") from None


def _parse_moment(time: str, zone: str = "") -> datetime:
    """Parse a time: a date is its first moment, and a time without a zone is in UTC."""
    try:
        found = datetime.fromisoformat(time.strip())
    except ValueError:
        raise VibeError("V0945", f"{time!r:.60} is not a time in ISO 8601", "`parseTime` reads other formats") from None
    at = found if found.tzinfo else found.replace(tzinfo=UTC)
    return at.astimezone(_get_zone(zone)) if zone and not _is_date(time) else at


def _is_date(time: str) -> bool:
    try:
        return bool(date.fromisoformat(time.strip()))
    except ValueError:
        return False


def _get_zone(name: str) -> ZoneInfo:
    from zoneinfo import ZoneInfo, available_timezones

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        from antiphon._base.did_you_mean import suggest_name

        near = suggest_name(name, available_timezones())
        hint = f'did you mean "{near}"?' if near else 'zones have names such as "Europe/Oslo"'
        raise VibeError("V0945", f"there is not a time zone {name!r:.60}", hint) from None


_TIME = {"time": t.TEXT}
_ZONED = {**_TIME, "zone": t.TEXT}
FUNCTIONS = {
    "today": SystemFunction(
        "The date today, in UTC or the named zone.", _today, {"zone": t.TEXT}, t.TEXT, 1, "harmless"
    ),
    "parseTime": SystemFunction(
        "The time a text says, in ISO 8601 or a format such as `%d.%m.%Y`, in UTC or the named zone.",
        _parse_time,
        {"text": t.TEXT, "format": t.TEXT, "zone": t.TEXT},
        t.TEXT,
        2,
    ),
    "formatTime": SystemFunction(
        "A time as text, in a format such as `%d %B %Y, %H:%M`, in the named zone.",
        _format_time,
        {**_TIME, "format": t.TEXT, "zone": t.TEXT},
        t.TEXT,
        1,
    ),
    "inZone": SystemFunction("The same instant in another time zone.", _in_zone, _ZONED, t.TEXT),
    "parts": SystemFunction(
        "Its year, month, day, hour, minute, second, weekday (Monday is 1) and week.", _parts, _ZONED, PARTS, 1
    ),
    "add": SystemFunction(
        "A time or date so much later: `{ months: 1, days: -2 }`, or so many seconds; "
        "in a named zone, days and months keep the time of its clocks.",
        _add,
        {**_TIME, "duration": t.Union((t.NUMBER, DURATION)), "zone": t.TEXT},
        t.TEXT,
        1,
    ),
    "secondsBetween": SystemFunction(
        "How many seconds lie between two times.", _seconds_between, {"start": t.TEXT, "end": t.TEXT}, t.NUMBER
    ),
    "unix": SystemFunction("A time as seconds since 1970.", _unix, _TIME, t.NUMBER),
    "fromUnix": SystemFunction("The time so many seconds after 1970 began.", _from_unix, {"seconds": t.NUMBER}, t.TEXT),
}
