"""`system/time`: instants as ISO 8601 text, dates as `2026-01-31`, durations as seconds."""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from antiphon.lang.check.types import NUMBER, TEXT, Field, Object, Union
from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.items import whole
from antiphon.lang.run.system.function import Function

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from antiphon.lang.run.execution import Execution

_UNITS = ("years", "months", "weeks", "days", "hours", "minutes", "seconds")
DURATION = Object({name: Field(NUMBER, True) for name in _UNITS}, "Duration")
PARTS = Object(
    {name: Field(NUMBER) for name in ("year", "month", "day", "hour", "minute", "second", "weekday", "week")}, "Parts"
)


def _today(_: Execution, zone: str = "UTC") -> str:
    return datetime.now(_zone(zone)).date().isoformat()


def _parse_time(text: str, format: str | None = None, zone: str = "UTC") -> str:
    try:
        found = datetime.strptime(text, format) if format else datetime.fromisoformat(text.strip())
    except ValueError:
        how = f"in the format {format!r}" if format else "of ISO 8601"
        hint = "" if format else 'name its format: `parseTime("31.01.2026", "%d.%m.%Y")`'
        raise VibeError("V0945", f"{text!r:.60} is no time {how}", hint) from None
    return (found if found.tzinfo else _there(found, zone)).isoformat()


def _there(time: datetime, zone: str) -> datetime:
    """A time of a clock in a zone: the first of two, where the clock is put back; what it leaves out is none."""
    at = time.replace(tzinfo=_zone(zone))
    if at.astimezone(UTC).astimezone(at.tzinfo).replace(tzinfo=None) != time:
        raise VibeError("V0945", f"there is no {time.isoformat(' ')} in {zone}: clocks are put forward then")
    return at


def _format_time(time: str, format: str, zone: str = "") -> str:
    try:
        return _moment(time, zone).strftime(format)
    except ValueError:
        raise VibeError("V0945", f"{format!r:.60} is no format for a time") from None


def _in_zone(time: str, zone: str) -> str:
    return _moment(time, zone).isoformat()


def _parts(time: str, zone: str = "") -> dict[str, int]:
    at = _moment(time, zone)
    names = ("year", "month", "day", "hour", "minute", "second")
    return {**{name: getattr(at, name) for name in names}, "weekday": at.isoweekday(), "week": at.isocalendar()[1]}


def _add(time: str, duration: Any, zone: str = "") -> str:
    """Years and months keep the day where there is one, days the time of the clock; the rest is added to that."""
    given: dict[str, float] = {"seconds": duration} if isinstance(duration, int | float) else duration
    at = _moment(time, zone)
    try:
        months = _whole(given, "years") * 12 + _whole(given, "months") + at.month - 1
        year, month = at.year + months // 12, months % 12 + 1
        moved = at.replace(year=year, month=month, day=min(at.day, calendar.monthrange(year, month)[1]))
        moved += timedelta(**{name: given.get(name) or 0 for name in _UNITS[2:4]})
        if zone and not _is_date(time):
            moved = _there(moved.replace(tzinfo=None), zone)
        later = timedelta(**{name: given.get(name) or 0 for name in _UNITS[4:]})
        moved = (moved.astimezone(UTC) + later).astimezone(moved.tzinfo) if later else moved
    except (ValueError, OverflowError, calendar.IllegalMonthError):
        raise VibeError("V0945", "the time would be before year 1 or after 9999") from None
    is_date = len(time) == 10 and moved.time() == at.time()
    return moved.date().isoformat() if is_date else moved.isoformat()


def _whole(given: dict[str, float], name: str) -> int:
    return whole(given.get(name) or 0, f"`{name}`")


def _seconds_between(start: str, end: str) -> float:
    seconds = (_moment(end) - _moment(start)).total_seconds()
    return int(seconds) if seconds.is_integer() else seconds


def _unix(time: str) -> float:
    seconds = _moment(time).timestamp()
    return int(seconds) if seconds.is_integer() else seconds


def _from_unix(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        raise VibeError("V0945", f"{seconds:g} seconds are no time") from None


def _moment(time: str, zone: str = "") -> datetime:
    """The time that a text says: a date is its first moment, and what names no zone is in UTC."""
    try:
        found = datetime.fromisoformat(time.strip())
    except ValueError:
        raise VibeError("V0945", f"{time!r:.60} is no time of ISO 8601", "`parseTime` reads other formats") from None
    at = found if found.tzinfo else found.replace(tzinfo=UTC)
    return at.astimezone(_zone(zone)) if zone and not _is_date(time) else at


def _is_date(time: str) -> bool:
    try:
        return bool(date.fromisoformat(time.strip()))
    except ValueError:
        return False


def _zone(name: str) -> ZoneInfo:
    from zoneinfo import ZoneInfo, available_timezones

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        from antiphon._suggestions import nearest

        near = nearest(name, available_timezones())
        hint = f'did you mean "{near}"?' if near else 'zones have names such as "Europe/Oslo"'
        raise VibeError("V0945", f"there is no time zone {name!r:.60}", hint) from None


_TIME = {"time": TEXT}
_ZONED = {**_TIME, "zone": TEXT}
FUNCTIONS = {
    "today": Function("The date today, in UTC or the named zone.", _today, {"zone": TEXT}, TEXT, 1, "harmless"),
    "parseTime": Function("The time a text says, in ISO 8601 or a format such as `%d.%m.%Y`, in UTC or the named zone.",
                          _parse_time, {"text": TEXT, "format": TEXT, "zone": TEXT}, TEXT, 2),
    "formatTime": Function("A time as text, in a format such as `%d %B %Y, %H:%M`, in the named zone.",
                           _format_time, {**_TIME, "format": TEXT, "zone": TEXT}, TEXT, 1),
    "inZone": Function("The same instant in another time zone.", _in_zone, _ZONED, TEXT),
    "parts": Function("Its year, month, day, hour, minute, second, weekday (Monday is 1) and week.",
                      _parts, _ZONED, PARTS, 1),
    "add": Function("A time or date so much later: `{ months: 1, days: -2 }`, or so many seconds; "
                    "in a named zone, days and months keep the time of its clocks.",
                    _add, {**_TIME, "duration": Union((NUMBER, DURATION)), "zone": TEXT}, TEXT, 1),
    "secondsBetween": Function("How many seconds lie between two times.",
                               _seconds_between, {"start": TEXT, "end": TEXT}, NUMBER),
    "unix": Function("A time as seconds since 1970.", _unix, _TIME, NUMBER),
    "fromUnix": Function("The time so many seconds after 1970 began.", _from_unix, {"seconds": NUMBER}, TEXT),
}  # fmt: skip
