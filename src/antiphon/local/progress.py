"""Progress of a download, for a callback or for people: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from antiphon.local.manifest import Weights, format_size


@dataclass(frozen=True, slots=True)
class Report:
    """Number of bytes present, and a note about the current work."""

    weights: Weights
    done: int
    note: str


#: The accent colour of our terminal output.
_ACCENT = "cyan"

#: Called several times a second. An exception from it ends the pull; downloaded parts are kept for the next.
ProgressCallback = Callable[[Report], None]


@contextmanager
def show_download_progress() -> Generator[ProgressCallback]:
    """Provide a callback that reports on standard error. It prints nothing until there is a download."""
    with ExitStack() as stack:
        yield _ProgressBar(stack) if _is_interactive() else _ProgressLines()


def _is_interactive() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def describe_weights(weights: Weights) -> str:
    """Return what is about to be downloaded: title, size, licence and publisher."""
    return f"{weights.title}: {format_size(weights.bytes)}, licence {weights.licence}, published at {weights.origin}"


class _ProgressLines:
    """Progress as plain lines: one when the work changes, and one for each tenth."""

    def __init__(self) -> None:
        self.note = ""
        self.tenth = 0

    def __call__(self, report: Report) -> None:
        if not self.note:
            self.tell(describe_weights(report.weights))
        tenth = report.done * 10 // report.weights.bytes
        if report.note != self.note:
            self.tell(f"{report.weights.name}: {report.note}")
        elif tenth > self.tenth:
            self.tell(
                f"{report.weights.name}: {tenth * 10} % ({format_size(report.done)} of"
                f" {format_size(report.weights.bytes)})"
            )
        self.note, self.tenth = report.note, tenth

    def tell(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class _ProgressBar:
    """Progress bar of `rich`, started by the first report."""

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
        console.print(describe_weights(weights), markup=False, highlight=False)
        text = TextColumn("{task.description}", markup=False)
        told = TextColumn("{task.fields[told]}", style="dim", markup=False)
        line = BarColumn(style="dim", complete_style=_ACCENT, finished_style=_ACCENT, pulse_style=_ACCENT)
        bar = Progress(text, line, told, console=console)
        self.stack.enter_context(bar)
        task = bar.add_task(weights.name, total=weights.bytes, told="")
        pace = TimeEstimate()

        def update(report: Report) -> None:
            here, whole = report.done, report.weights.bytes
            left = pace.left(here, whole)
            said = f"{format_size(here)} of {format_size(whole)}" + (f", {left}" if left else "")
            bar.update(task, completed=here, description=f"{report.weights.name}: {report.note}", told=said)

        return update


class TimeEstimate:
    """Estimate of the remaining time from the rate since the first bytes; empty while too few have come."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began: tuple[float, int] | None = None

    def left(self, done: int, total: int) -> str:
        """Return the remaining time, as in `3 min left`, for `done` of `total` bytes."""
        now = self._clock()
        if self._began is None or done < self._began[1]:
            self._began = (now, done)
        since, first = self._began
        came = done - first
        if came * 100 < total or done >= total:
            # Exclude bytes present before, and the wait for the first bytes.
            self._began = (now, done) if not came else self._began
            return ""
        seconds = (total - done) * (now - since) / came
        return f"{seconds:.0f} s left" if seconds < 99.5 else f"{min(seconds / 60, 999):.0f} min left"
