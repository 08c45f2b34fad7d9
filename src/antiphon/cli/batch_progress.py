"""Progress of a batch on standard error: a live bar, and a permanent line at the end."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from antiphon.cli.output import is_terminal
from antiphon.terminal import make_console
from antiphon.terminal.live_region import LiveRegion
from antiphon.terminal.scrollback import Scrollback
from antiphon.terminal.state_lines import StateLine, format_duration, truncate_cells
from antiphon.terminal.theme import ACCENT
from antiphon.views.cost_format import format_cost

if TYPE_CHECKING:
    from antiphon.programs.batch import RowResult

#: The maximum width of the bar, in columns.
_MAX_BAR_WIDTH = 24


class BatchProgress:
    """Shows finished rows, their cost, failures, rate and remaining time."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._over = 0
        self._cost = 0.0
        self._failed = 0
        self._began = time.monotonic()
        self._page = Scrollback(make_console(sys.stderr))
        self._moving = LiveRegion(self._page.console, self)

    def __enter__(self) -> BatchProgress:
        # If the rows are printed to the terminal too, they would break the bar.
        if not self._page.is_plain and not is_terminal(sys.stdout):
            self._moving.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._moving.stop()
        state = "done" if self._over == self._count and not self._failed else "stopped"
        about = " · ".join([self._format_count(), *self._used()])
        self._page.line(StateLine(state, about, note=format_duration(time.monotonic() - self._began)))

    def advance(self, result: RowResult) -> None:
        """Count a finished row."""
        self._over += 1
        self._cost += result.cost or 0.0
        self._failed += result.outcome != "done"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        passed = time.monotonic() - self._began
        rate = [f"{self._over / passed:.1f} rows/s"] if self._over and passed else []
        left = [f"{format_duration((self._count - self._over) * passed / self._over)} left"] if rate else []
        told = " · ".join([self._format_count(), *rate, *self._used(), *left])
        width = min(_MAX_BAR_WIDTH, options.max_width // 4)
        full = width * self._over // max(self._count, 1)
        sign, more = ("#", "...") if options.ascii_only else ("━", "…")
        rest = ("-" if options.ascii_only else "─") * (width - full)
        room = max(options.max_width - width - 1, 1)
        yield Text.assemble(
            (sign * full, ACCENT),
            (rest, "dim"),
            (f" {truncate_cells(told, room, more)}", "dim"),
            no_wrap=True,
            overflow="crop",
        )

    def _format_count(self) -> str:
        return f"{self._over:,} of {self._count:,} rows"

    def _used(self) -> list[str]:
        failed = f"{self._failed:,} not done" if self._failed else ""
        return [each for each in (format_cost(self._cost), failed) if each]
