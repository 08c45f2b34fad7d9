"""How far a batch of rows is, for whoever looks at standard error: a bar, and a line that stays at the end."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from antiphon.cli.talk.printing import is_terminal
from antiphon.render import console
from antiphon.render.lines import StateLine, duration, fit
from antiphon.render.moving import Moving
from antiphon.render.scroll import Scroll
from antiphon.render.style import ACCENT
from antiphon.views.money import money

if TYPE_CHECKING:
    from antiphon.runs.mapping import RowResult

#: The widest a bar is, in columns.
_BAR = 24


class Rowing:
    """Counts rows, what they cost and how many are not done, with their rate and the time that is left."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._over = 0
        self._cost = 0.0
        self._failed = 0
        self._began = time.monotonic()
        self._page = Scroll(console(sys.stderr))
        self._moving = Moving(self._page.console, self)

    def __enter__(self) -> Rowing:
        # Where the rows themselves are seen, they tell how far it is, and would tear the bar.
        if not self._page.is_plain and not is_terminal(sys.stdout):
            self._moving.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._moving.stop()
        state = "done" if self._over == self._count and not self._failed else "stopped"
        about = " · ".join([self._far(), *self._used()])
        self._page.line(StateLine(state, about, note=duration(time.monotonic() - self._began)))

    def advance(self, result: RowResult) -> None:
        """One row more is over."""
        self._over += 1
        self._cost += result.cost or 0.0
        self._failed += result.outcome != "done"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        passed = time.monotonic() - self._began
        rate = [f"{self._over / passed:.1f} rows/s"] if self._over and passed else []
        left = [f"{duration((self._count - self._over) * passed / self._over)} left"] if rate else []
        told = " · ".join([self._far(), *rate, *self._used(), *left])
        width = min(_BAR, options.max_width // 4)
        full = width * self._over // max(self._count, 1)
        sign, more = ("#", "...") if options.ascii_only else ("━", "…")
        rest = ("-" if options.ascii_only else "─") * (width - full)
        room = max(options.max_width - width - 1, 1)
        yield Text.assemble(
            (sign * full, ACCENT), (rest, "dim"), (f" {fit(told, room, more)}", "dim"), no_wrap=True, overflow="crop"
        )

    def _far(self) -> str:
        return f"{self._over:,} of {self._count:,} rows"

    def _used(self) -> list[str]:
        failed = f"{self._failed:,} not done" if self._failed else ""
        return [each for each in (money(self._cost), failed) if each]
