"""What time it is, which models do not know."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from antiphon._suggestions import nearest
from antiphon.conversation import ToolResult
from antiphon.results import text
from antiphon.tools.faces import shown
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
        if not near and (one := nearest(city, known)):
            near = [one]
        hint = f"; did you mean {' or '.join(known[name] for name in sorted(near)[:3])}?" if near else ""
        raise ToolFailure(f"there is no time zone {timezone[:60]!r}{hint}") from None
    time = datetime.now(zone).isoformat(timespec="seconds")
    return shown(time, text(time, summary=time))
