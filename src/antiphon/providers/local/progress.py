"""How far a pull has come, for a callback or for people: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from antiphon.providers.local.manifest import Weights, size


@dataclass(frozen=True, slots=True)
class Report:
    """How many bytes are there, of how many; `note` says what is being done."""

    weights: Weights
    done: int
    note: str


#: The one colour that our terminal has for what moves.
_ACCENT = "cyan"

#: Told several times a second. What it raises ends the pull; what has come is kept for the next.
Progress = Callable[[Report], None]


@contextmanager
def shown() -> Generator[Progress]:
    """A callback that tells people on standard error; it says nothing until there is something to fetch."""
    with ExitStack() as stack:
        yield _Bar(stack) if _can_move() else _Lines()


def _can_move() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def headline(weights: Weights) -> str:
    """What is about to be fetched: size, licence, and who published it."""
    return f"{weights.title}: {size(weights.bytes)}, licence {weights.licence}, published at {weights.origin}"


class _Lines:
    """A line when the work changes, and one for each tenth."""

    def __init__(self) -> None:
        self.note = ""
        self.tenth = 0

    def __call__(self, report: Report) -> None:
        if not self.note:
            self.tell(headline(report.weights))
        tenth = report.done * 10 // report.weights.bytes
        if report.note != self.note:
            self.tell(f"{report.weights.name}: {report.note}")
        elif tenth > self.tenth:
            self.tell(f"{report.weights.name}: {tenth * 10} % ({size(report.done)} of {size(report.weights.bytes)})")
        self.note, self.tenth = report.note, tenth

    def tell(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class _Bar:
    """A bar of `rich`, started by the first report."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
        self.update: Callable[[Report], None] | None = None

    def __call__(self, report: Report) -> None:
        if self.update is None:
            self.update = self.start(report.weights)
        self.update(report)

    def start(self, weights: Weights) -> Callable[[Report], None]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(stderr=True)
        console.print(headline(weights), markup=False, highlight=False)
        text = TextColumn("{task.description}", markup=False)
        told = TextColumn("{task.fields[told]}", style="dim", markup=False)
        line = BarColumn(style="dim", complete_style=_ACCENT, finished_style=_ACCENT, pulse_style=_ACCENT)
        bar = Progress(text, line, told, console=console)
        self.stack.enter_context(bar)
        task = bar.add_task(weights.name, total=weights.bytes, told="")
        pace = Pace()

        def update(report: Report) -> None:
            here, whole = report.done, report.weights.bytes
            left = pace.left(here, whole)
            said = f"{size(here)} of {size(whole)}" + (f", {left}" if left else "")
            bar.update(task, completed=here, description=f"{report.weights.name}: {report.note}", told=said)

        return update


class Pace:
    """How long it still takes, as fast as it has come since it began to come; nothing while too little has."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began: tuple[float, int] | None = None

    def left(self, done: int, total: int) -> str:
        """The time that is left, as in `3 min left`; `done` bytes are there, of so many."""
        now = self._clock()
        if self._began is None or done < self._began[1]:
            self._began = (now, done)
        since, first = self._began
        came = done - first
        if came * 100 < total or done >= total:
            # What was there before did not come in this time, and the wait for the first bytes is no pace.
            self._began = (now, done) if not came else self._began
            return ""
        seconds = (total - done) * (now - since) / came
        return f"{seconds:.0f} s left" if seconds < 99.5 else f"{min(seconds / 60, 999):.0f} min left"
