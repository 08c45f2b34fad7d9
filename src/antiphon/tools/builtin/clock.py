"""The tool `now` for the current time, which models do not know."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from antiphon._base.did_you_mean import suggest_name
from antiphon.conversation import ToolResult
from antiphon.results import text
from antiphon.tools.dual_result import make_dual_result
from antiphon.tools.tool import ToolFailure, tool


@tool(read_only=True)
def now(timezone: str = "UTC") -> ToolResult:
    """The current date and time, as ISO 8601 with the offset from UTC.

    Args:
        timezone: UTC, or a name such as Europe/Berlin.
    """
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        known = {name.casefold(): name for name in available_timezones()}
        city = timezone.strip().replace(" ", "_").casefold()
        near = [name for name in known if name.rpartition("/")[2] == city]
        if not near and (one := suggest_name(city, known)):
            near = [one]
        hint = f"; did you mean {' or '.join(known[name] for name in sorted(near)[:3])}?" if near else ""
        raise ToolFailure(f"there is no time zone {timezone[:60]!r}{hint}") from None
    time = datetime.now(zone).isoformat(timespec="seconds")
    return make_dual_result(time, text(time, summary=time))
